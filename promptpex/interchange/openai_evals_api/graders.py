"""Graders of the Evals API as rules: code as checks, models as questions for a judge; the rest is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.core.judge_questions import MAX_QUESTION
from promptpex.core.records import Check, Rule
from promptpex.core.translation import stored
from promptpex.interchange.notes import Log
from promptpex.interchange.openai_evals_api.formulas import greatest_of, product_of, sums_of
from promptpex.interchange.openai_evals_api.templates import ASKED_FOR, OUTPUT, THE_RESPONSE, looked_at, ours
from promptpex.interchange.promptfoo.rule_sentences import sentence_of
from promptpex.interchange.reading.chats import Unfit, messages_of
from promptpex.interchange.reading.exchanges import Ids, amount
from promptpex.interchange.reading.foreign_values import At, items, mapping

OPERATIONS = {"eq": "equals", "ne": "not-equals", "like": "contains", "ilike": "icontains"}
_SWAPPED = ("eq", "ne")
METRICS: Mapping[str, tuple[str, int]] = {
    "bleu": ("bleu", 1), "gleu": ("gleu", 1), "rouge_l": ("rouge-l", 1),
    **{f"rouge_{n}": ("rouge-n", n) for n in range(1, 6)},
}  # fmt: skip
"""Metrics of similarity that are counted here, with the order of words in a row."""
_WHY_NOT = {
    "cosine": stored("embeddings are not compared; rouge-l or a question comes close"),
    "meteor": stored("it needs WordNet, a list of synonyms; rouge-l comes close"),
    "fuzzy_match": stored("OpenAI does not say which of rapidfuzz's ratios it is; levenshtein or rouge-l comes close"),
}
CALL = '\n\n\ndef get_assert(output, context):\n    return grade({"output_text": output}, context["vars"])\n'
"""What makes a grader in Python one of ours: it is handed the output as the sample, and the inputs as the item."""
_ENDING = ASKED_FOR.replace(OUTPUT, THE_RESPONSE)
_GRADE = re.compile(r"(?m)^def\s+grade\s*\(")


@dataclass(frozen=True, slots=True)
class _Made:
    """What a grader demands: checks, with the sentence of its rule and what means something else here."""

    checks: tuple[Check, ...]
    sentence: str = ""
    changed: str = ""

    @property
    def asks(self) -> bool:
        """Whether a judge is asked."""
        return any(part.kind == "question" for check in self.checks for part in (check, *(check.asserts or ())))


def rules_of(criteria: object, at: At, log: Log) -> tuple[list[Rule], dict[str, At]]:
    """A rule for each grader, and by its id where it stands; what cannot come over is noted.

    Raises:
        InputError: they are not a list, or one of them is not a mapping.
    """
    rules: list[Rule] = []
    places: dict[str, At] = {}
    ids = Ids()
    for grader, place in _graders(criteria, at, log):
        try:
            rules_made = _made(grader)
        except Unfit as failure:
            log.left_out(place.name, failure.why, place.path, place.line)
            continue
        if rules_made.changed:
            log.changed(place.name, rules_made.changed, place.path, place.line)
        name = grader.get("name")
        rule_id = ids.free(name if isinstance(name, str) else "", "grader")
        sentence = rules_made.sentence or sentence_of([check.to_dict() for check in rules_made.checks])
        rules.append(Rule(id=rule_id, rule=sentence, checks=rules_made.checks, origin="added",
                          needs="input" if rules_made.asks else "output"))  # fmt: skip
        places[rule_id] = place
        log.came("graders")
    return rules, places


def _graders(criteria: object, at: At, log: Log) -> Iterator[tuple[Mapping[str, object], At]]:
    """The graders one by one, those of a multi grader among them where its formula cannot be said by checks."""
    for item, place in items(criteria, at, "testing_criteria"):
        grader = mapping(item, place, "a grader")
        if grader.get("type") != "multi":
            yield grader, place
            continue
        try:
            _multi(grader, place)
            yield grader, place
        except Unfit as failure:
            why = stored(
                "each of its graders becomes a rule, and its formula is left out: {reason}", reason=failure.why
            )
            log.changed(place.name, why, place.path, place.line)
            yield from _inner(grader, place)


def _inner(grader: Mapping[str, object], at: At) -> Iterator[tuple[Mapping[str, object], At]]:
    """The graders of a multi grader, each with the name that its formula has for it."""
    inner = grader.get("graders")
    if isinstance(inner, dict) and "type" not in inner:
        for name, one in inner.items():
            yield {"name": name, **mapping(one, at["graders"][name], "a grader")}, at["graders"][name]
    else:
        yield from ((mapping(one, where, "a grader"), where) for one, where in items(inner, at["graders"], "graders"))


def _multi(grader: Mapping[str, object], at: At) -> _Made:
    """A multi grader as sets of its graders' checks, with the weights of its formula.

    Raises:
        Unfit: the formula is not a weighted sum, or uses a score that does not exist here.
    """
    threshold = amount(grader.get("pass_threshold"))
    if threshold is None:
        raise Unfit(stored("it has no pass_threshold"))
    keys = grader.get("graders")
    named = keys.keys() if isinstance(keys, dict) and "type" not in keys else ()
    inner = [(one.get("name"), one) for one, _ in _inner(grader, at)]
    by_name = dict(zip(named, (one for _, one in inner), strict=True)) if named else dict(inner)
    formula = grader.get("calculate_output")
    why = stored("the scores are computed here; words may be split differently")
    is_reached_by_one = 0 < threshold <= 1
    if is_reached_by_one and _are_binary(any_of := greatest_of(formula), by_name):
        return _Made((_set(dict.fromkeys(any_of, 1.0), 0.5 / len(any_of), by_name),), changed=why)
    if is_reached_by_one and _are_binary(all_of := product_of(formula), by_name):
        return _Made((_set(dict.fromkeys(all_of, 1.0), 1.0, by_name),), changed=why)
    sums = [each.shares(threshold) for each in sums_of(formula)]
    return _Made(tuple(_set(weights, share, by_name) for weights, share in sums), changed=why)


def _are_binary(names: Sequence[str], graders: Mapping[object, Mapping[str, object]]) -> bool:
    """Whether there are some, and all of their graders give 0 or 1."""
    kinds = [graders[name].get("type") if name in graders else None for name in names]
    return bool(kinds) and all(kind in ("string_check", "label_model") for kind in kinds)


def _set(weights: Mapping[str, float], threshold: float, graders: Mapping[object, Mapping[str, object]]) -> Check:
    parts = [{**_part(name, graders).to_dict(), "weight": weight} for name, weight in weights.items()]
    return Check.model_validate({"kind": "assert-set", "threshold": threshold, "assert": parts})


def _part(name: str, graders: Mapping[object, Mapping[str, object]]) -> Check:
    """The check whose score stands for a name in a formula."""
    grader = graders.get(name)
    if grader is None:
        raise Unfit(stored("its formula names something that is not one of its graders: {name}", name=name[:40]))
    if grader.get("type") not in ("string_check", "text_similarity", "label_model", "python"):
        raise Unfit(stored("a judge answers yes or no, which gives a formula no score: {name}", name=name[:40]))
    (check,) = (_similarity(grader, alone=False) if grader["type"] == "text_similarity" else _made(grader)).checks
    return check


def _made(grader: Mapping[str, object]) -> _Made:
    kind = grader.get("type")
    makers = {"string_check": _string_check, "text_similarity": _similarity, "label_model": _label,
              "score_model": _score, "python": _python}  # fmt: skip
    if kind == "multi":
        return _multi(grader, At(Path()))
    if not isinstance(kind, str) or kind not in makers:
        raise Unfit(stored("promptpex has no such grader"))
    return makers[kind](grader)


def _text(grader: Mapping[str, object], key: str) -> str:
    value = grader.get(key)
    if not isinstance(value, str):
        raise Unfit(stored("its {key} is not text", key=key))
    return value


def _string_check(grader: Mapping[str, object]) -> _Made:
    operation, one, two = grader.get("operation"), _text(grader, "input"), _text(grader, "reference")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise Unfit(stored("its operation is not one of eq, ne, like and ilike"))
    if operation in _SWAPPED and not looked_at(one)[0]:
        one, two = two, one
    is_output, path = looked_at(one)
    if not is_output:
        raise Unfit(stored("it does not look at the output alone"))
    return _Made((Check(kind=OPERATIONS[operation], value=ours(two), path=path),))


def _similarity(grader: Mapping[str, object], *, alone: bool = True) -> _Made:
    metric, threshold = grader.get("evaluation_metric"), amount(grader.get("pass_threshold"))
    is_output, path = looked_at(_text(grader, "input"))
    if not is_output:
        raise Unfit(stored("it does not look at the output alone"))
    if not isinstance(metric, str) or metric not in METRICS:
        raise Unfit(_WHY_NOT.get(str(metric), stored("promptpex has no such metric")))
    if threshold is None and alone:
        raise Unfit(stored("it has no pass_threshold"))
    kind, n = METRICS[metric]
    check = Check(kind=kind, value=ours(_text(grader, "reference")), threshold=threshold, n=n, path=path)
    return _Made((check,), changed=stored("the score is computed here; words may be split differently"))


def _asked(grader: Mapping[str, object]) -> str:
    """What a grading model is told, as one text."""
    messages = messages_of(grader.get("input"))
    return "\n\n".join(ours(message.content, output=THE_RESPONSE) for message in messages)


_JUDGED = stored("the --judge model answers yes or no; labels, scores and the grader's model are left out")


def _question(text: str) -> _Made:
    if len(text) > MAX_QUESTION:
        raise Unfit(
            stored("it is longer than {limit} characters, the limit for a question to a judge", limit=MAX_QUESTION)
        )
    return _Made((Check(kind="question", value=text),), " ".join(text.split())[:300], _JUDGED)


def _label(grader: Mapping[str, object]) -> _Made:
    labels, passing = _labels(grader, "labels"), _labels(grader, "passing_labels")
    if (labels, passing) == (["yes", "no"], ["yes"]) and _asked(grader).endswith(_ENDING):
        return _question(_asked(grader).removesuffix(_ENDING))
    question = f"Of the labels {', '.join(labels)}, is the right one among these: {', '.join(passing)}?"
    return _question(f"{_asked(grader)}\n\n{question}")


def _labels(grader: Mapping[str, object], key: str) -> list[str]:
    value = grader.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        raise Unfit(stored("its {key} is not a list of strings", key=key))
    return [ours(each) for each in value]


def _score(grader: Mapping[str, object]) -> _Made:
    threshold, limits = amount(grader.get("pass_threshold")), grader.get("range")
    if threshold is None:
        raise Unfit(stored("it has no pass_threshold"))
    low, high = limits if isinstance(limits, list) and len(limits) == 2 else (0, 1)
    bounds = f"from {json.dumps(low)} to {json.dumps(high)}"
    return _question(f"{_asked(grader)}\n\nOn a scale {bounds}, is the score {json.dumps(threshold)} or higher?")


def _python(grader: Mapping[str, object]) -> _Made:
    source = _text(grader, "source")
    if not _GRADE.search(source):
        raise Unfit(stored("its source has no function grade"))
    check = Check(kind="python", value=source.rstrip() + CALL, threshold=amount(grader.get("pass_threshold")))
    why = stored("it runs in a sandbox: an output that needs a missing package stays unscored")
    name = grader.get("name")
    return _Made((check,), f"The output passes the grader {' '.join(str(name).split())[:100]}.", why)
