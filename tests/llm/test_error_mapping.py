"""Foreign failures as ours: no class of the libraries we use is left out."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import (
    BadRequest,
    ContextTooSmall,
    Filtered,
    ModelError,
    NotAuthorised,
    RateLimited,
    RetiredModel,
    TimedOut,
    Unavailable,
    UnknownModel,
)
from promptpex.llm.error_mapping import SENTENCES, class_of, from_exception, from_status


def _classes(module: ModuleType) -> list[type[BaseException]]:
    classes = [value for _, value in inspect.getmembers(module, inspect.isclass) if issubclass(value, BaseException)]
    return [each for each in classes if each.__module__.partition(".")[0] == module.__name__.partition(".")[0]]


@pytest.mark.slow
@pytest.mark.litellm
def test_every_class_of_litellm_is_mapped() -> None:
    """By its own name or by that of its base: new versions add subclasses."""
    from promptpex.llm.providers.litellm import loaded

    litellm = loaded()
    classes = {*_classes(litellm.exceptions), *_classes(litellm)}
    own = [cls for cls in classes if cls.__module__ == "litellm.exceptions"]
    assert len(own) > 20
    assert [cls for cls in own if class_of(cls) is ModelError] == []


@pytest.mark.slow
def test_every_class_of_openai_is_mapped() -> None:
    import openai

    classes = [cls for cls in _classes(openai) if issubclass(cls, openai.OpenAIError)]
    assert len(classes) > 10
    assert [cls for cls in classes if class_of(cls) is ModelError] == []


def test_every_class_of_ollama_is_mapped() -> None:
    import ollama

    classes = _classes(ollama)
    assert {cls.__name__ for cls in classes} >= {"RequestError", "ResponseError"}
    assert [cls for cls in classes if class_of(cls) is ModelError] == []


def test_every_class_of_aiohttp_and_httpx_is_mapped() -> None:
    import aiohttp
    import httpx

    clients = [cls for cls in _classes(aiohttp) if issubclass(cls, aiohttp.ClientError)]
    transports = [cls for cls in _classes(httpx) if issubclass(cls, (httpx.HTTPError, httpx.InvalidURL))]
    assert len(clients) > 10
    assert len(transports) > 10
    assert [cls for cls in (*clients, *transports) if class_of(cls) is ModelError] == []
    assert class_of(aiohttp.ServerTimeoutError) is TimedOut
    assert class_of(aiohttp.ClientConnectorError) is Unavailable
    assert class_of(httpx.ReadTimeout) is TimedOut


@pytest.mark.parametrize(
    ("status", "detail", "expected"),
    [
        (400, "bad", BadRequest),
        (400, "This model's maximum context length is 8192 tokens [context_length_exceeded]", ContextTooSmall),
        (400, "request (9 tokens) exceeds the available context size [exceed_context_size_error]", ContextTooSmall),
        (400, "The response was filtered [content_filter]", Filtered),
        (400, "invalid model 'x' [invalid_request]", UnknownModel),
        (400, "API key not valid. Please pass a valid API key.", NotAuthorised),
        (401, "", NotAuthorised),
        (402, "pay", NotAuthorised),
        (403, "no", NotAuthorised),
        (404, "The model `x` does not exist [model_not_found]", UnknownModel),
        (404, "The model `x` has been deprecated, use y [model_not_found]", RetiredModel),
        (400, "The model `x` has been decommissioned [model_decommissioned]", RetiredModel),
        (400, "The parameter temperature is deprecated for this model", BadRequest),
        (410, "gone", RetiredModel),
        (408, "", TimedOut),
        (413, "large", BadRequest),
        (422, "", BadRequest),
        (429, "slow down", RateLimited),
        (429, "You exceeded your current quota [insufficient_quota]", NotAuthorised),
        (500, "", Unavailable),
        (502, "<html>maximum context length</html>", Unavailable),
        (503, "model not found in this replica", Unavailable),
        (501, "", BadRequest),
        (529, "overloaded", Unavailable),
    ],
)
def test_statuses(status: int, detail: str, expected: type[ModelError]) -> None:
    error = from_status(status, model="m", where="http://h", detail=detail)
    assert type(error) is expected
    assert error.model == "m"
    assert "m at http://h" in str(error)
    assert SENTENCES[expected].partition("{shown}")[2] in str(error)


@given(st.integers(300, 999), st.text(max_size=100), st.text(max_size=20))
def test_any_status_and_words_give_one_line_of_ours(status: int, detail: str, model: str) -> None:
    error = from_status(status, model=model, detail=detail)
    assert isinstance(error, ModelError)
    assert len(str(error)) < 600 + len(model)


def test_what_the_provider_asks_to_wait_is_kept() -> None:
    error = from_status(429, model="m", retry_after=2.5)
    assert error.retry_after == 2.5
    assert "2.5 s" in str(error)


def test_a_foreign_message_is_scrubbed_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X_API_KEY", "plantedkey123")
    error = from_exception(OSError("sk-abcdefghij0123456789 plantedkey123\n" + "x" * 5000), model="m")
    assert isinstance(error, Unavailable)
    assert "sk-abc" not in str(error)
    assert "plantedkey" not in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 600


def test_an_unknown_class_is_a_model_error_that_names_it() -> None:
    class Strange(Exception):
        pass

    error = from_exception(Strange(), model="m")
    assert type(error) is ModelError
    assert "Strange" in str(error)
