"""Debian's Chromium, driven over the DevTools protocol: pages opened, keys pressed, clicks, texts, pictures.

``chromium()`` starts the browser's process and ends it with all its children; ``Browser.connected(address)`` is a
connection to it. Each page has cookies of its own, unless it is opened from another (``Page.beside``). Waiting is for
what the page says: a timeout only ends a test that hangs.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

PROGRAM = shutil.which("chromium")
DIES_WITH_US = (SETPRIV, "--pdeathsig", "KILL", "--") if (SETPRIV := shutil.which("setpriv")) else ()
"""Has the kernel kill the browser when the tests' process is gone, however that ended."""

HANGS_S = 180
"""Seconds after which a test is taken for one that hangs."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-site-isolation-trials",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--remote-debugging-port=0",
)

DESKTOP = (1280, 900)
PHONE = (390, 844)

KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    " ": ("Space", 32, " "),
}
"""Named keys: the code, the number of Windows and the text of each."""


class PageFailed(AssertionError):
    """The browser could not do what was asked of it, or a script of the page failed."""


@contextlib.contextmanager
def chromium() -> Iterator[str]:
    """Starts the browser, and gives the address of its DevTools; at the end its whole process group is killed."""
    assert PROGRAM is not None
    folder = Path(tempfile.mkdtemp(prefix="chromium-"))
    process = subprocess.Popen(
        [*DIES_WITH_US, PROGRAM, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield _address(folder / "DevToolsActivePort", process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _address(file: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the browser listens: it writes its port and path into a file once it does."""
    for _ in range(HANGS_S * 20):
        lines = file.read_text(encoding="utf-8").split() if file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        assert process.poll() is None, f"chromium ended at once, with code {process.returncode}"
        time.sleep(0.05)
    raise PageFailed("chromium does not open its DevTools")


class Browser:
    """A connection to a running browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._contexts: list[str] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, address: str) -> AsyncIterator[Browser]:
        """A connection; at its end the pages that it opened are closed."""
        async with aiohttp.ClientSession() as session, session.ws_connect(address, max_msg_size=0) as socket:
            browser = cls(socket)
            reading = asyncio.create_task(browser._read())
            try:
                yield browser
            finally:
                for context in browser._contexts:
                    await browser.call("Target.disposeBrowserContext", browserContextId=context)
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await reading

    async def page(self, size: tuple[int, int] = DESKTOP, *, dark: bool = False, window: bool = False) -> Page:
        """An empty page with cookies of its own: another browser, as far as a server can see.

        With ``window`` it is in one, and frames are drawn, as ``IntersectionObserver``, ``requestIdleCallback`` and the
        events of dialogs wait for; that takes four times the CPU.
        """
        context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        self._contexts.append(context)
        return await self.page_in(context, size, dark=dark, window=window)

    async def page_in(self, context: str, size: tuple[int, int], *, dark: bool, window: bool = False) -> Page:
        """An empty page that shares the cookies of a context."""
        where: dict[str, Any] = {"url": "about:blank", "browserContextId": context, "hidden": not window}
        target = await self.call("Target.createTarget", **where)
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = Page(self, attached["sessionId"], context)
        self._pages[page.session] = page
        for part in ("Page", "Runtime", "Log", "Network"):
            await page.call(f"{part}.enable")
        await page.look(size, dark=dark)
        return page

    async def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What the protocol's method answers."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        await self._socket.send_json(message)
        return await asyncio.wait_for(self._waiting[number], HANGS_S)

    async def _read(self) -> None:
        async for received in self._socket:
            message = json.loads(received.data)
            waiting = self._waiting.pop(message.get("id", 0), None)
            if waiting is not None and not waiting.done():
                if "error" in message:
                    waiting.set_exception(PageFailed(message["error"]["message"]))
                else:
                    waiting.set_result(message["result"])
            elif (page := self._pages.get(message.get("sessionId", ""))) is not None:
                page.notice(message["method"], message["params"])


@dataclass
class Page:
    """A page of the browser.

    Attributes:
        console: what scripts and the browser itself wrote to the console, refusals of the CSP among it.
        dialogs: the texts of dialogs such as ``alert`` that the page opened; each is dismissed.
        requests: the addresses that the page asked for, in their order.
        failures: exceptions that no script caught.
    """

    browser: Browser
    session: str
    context: str
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _dismissing: set[asyncio.Task[dict[str, Any]]] = field(default_factory=set)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a method of the protocol answers for this page."""
        return await self.browser.call(method, self.session, **parameters)

    def notice(self, method: str, event: Mapping[str, Any]) -> None:
        """Keeps what the page did of itself."""
        if method == "Page.javascriptDialogOpening":
            self.dialogs.append(event["message"])
            task = asyncio.get_running_loop().create_task(self.call("Page.handleJavaScriptDialog", accept=False))
            self._dismissing.add(task)
            task.add_done_callback(self._dismissing.discard)
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(one.get("value", one.get("description"))) for one in event["args"]))
        elif method == "Log.entryAdded":
            self.console.append(event["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.failures.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    async def beside(self, size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> Page:
        """Another page of the same browser: it shares the cookies."""
        return await self.browser.page_in(self.context, size, dark=dark)

    async def look(self, size: tuple[int, int] = DESKTOP, *, dark: bool = False) -> None:
        """Gives the window a size in CSS pixels, and the system a light or dark look."""
        width, height = size
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def open(self, address: str) -> None:
        """Goes to an address and waits until the page there, and whatever it leads on to, is loaded."""
        answer = await self.call("Page.navigate", url=address)
        if "errorText" in answer:
            raise PageFailed(f"{address}: {answer['errorText']}")
        await self.loaded()

    async def loaded(self) -> None:
        """Waits until the document is complete and goes nowhere else by itself (``<meta http-equiv=refresh>``)."""
        await self.until(
            "document.readyState === 'complete' && location.href !== 'about:blank' "
            "&& !document.querySelector('meta[http-equiv=refresh]')"
        )

    async def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression gives in the page, as JSON-ready data; promises are awaited."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageFailed(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    async def until(self, expression: str) -> None:
        """Waits until a JavaScript expression is true, through navigations."""
        last: object = None
        deadline = time.monotonic() + HANGS_S
        while not last or isinstance(last, PageFailed):
            if time.monotonic() > deadline:
                shown = await self.evaluate("`${document.hidden} ${location.href}\\n${document.body?.innerText}`")
                raise PageFailed(f"never true: {expression} ({last})\n{self.console}\n{self.failures}\n{shown}")
            try:
                last = await self.evaluate(expression)
            except PageFailed as failure:  # the page is being left, or is not there yet
                last = failure
            await asyncio.sleep(0.02)

    async def until_text(self, text: str, selector: str = "body") -> None:
        """Waits until an element shows a text."""
        await self.until(
            f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(text)})"
        )

    async def text(self, selector: str = "body") -> str:
        """The text of the first element of a selector, as it is shown."""
        text = await self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText")
        if text is None:
            raise PageFailed(f"nothing matches {selector}")
        assert isinstance(text, str)
        return text

    async def texts(self, selector: str) -> list[str]:
        """The texts of all elements of a selector."""
        texts = await self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.innerText)")
        assert isinstance(texts, list)
        return texts

    async def click(self, selector: str) -> None:
        """Presses and releases the mouse in the middle of an element, which is brought into view first."""
        query = json.dumps(selector)
        await self.until(f"document.querySelector({query}) !== null")
        box = await self.evaluate(
            f"(() => {{ const one = document.querySelector({query}); one.scrollIntoView({{block: 'center'}}); "
            "const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    async def press(self, key: str, *, ctrl: bool = False, shift: bool = False, alt: bool = False) -> None:
        """Presses and releases a key: a character, or one of ``KEYS``."""
        code, number, text = KEYS.get(key) or (f"Key{key.upper()}" if key.isalpha() else "", ord(key.upper()), key)
        held = {"modifiers": alt * 1 + ctrl * 2 + shift * 8}
        names = {"key": key, "code": code, "windowsVirtualKeyCode": number, **held}
        typed = {} if ctrl or alt or not text else {"text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown" if typed else "rawKeyDown", **names, **typed)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **names)

    async def type(self, text: str) -> None:
        """Puts a text where the focus is, as a paste or an input method would."""
        await self.call("Input.insertText", text=text)

    async def screenshot(self, path: Path, *, whole: bool = False) -> Path:
        """Writes a picture of what is in view, or of the whole page, as PNG."""
        clip = {}
        if whole:
            size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
            clip = {"clip": {**size, "scale": 1}, "captureBeyondViewport": True}
        answer = await self.call("Page.captureScreenshot", format="png", **clip)
        return _written(path, base64.b64decode(answer["data"]))


def _written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
