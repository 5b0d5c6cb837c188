"""A promptfoo configuration as projects: a prompt with its rules and cases for each of its prompts, and the models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.records import Message, Spec, Suite
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo import rules
from promptpex.interchange.promptfoo.assertions import Promise, of_set, promise_of
from promptpex.interchange.promptfoo.files import ConfigFiles, NotRead, merged, with_filled_metric
from promptpex.interchange.promptfoo.prompts import TheirPrompt, read_prompts
from promptpex.interchange.promptfoo.providers import read_providers
from promptpex.interchange.promptfoo.tests import Data, TheirTest, Written, read_tests
from promptpex.interchange.reading.foreign_files import At, head, mapping

KNOWN_BY = ("prompts", "providers", "targets", "tests", "scenarios", "defaultTest")
"""Keys of which a configuration has two, or its tests."""
_READ = frozenset((*KNOWN_BY, "description", "assertionTemplates", "evaluateOptions", "commandLineOptions", "metadata",
                   "$schema"))  # fmt: skip
_WHY = {
    "env": stored("environment variables are not written to files; set them where promptpex runs"),
    "extensions": stored("nothing in a foreign file is run"),
    "nunjucksFilters": stored("nothing in a foreign file is run"),
    "outputPath": stored("a run has a folder of its own"),
    "sharing": stored("nothing is sent anywhere"),
    "derivedMetrics": stored("metrics are separate files beside the prompt (docs/right-answers.md)"),
    "redteam": stored("attacks are not generated"),
    "tracing": stored("outputs are judged, not the steps towards them"),
    "writeLatestResults": stored("a run has a folder of its own"),
    "tags": stored("projects keep no data of other tools"),
}
_AROUND = ("promptPrefix", "promptSuffix")
"""Options of the command that change the prompt."""
_EVALUATE = {"maxConcurrency": "concurrency", "repeat": "repeats"}
_NAMED_SEVERAL = 40
OURS = "promptpex"
"""The key of the configuration's metadata under which an export keeps what promptfoo has no place for."""


_KEY = re.compile(r"""(?:^|[{,]\s*)["']?(\w+)["']?\s*:""", re.MULTILINE)


def recognise(path: Path) -> bool:
    """Whether a YAML or JSON file begins like a configuration."""
    if path.suffix.lower() not in (".yaml", ".yml", ".json"):
        return False
    beginning = head(path)
    keys = set(_KEY.findall(beginning))
    return len(keys.intersection(KNOWN_BY)) > 1 and not keys & {"results", "evalId", "rules", "cases"}


def read(path: Path) -> Imported:
    """The projects of a configuration."""
    doc = yaml_reader.read(path, error=InputError, what="promptfoo configuration")
    top = At(path, doc=doc)
    config = mapping(merged(doc.data), top, "a promptfoo configuration")
    if not {"prompts", "tests", "scenarios"} & set(config):
        raise top.fail("this is not a promptfoo configuration: it has neither prompts nor tests")
    return read_config(ConfigFiles(path.parent, Log()), config, top).imported


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """What a configuration comes to.

    Attributes:
        cases: by the number of a test the id of its case.
    """

    imported: Imported
    cases: Mapping[int, str]


def read_config(files: ConfigFiles, config: Data, top: At, prompts: Sequence[TheirPrompt] | None = None) -> ReadConfig:
    """The projects of a configuration as data.

    Args:
        prompts: those that it has, where they are known already.
    """
    _name_unread(files, config, top)
    if prompts is None:
        prompts = read_prompts(files, config.get("prompts"), top["prompts"])
    tests = [test for test in read_tests(files, config, top) if _can_be_asked(files, test, prompts)]
    if not prompts and (not tests or not (config.get("tests") or config.get("scenarios"))):
        raise _nothing(files, top)
    key = "targets" if "targets" in config else "providers"
    settings = {**read_providers(files, config.get(key), top[key]), **_evaluation(files, config, top)}
    own_metadata = _kept(config)
    project_rules = rules.make(
        tests,
        _Promises(files, config).of,
        texts=_texts(own_metadata),
        expected_is_input=any("expected" in message.content for prompt in prompts for message in prompt.messages),
        on_same=lambda test: files.changed(test.at, stored("an earlier test has the same inputs: they are one case")),
    )
    files.log.came("tests", len(tests))
    description = str(config.get("description") or "")
    intent = str(own_metadata.get("intent") or description)
    spec, suite = Spec(intent=" ".join(intent.split()), rules=project_rules.rules), Suite(cases=project_rules.cases)
    parts = [
        Imported(
            prompt=prompt, spec=spec if project_rules.rules else None, suite=suite, places=_places(project_rules.places)
        )
        for prompt in _prompt_files(prompts, description, _decoration(config))
    ]
    whole = parts[0] if len(parts) == 1 else Imported(further=tuple(parts))
    if not parts:
        whole = Imported(spec=spec if project_rules.rules else None, suite=suite, places=_places(project_rules.places))
    imported = replace(whole, settings=settings, over=dict(files.log.over), notes=files.log.notes)
    return ReadConfig(imported, project_rules.case_of)


class _Promises:
    """What tests demand; what several of them demand by the same words of the defaults is made once."""

    def __init__(self, files: ConfigFiles, config: Data) -> None:
        self._files, self._config = files, config
        self._made: dict[tuple[int, str | None], tuple[Written, Promise | None]] = {}

    def of(self, test: TheirTest) -> list[Promise]:
        """What a test demands: each of its assertions, or with a threshold all of them together."""
        if test.threshold is not None and test.asserts:
            asserts = tuple((with_filled_metric(self._resolved(one), test.variables), one[1]) for one in test.asserts)
            promise_of_set = of_set(self._files, "score", asserts, test.threshold, test.transform, test.at)
            return [promise_of_set] if promise_of_set is not None else []
        promises = (self._promise(written, test) for written in test.asserts)
        return [promise for promise in promises if promise is not None]

    def _resolved(self, written: Written) -> Data:
        return _resolved(self._config, *written)

    def _promise(self, written: Written, test: TheirTest) -> Promise | None:
        resolved = self._resolved(written)
        entry = with_filled_metric(resolved, test.variables)
        if entry is not resolved:
            return promise_of(self._files, (entry, written[1]), test.transform)
        key = id(written), test.transform
        if key not in self._made:
            promise = promise_of(self._files, (entry, written[1]), test.transform)
            self._made[key] = written, promise  # kept, so that nothing else gets its id
        return self._made[key][1]


def _can_be_asked(files: ConfigFiles, test: TheirTest, prompts: Sequence[TheirPrompt]) -> bool:
    """Whether a prompt can be filled with its variables; False where one of them could not be read, which is noted."""
    missing = [name for name, value in test.variables.items() if isinstance(value, NotRead)]
    texts = [message.content for prompt in prompts for message in prompt.messages] if missing else []
    if any(re.search(rf"\b{re.escape(name)}\b", text) for name in missing for text in texts):
        files.left_out(test.at, stored("the values for its prompt could not be read"))
        return False
    return True


def _nothing(files: ConfigFiles, top: At) -> InputError:
    first = next(
        (note for note in files.log.notes if note.became == "left out" and note.name.startswith("prompts")), None
    )
    why = f"; the first reason: {first.why}" if first is not None else ""
    return InputError(f"nothing in this file can be imported{why}", path=top.path, line=first.line if first else None)


def _resolved(config: Data, entry: Data, at: At) -> Data:
    reference = entry.get("$ref")
    if not isinstance(reference, str):
        return entry
    place: object = config
    for part in reference.removeprefix("#/").split("/"):
        place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
    if not reference.startswith("#/") or not isinstance(place, dict):
        raise at.fail(f"there is no {reference!r} in this file")
    return {**place, **{key: value for key, value in entry.items() if key != "$ref"}}


def _kept(config: Data) -> Data:
    metadata = config.get("metadata")
    own_metadata = metadata.get(OURS) if isinstance(metadata, dict) else None
    return own_metadata if isinstance(own_metadata, dict) else {}


def _texts(kept: Data) -> dict[str, str]:
    rule_texts = kept.get("rules")
    texts = rule_texts if isinstance(rule_texts, dict) else {}
    return {name: text for name, text in texts.items() if isinstance(text, str) and text.strip()}


def _evaluation(files: ConfigFiles, config: Data, top: At) -> dict[str, object]:
    """The settings of promptfoo's own runs that ours have as well; options of the command win, as there."""
    settings: dict[str, object] = {}
    for name in ("evaluateOptions", "commandLineOptions"):
        at = top[name]
        for key, value in mapping(config.get(name), at, name).items():
            ours = _EVALUATE.get(key)
            if ours is not None and isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000:
                settings[ours] = value
                files.log.came(f"{name}.{key}")
            elif key in _AROUND:
                files.left_out(at[key], stored("the prompt is the same for all cases; write this into the prompt"))
            else:
                files.left_out(at[key], stored("promptpex has no such setting"))
    return settings


def _decoration(config: Data) -> tuple[str, str]:
    default = config.get("defaultTest")
    options = default.get("options") if isinstance(default, dict) else None
    texts = [options.get(key) if isinstance(options, dict) else None for key in ("prefix", "suffix")]
    before, after = (text if isinstance(text, str) else "" for text in texts)
    return before, after


def _prompt_files(prompts: Sequence[TheirPrompt], description: str, around: tuple[str, str]) -> list[ImportedPrompt]:
    taken: set[str] = set()
    made = []
    for number, prompt in enumerate(prompts, 1):
        label = " ".join(prompt.label.split())[:_NAMED_SEVERAL]
        stem = "prompt" if len(prompts) == 1 else f"prompt-{number}"
        name = label if label and label not in taken else stem
        taken.add(name)
        messages = prompt.messages
        if not prompt.is_chat and any(around):
            messages = (Message(role="user", content=f"{around[0]}{messages[0].content}{around[1]}".strip()),)
        made.append(ImportedPrompt(name, messages, " ".join(description.split()), stem))
    return made


def _places(places: Mapping[str, At]) -> dict[str, tuple[str, str, int | None]]:
    return {name: (at.name, str(at.path), at.line) for name, at in places.items()}


def _name_unread(files: ConfigFiles, config: Data, top: At) -> None:
    if "targets" in config and "providers" in config:
        files.left_out(top["providers"], stored("targets are used instead"))
    for key in config:
        if key not in _READ:
            files.left_out(top[key], _WHY.get(key, stored("promptpex has no equivalent")))
    metadata = config.get("metadata")
    for key in metadata if isinstance(metadata, dict) else ():
        if key != OURS:
            files.left_out(top["metadata"][key], stored("projects keep no data of other tools"))
