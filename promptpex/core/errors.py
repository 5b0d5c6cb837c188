"""The one error tree of promptpex, with the exit code that each branch gives the command line.

::

    PromptpexError                       2   one sentence: what is wrong, where, what to do
    ├── InputError                       2   a file, a flag or a setting that cannot be used
    │   ├── PromptFileError              2   the prompt file
    │   ├── SpecError                    2   the spec file
    │   ├── SuiteError                   2   the case file
    │   ├── NothingChosen                2   a choice of cases that leaves none
    │   ├── GradeError                   2   the file of people's grades
    │   ├── CheckError                   2   an assertion that cannot be used as written
    │   ├── SynthesisError               2   a prompt's history, or the folder of its candidates
    │   ├── ConfigError                  2   settings, environment, flags
    │   └── RunError                     2   a run folder
    ├── StoreError                       2   the response store
    │   ├── StoreDamaged                 2   not a store, or one whose file is broken
    │   ├── StoreLocked                  2   another program holds a lock on it
    │   ├── StoreReadOnly                2   it cannot be created or written
    │   ├── StoreFull                    2   no space left on the disk
    │   ├── StoreRefused                 2   its server lets the user not in, or not do what is needed
    │   └── StoreUnreachable             2   its server does not answer
    ├── ModelError                       3   a model could not answer; ``reason`` says why
    │   ├── RateLimited                  3   retryable
    │   ├── TimedOut                     3   retryable
    │   │   └── DeadlinePassed           3   the run's time was over before it was sent
    │   │       └── CutByDeadline        3   the same, but it had been sent
    │   ├── Unavailable                  3   retryable
    │   ├── NotAuthorised                3
    │   ├── UnknownModel                 3
    │   ├── RetiredModel                 3
    │   ├── ContextTooSmall              3   the prompt does not fit, or the server cut it silently
    │   ├── Filtered                     3   the provider refused to answer
    │   ├── BadRequest                   3
    │   ├── BudgetExceeded               3   nothing was sent
    │   │   └── CutByBudget              3   it had been sent, and could not be sent again
    │   ├── EmptyReply                   3
    │   ├── TruncatedReply               3
    │   ├── MalformedReply               3   the reply is kept in ``reply``
    │   │   └── GarbledReply             3   the response is cut off or not JSON; retryable
    │   ├── NotRecorded                  3   a recording holds no answer to this request
    │   └── Stopped                      3   the run is being stopped; nothing was sent
    │       └── CutByStop                3   the same, but it had been sent
    ├── EngineError                      2   a process that jobs ran in died, or a job cannot be sent to it
    ├── GateFailed                       1   a limit that the user set was passed
    ├── GateCannotTell                   4   a gate could not tell, and that is to fail
    └── Interrupted                    130   Ctrl-C
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar


class PromptpexError(Exception):
    """Something the user can act on. ``str(error)`` is one sentence; ``exit_code`` is for the shell."""

    exit_code: ClassVar[int] = 2


class InputError(PromptpexError):
    """Bad input, with its place where that is known."""

    def __init__(self, message: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = Path(path) if path is not None else None
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        if self.path is None:
            return self.message
        place = f"{self.path}:{self.line}" if self.line is not None else str(self.path)
        return f"{place}: {self.message}"


class PromptFileError(InputError):
    """A prompt file that cannot be read as a prompt."""


class SpecError(InputError):
    """A spec file that cannot be used."""


class SuiteError(InputError):
    """A case file that cannot be used."""


class NothingChosen(InputError):
    """A choice of cases, by id, rule or last result, that leaves none of a prompt."""


class GradeError(InputError):
    """A file of grades that cannot be read or written."""


class CheckError(InputError):
    """An assertion that cannot be used as written: unknown kind, bad value, pattern that does not compile."""


class SynthesisError(InputError):
    """A history of a prompt that cannot be read, or a folder of candidate assertions that cannot be used."""


class ConfigError(InputError):
    """A setting, environment variable or flag that cannot be used."""


class RunError(InputError):
    """A run folder that is missing, incomplete or damaged."""


class StoreError(PromptpexError):
    """The response store is damaged, locked, read-only or out of space."""


class StoreDamaged(StoreError):
    """The file is not a store, or it is broken."""


class StoreLocked(StoreError):
    """Another program holds a lock on the store."""


class StoreReadOnly(StoreError):
    """The store cannot be created, opened or written."""


class StoreFull(StoreError):
    """There is no space left where the store is."""


class StoreRefused(StoreError):
    """The store's server does not let the user in, or not do what is needed."""


class StoreUnreachable(StoreError):
    """The store's server does not answer."""


class ModelError(PromptpexError):
    """A model that could not answer."""

    exit_code: ClassVar[int] = 3
    reason: ClassVar[str] = "error"
    retryable: bool = False
    model_wide: ClassVar[bool] = False

    def __init__(
        self, message: str, *, model: str = "", retry_after: float | None = None, reply: str | None = None
    ) -> None:
        self.message = message
        self.model = model
        self.retry_after = retry_after
        self.reply = reply
        super().__init__(message)


class RateLimited(ModelError):
    """Too many requests; the provider may have said when to try again."""

    reason: ClassVar[str] = "rate-limited"
    retryable: bool = True


class TimedOut(ModelError):
    """No answer within the deadline of the call."""

    reason: ClassVar[str] = "timed-out"
    retryable: bool = True


class DeadlinePassed(TimedOut):
    """The run's time was over; nothing was sent."""

    reason: ClassVar[str] = "deadline"
    retryable: bool = False


class CutByDeadline(DeadlinePassed):
    """It was sent, and the run's time was over before a usable answer came."""

    reason: ClassVar[str] = "cut-by-deadline"


class Unavailable(ModelError):
    """The server cannot be reached, closed the connection, or answered with an error of its own."""

    reason: ClassVar[str] = "unavailable"
    retryable: bool = True


class NotAuthorised(ModelError):
    """No key, a wrong key, or a key without the right to this model."""

    reason: ClassVar[str] = "not-authorised"
    model_wide: ClassVar[bool] = True


class UnknownModel(ModelError):
    """No provider knows this name, or the model is not pulled."""

    reason: ClassVar[str] = "unknown-model"
    model_wide: ClassVar[bool] = True


class RetiredModel(ModelError):
    """The provider has withdrawn the model."""

    reason: ClassVar[str] = "retired-model"
    model_wide: ClassVar[bool] = True


class ContextTooSmall(ModelError):
    """The prompt does not fit the model's context, or was cut to fit."""

    reason: ClassVar[str] = "context-too-small"


class Filtered(ModelError):
    """The provider's filter withheld the answer, or the model declined through the API's own field."""

    reason: ClassVar[str] = "filtered"


class BadRequest(ModelError):
    """The provider rejects the request as it stands."""

    reason: ClassVar[str] = "bad-request"


class BudgetExceeded(ModelError):
    """The run's budget is spent; nothing was sent."""

    reason: ClassVar[str] = "budget"
    model_wide: ClassVar[bool] = True


class CutByBudget(BudgetExceeded):
    """It was sent and failed, and the budget was spent before it could be sent again."""

    reason: ClassVar[str] = "cut-by-budget"


class EmptyReply(ModelError):
    """The model answered with nothing."""

    reason: ClassVar[str] = "empty"


class TruncatedReply(ModelError):
    """The answer was cut off at the token limit."""

    reason: ClassVar[str] = "truncated"


class MalformedReply(ModelError):
    """A reply that is not what was asked for, even after one repair turn; ``reply`` keeps it."""

    reason: ClassVar[str] = "malformed"


class GarbledReply(MalformedReply):
    """The server's response is cut off or not JSON; a retry may get it whole."""

    retryable: bool = True


class NotRecorded(ModelError):
    """A recording that holds no answer to this request."""

    reason: ClassVar[str] = "not-recorded"


class Stopped(ModelError):
    """The user is stopping the run; nothing was sent."""

    reason: ClassVar[str] = "interrupted"
    model_wide: ClassVar[bool] = True


class CutByStop(Stopped):
    """It was sent, and the run was stopped before a usable answer came."""

    reason: ClassVar[str] = "cut-by-stop"


RUN_ENDED = (DeadlinePassed, BudgetExceeded, Stopped)
"""What ends a run before all is asked; whatever was not sent by then says nothing about its model."""


def once_sent(ended: ModelError, message: str) -> ModelError:
    """The error of a request that had been sent when the run ended in this way."""
    cut: dict[type[ModelError], type[ModelError]] = {
        DeadlinePassed: CutByDeadline,
        BudgetExceeded: CutByBudget,
        Stopped: CutByStop,
    }
    return cut.get(type(ended), type(ended))(message, model=ended.model, reply=ended.reply)


class EngineError(PromptpexError):
    """A process that jobs ran in died, or a job cannot be sent to it."""


class GateFailed(PromptpexError):
    """A limit that the user set was passed."""

    exit_code: ClassVar[int] = 1


class GateCannotTell(PromptpexError):
    """A gate could not tell, and the user wants that to fail."""

    exit_code: ClassVar[int] = 4


class Interrupted(PromptpexError):
    """The user stopped the run; what was answered is kept."""

    exit_code: ClassVar[int] = 130
