"""promptfoo's assertions as checks of ours, or as a sentence for a judge; what neither says is left out."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import has_template, value_text
from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import ENDINGS, FILE, ConfigFiles, named_function, script_of, transform_of
from promptpex.interchange.promptfoo.tests import Written
from promptpex.interchange.reading.foreign_files import At, items, named

CODE_KINDS = frozenset(
    ("contains", "contains-all", "contains-any", "contains-json", "contains-html", "contains-sql", "contains-xml",
     "cost", "equals", "icontains", "icontains-all", "icontains-any", "is-html", "is-json", "is-refusal", "is-sql",
     "is-xml", "javascript", "latency", "levenshtein", "perplexity", "perplexity-score", "regex", "starts-with",
     "word-count", "rouge-n", "bleu", "gleu", "finish-reason", "python")
)  # fmt: skip
"""Kinds that mean the same in both programs (promptfoo's document "Deterministic metrics")."""

SET = "assert-set"
RUBRIC = "llm-rubric"
_JUDGED = {
    RUBRIC: "{}",
    "model-graded-closedqa": "{}",
    "closedqa": "{}",
    "g-eval": "{}",
    "factuality": "The output agrees in its facts with this: {}",
    "model-graded-factuality": "The output agrees in its facts with this: {}",
    "answer-relevance": "The output answers the input.",
    "conversation-relevance": "The output answers the input.",
}
"""Kinds that promptfoo's graders decide, with the statement that a judge is given instead."""
_NEEDS_INPUT = frozenset(("answer-relevance", "conversation-relevance"))
_WHY_NOT = {
    "similar": stored("embeddings are not compared; rouge-l or a question comes close"),
    "classifier": stored("no classifier is asked"),
    "moderation": stored("no service is called; write a rule for the judge"),
    "webhook": stored("no address is called"),
    "select-best": stored("outputs are judged one by one; use promptpex compare to compare two models"),
    "max-score": stored("outputs are judged one by one; use promptpex compare to compare two models"),
    "ruby": stored("checks are code in JavaScript or Python"),
    "meteor": stored("it is always an error in promptfoo; rouge-l comes close"),
}
_KEPT = ("value", "threshold", "weight", "metric", "config", "transform")
_READ = frozenset((*_KEPT, "type", "assert"))


@dataclass(frozen=True, slots=True)
class Promise:
    """What an assertion demands of an output.

    Attributes:
        name: what its rule is called by: the metric, else the kind.
        is_metric: whether the name is a metric, which several assertions may share.
        check: the check that decides it; None: a judge does.
        needs_input: whether the judge has to see the input.
    """

    name: str
    is_metric: bool = False
    check: Mapping[str, object] | None = None
    rubric: str | None = None
    needs_input: bool = False
    at: At = field(default=At(Path()), compare=False)

    @property
    def key(self) -> str:
        return json.dumps(
            [self.name, self.is_metric, self.check, self.rubric, self.needs_input], sort_keys=True, default=str
        )


def promise_of(files: ConfigFiles, written: Written, transform: str | None) -> Promise | None:
    """What an assertion of a test demands; None where it had to be left out, which is noted.

    Args:
        transform: the test's own, which is done with the output first.
    """
    entry, at = written
    kind = _kind(entry, at)
    base, metric = kind.removeprefix("not-"), entry.get("metric")
    name, is_metric = (metric, True) if isinstance(metric, str) and metric.strip() else (kind, False)
    if base in _JUDGED:
        return _judged(files, written, name, is_metric, transform)
    check = _check(files, written, transform)
    if check is None:
        return None
    return Promise(name, is_metric, check, at=at)


def of_set(files: ConfigFiles, name: str, asserts: tuple[Written, ...], threshold: float, transform: str | None,
           at: At) -> Promise | None:  # fmt: skip
    """What a test with a threshold demands: that the weighted score of its assertions reaches it."""
    parts = _parts(files, asserts, transform, 1.0)
    if not parts:
        return None
    if len(parts) < sum(_counted(entry) for entry, _ in asserts):
        files.changed(at, stored("its score comes from the assertions that remain"))
    return Promise(name, check={"kind": SET, "threshold": threshold, "assert": parts}, at=at)


def _counted(entry: Mapping[str, object]) -> int:
    """The checks that an assertion comes to where all of it can be taken over."""
    inner = entry.get("assert")
    if str(entry.get("type", entry.get("kind"))).removeprefix("not-") != SET:
        return 1
    return len(inner) if isinstance(inner, list) else 1


def _kind(entry: Mapping[str, object], at: At) -> str:
    """The type of an assertion, whose numbers are numbers and whose metric is a text."""
    kind = entry.get("type", entry.get("kind"))
    if not isinstance(kind, str):
        raise at.fail(f"an assertion needs a type, such as contains, not {named(kind)}")
    for key in ("threshold", "weight"):
        value = entry.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _HUGE:
            raise at[key].fail(f"it must be a number that fits a double, not {named(value)}")
    if not isinstance(entry.get("metric", ""), str):
        raise at["metric"].fail(f"it must be a string, not {named(entry['metric'])}")
    return kind


_HUGE = sys.float_info.max


def _check(
    files: ConfigFiles, written: Written, transform: str | None, inside: bool = False
) -> dict[str, object] | None:
    """The check that an assertion is; None where it is none, which is noted."""
    entry, at = written
    kind = _kind(entry, at)
    base = kind.removeprefix("not-")
    if base == SET and not inside:
        return _set(files, written, transform)
    if base in _JUDGED:
        return _question(files, written, transform)
    if base not in CODE_KINDS:
        files.left_out(
            at,
            stored(
                "promptpex has no {kind}; {part}",
                kind=kind,
                part=_WHY_NOT.get(base, stored("write a check or a rule for the judge")),
            ),
        )
        return None
    check: dict[str, object] = {"kind": kind, **{key: entry[key] for key in _KEPT if key in entry}}
    if not _take_value(files, check, base, at) or not _take_transform(files, check, transform, at):
        return None
    _name_unread(files, entry, at)
    files.came(kind, at)
    return check


def _set(files: ConfigFiles, written: Written, transform: str | None) -> dict[str, object] | None:
    entry, at = written
    asserts = tuple(_with_config(entry, each) for each in _entries(entry, at))
    parts = _parts(files, asserts, transform, None)
    if not parts:
        files.left_out(at, stored("none of its assertions remains"))
        return None
    if len(parts) < len(asserts):
        files.changed(at, stored("its score comes from the assertions that remain"))
    check = {"kind": _kind(entry, at), **{key: entry[key] for key in ("threshold", "weight", "metric") if key in entry}}
    _name_unread(files, entry, at)
    for key in ("value", "transform"):
        if key in entry:
            files.left_out(at[key], stored("promptpex has no equivalent for it in a set of assertions"))
    files.came(SET, at)
    return {**check, "assert": parts}


def _with_config(entry: Mapping[str, object], written: Written) -> Written:
    """An assertion of a set with the set's ``config``; what it says itself wins."""
    config, (part, at) = entry.get("config"), written
    own = part.get("config")
    if not isinstance(config, dict) or not config:
        return written
    return {**part, "config": {**config, **(own if isinstance(own, dict) else {})}}, at


def _entries(entry: Mapping[str, object], at: At) -> list[Written]:
    entries: list[Written] = []
    for item, place in items(entry.get("assert"), at["assert"], "assert"):
        if not isinstance(item, dict):
            raise place.fail(f"an assertion must be a mapping with a type, not {named(item)}")
        entries.append((item, place))
    return entries


def _parts(
    files: ConfigFiles, asserts: tuple[Written, ...], transform: str | None, scale: float | None
) -> list[dict[str, object]]:
    """The checks of a set; with a ``scale`` sets inside of it are taken apart, which leaves its score as it is."""
    parts: list[dict[str, object]] = []
    for entry, at in asserts:
        if _kind(entry, at).removeprefix("not-") == SET and scale is not None:
            parts += _scaled(files, (entry, at), transform)
            continue
        part = _check(files, (entry, at), transform, inside=True)
        parts += [part] if part is not None else []
    return parts


def _scaled(files: ConfigFiles, written: Written, transform: str | None) -> list[dict[str, object]]:
    """The parts of a set inside of a set: the score of both is the same where their weights share out the set's."""
    entry, at = written
    parts = _parts(files, tuple(_with_config(entry, each) for each in _entries(*written)), transform, None)
    _name_unread(files, entry, at)
    for key in ("value", "transform", "metric"):
        if key in entry:
            files.left_out(at[key], stored("promptpex has no equivalent for a set inside a test with a threshold"))
    total = sum(_weight(part) for part in parts)
    share = _weight(entry) / total if total > 0 else 0.0
    return [{**part, "weight": _weight(part) * share} for part in parts]


def _weight(check: Mapping[str, object]) -> float:
    weight = check.get("weight", 1.0)
    return float(weight) if isinstance(weight, int | float) else 1.0


def _judged(files: ConfigFiles, written: Written, name: str, is_metric: bool, transform: str | None) -> Promise | None:
    """A rule for the judge; a question where its text is a template, or the assertion is turned round."""
    entry, at = written
    kind = _kind(entry, at)
    text = _rubric(entry, at)
    if kind.startswith("not-") or has_template(text):
        check = _question(files, written, transform)
        return Promise(name, is_metric, check, at=at) if check is not None else None
    _note_judge(files, written, transform)
    return Promise(name, is_metric, rubric=text, needs_input=kind in _NEEDS_INPUT, at=at)


def _question(files: ConfigFiles, written: Written, transform: str | None) -> dict[str, object]:
    """The check that puts a rubric to the judge, its templates filled in."""
    entry, at = written
    kind = _kind(entry, at)
    prefix = "not-" if kind.startswith("not-") else ""
    _note_judge(files, written, transform)
    kept_fields = {key: entry[key] for key in ("weight", "metric") if key in entry}
    return {"kind": f"{prefix}{RUBRIC}", "value": _rubric(entry, at), **kept_fields}


def _rubric(entry: Mapping[str, object], at: At) -> str:
    base = _kind(entry, at).removeprefix("not-")
    value = entry.get("value")
    texts = value if isinstance(value, list) else [value]
    text = "\n".join(value_text(each) for each in texts)
    if base not in _NEEDS_INPUT and (value is None or not text.strip()):
        raise at.fail(f"{base} needs a text as its value")
    return _JUDGED[base].format(text) if base not in (RUBRIC, "g-eval") else text


def _note_judge(files: ConfigFiles, written: Written, transform: str | None) -> None:
    entry, at = written
    kind = _kind(entry, at)
    base = kind.removeprefix("not-")
    if base != RUBRIC:
        files.changed(at, stored("{kind} becomes a statement that the judge checks the output against", kind=base))
    else:
        files.came(kind, at)
    if entry.get("threshold") is not None:
        files.changed(
            at["threshold"], stored("a judge answers yes or no, not with a score that could reach a threshold")
        )
    if transform is not None or entry.get("transform") is not None:
        files.changed(at, stored("the judge sees the output as it was, before any transform"))
    for key in sorted(entry.keys() - {"type", "value", "weight", "metric", "threshold", "transform"}):
        files.left_out(at[key], stored("judges and their instructions are set by --judge and the settings"))


def _take_value(files: ConfigFiles, check: dict[str, object], base: str, at: At) -> bool:
    """Puts the file that a value names in its place; False where that cannot be, which is noted."""
    value = check.get("value")
    if not isinstance(value, str) or not value.startswith(FILE):
        return True
    name, function = named_function(value)
    path = files.path_of(name, at["value"])
    ending = path.suffix.lower()
    if ending in (".json", ".yaml", ".yml"):
        check["value"] = files.data(path)[0]
    elif base == "python" and ending == ".py":
        check["value"] = files.text(path)
        config = check.get("config")
        if function:
            check["config"] = {**(config if isinstance(config, dict) else {}), "function": function}
    elif base == "javascript" and ending in ENDINGS:
        script = script_of(files.text(path), function)
        if script is None:
            files.left_out(
                at, stored("{name} needs modules, which the sandbox for checks does not have", name=path.name)
            )
            return False
        check["value"] = script
    elif ending in (".txt", ".md", ".html", ".xml", ".sql"):
        check["value"] = files.text(path).strip()
    else:
        files.left_out(at, stored("no value for {kind} is read from {name}", name=path.name, kind=base))
        return False
    files.came("files of values", at)
    return True


def _take_transform(files: ConfigFiles, check: dict[str, object], transform: str | None, at: At) -> bool:
    """Puts the test's transform before the assertion's own; False where that cannot be, which is noted."""
    own_transform = check.pop("transform", None)
    own = transform_of(files, own_transform, at["transform"])
    if isinstance(own_transform, str) and own_transform.strip() and own is None:
        return False
    steps = [step for step in (transform, own) if step is not None and step.strip()]
    if len(steps) == 1:
        check["transform"] = steps[0]
    elif steps:
        first, second = (f"((output) => {_body(step)})" for step in steps)
        both = f"{second}({first}(output))"
        check["transform"] = f"return {both}" if "\n" in both else both
    return True


def _body(step: str) -> str:
    return f"{{{step}}}" if re.search(r"\breturn\b", step) else f"({step.strip().rstrip(';')})"


def _name_unread(files: ConfigFiles, entry: Mapping[str, object], at: At) -> None:
    for key in entry:
        if key not in _READ:
            files.left_out(at[key], stored("promptpex has no equivalent for it in a check"))
