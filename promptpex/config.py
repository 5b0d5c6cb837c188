"""Settings: defaults, effort presets, files, ``PROMPTPEX_*`` in the environment, flags, each over the last.

Two files: the user's own (``settings.toml`` in the user's configuration folder), and the project's over it. The
project's may come from a stranger: a server that it alone names is sent no key (``Resolved.by_user``).

What somebody set is never changed by a preset: explicit beats preset beats default. API keys have no place here; the
providers read them from the environment under their own names.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, ValidationError, field_validator

from promptpex.codecs.anchors import anchor, anchored, refuse_downloads
from promptpex.codecs.settings_files import PROJECT, find_file, not_obeyed, user_file
from promptpex.codecs.settings_wording import NO_KEYS, dollars, flag_of, in_words, is_cut, line_of, near_name, texts_in
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import ConfigError
from promptpex.core.records import Record
from promptpex.judging import modes
from promptpex.llm.names import check_label
from promptpex.llm.redaction import holds_key, holds_key_field, names_key, scrub

PREFIX = "PROMPTPEX_"
SWITCHES = ("no_config", "trust_settings")
"""About settings files themselves, so that only flags and the environment say them."""

OTHER_VARIABLES = frozenset({"config", "debug", "api_key", *SWITCHES})
"""Variables with our prefix that are no settings: the file, tracebacks, the key of the user's own server."""

LABELS = ("models", "author", "judge", "expected", "against")
"""Settings that name models, with their parameters."""

__all__ = ["EFFORT", "Price", "Resolved", "ScenarioSetting", "Settings", "find_file", "load", "with_effort"]

Effort = Literal["min", "low", "medium", "high"]

EFFORT: dict[str, dict[str, Any]] = {
    "min": {
        "max_rules": 5, "cases_per_rule": 1, "inverse_cases": 0, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": False, "verify": False,
    },
    "low": {
        "max_rules": 10, "cases_per_rule": 1, "inverse_cases": 1, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": False, "verify": False,
    },
    "medium": {
        "max_rules": 15, "cases_per_rule": 2, "inverse_cases": 2, "rounds": 1, "expansion": 0, "repeats": 2,
        "validity": True, "checks": True, "verify": False,
    },
    "high": {
        "max_rules": 20, "cases_per_rule": 3, "inverse_cases": 3, "rounds": 2, "expansion": 1, "repeats": 3,
        "validity": True, "checks": True, "verify": True,
    },
}  # fmt: skip
"""What each effort sets where nobody else did. From one row to the next nothing ever gets less."""

_SHAPING = (
    "temperature", "max_tokens", "seed", "repeats", "judge_mode", "judge_sees_input", "judge_all", "judge_repeat",
    "judge_confidence", "quorum", "instructions",
)  # fmt: skip
_STOPPING = ("until_decided", "decide_at", "tolerance", "confidence", "weights")
"""They decide which questions are asked at all where a run may stop early, and nothing elsewhere."""


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


class ScenarioSetting(Record):
    """A named set of extra input constraints, and of variables with a fixed value."""

    name: str = Field(min_length=1)
    constraints: tuple[str, ...] = ()
    fixed: dict[str, Any] = Field(default_factory=dict)


class Settings(Record):
    """All settings, resolved. Names are those of the flags, the file's keys and the environment's variables.

    Attributes:
        models: models under test. author: writes specs and cases. judge: grade what no check decides.
        api_base: base URL of an OpenAI-compatible server.
        temperature, max_tokens, seed: of requests to models under test.
        repeats: times each case is asked.
        concurrency, rpm, tpm: requests in flight, requests and tokens a minute, for one provider.
        timeout, deadline: seconds for a call with its retries, and for the run.
        max_attempts: times a request is tried.
        max_cost, max_requests, max_total_tokens: the run's budget, authors and judges included.
        results, store, record: the folder of the runs, the response store, a file to record all replies in. As a
            settings file has them they are relative to it and inside its folder; by default the first two are beside
            it, or at the top of the prompt's project.
        fresh: ask everything anew; the answers take the place of those in the store.
        prices: US dollars per million tokens, per model, over the known ones.
        judge_mode: what judges decide on, by the name of the mode: ``rules``, each on its own; ``prompt``, as a whole.
        judge_sees_input, judge_all: show the judge the inputs; judge also what code decides.
        judge_confidence: ask judges for log-probabilities, to tell how sure they were.
        judge_repeat: times each judge is asked. quorum: how several judges agree.
        effort: preset for what nobody set.
        max_rules, cases_per_rule, inverse_cases, rounds, expansion, validity, checks: how much is extracted, generated
            and verified.
        samples: real inputs given to the author as examples, or the files that hold them.
        expected: reference model that expected outputs are taken from.
        scenarios: each rule is put to the test in each. instructions: notes for each stage, by its name.
        language: BCP 47 tag of the language that generated inputs have to be in; None = the prompt's.
        verify: whether a model is asked if the prompt says what a rule says, where the words do not settle it.
        embedded_threads, embedded_slots, embedded_model: CPU threads (None: by the machine), requests side by side, and
            the GGUF file of the embedded model.
        confidence: level of intervals. tolerance: loss against the best, or against the model ``against``, that one is
            ready to accept, as a share.
        weights: how many times each case counts: whole numbers for ``rule`` and ``inverse`` cases, or for a rule's id;
            a case that aims at no rule counts once.
        until_decided: look at a growing part of the suite, and stop asking a model once its place is settled, or, with
            ``decide_at``, once it is known on which side of that non-compliance it lies.
        fail_over: highest non-compliance before the command exits with 1.
        allow_missing_models: whether a command may exit with 0 when a model gave not one usable answer, if another
            did.
        allow_self_judging: whether a model may judge its own outputs without a warning.
        pull: whether missing Ollama models are pulled.
    """

    models: tuple[str, ...] = ()
    author: str | None = None
    judge: tuple[str, ...] = ()
    api_base: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int = Field(default=1024, ge=1)
    seed: int = 0
    repeats: int = Field(default=1, ge=1)
    concurrency: int = Field(default=32, ge=1)
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=300.0, gt=0)
    deadline: float | None = Field(default=None, gt=0)
    max_attempts: int = Field(default=5, ge=1)
    max_cost: float | None = Field(default=None, ge=0)
    max_requests: int | None = Field(default=None, ge=0)
    max_total_tokens: int | None = Field(default=None, ge=0)
    results: str = "results"
    store: str = ".promptpex/store.db"
    record: str | None = None
    fresh: bool = False
    prices: dict[str, Price] = Field(default_factory=dict)
    judge_mode: str = modes.DEFAULT
    judge_sees_input: bool = False
    judge_all: bool = False
    judge_repeat: int = Field(default=1, ge=1)
    judge_confidence: bool = False
    quorum: Literal["majority", "unanimous"] = "majority"
    effort: Effort | None = None
    max_rules: int = Field(default=10, ge=1)
    cases_per_rule: int = Field(default=2, ge=0)
    inverse_cases: int = Field(default=1, ge=0)
    rounds: int = Field(default=1, ge=0)
    expansion: int = Field(default=0, ge=0)
    validity: bool = False
    checks: bool = True
    verify: bool = False
    scenarios: tuple[ScenarioSetting, ...] = ()
    samples: tuple[Any, ...] = ()
    expected: str | None = None
    instructions: dict[str, str] = Field(default_factory=dict)
    language: str | None = None
    embedded_threads: int | None = Field(default=None, ge=1)
    embedded_slots: int = Field(default=1, ge=1)
    embedded_model: str | None = None
    confidence: float = Field(default=0.95, gt=0, lt=1)
    tolerance: float = Field(default=0.05, gt=0, lt=1)
    against: str | None = None
    weights: dict[str, Annotated[int, Field(ge=0, le=1000)]] = Field(default_factory=dict)
    until_decided: bool = False
    decide_at: float | None = Field(default=None, ge=0, le=1)
    fail_over: float | None = Field(default=None, ge=0, le=1)
    allow_missing_models: bool = False
    allow_self_judging: bool = False
    pull: bool = False

    @field_validator("judge_mode")
    @classmethod
    def _mode(cls, value: str) -> str:
        if value not in modes.names():
            raise ValueError(f"there is no judge mode {value!r}; they are {', '.join(modes.names())}")
        return value

    @field_validator("author", "expected", "against")
    @classmethod
    def _named(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("it names no model")
        return value

    @field_validator("models", "judge", mode="before")
    @classmethod
    def _from_one_text(cls, value: Any) -> Any:
        if isinstance(value, str) and not value.replace(",", "").strip():
            raise ValueError("it names no model")
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("record", "embedded_model", "results", "store", mode="before")
    @classmethod
    def _from_path(cls, value: Any) -> Any:
        return str(value) if isinstance(value, Path) else value

    @field_validator("tolerance", "decide_at", "confidence", "fail_over", mode="before")
    @classmethod
    def _from_percent(cls, value: Any) -> Any:
        """``5%`` is 0.05."""
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", value) if isinstance(value, str) else None
        return float(found[1]) / 100 if found else value

    @field_validator("weights", mode="before")
    @classmethod
    def _weights(cls, value: Any) -> Any:
        """``rule=3,inverse=1`` as a table."""
        if not isinstance(value, str):
            return value
        pairs = [part.rpartition("=") for part in value.split(",") if part.strip()]
        if not all(name.strip() and times.strip().isdecimal() for name, _, times in pairs):
            raise ValueError("weights are whole numbers by kind or rule, such as rule=3,inverse=1")
        return {name.strip(): int(times) for name, _, times in pairs}

    @field_validator("prices", mode="before")
    @classmethod
    def _prices(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: Price(*dollars(name, said)) for name, said in value.items()}

    def to_dict(self) -> dict[str, Any]:
        """All settings as JSON-ready data, those at their default too: a manifest leaves nothing to guess."""
        return self.model_dump(mode="json")

    def shaping(self) -> dict[str, Any]:
        """The settings that shape what is asked or how it is judged: two runs that differ in one are two runs."""
        everything = self.to_dict()
        names = (*_SHAPING, *(_STOPPING if self.until_decided else ()))
        return {name: everything[name] for name in names}


class Resolved(Record):
    """The settings; for each, its origin: ``default``, ``preset low``, ``user file ...``, ``file ...``, ``environment``
    or ``flag``.

    ``trusted``: whether the user trusts the project's file as the own flags. ``unattended``: that nobody watches, since
    the environment has ``CI`` set, as build servers do.
    """

    settings: Settings
    origins: dict[str, str]
    warnings: tuple[str, ...] = ()
    file: str | None = None
    trusted: bool = False
    unattended: bool = False

    def by_user(self, name: str) -> bool:
        """Whether the user said this setting: by flag, environment or the user's own file, or by trusting the
        project's file."""
        return self.trusted or not self.origins[name].startswith("file")


class _Layer(NamedTuple):
    """Settings from one place; ``where`` names it in ``origins``, ``place`` makes the sentence about one of them."""

    where: str
    values: dict[str, Any]
    path: Path | None = None
    text: str = ""


def load(flags: Mapping[str, Any], *, start: Path, env: Mapping[str, str]) -> Resolved:
    """The settings in force.

    Args:
        flags: what the command line gave, by the settings' names; None counts as not given. ``config`` names the file;
            ``no_config`` reads none, the user's neither; ``trust_settings`` lets keys go to servers that it names.
        start: the folder from which upward a settings file is looked for.
        env: the environment.

    Raises:
        ConfigError: an unknown setting, a value of the wrong kind, a key among the settings, a file that cannot be
            read; with file and line, or the name of the variable or flag.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    alone, trusted = (_switched(name, given.pop(name, None), env) for name in SWITCHES)
    named = given.pop("config", None) or env.get(f"{PREFIX}CONFIG") or None
    if alone and named:
        raise ConfigError(f"a settings file is named ({named}), and none is to be read; leave out one of the two")
    warnings: list[str] = []
    files = [] if alone else [_user_layer(warnings), _file_layer(named, start, warnings)]
    layers = [*files, _env_layer(env, warnings), _Layer("flag", given)]
    _refuse([problem for layer in layers for problem in _problems(layer)])
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for layer in layers:
        values.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.where))
    _preset(values, origins)
    project = files[-1] if files else _Layer("file", {})
    values.update(_paths(project, layers[len(files) :], values, start, named=bool(named), trusted=trusted))
    path = project.path
    return Resolved(
        settings=Settings.model_validate(values),
        origins=origins,
        warnings=tuple(warnings),
        file=str(path) if path is not None else None,
        trusted=trusted,
        unattended=env.get("CI", "").strip().lower() not in ("", "0", "false", "no"),
    )


def _paths(
    file: _Layer, over: Sequence[_Layer], values: Mapping[str, Any], start: Path, *, named: bool, trusted: bool
) -> dict[str, str]:
    """The paths that nobody set, and those of the project's file where no flag and no variable is over them; what that
    file would have downloaded is refused unless it is trusted."""
    cwd = Path.cwd()
    set_here = dict(file.values)
    for layer in over:
        set_here = {name: value for name, value in set_here.items() if name not in layer.values}
    unset = {name: str(Settings.model_fields[name].default) for name in ("results", "store") if name not in values}
    folder = file.path.resolve().parent if file.path is not None else None
    home = folder if folder is not None and not named else anchor(start, cwd)

    def refuse(name: str, message: str) -> ConfigError:
        return _fail(file if name in set_here else _Layer("default", {}), name, message)

    if not trusted:
        refuse_downloads(set_here, refuse)
    found = anchored({}, unset, top=home, cwd=cwd, refuse=refuse)
    return found if folder is None else {**found, **anchored(set_here, {}, top=folder, cwd=cwd, refuse=refuse)}


def with_effort(resolved: Resolved, effort: Any, *, path: Path | str | None = None) -> Resolved:
    """The settings with the effort that a prompt's front matter asks for, in what nobody else set.

    Raises:
        ConfigError: there is no such effort.
    """
    if effort is None or resolved.settings.effort is not None:
        return resolved
    check_effort(effort, path=path)
    open_names = [name for name in EFFORT[effort] if resolved.origins[name] == "default"]
    chosen = {name: EFFORT[effort][name] for name in open_names}
    origins = {**resolved.origins, **dict.fromkeys(open_names, f"preset {effort}"), "effort": "front matter"}
    return resolved.replace(settings=resolved.settings.replace(**chosen, effort=effort), origins=origins)


def check_effort(effort: Any, *, path: Path | str | None = None) -> None:
    """Refuses what is no effort.

    Raises:
        ConfigError: there is no such effort.
    """
    if effort is not None and (not isinstance(effort, str) or effort not in EFFORT):
        raise ConfigError(f"the effort {effort!r} is none of {', '.join(EFFORT)}", path=path)


def _preset(values: dict[str, Any], origins: dict[str, str]) -> None:
    effort = values.get("effort")
    for name, value in EFFORT.get(effort or "", {}).items():
        if name not in values:
            values[name] = value
            origins[name] = f"preset {effort}"


def _switched(name: str, given: Any, env: Mapping[str, str]) -> bool:
    text = env.get(f"{PREFIX}{name.upper()}", "").strip().lower()
    if text not in ("", "0", "1", "false", "true", "no", "yes"):
        raise ConfigError(f"{PREFIX}{name.upper()} must be true or false")
    return bool(given) if given is not None else text in ("1", "true", "yes")


def _user_layer(warnings: list[str]) -> _Layer:
    path = user_file()
    if not path.is_file():
        return _Layer("file", {})
    why = not_obeyed(path, path.parent)
    if why is not None:
        warnings.append(f"{path} is not obeyed: {why}")
        return _Layer("file", {})
    return _read(path, f"user file {path.name}")


def _file_layer(named: Any, start: Path, warnings: list[str]) -> _Layer:
    path = Path(named) if named else find_file(start)
    if path is None:
        return _Layer("file", {})
    why = None if named else not_obeyed(path, start)
    if why is not None:
        warnings.append(f"{path} is not obeyed: {why}; name it with --config to use it")
        return _Layer("file", {})
    return _read(path, f"file {path.name}")


def _read(path: Path, where: str) -> _Layer:
    try:
        text = read_text(path, error=ConfigError, what="settings file")
    except ConfigError as failure:
        if failure.message.endswith("is empty"):
            return _Layer(where, {}, path)
        raise
    try:
        data: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as failure:
        place = re.search(r"at line (\d+)", str(failure))
        line = int(place.group(1)) if place else None
        said = re.sub(r" \(at .*\)$", "", str(failure))
        raise ConfigError(f"the settings file is not valid TOML: {said}", path=path, line=line) from None
    if path.name == PROJECT:
        data = data.get("tool", {}).get("promptpex", {})
    if not isinstance(data, dict):
        raise ConfigError("[tool.promptpex] must be a table", path=path)
    return _Layer(where, {name.replace("-", "_"): value for name, value in data.items()}, path, text)


ROLES = ("models", "author", "judge")
"""Settings whose variable may not be empty: somebody else would be asked than who was meant, and paid."""


def _env_layer(env: Mapping[str, str], warnings: list[str]) -> _Layer:
    values: dict[str, Any] = {}
    for variable, text in sorted(env.items()):
        name = variable.removeprefix(PREFIX).lower()
        empty = not text.strip() and name not in ROLES
        if not variable.startswith(PREFIX) or empty or name in OTHER_VARIABLES:
            continue
        if name in Settings.model_fields:
            values[name] = _from_text(name, text.strip())
        elif names_key(name):
            raise ConfigError(f"{variable}: {NO_KEYS}")
        else:
            warnings.append(f"{variable} is not a setting{near_name(name, Settings.model_fields, PREFIX)}")
    return _Layer("environment", values)


def _from_text(name: str, text: str) -> Any:
    """A variable's text as a setting; tables and lists of tables are written as JSON."""
    try:
        return json.loads(text) if name in ("prices", "instructions", "scenarios") else text
    except (ValueError, RecursionError):
        raise ConfigError(f"{PREFIX}{name.upper()} must be JSON") from None


def _refuse(problems: Sequence[ConfigError]) -> None:
    """Raises what is wrong with the settings, all of it at once."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        lines = "\n".join(f"  {each}" for each in sorted(problems, key=lambda each: (str(each.path), each.line or 0)))
        message = f"{len(problems)} problems with the settings are to be mended first:\n{lines}"
        raise ConfigError(message, path=problems[0].path)


def _problems(layer: _Layer) -> list[ConfigError]:
    """What is wrong with each setting of one source, named with its place; the first problem of each."""
    firsts: dict[str, ConfigError] = {}
    for name, value in layer.values.items():
        message = _stranger(name) or _with_key(name, value)
        if message is not None:
            firsts[name] = _fail(layer, name, message)
    for name, message in _invalid(layer.values):
        firsts.setdefault(name, _fail(layer, name, message))
    return list(firsts.values())


def _stranger(name: str) -> str | None:
    if name in Settings.model_fields:
        return None
    return NO_KEYS if names_key(name) else f"there is no such setting{near_name(name, Settings.model_fields)}"


def _with_key(name: str, value: Any) -> str | None:
    texts = list(texts_in(value))
    if any(holds_key(text) or holds_key_field(text) for text in texts):
        return NO_KEYS
    try:
        _check_texts(name, texts)
    except ConfigError as error:
        return scrub(error.message)
    return None


def _check_texts(name: str, texts: Sequence[str]) -> None:
    """Refuses a bad name or address of a model here, where its place is known, and before anything is written down."""
    for label in ",".join(texts).split(",") if name in LABELS else ():
        if label.strip():
            check_label(label)
    if name == "api_base" and texts:
        from promptpex.llm.providers.http import checked_base

        checked_base(texts[0])


def _invalid(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names of settings with a value of the wrong kind, and what is wrong with it."""
    try:
        Settings.model_validate(values)
    except ValidationError as failure:
        errors = failure.errors(include_url=False)
        return [(str(error["loc"][0]) if error["loc"] else "", in_words(error)) for error in errors]
    except UnicodeEncodeError:
        return [(name, "it holds bytes that are no UTF-8") for name, value in values.items() if is_cut(value)]
    return []


def _fail(layer: _Layer, name: str, message: str) -> ConfigError:
    if layer.path is not None:
        return ConfigError(f"{name}: {message}", path=layer.path, line=line_of(name, layer.text))
    named = {"default": name, "environment": f"{PREFIX}{name.upper()}"}
    return ConfigError(f"{named.get(layer.where, flag_of(name))}: {message}")
