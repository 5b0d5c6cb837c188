"""The router: who is asked, opened once, closed all."""

from __future__ import annotations

from pathlib import Path

from promptpex.llm.client import Client
from promptpex.llm.fake import FakeClient
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.router import Router
from promptpex.llm.record_replay import RecordingClient
from tests.llm.providers.questions import asked


class Opened:
    """An opener that remembers what it opened."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str | None]] = []
        self.clients: list[FakeClient] = []

    def __call__(self, name: str, api_base: str | None, options: ProviderOptions) -> Client:
        self.calls.append((name, api_base))
        client = FakeClient(lambda request: f"{name} at {api_base}")
        self.clients.append(client)
        return client


async def test_models_of_one_server_share_a_client_and_all_are_closed() -> None:
    opened = Opened()
    router = Router(openers={"openai-compatible": opened, "ollama": opened, "litellm": opened, "replay": opened})
    for name, base in [
        ("gpt-4o", None),
        ("gpt-4o-mini", None),
        ("openai/x", "http://h:1/v1"),
        ("openai/y", "http://h:1/v1"),
        ("a:1b", None),
        ("ollama/b", None),
        ("anthropic/x", None),
        ("gemini/y", None),
        ("replay/run.jsonl#a", None),
        ("replay/run.jsonl#openai/b", None),
    ]:
        for _ in range(2):
            await router.complete(asked(name, api_base=base))
    assert opened.calls == [
        ("gpt-4o", None),
        ("openai/x", "http://h:1/v1"),
        ("a:1b", None),
        ("anthropic/x", None),
        ("replay/run.jsonl#a", None),
    ]
    assert [len(client.requests) for client in opened.clients] == [4] * 5
    await router.close()
    await router.close()
    assert all(client.closed for client in opened.clients)


async def test_the_options_server_is_for_models_that_take_one() -> None:
    opened = Opened()
    options = ProviderOptions(api_base="http://h:1/v1")
    router = Router(options, openers={"openai-compatible": opened, "ollama": opened, "litellm": opened})
    await router.complete(asked("openai/x"))
    await router.complete(asked("anthropic/x"))
    assert opened.calls == [("openai/x", "http://h:1/v1"), ("anthropic/x", None)]
    await router.close()


async def test_one_of_several_models_of_a_recording_is_named_behind_its_file(tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    recorder = RecordingClient(FakeClient(lambda request: f"of {request.model}"), recording)
    for name in ("a", "openai/b"):
        await recorder.complete(asked(name))
    await recorder.close()
    router = Router()
    for name in ("a", "openai/b"):
        assert (await router.complete(asked(f"replay/{recording}#{name}"))).text == f"of {name}"
    await router.close()
