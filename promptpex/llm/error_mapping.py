"""Foreign failures as ours: one table of exception classes, one of HTTP statuses, and the words that refine both.

Classes are matched by name along the exception's method resolution order, so that no library is imported to find out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptpex.codecs.text.wording import cut
from promptpex.core.errors import (
    BadRequest,
    ContextTooSmall,
    Filtered,
    MalformedReply,
    ModelError,
    NotAuthorised,
    RateLimited,
    RetiredModel,
    TimedOut,
    Unavailable,
    UnknownModel,
)
from promptpex.core.translation import stored
from promptpex.llm.redaction import scrub

CLASSES: Mapping[str, type[ModelError]] = {
    # litellm
    "litellm.AuthenticationError": NotAuthorised,
    "litellm.PermissionDeniedError": NotAuthorised,
    "litellm.PaymentRequiredError": NotAuthorised,
    "litellm.NotFoundError": UnknownModel,
    "litellm.LiteLLMUnknownProvider": UnknownModel,
    "litellm.ContextWindowExceededError": ContextTooSmall,
    "litellm.ContentPolicyViolationError": Filtered,
    "litellm.RejectedRequestError": Filtered,
    "litellm.GuardrailRaisedException": Filtered,
    "litellm.GuardrailInterventionNormalStringError": Filtered,
    "litellm.BlockedPiiEntityError": Filtered,
    "litellm.SensitiveDataRouteException": Filtered,
    "litellm.ModifyResponseException": Filtered,
    "litellm.BadRequestError": BadRequest,
    "litellm.InvalidRequestError": BadRequest,
    "litellm.UnprocessableEntityError": BadRequest,
    "litellm.UnsupportedParamsError": BadRequest,
    "litellm.ImageFetchError": BadRequest,
    "litellm.VectorStoreSearchError": BadRequest,
    "litellm.ModelNotMappedError": UnknownModel,
    "litellm.RateLimitError": RateLimited,
    "litellm.BudgetExceededError": NotAuthorised,
    "litellm.Timeout": TimedOut,
    "litellm.ServiceUnavailableError": Unavailable,
    "litellm.BadGatewayError": Unavailable,
    "litellm.InternalServerError": Unavailable,
    "litellm.APIConnectionError": Unavailable,
    "litellm.MidStreamFallbackError": Unavailable,
    "litellm.APIError": Unavailable,
    "litellm.MockException": Unavailable,
    "litellm.OpenAIError": Unavailable,
    "litellm.APIResponseValidationError": MalformedReply,
    "litellm.JSONSchemaValidationError": MalformedReply,
    # openai, which litellm raises through
    "openai.AuthenticationError": NotAuthorised,
    "openai.PermissionDeniedError": NotAuthorised,
    "openai.NotFoundError": UnknownModel,
    "openai.BadRequestError": BadRequest,
    "openai.UnprocessableEntityError": BadRequest,
    "openai.ConflictError": Unavailable,
    "openai.RateLimitError": RateLimited,
    "openai.APITimeoutError": TimedOut,
    "openai.APIConnectionError": Unavailable,
    "openai.InternalServerError": Unavailable,
    "openai.APIResponseValidationError": MalformedReply,
    "openai.ContentFilterFinishReasonError": Filtered,
    "openai.OpenAIError": Unavailable,
    # aiohttp
    "aiohttp.ServerTimeoutError": TimedOut,
    "aiohttp.InvalidURL": BadRequest,
    "aiohttp.NonHttpUrlClientError": BadRequest,
    "aiohttp.ContentTypeError": MalformedReply,
    "aiohttp.ClientPayloadError": Unavailable,
    "aiohttp.ClientError": Unavailable,
    # httpx, beneath ollama's and openai's packages
    "httpx.TimeoutException": TimedOut,
    "httpx.UnsupportedProtocol": BadRequest,
    "httpx.InvalidURL": BadRequest,
    "httpx.HTTPError": Unavailable,
    # ollama: a RequestError is a request its client would not send, a ResponseError carries the server's status
    "ollama.RequestError": BadRequest,
    "ollama.ResponseError": Unavailable,
    "pydantic_core.ValidationError": MalformedReply,  # how ollama's package takes a reply of another form
    # llama.cpp in this process raises Python's own classes only (xllamacpp has none): RuntimeError when its server
    # cannot start or dislikes the request's JSON, ValueError when it cannot compile a template or a schema
    "xllamacpp.MemoryError": Unavailable,
    "xllamacpp.RuntimeError": BadRequest,
    "xllamacpp.ValueError": BadRequest,
    "xllamacpp.TypeError": BadRequest,
    # whatever the libraries let through
    "builtins.TimeoutError": TimedOut,
    "builtins.ConnectionError": Unavailable,
    "builtins.OSError": Unavailable,
}

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:window|length|size)"
    r"|prompt is too long|too many tokens|input is too long|reduce the length",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content_filter|content_policy|content management policy|content filtering|ResponsibleAIPolicy|safety system",
    re.IGNORECASE,
)
_RETIRED = re.compile(
    r"deprecat|retired|decommission|discontinu|sunset|no longer (?:available|supported)", re.IGNORECASE
)
_MODEL_RETIRED = re.compile(
    r"model_(?:decommissioned|retired|deprecated)"
    r"|model[^.]{0,80} (?:has been|is|was) (?:deprecated|retired|decommissioned|discontinued|sunset|withdrawn)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|model[^.]{0,80}(?:not found|does not exist|not exist|is not available|unknown)"
    r"|(?:no such|unknown|invalid) model|LLM Provider NOT provided",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"invalid_api_key|incorrect api key|api key not valid|API_KEY_INVALID|missing credentials|no api key", re.IGNORECASE
)
_NO_MONEY = re.compile(r"insufficient_quota|exceeded your current quota|billing|credit balance", re.IGNORECASE)


def from_exception(
    error: BaseException, *, model: str, where: str = "", library: str = "", retry_after: float | None = None
) -> ModelError:
    """Ours for a foreign exception, its class looked up along its bases; ``ModelError`` itself for an unknown one.

    Args:
        error: what was raised.
        model: the model as the user named it.
        where: the server, for the message.
        library: whose exception it is, where its class is one of Python's own (``xllamacpp``).
        retry_after: seconds to wait, where the provider said so.
    """
    if isinstance(error, ModelError):
        return error
    error_class = class_of(error, library=library)
    text = str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    if error_class in (BadRequest, UnknownModel, Unavailable, RateLimited, NotAuthorised):
        error_class = refined(error_class, text, status if isinstance(status, int) else None)
    return build(error_class, model=model, where=where, detail=text, retry_after=retry_after)


def class_of(error: BaseException | type[BaseException], *, library: str = "") -> type[ModelError]:
    """Our class for a foreign exception or exception class."""
    kind = error if isinstance(error, type) else type(error)
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        for name in (f"{library}.{base.__name__}", f"{root}.{base.__name__}"):
            if name in CLASSES:
                return CLASSES[name]
    return ModelError


def from_status(
    status: int, *, model: str, where: str = "", detail: str = "", retry_after: float | None = None
) -> ModelError:
    """Ours for an HTTP status that is not a success; ``detail`` is the server's own message with its error code."""
    return build(
        refined(_by_status(status), detail, status),
        model=model,
        where=where,
        detail=f"HTTP {status}: {detail}" if detail else f"HTTP {status}",
        retry_after=retry_after,
    )


def _by_status(status: int) -> type[ModelError]:
    if status in (401, 402, 403, 407):
        return NotAuthorised
    if status == 404:
        return UnknownModel
    if status == 410:
        return RetiredModel
    if status == 408:
        return TimedOut
    if status in (425, 429):
        return RateLimited
    if status >= 500 and status not in (501, 505):
        return Unavailable
    return BadRequest


def refined(error_class: type[ModelError], text: str, status: int | None = None) -> type[ModelError]:
    """``found`` made more exact by the server's error code or words; words never turn an outage into something else."""
    if error_class is RateLimited:
        return NotAuthorised if _NO_MONEY.search(text) else error_class
    if error_class is Unavailable and status is not None and status > 500:
        return error_class
    if error_class is UnknownModel or error_class is RetiredModel:
        return RetiredModel if _RETIRED.search(text) else error_class
    if _NO_KEY.search(text):
        return NotAuthorised
    if error_class is Unavailable:
        return error_class
    for pattern, kind in ((_CONTEXT, ContextTooSmall), (_FILTER, Filtered)):
        if pattern.search(text):
            return kind
    if _MODEL_RETIRED.search(text):
        return RetiredModel
    if _NO_MODEL.search(text):
        return RetiredModel if _RETIRED.search(text) else UnknownModel
    return error_class


def build(
    kind: type[ModelError], *, model: str, detail: str, where: str = "", retry_after: float | None = None
) -> ModelError:
    """An error of ``kind`` whose sentence names the model, the server, what it said, and what to do."""
    detail_shown = f"({short(detail)})"
    if retry_after:
        detail_shown = stored("{shown}, which asks to wait {seconds} s", shown=detail_shown, seconds=f"{retry_after:g}")
    sentences = SENTENCES_WITH_SERVER if where else SENTENCES
    message = sentences.get(kind, sentences[ModelError]).format(
        model=scrub(model), where=scrub(where), shown=detail_shown
    )
    return kind(message, model=model, retry_after=retry_after)


SENTENCES: Mapping[type[ModelError], str] = {
    RateLimited: stored("{model}: too many requests for the provider {shown}; wait, or lower --concurrency or --rpm."),
    TimedOut: stored("{model}: no answer in time {shown}; raise --timeout, or try when the server is less busy."),
    Unavailable: stored(
        "{model}: the server could not be reached, broke off or failed {shown}; "
        "check that the server is up and reachable, then repeat the command: what was answered is kept."
    ),
    NotAuthorised: stored(
        "{model}: the provider refused the key or the account {shown}; "
        "check the key in the environment and what it may use."
    ),
    UnknownModel: stored(
        "{model}: the provider does not know this model {shown}; "
        "check the name; `promptpex models` lists what can be reached."
    ),
    RetiredModel: stored(
        "{model}: the provider has withdrawn this model {shown}; "
        "choose another model; `promptpex models` lists what can be reached."
    ),
    ContextTooSmall: stored(
        "{model}: the prompt does not fit the model's context {shown}; "
        "shorten the prompt or the input, or use a model with a larger context."
    ),
    Filtered: stored(
        "{model}: the provider's filter withheld the answer {shown}; "
        "nothing was scored; reword the input if it should pass."
    ),
    BadRequest: stored(
        "{model}: the provider rejected the request {shown}; check the parameters after the model's name."
    ),
    MalformedReply: stored(
        "{model}: the reply is not what the API promises {shown}; "
        "check that the address is that of an OpenAI-compatible or Ollama API."
    ),
    ModelError: stored("{model}: failed {shown}; repeat the command; if it happens again, report it."),
}
"""What is said of a failure, and what to do: ``shown`` is what the server said, in brackets."""
SENTENCES_WITH_SERVER: Mapping[type[ModelError], str] = {
    RateLimited: stored(
        "{model} at {where}: too many requests for the provider {shown}; wait, or lower --concurrency or --rpm."
    ),
    TimedOut: stored(
        "{model} at {where}: no answer in time {shown}; raise --timeout, or try when the server is less busy."
    ),
    Unavailable: stored(
        "{model} at {where}: the server could not be reached, broke off or failed {shown}; "
        "check that the server is up and reachable, then repeat the command: what was answered is kept."
    ),
    NotAuthorised: stored(
        "{model} at {where}: the provider refused the key or the account {shown}; "
        "check the key in the environment and what it may use."
    ),
    UnknownModel: stored(
        "{model} at {where}: the provider does not know this model {shown}; "
        "check the name; `promptpex models` lists what can be reached."
    ),
    RetiredModel: stored(
        "{model} at {where}: the provider has withdrawn this model {shown}; "
        "choose another model; `promptpex models` lists what can be reached."
    ),
    ContextTooSmall: stored(
        "{model} at {where}: the prompt does not fit the model's context {shown}; "
        "shorten the prompt or the input, or use a model with a larger context."
    ),
    Filtered: stored(
        "{model} at {where}: the provider's filter withheld the answer {shown}; "
        "nothing was scored; reword the input if it should pass."
    ),
    BadRequest: stored(
        "{model} at {where}: the provider rejected the request {shown}; check the parameters after the model's name."
    ),
    MalformedReply: stored(
        "{model} at {where}: the reply is not what the API promises {shown}; "
        "check that the address is that of an OpenAI-compatible or Ollama API."
    ),
    ModelError: stored("{model} at {where}: failed {shown}; repeat the command; if it happens again, report it."),
}


def short(text: str, limit: int = 300) -> str:
    """``text`` on one line, keys hidden, cut to ``limit`` characters, without the full stop at its end."""
    line = " ".join(scrub(text).split())
    line = cut(line, limit)
    return line.rstrip(".")
