"""Keys never reach what people read."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Completion
from promptpex.llm.redaction import HIDDEN, scrub, without_own_keys


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcDEF0123456789xyz",
        "Authorization: Bearer abcdefghijklmnop1234",
        '{"api_key": "planted-value-000"}',
        "https://host/v1?api_key=planted-value-000&x=1",
        "http://me:planted-value-000@host/v1",
        "hf_abcdefghijklmnopqrstuv",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij",
    ],
)
def test_shapes_of_keys_are_hidden(text: str) -> None:
    clean = scrub(text)
    assert HIDDEN in clean
    for part in ("abcDEF", "abcdefghij", "planted-value", "AKIAIOS", "AIzaSy"):
        assert part not in clean


def test_values_of_the_environment_are_hidden_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VENDOR_API_KEY", "plain9word")
    monkeypatch.setenv("SERVICE_PASSWORD", "correct-horse-battery")
    assert scrub("x plain9word y correct-horse-battery z") == f"x {HIDDEN} y {HIDDEN} z"


def test_ordinary_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_MODE", "production")
    monkeypatch.setenv("KEYBOARD", "en")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/user/1000/ssh-agent")
    text = "production en /run/user/1000/ssh-agent risk-free task-force basic auth, the bearer of news; max_tokens=200"
    assert scrub(text) == text


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_planted_key_never_survives(before: str, after: str) -> None:
    key = "sk-planted0123456789planted"
    assert key not in scrub(f"{before} {key} {after}")


def test_a_short_key_is_hidden_where_its_variable_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_API_KEY", "k3y-77")
    monkeypatch.setenv("TOKEN_MODE", "mode-7")
    assert scrub("sent k3y-77 in mode-7") == f"sent {HIDDEN} in mode-7"
    monkeypatch.setenv("PROMPTPEX_API_KEY", "secret")
    assert scrub("no secret") == "no secret", "a common word is not blanked"


def test_an_answer_that_is_nothing_but_a_short_key_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMEBODYS_API_KEY", "ab12cd")
    assert without_own_keys(Completion(text="ab12cd")).text == "[hidden]"
    assert without_own_keys(Completion(text="ab12c")).text == "ab12c"


@pytest.mark.parametrize(
    "written",
    [
        lambda key: "".join(f"\\u{ord(letter):04X}" for letter in key),
        lambda key: json.dumps(key)[1:-1].replace("g", "\\u0067", 1),
        lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    ],
)
def test_a_key_is_hidden_as_json_may_write_it(monkeypatch: pytest.MonkeyPatch, written: Callable[[str], str]) -> None:
    key = 'gw/PLANTED+"token"==22'
    monkeypatch.setenv("CORP_GATEWAY_TOKEN", key)
    reply = f'{{"reason": "asked with {written(key)}, C:\\\\temp", "verdict": "pass"}}'
    assert key in json.loads(reply)["reason"]
    hidden = without_own_keys(Completion(text=reply)).text
    assert json.loads(hidden) == {"reason": f"asked with {HIDDEN}, C:\\temp", "verdict": "pass"}
