"""Specs of model-graded evals of openai/evals as questions for a judge."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.judge_questions import MAX_QUESTION
from promptpex.core.records import Check, Rule
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.rules import literal
from promptpex.interchange.reading.foreign_values import At, mapping

CLASS = "evals.elsuite.modelgraded.classify:ModelBasedClassify"
_ARGS = "modelgraded_spec_args"
_SPEC = "modelgraded_spec"
_WHAT = {"completion": "(the response)", "input": "(what the model was asked)", "ideal": "{{expected}}"}
"""What stands for a field of the grader's prompt: a judge is shown the response and what was asked."""
_KNOWN = {
    "fact": "Does the response agree in its facts with this: {{expected}}",
    "closedqa": "Does the response meet this criterion: {criteria}",
}
"""Specs of the registry whose files need not be there."""


def model_graded(args: Mapping[str, object], at: At, find: Callable[[str], Path | None], log: Log) -> Rule | None:
    """The rule of an eval that a model grades; None where it is left out, which is noted.

    Args:
        args: of the eval. find: gives the file of a spec by its name, if it is there.

    Raises:
        InputError: the spec cannot be read.
    """
    name = args.get(_SPEC)
    text_arguments = {
        key: value for key, value in mapping(args.get(_ARGS), at[_ARGS], _ARGS).items() if isinstance(value, str)
    }
    if not isinstance(name, str) or not name.strip() or "/" in name or "\\" in name:
        log.left_out(at[_SPEC].name, stored("it names no grader spec"), at.path, at[_SPEC].line)
        return None
    if name in _KNOWN and ("{criteria}" not in _KNOWN[name] or "criteria" in text_arguments):
        text = _KNOWN[name].replace("{criteria}", literal(" ".join(text_arguments.get("criteria", "").split())))
        return _rule(text, at[_SPEC], log)
    question = _question(name, text_arguments, find(name), at[_SPEC], log)
    return _rule(question, at[_SPEC], log) if question is not None else None


def _rule(question: str, at: At, log: Log) -> Rule | None:
    if len(question) > MAX_QUESTION:
        why = stored("it is longer than {limit} characters, the limit for a question to a judge", limit=MAX_QUESTION)
        log.left_out(at.name, why, at.path, at.line)
        return None
    why = stored("the --judge model answers yes or no; choices and scores are left out")
    log.changed(at.name, why, at.path, at.line)
    sentence = " ".join(question.split())
    check = Check(kind="question", value=question)
    return Rule(id="graded", rule=sentence[:300], checks=(check,), needs="input", origin="added")


def _question(name: str, given: Mapping[str, str], file: Path | None, at: At, log: Log) -> str | None:
    """The question of a spec: its prompt, and which choices are a yes."""
    if file is None:
        log.left_out(at.name, stored("the grader's file is not in the folder modelgraded"), at.path, at.line)
        return None
    doc = yaml_reader.read(file, error=InputError, what="file of a grader")
    top = At(file, doc=doc)
    data = mapping(doc.data, top, "a file of graders")
    spec = mapping(data.get(name), top[name], "a grader") or data
    prompt, best = spec.get("prompt"), _best(spec)
    if not isinstance(prompt, str) or not best or spec.get("format_type") not in (None, "in_message"):
        log.left_out(at.name, stored("nothing says which of its choices are good"), at.path, at.line)
        return None
    try:
        text = "".join(_filled(prompt, given))
    except ValueError:
        log.left_out(at.name, stored("its prompt has braces that are not fields"), file, top["prompt"].line)
        return None
    return f"{text.strip()}\nIs one of these the right choice: {', '.join(map(literal, best))}?"


def _best(spec: Mapping[str, object]) -> list[str]:
    """The choices with the highest score, where not all have it."""
    scores, choices = spec.get("choice_scores"), spec.get("choice_strings")
    if scores == "from_strings" and isinstance(choices, str | list):
        scores = {str(choice): float(choice) for choice in choices if str(choice).isascii() and str(choice).isdigit()}
    if not isinstance(scores, dict) or not scores:
        return []
    numbers = {str(key): value for key, value in scores.items() if isinstance(value, int | float)}
    best = [key for key, value in numbers.items() if value == max(numbers.values())]
    return best if len(best) < len(numbers) else []


def _filled(prompt: str, given: Mapping[str, str]) -> Iterator[str]:
    """The grader's prompt as a template of ours, its fields filled in."""
    for text, field, _, _ in string.Formatter().parse(prompt):
        yield literal(text)
        if field is not None and field in given:
            yield literal(given[field])
        elif field is not None and not field.isidentifier():
            raise ValueError(field)
        elif field is not None:
            yield _WHAT.get(field, f"{{{{{field}}}}}")
