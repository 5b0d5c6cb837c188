"""Every problem of a prompt and the files beside it, and what a person has `validate` write into specs."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from promptpex import promptfile
from promptpex.assertions import check_time
from promptpex.cases import file as case_file
from promptpex.cases.input_specs import unusable_schemas
from promptpex.cases.samples_and_scenarios import read_samples, read_scenarios
from promptpex.codecs.files.ordinary_files import is_inside
from promptpex.codecs.text.wording import did_you_mean, quoted, with_hint
from promptpex.config import checked_effort, find_file, load
from promptpex.core.errors import InputError, PromptFileError, SpecError
from promptpex.core.records import WHOLE_INPUT, Problem, Prompt, Rule, Severity, Spec, Suite
from promptpex.core.translation import tr
from promptpex.documents import human_grades as grade_file
from promptpex.documents.editable_file import Reading
from promptpex.documents.record_problems import as_problem
from promptpex.promptfile.metric_files import is_metric
from promptpex.specs import file as spec_file
from promptpex.specs.extract import declared, unread_declarations
from promptpex.specs.source_quotes import check_sources, prompt_text, uncovered
from promptpex.workflow.execution.expected_scores import unusable_expected
from promptpex.workflow.front_matter import checked_instructions, checked_language, front_matter_params, plain_names
from promptpex.workflow.importing.embedded_tests import problems_of_own_tests
from promptpex.workflow.validation.other_files import (
    candidate_problems_beside,
    candidate_problems_of,
    is_candidate_file,
    metric_problems_beside,
    metric_problems_of,
    problems_of_grades,
)
from promptpex.workflow.validation.spec_problems import (
    against_cases,
    against_prompt,
    equal_inputs,
    paths_without_json,
    problems_of_inputs,
)

SPEC_END, CASES_END, GRADES_END = ".spec.yaml", ".cases.yaml", grade_file.ENDING
_CASE_SUFFIXES = (CASES_END, ".cases.yml", ".cases.csv", ".cases.jsonl", ".csv", ".jsonl")
_SPEC_SUFFIXES = (SPEC_END, ".spec.yml")


@dataclass(frozen=True, slots=True)
class _Set:
    """A prompt with what belongs to it; a file that does not exist is None."""

    prompt: Path | None
    spec: Path | None
    cases: Path | None
    grades: Path | None


def validate(paths: Iterable[Path | str]) -> list[Problem]:
    """All problems of these files, and of the files beside them that they need, in the order of files and lines.

    A prompt brings its spec, its cases, its grades, its candidates and the metrics beside it along; a spec or a case
    file brings the prompt it names, for comparison. A folder or a pattern stands for its prompts.
    """
    problems: dict[str, Problem] = {}
    with check_time():
        for path in paths:
            for problem in _of_named(Path(path)):
                problems.setdefault(str(problem), problem)
    return list(problems.values())


def files_with_spec(paths: Iterable[Path | str]) -> Iterator[tuple[Prompt, Path]]:
    """The prompts of these files that can be read, each with the file of its spec, where there is one."""
    for path in map(Path, paths):
        for file in _named_by(path):
            files = _Set(None, None, None, None) if is_metric(file) else _belonging(file)
            prompt, _ = _prompt(files.prompt)
            if prompt is not None and files.spec is not None:
                yield prompt, files.spec


def _of_named(path: Path) -> list[Problem]:
    try:
        return [problem for file in _named_by(path) for problem in _of_file(file)]
    except PromptFileError as failure:
        return [as_problem(failure)]


def _named_by(path: Path) -> list[Path]:
    return [path] if path.is_file() else promptfile.find_prompts([path])


def _of_file(path: Path) -> list[Problem]:
    if is_candidate_file(path):
        return candidate_problems_of(path)
    return metric_problems_of(path) if is_metric(path) else _of_set(_belonging(path))


def _belonging(path: Path) -> _Set:
    name = path.name.lower()
    if name.endswith(_SPEC_SUFFIXES):
        stem = path.name[: name.rindex(".spec.")]
        return _Set(_named_prompt(path, stem), path, _there(path.with_name(stem + CASES_END)), None)
    if name.endswith(GRADES_END):
        return _Set(None, _there(path.with_name(path.name[: -len(GRADES_END)] + SPEC_END)), None, path)
    if name.endswith(_CASE_SUFFIXES):
        stem = path.name[: name.rindex(".cases.")] if ".cases." in name else path.stem
        return _Set(_named_prompt(path, stem), _there(path.with_name(stem + SPEC_END)), path, None)
    spec, cases, grades = (_there(promptfile.sibling(path, kind)) for kind in ("spec", "cases", "grades"))
    return _Set(path, spec, cases, grades)


def _far_prompts(file: Path | None, named: str) -> list[Problem]:
    """The problem of a file that names a prompt outside its folder, which is not read, or of one that names none."""
    if file is not None and file.exists() and not named:
        message = "this file names no prompt, and its file name does not show which one it belongs to"
        return [Problem.warning(file, None, message, "write 'prompt: NAME.md' at its top")]
    if file is None or is_inside(file.parent / named, file.parent):
        return []
    message = f"the prompt {named!r} is outside the folder of this file, and is not read"
    return [Problem(path=str(file), message=message, suggestion="name the prompt beside this file")]


def _there(path: Path) -> Path | None:
    return path if path.exists() else None


def _named_prompt(path: Path, stem: str) -> Path | None:
    for reader in (spec_file.examine, case_file.examine):
        named = reader(path).record.prompt if path.exists() else ""
        if named and is_inside(path.parent / named, path.parent) and (path.parent / named).is_file():
            return path.parent / named
    beside = [file for file in sorted(path.parent.glob(f"{glob.escape(stem)}.*")) if _is_prompt(file)]
    return next((file for file in beside if promptfile.stem(file) == stem), beside[0] if len(beside) == 1 else None)


def _is_prompt(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith((".md", ".txt", ".prompty", ".j2", ".jinja", ".prompt.yml", ".prompt.yaml"))


def _of_set(files: _Set) -> list[Problem]:
    prompt, problems = _prompt(files.prompt)
    problems += _settings((files.prompt or files.spec or files.cases or Path()).parent, prompt)
    problems += _front_matter(prompt) if prompt is not None else []
    spec: Spec | None = None
    if files.spec is not None:
        spec_reading = spec_file.examine(files.spec)
        spec = spec_reading.usable
        of_spec = [*spec_reading.problems, *_far_prompts(files.spec, spec_reading.record.prompt)]
        of_spec += [*_schemas(files.spec, spec_reading), *paths_without_json(files.spec, spec_reading)] if spec else []
        of_spec += _old_calibrations(files.spec, spec_reading) if spec else []
        problems += _sorted(of_spec + (_spec_against(files.spec, spec_reading, prompt) if spec and prompt else []))
    if files.grades is not None:
        problems += problems_of_grades(files.grades, spec, files.prompt)
    if files.cases is not None:
        case_reading = case_file.examine(files.cases, spec, prompt)
        of_cases = [*case_reading.problems, *_far_prompts(files.cases, case_reading.record.prompt)]
        of_cases += problems_of_inputs(files.cases, spec, prompt, case_reading)
        of_cases += equal_inputs(files.cases, case_reading)
        of_cases += _unusable_expected(files.cases, case_reading)
        of_cases += _without_cases(files.cases, case_reading)
        if spec is not None and files.spec is not None:
            of_rules, of_concern = against_cases(files.spec, spec_reading, files.cases, case_reading)
            problems += _sorted(of_rules)
            of_cases += of_concern
        problems += _sorted(of_cases)
    if files.prompt is not None:
        problems += metric_problems_beside(files.prompt)
        problems += candidate_problems_beside(files.prompt)
    return problems


def _old_calibrations(path: Path, reading: Reading[Spec]) -> list[Problem]:
    """The rules that have been reworded since a judge was held against people on them."""
    return [
        Problem.info(
            path,
            reading.lines.get(rule.id),
            f"the calibration of {one.judge} on the rule {rule.id!r} was measured on other words",
            "measure it again with `promptpex align`",
        )
        for rule in reading.record.rules
        for one in rule.judge
        if one.rule_digest != rule.digest
    ]


def _sorted(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: problem.line or 0)


def _prompt(path: Path | None) -> tuple[Prompt | None, list[Problem]]:
    if path is None:
        return None, []
    try:
        return promptfile.examine(path)
    except PromptFileError as failure:
        return None, [as_problem(failure)]


def _spec_against(path: Path, reading: Reading[Spec], prompt: Prompt) -> list[Problem]:
    """What does not fit between a spec and its prompt: fingerprint, quoted words, sentences, variables."""
    spec, lines = reading.record, reading.lines
    problems: list[Problem] = []

    def add(message: str, line: int | None, severity: Severity, suggestion: str = "") -> None:
        place = str(prompt.path) if severity == "info" and line is None else str(path)
        problems.append(Problem(path=place, line=line, message=message, suggestion=suggestion, severity=severity))

    if prompt.path and spec.prompt and Path(spec.prompt).name != Path(prompt.path).name:
        message = f"this is the spec of {spec.prompt!r}, and is used for {Path(prompt.path).name!r}"
        add(message, None, "warning", "correct 'prompt', or give the prompt a spec of its own")
    if spec.prompt_fingerprint and spec.prompt_fingerprint != prompt.fingerprint:
        message = f"the prompt has changed since this spec was written (it is {prompt.fingerprint} now)"
        add(message, None, "warning", "review its rules and confirm them with --fix, or run extract --update")
    _against_words(spec.rules, prompt, lines, add)
    for name in spec.inputs:
        if name not in (WHOLE_INPUT, *prompt.variables, *prompt.checks_only):
            add(f"the input spec has {name!r}, which the prompt does not take", None, "warning", "remove it")
    for name in prompt.variables:
        if spec.inputs and name not in spec.inputs:
            add(f"the input spec lacks {name!r}", None, "warning", "add it under 'inputs'")
    return problems + against_prompt(path, reading, prompt)


def _against_words(rules: Sequence[Rule], prompt: Prompt, lines: Mapping[str, int], add: Callable[..., None]) -> None:
    for source in check_sources(rules, prompt_text(prompt)):
        if source.status == "missing":
            message = f"the rule {source.rule!r} cites words that are not in the prompt: {quoted(source.source)}"
            add(message, lines.get(source.rule), "warning", "remove the rule, or quote what the prompt now says")
        elif source.status == "changed":
            message = f"the words that the rule {source.rule!r} cites have changed; the prompt now says: "
            add(message + quoted(source.nearest or ""), lines.get(source.rule), "warning", "read the rule again")
    for rule in rules:
        if rule.origin == "extracted" and not rule.stale and not (rule.source or "").strip():
            message = f"the rule {rule.id!r} quotes no words of the prompt"
            add(message, lines.get(rule.id), "info", "add them under 'source', or see `extract --verify`")
    for sentence in uncovered(rules, prompt):
        add(f"no rule cites: {quoted(sentence)}", None, "info")


def _front_matter(prompt: Prompt) -> list[Problem]:
    """What the stages cannot use of the front matter; they would report it one by one."""
    meta, path, variables = prompt.meta, prompt.path, prompt.variables
    readers: tuple[Callable[[], object], ...] = (
        lambda: checked_instructions(meta.get("instructions") or {}, path),
        lambda: checked_language(meta.get("language"), path),
        lambda: read_scenarios(meta.get("scenarios"), variables=variables, path=path),
        lambda: read_samples(meta.get("samples"), variables=variables, path=path),
        lambda: meta.get("effort") is None or checked_effort(meta["effort"], path=path),
        *(partial(declared, prompt, name) for name in variables),
    )
    problems = [problem for reader in readers if (problem := _problem_of(reader)) is not None]
    problems += _parameters(prompt)
    try:
        problems += problems_of_own_tests(prompt)
    except InputError as failure:
        problems.append(as_problem(failure))
    return problems + [Problem.warning(str(path), None, sentence) for sentence in unread_declarations(prompt)]


def _parameters(prompt: Prompt) -> Iterator[Problem]:
    """What a run does with the name and the parameters of a model that the front matter gives."""
    names = plain_names(prompt)
    if names:
        hint = "flags, environment and settings override it"
        yield Problem.info(str(prompt.path), None, f"the model under test is {names[0]} where nothing else is", hint)
    params, unused = front_matter_params(prompt)
    values = params.model_dump(exclude_defaults=True, exclude={"extra"}) | params.extra
    if values:
        sent = ", ".join(f"{name} {value}" for name, value in values.items())
        hint = "flags, settings and the model's name override it"
        yield Problem.info(str(prompt.path), None, f"models under test are sent {sent}", hint)
    if unused:
        message = f"not sent, since promptpex has no such model parameter: {', '.join(unused)}"
        yield Problem.warning(str(prompt.path), None, message)


def _settings(start: Path, prompt: Prompt | None) -> list[Problem]:
    """What is wrong with the settings file that a run of this folder's prompts reads, or does not fit the prompt."""
    try:
        settings = load({}, start=start, env={}).settings
    except InputError as failure:
        return [as_problem(failure)]
    settings_file, variables = find_file(start), prompt.variables if prompt else ()
    file = str(settings_file) if settings_file else None
    readers: list[Callable[[], object]] = [
        lambda: checked_instructions(settings.instructions, file),
        lambda: checked_language(settings.language, file),
    ]
    if prompt is not None:
        readers += [
            lambda: read_scenarios(settings.scenarios or None, variables=variables, path=file),
            lambda: read_samples(settings.samples or None, variables=variables, path=prompt.path),
        ]
    return [problem for reader in readers if (problem := _problem_of(reader)) is not None]


def _problem_of(reader: Callable[[], object]) -> Problem | None:
    try:
        reader()
    except InputError as failure:
        return as_problem(failure)
    return None


def _schemas(path: Path, reading: Reading[Spec]) -> list[Problem]:
    """The schemas of variables that cannot be used: they would silently accept everything."""
    return [
        Problem(path=str(path), line=reading.line("inputs", name), message=message)
        for name, message in unusable_schemas(reading.record.inputs).items()
    ]


def _without_cases(path: Path, reading: Reading[Suite]) -> list[Problem]:
    suite = reading.usable
    problem = _problem_of(lambda: case_file.usable_cases(suite, path)) if suite is not None else None
    return [problem] if problem is not None else []


def _unusable_expected(path: Path, reading: Reading[Suite]) -> list[Problem]:
    """Expected outputs that their comparison cannot use, so that outputs would be unscored."""
    return [
        Problem.warning(
            path, reading.lines.get(case), f"the case {case!r}: {sentence}", "change it, or the comparison under match"
        )
        for case, sentence in unusable_expected(reading.record).items()
    ]


def confirm_prompts(paths: Iterable[Path | str]) -> list[Path]:
    """Writes the fingerprint of its prompt into each spec of these files that has another one or none; nothing else.

    What cannot be read, or has no spec, is passed over: ``validate`` says what is wrong with it.

    Returns:
        The specs that were written.
    """
    written: list[Path] = []
    with check_time():
        for prompt, path in files_with_spec(paths):
            spec = spec_file.examine(path).usable
            if spec is not None and spec.prompt_fingerprint != prompt.fingerprint:
                spec_file.write_spec(path, spec.replace(prompt_fingerprint=prompt.fingerprint))
                written.append(path)
    return written


def drop_checks(paths: Iterable[Path | str], rules: Collection[str]) -> list[str]:
    """Removes the checks of some rules from the one spec of these files, and says of each what is gone."""
    specs = list(dict.fromkeys(path for _, path in files_with_spec(paths)))
    if len(specs) != 1:
        raise SpecError(f"--drop-check is for one spec, and {len(specs)} are named here; name its prompt")
    (path,) = specs
    spec = spec_file.read_spec(path)
    chosen = {name: spec.rule(name) for name in dict.fromkeys(rules)}
    for name, rule in chosen.items():
        if rule is None or not rule.checks:
            what = "there is no such rule" if rule is None else "this rule has no check"
            hint = did_you_mean(name, [one.id for one in spec.rules if one.checks])
            raise SpecError(with_hint(f"--drop-check {name}: {what}", hint), path=path)
    kept = [rule.replace(checks=(), decides="wholly") if rule.id in chosen else rule for rule in spec.rules]
    spec_file.write_spec(path, spec.replace(rules=tuple(kept)), by_hand=True)
    return [_gone(path, rule) for rule in chosen.values() if rule is not None]


def _gone(path: Path, rule: Rule) -> str:
    kinds = ", ".join(check.kind for check in rule.checks)
    return tr(
        "{file}: {rule} has no check any more ({kinds}), so only a judge can decide it",
        file=path,
        rule=rule.id,
        kinds=kinds,
    )
