"""One exchange with a server: whatever it does, a value or one of our errors."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import BadRequest, ConfigError, MalformedReply, ModelError, TimedOut, Unavailable
from promptpex.llm.providers.http import (
    JsonPoster,
    checked_base,
    encoded,
    error_detail,
    parsed,
    proxy_for,
    refusal,
    retry_after_s,
)
from tests.llm.providers.questions import closed_port
from tests.servers import ScriptedServer, Step


async def _posted(server: ScriptedServer, *, timeout_s: float = 10.0, max_bytes: int = 100_000) -> Any:
    poster = JsonPoster(server.url, timeout_s=timeout_s, max_bytes=max_bytes)
    try:
        return (await poster.post("/x", {"a": 1}, model="m")).payload
    finally:
        await poster.close()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step(b'{"half": '), MalformedReply),
        (Step(b""), MalformedReply),
        (Step(b"<html>welcome</html>", headers={"Content-Type": "text/html"}), MalformedReply),
        (Step(b"[" * 200_000), MalformedReply),
        (Step(b"\xff\xfe\x00"), MalformedReply),
        (Step(b'"' + b"x" * 200_000 + b'"'), MalformedReply),
        (Step(b'{"a": 1}', drop=0), Unavailable),
        (Step(b'{"a": 1}', drop=3), Unavailable),
        (Step(b'{"a": 1}', declared=100), Unavailable),
        (Step(b"{}", delay_s=5), TimedOut),
        (Step(b'{"a": 1}' + b" " * 100, drip_s=0.3, drip_bytes=1), TimedOut),
        (Step(b"{}", status=302, headers={"Location": "http://elsewhere.example/?key=1"}), BadRequest),
        (Step(b"{}", status=204), ModelError),
    ],
)
async def test_whatever_goes_wrong_is_ours_and_asked_once(
    scripted: ScriptedServer, step: Step, expected: type[ModelError]
) -> None:
    scripted.steps = [step]
    with pytest.raises(expected) as caught:
        await _posted(scripted, timeout_s=0.7)
    assert scripted.count == 1
    assert "m at http://127.0.0.1" in str(caught.value)
    assert caught.value.model == "m"


async def test_a_compressed_bomb_is_not_unpacked(scripted: ScriptedServer) -> None:
    bomb = gzip.compress(b'"' + b"x" * 5_000_000 + b'"')
    scripted.steps = [Step(bomb, headers={"Content-Encoding": "gzip"})]
    with pytest.raises(MalformedReply, match="larger than"):
        await _posted(scripted)


async def test_a_refused_connection_and_an_unknown_host() -> None:
    for url in (f"http://127.0.0.1:{closed_port()}", "http://no-such-host.invalid"):
        poster = JsonPoster(url, timeout_s=5)
        with pytest.raises(Unavailable):
            await poster.post("/x", {}, model="m")
        await poster.close()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:10 GMT"}, 10.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:27:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 99 Oct 2026"}, None),
        ({"retry-after-ms": "250", "Retry-After": "7"}, 0.25),
    ],
)
def test_retry_after(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, datetime(2026, 10, 21, 7, 28, tzinfo=UTC)) == expected


@given(st.text(max_size=40))
def test_any_retry_after_is_seconds_or_nothing(text: str) -> None:
    seconds = retry_after_s({"Retry-After": text})
    assert seconds is None or seconds >= 0


@given(
    st.binary(max_size=200) | st.builds(lambda value: json.dumps({"error": value}).encode(), st.text() | st.integers())
)
def test_any_error_reply_has_some_words(raw: bytes) -> None:
    assert isinstance(error_detail(raw), str)


@pytest.mark.parametrize("location", ["http://[::1", "http://[a]/", "http://\u2100.com", "", "//"])
def test_a_redirect_to_no_address_is_refused_as_any(location: str) -> None:
    error = refusal(302, {"Location": location}, b"", model="m", where="w")
    assert isinstance(error, BadRequest)
    assert "is not followed" in str(error)


def test_what_cannot_be_sent_is_a_bad_request() -> None:
    assert json.loads(encoded({"a": "x\ud800"}, "m")) == {"a": "x\ufffd"}
    for value in (float("nan"), object()):
        with pytest.raises(BadRequest, match="m: a parameter"):
            encoded({"a": value}, "m")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        (" https://host ", "https://host"),
        ("localhost:8000", "http://localhost:8000"),
    ],
)
def test_base_urls_have_one_form(url: str, expected: str) -> None:
    assert checked_base(url) == expected


@pytest.mark.parametrize(
    "url", ["", "ftp://h", "http://", "http://u:secretsecret@h", "http://h?k=v", "http://h:99999", "http://[::1"]
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_base(url)
    assert "secretsecret" not in str(caught.value)


def test_proxies_are_the_users_and_never_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for("https://api.example") is None
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    assert proxy_for("https://api.example") == "http://proxy.example:3128"
    assert proxy_for("https://a.inside.example") is None
    for url in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"):
        assert proxy_for(url) is None


@pytest.mark.parametrize("piece", [b"{},", b"[],", b"1,", b'{"a":', b"[["])
def test_a_reply_of_nothing_but_values_is_not_read(piece: bytes) -> None:
    with pytest.raises(MalformedReply, match="2,000,000 values"):
        parsed(b"[" + piece * 2_000_001, {}, model="m", where="w")


def test_a_long_text_and_many_log_probabilities_are_read() -> None:
    from promptpex.llm.providers.http import MAX_REPLY_BYTES

    text = json.dumps({"text": "words, and more words. " * 50_000}).encode()
    assert parsed(text, {}, model="m", where="w") == {"text": "words, and more words. " * 50_000}
    token = {"token": "a", "logprob": -0.1, "top_logprobs": [{"token": "b", "logprob": -1.5}] * 20}
    logged = json.dumps([token] * 4096).encode()
    assert len(logged) < MAX_REPLY_BYTES
    assert parsed(logged, {}, model="m", where="w") == [token] * 4096
