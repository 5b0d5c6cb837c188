"""A spec and a suite as a ``promptfooconfig.yaml``, the checks as its assertions.

The prompt is written as a chat in JSON: its turns alone are templates there, and inputs go in as they are. promptfoo
fills ``{{ env.NAME }}`` into every text of a configuration when it is loaded, and its templates (Nunjucks) are in no
sandbox: ``"".constructor.constructor("...")()`` is any JavaScript. So what it would run, fill in or take for a file is
left out and named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from promptpex.codecs.text.inputs_as_text import has_template, named_text, raw, value_text
from promptpex.codecs.text.python_scan import Given, count_asking, definitions, given_to, parameters_of
from promptpex.core.errors import InputError
from promptpex.core.judge_questions import RUBRIC_NO, RUBRIC_YES
from promptpex.core.records import Case, Check, Prompt, Rule, Spec, Suite
from promptpex.core.sentences import on_one_line
from promptpex.core.translation import stored
from promptpex.documents import yaml_writer
from promptpex.interchange.format import Exported, Source
from promptpex.interchange.promptfoo.assertions import CODE_KINDS, SET
from promptpex.interchange.promptfoo.providers import is_program, their_provider
from promptpex.interchange.promptfoo.read import OURS
from promptpex.interchange.promptfoo.rules import literal

_ENVIRONMENT = re.compile(r"env\s*[.\[]|\benv\b")
_BEGIN = re.compile(r"\{[{%]")
_PART = re.compile(r"""\{[{%]((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?![}%]\})[^"'])*)[}%]\}""", re.DOTALL)
_STRING = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'""", re.DOTALL)
_PLAIN = re.compile(r"[\w -]*", re.ASCII)
_ODD = re.compile(r"\b(?:constructor|prototype|__proto__|env)\b")
_REFUSED_TAG = re.compile(r"\{%-?\s*(?:include|import|from|extends|call|macro)\b")
_SUBSCRIPT = re.compile(r"""([\w)\]"]+)\s*\[(?!\s*(?:\d+|"[\w -]*")\s*\])""")
_BEFORE_LISTS = frozenset(("in", "not", "and", "or", "if", "else", "is"))
_FILES = ("file://", "package:")


def fills_in(value: object) -> bool:
    """Whether promptfoo would put variables of the environment into one of the texts of a value."""
    return any(_ENVIRONMENT.search(text[begin:end]) for text in texts_in(value) for begin, end in fields(text))


def fields(text: str) -> Iterator[tuple[int, int]]:
    """Where the fields of a text begin and end, braces among them; each ends at the first ``}}`` behind its ``{{``."""
    begin = text.find("{{")
    while begin >= 0 and (end := text.find("}}", begin + 2)) >= 0:
        yield begin, end + 2
        begin = text.find("{{", end + 2)


def runs_code(template: str) -> bool:
    """Whether a template does more than to put in, test, repeat and filter what its variables hold."""
    place = 0
    while (begin := _BEGIN.search(template, place)) is not None:
        part = _PART.match(template, begin.start())
        code = _STRING.sub(_word_of, part[1]) if part is not None else ""
        if part is None or _REFUSED_TAG.match(part[0]) or _ODD.search(code):
            return True
        if any(before[1] not in _BEFORE_LISTS for before in _SUBSCRIPT.finditer(code)):
            return True
        place = part.end()
    return False


def names_file(value: object) -> bool:
    """Whether promptfoo would take the value of an assertion, or an item of it, for the name of a file or a package."""
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, str) and one.startswith(_FILES) for one in values)


def texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from texts_in(one)


def has_reference(value: object) -> bool:
    """Whether a mapping in a value has ``$ref``, which promptfoo follows to files and addresses."""
    if isinstance(value, Mapping):
        return "$ref" in value or any(map(has_reference, value.values()))
    return isinstance(value, list | tuple) and any(map(has_reference, value))


def _word_of(string: re.Match[str]) -> str:
    """What matters of a string: a plain word, which may name a field, or that it is none."""
    content = string[1] if string[1] is not None else string[2]
    return f'"{content}"' if _PLAIN.fullmatch(content) else '"!"'


_GIVEN: dict[Given, str] = {
    "output": "output",
    "context": "context",
    "example": "context['vars']",
    "vars": "context['vars']",
    "prompt": "context['prompt']",
    "response": "output if isinstance(output, str) else json.dumps(output)",
}


def python_problem(check: Check) -> str | None:
    if not isinstance(check.value, str):
        return "its value is not a text"
    if count_asking(check.value):
        return "promptfoo's Python has no judge to ask"
    return None


def as_body(check: Check) -> Check:
    """The code as a body that returns; what defines a function calls it. Braces that are Python's are kept so."""
    code = str(check.value).rstrip()
    defined = {each.name: each for each in definitions(code)}
    if not defined:
        return check
    config = check.config if isinstance(check.config, dict) else {}
    chosen = defined.get(str(config.get("function", "get_assert")), list(defined.values())[-1])
    arguments = given_to(parameters_of(code, chosen)) or ()
    call = f"{chosen.name}({', '.join(_GIVEN[name] for name in arguments)})"
    call = f"asyncio.run({call})" if chosen.awaited else call
    returned = f"bool({call})" if "response" in arguments else call
    head = "import asyncio\n" if chosen.awaited else ""
    return check.replace(value=raw(f"{head}{code}\nreturn {returned}"))


def as_rubric(check: Check) -> Check:
    """The question as a statement for a grader; it says itself whether yes or no is wanted."""
    rubric_form = RUBRIC_NO if check.kind.startswith("not-") else RUBRIC_YES
    return check.replace(kind="llm-rubric", value=f"{rubric_form}{check.value}")


_SAME = CODE_KINDS | {SET, "question", "llm-rubric"}
"""Kinds that promptfoo has under the same name, or that become one of its."""

_PLACEHOLDER = "echo"
"""A provider of promptfoo that asks no model, for a suite that names none."""


def config(
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    models: Sequence[str] = (),
    rubrics: bool = False,
    concerned: Mapping[str, Collection[str]] | None = None,
) -> Exported:
    """The configuration: the prompt as chat messages, the usable cases as tests, the rules' checks for each of them.

    A rule that holds for some cases only, or whose judge needs the input, has its assertions in the tests of its cases.

    Args:
        models: our names of models, or promptfoo's; without any, its ``echo``, to be replaced.
        rubrics: whether rules that code does not decide become ``llm-rubric`` assertions, for which promptfoo asks a
            judge.
        concerned: of rules with ``when``, the ids of the cases for which it holds; None: not known, and these rules
            are left out.
    """
    _refuse_code(prompt)
    left_out: list[str] = []
    rules = [rule for rule in spec.rules if not rule.stale and _is_placed(rule, concerned, left_out)]
    asserts = _asserts(rules, rubrics, left_out)
    always = [entry for rule in rules if not _by_case(rule) for entry in asserts[rule.id]]
    left_out += _unusable(suite)
    cases = [case for case in suite.usable() if not _is_read_otherwise(case, left_out)]
    intent = _kept("the intent", spec.intent, left_out)
    content: dict[str, Any] = {
        "description": on_one_line(intent or _kept("the name of the prompt", prompt.name, left_out)),
        "prompts": [_chat(prompt, left_out)],
        "providers": _providers(models, left_out),
    }
    if always:
        content["defaultTest"] = {"assert": always}
    content["tests"] = [_test(case, _of_case(case, rules, asserts, concerned or {})) for case in cases]
    texts = {rule.id: _kept(rule.id, rule.rule, left_out) for rule in rules if asserts[rule.id]}
    content["metadata"] = {OURS: {"intent": on_one_line(intent), "rules": texts}}
    schema = "# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json\n"
    return Exported(schema + yaml_writer.document(content), tuple(left_out))


def _providers(models: Sequence[str], left_out: list[str]) -> list[Any]:
    """The models under their ids there; the placeholder where none is left."""
    providers = [each for name in models if not fills_in(each := their_provider(name, left_out))]
    if not providers:
        left_out.append(
            stored(
                "no model: until you name one, the provider is {echo}, which returns each prompt unchanged",
                echo=_PLACEHOLDER,
            )
        )
    return providers or [_PLACEHOLDER]


def _refuse_code(prompt: Prompt) -> None:
    contents = [message.content for message in prompt.messages]
    if any(map(runs_code, contents)) or fills_in(contents):
        raise InputError(
            f"the prompt {prompt.name!r} cannot be exported to promptfoo: its template would run as code there, or "
            "be filled with environment variables; use plain {{names}} in it"
        )


def _asserts(rules: Sequence[Rule], rubrics: bool, left_out: list[str]) -> dict[str, list[dict[str, Any]]]:
    asserts = {rule.id: _rule(rule.id, rule.checks, left_out) for rule in rules}
    for rule in rules:
        if rule.needs_judge and rubrics and not fills_in(rule.rule):
            asserts[rule.id].append({"type": "llm-rubric", "value": _raw(rule.rule), "metric": rule.id})
        elif rule.needs_judge:
            left_out.append(
                stored("rule {rule} is not decided by code (--rubrics makes it an llm-rubric)", rule=rule.id)
            )
    count = sum(_runs(entry) for entries in asserts.values() for entry in entries)
    if count:
        left_out.append(stored("checks that promptfoo runs as programs without a sandbox, so read them first: {count}",
                               count=count))  # fmt: skip
    return asserts


def _kept(name: str, text: str, left_out: list[str]) -> str:
    """The text, or nothing where promptfoo would write the environment into it."""
    if not fills_in(text):
        return text
    left_out.append(
        stored("{name}: its text is left out, since promptfoo would fill in environment variables", name=name)
    )
    return ""


def _runs(entry: Mapping[str, Any]) -> bool:
    is_code = str(entry["type"]).removeprefix("not-") in ("javascript", "python") or "transform" in entry
    return is_code or any(_runs(part) for part in entry.get("assert", ()))


def _unusable(suite: Suite) -> list[str]:
    invalid = [
        stored("case {case} is invalid: {reason}", case=case.id, reason=case.invalid)
        for case in suite.cases
        if case.invalid is not None
    ]
    aside = [
        stored("case {case} is set aside: {reason}", case=case.id, reason=case.aside)
        for case in suite.valid()
        if case.aside is not None
    ]
    return [*invalid, *aside]


def _is_placed(rule: Rule, concerned: Mapping[str, Collection[str]] | None, left_out: list[str]) -> bool:
    """Whether it is known which tests the rule belongs to; else it is named among what is ``left_out``."""
    if rule.when and concerned is None:
        left_out.append(
            stored("rule {rule} is left out: it is not known which cases its 'when' applies to", rule=rule.id)
        )
        return False
    return True


def _by_case(rule: Rule) -> bool:
    return bool(rule.when) or (rule.needs == "input" and rule.needs_judge)


def _of_case(
    case: Case,
    rules: Sequence[Rule],
    asserts: Mapping[str, list[dict[str, Any]]],
    concerned: Mapping[str, Collection[str]],
) -> list[dict[str, Any]]:
    """The assertions of the rules that differ from test to test; a rubric that needs the input is given it."""
    case_rules = [rule for rule in rules if _by_case(rule) and (not rule.when or case.id in concerned.get(rule.id, ()))]
    return [
        {**entry, "value": _raw(f"{rule.rule}\nThe input was:\n{named_text(case.inputs)}")}
        if entry["type"] == "llm-rubric" and rule.needs == "input"
        else entry
        for rule in case_rules
        for entry in asserts[rule.id]
    ]


def _rule(rule_id: str, checks: Sequence[Check], left_out: list[str]) -> list[dict[str, Any]]:
    assertions: list[dict[str, Any]] = []
    for check in checks:
        why = _unfit(check)
        if why is None:
            assertions.append({**_assertion(check), "metric": check.metric or rule_id})
        else:
            left_out.append(stored("a check of rule {rule} is left out: {reason}", rule=rule_id, reason=why))
    return assertions


def _unfit(check: Check) -> str | None:
    if check.kind.removeprefix("not-") not in _SAME:
        return stored("promptfoo has no {kind}", kind=check.kind)
    if check.kind.endswith("python"):
        problem = python_problem(check)
        if problem is not None:
            return problem
    if check.unit != "words":
        return stored("promptfoo's word-count does not count {unit}", unit=check.unit)
    if check.dialect == "python":
        return stored("promptfoo's regex supports only the ECMAScript dialect")
    if _has_flags(check) and has_template(str(check.value)):
        return stored("promptfoo's regex has no flags, and a value from a template may break a script")
    if check.path is not None:
        return stored("promptfoo's assertions look at the whole output")
    if check.exact and "multipleOf" in json.dumps(check.value, default=str):
        return stored("promptfoo's schemas have no exact decimals")
    if check.kind.endswith("rouge-n") and check.n != 1:
        return stored("promptfoo's rouge-n has only n = 1")
    check_values = [check.value, check.config, check.transform, check.metric]
    values = check.value if isinstance(check.value, list | tuple) else [check.value]
    if fills_in(check_values) or any(runs_code(value) for value in values if isinstance(value, str)):
        return stored("promptfoo would fill in environment variables, or run its template as code")
    if names_file(check.value) or names_file(check.transform):
        return stored("promptfoo would take its value for a file name")
    if has_reference(check.config) or (has_reference(check.value) and "{" in "".join(texts_in(check.value))):
        return stored("promptfoo would follow its $ref")
    return next((why for why in map(_unfit, check.asserts or ()) if why), None)


def _assertion(check: Check) -> dict[str, Any]:
    """The check under promptfoo's names; templates in values are theirs as much as ours and stay."""
    if _has_flags(check):
        check = _as_script(check)
    elif check.kind.removeprefix("not-") == "question":
        check = as_rubric(check)
    elif check.kind.removeprefix("not-") == "python":
        check = as_body(check)
    plain = check.to_dict()
    entry = {"type": plain.pop("kind"), **{key: plain[key] for key in _KEYS if key in plain}}
    if has_reference(entry.get("value")):  # which promptfoo follows everywhere but in texts
        entry["value"] = json.dumps(entry["value"], ensure_ascii=False)
    if check.asserts is not None:
        entry["assert"] = [_assertion(part) for part in check.asserts]
    return entry


def _has_flags(check: Check) -> bool:
    return check.kind.removeprefix("not-") == "regex" and (check.dialect == "unicode" or check.ignore_case)


def _as_script(check: Check) -> Check:
    """A pattern with flags, which promptfoo's ``regex`` does not have, as a script."""
    flags = ("u" if check.dialect == "unicode" else "") + ("i" if check.ignore_case else "")
    matches = f"new RegExp({json.dumps(check.value)}, {json.dumps(flags)}).test(String(output))"
    script = f"!{matches}" if check.kind.startswith("not-") else matches
    return check.replace(kind="javascript", value=script)


_KEYS = ("value", "threshold", "weight", "transform", "config")


def _chat(prompt: Prompt, left_out: list[str]) -> str:
    """The turns as JSON over several lines: a text on one line might be taken for the name of a file."""
    messages = [{"role": message.role, "content": _nunjucks(message.content)} for message in prompt.messages]
    if prompt.implicit_input:
        messages.append({"role": "user", "content": f"{{{{{prompt.variables[0]}}}}}"})
    if any(_TAG.search(message.content) for message in prompt.messages):
        left_out.append(
            stored(
                "the prompt's template has tags, and promptfoo turns inputs that are lists into text: check that it "
                "renders the same"
            )
        )
    return json.dumps(messages, ensure_ascii=False, indent=1)


def _nunjucks(template: str) -> str:
    return re.sub(r"\|\s*tojson\b(?:\(\))?", "| dump", template)


_TAG = re.compile(r"\{%-?\s*(?!raw\b|endraw\b)")
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)


def _is_read_otherwise(case: Case, left_out: list[str]) -> bool:
    """Whether promptfoo would read an input as something else, so that the case cannot be the same there."""
    about = {"expected": case.expected, "scenario": case.scenario, "rule": case.rule}
    for name, value in ({name: value for name, value in about.items() if value is not None} | case.inputs).items():
        text = value_text(value)
        is_variable = name not in ("scenario", "rule") or name in case.inputs
        named = is_variable and any(name in (*case.inputs, "expected") for name in _NAME.findall(text))
        named = named or fills_in(value) or fills_in(text)
        if named or (is_variable and names_file(text)):
            values = {"case": case.id, "name": name, "text": repr(text[:40])}
            filled = stored(
                "case {case} is left out: its input {name} contains {text}, which promptfoo would fill in", **values
            )
            file = stored(
                "case {case} is left out: its input {name} contains {text}, which promptfoo would take for a file",
                **values,
            )
            left_out.append(filled if named else file)
            return True
    return False


def _test(case: Case, asserts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    aim = f": aims at {case.rule}{' (inverse)' if case.inverse else ''}" if case.rule else ""
    test: dict[str, Any] = {"description": f"{case.id}{aim}"}
    test["vars"] = {name: _value(value) for name, value in case.inputs.items()}
    if case.expected is not None:
        test["vars"].setdefault("expected", _value(case.expected))
    if asserts:
        test["assert"] = list(asserts)
    metadata = {"case": case.id, "rule": case.rule, "scenario": case.scenario, "expected": case.expected}
    test["metadata"] = {name: value for name, value in metadata.items() if value is not None}
    return test


def _value(value: Any) -> Any:
    """The value as a variable there: lists and mappings as JSON, which is what the prompt is sent here; of a text that
    ends a line promptfoo cuts the last line end, so that it has one more."""
    if isinstance(value, str):
        return f"{value}\n" if value.endswith("\n") else value
    if isinstance(value, bool | int | float):
        return value
    return json.dumps(value, ensure_ascii=False)


def _raw(text: str) -> str:
    """The text of a rubric so that promptfoo neither renders it nor takes it for the name of a file."""
    return literal(text, always="://" in text)


def write(source: Source, *, models: str | None, rubrics: bool) -> Exported:
    """The configuration of what is exported; ``models`` are comma-separated, by default the run's."""
    project = source.project()
    parts = project.prompt, project.spec, project.suite
    if models:
        named = [name.strip() for name in models.split(",") if name.strip()]
        return config(*parts, models=named, rubrics=rubrics, concerned=project.concerned)
    programs = [name for name in project.models if is_program(name)]
    named = [name for name in project.models if name not in programs]
    written_config = config(*parts, models=named, rubrics=rubrics, concerned=project.concerned)
    why = [stored("the model {label} is left out: promptfoo would run a program or call an address of its own",
                  label=name) for name in programs]  # fmt: skip
    return replace(written_config, left_out=(*written_config.left_out, *why))
