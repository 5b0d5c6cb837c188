"""What becomes of chosen assertions: rules of the spec, a file of checks, or a Python module with tests."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from promptpex.cases.file import read_suite
from promptpex.codecs.files.atomic import write_text
from promptpex.core.errors import SynthesisError
from promptpex.core.ids import digest
from promptpex.core.records import Case, Spec, Suite, Synthesis
from promptpex.interchange import promptfoo
from promptpex.interchange.format import Exported
from promptpex.promptfile import read, sibling
from promptpex.specs.file import read_spec, write_spec
from promptpex.synthesis.choice import exports
from promptpex.synthesis.choice.exports import with_assertions
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.results.matrix import Matrix

PROMPTFOO = "promptfooconfig"
"""How promptfoo calls its configuration, and how the name of a file begins that is to be one."""


def put_into_spec(folder: Path, synthesis: Synthesis, chosen: Collection[str]) -> Path:
    """Makes the chosen candidates rules and checks of the prompt's spec, in place of those of an earlier choice.

    A prompt without a spec gets one, of these rules alone.
    """
    path = SynthesisFolder(folder).prompt(synthesis.prompt)
    prompt = read(path)
    spec_path = sibling(path, "spec")
    spec = (
        read_spec(spec_path)
        if spec_path.exists()
        else Spec(prompt=path.name, prompt_fingerprint=prompt.fingerprint, intent=prompt.description)
    )
    after = with_assertions(spec, synthesis, chosen)
    if not after.rules:
        raise SynthesisError("nothing is chosen, and a spec without rules is useless", path=folder)
    try:
        write_spec(spec_path, after, by_hand=True)
    except OSError as failure:
        raise SynthesisError(f"the spec cannot be written ({failure.strerror or failure})", path=spec_path) from None
    return spec_path


@dataclass(frozen=True, slots=True)
class WrittenChoice:
    """The files that a choice was written to, and a sentence for everything that the other tool has no place for."""

    paths: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


def write_chosen(
    folder: Path, out: Path, synthesis: Synthesis, matrix: Matrix, chosen: Collection[str]
) -> WrittenChoice:
    """Writes the chosen candidates to a file: ``.yaml`` for ``promptpex check``, ``.py`` for a module with its tests; a
    file called ``promptfooconfig....yaml`` is a whole configuration of promptfoo."""
    suffix = out.suffix.lower()
    if suffix in (".yaml", ".yml") and out.name.startswith(PROMPTFOO):
        output_file = _for_promptfoo(folder, synthesis, matrix, chosen)
        text = f"{exports.CHECKS_MARK}\n{output_file.text}"
        return WrittenChoice(tuple(_write({out: text}, exports.CHECKS_MARK)), output_file.left_out)
    if suffix in (".yaml", ".yml"):
        return WrittenChoice(tuple(_write({out: exports.check_file(synthesis, chosen)}, exports.CHECKS_MARK)))
    if suffix != ".py":
        raise SynthesisError("the file's name ends neither in .yaml nor in .py; give it one of these", path=out)
    module = out.stem
    if not module.isidentifier() or keyword.iskeyword(module):
        raise SynthesisError(f"{module!r} cannot be imported; take letters, digits and underscores", path=out)
    results = {
        (candidate.fingerprint, example): status
        for number, candidate in enumerate(matrix.candidates)
        if candidate.id in chosen
        for example, status in matrix.results(number).items()
    }
    written = _write({out: exports.python_module(synthesis, chosen, module=module)}, exports.MODULE_MARK)
    tests = {out.with_name(f"test_{out.name}"): exports.python_tests(module)}
    written += _write(tests, exports.TESTS_MARK)
    examples = exports.examples_json(synthesis, chosen, matrix.examples, results)
    written += _write({out.with_name(exports.examples_file(module)): examples}, exports.EXAMPLES_MARK)
    return WrittenChoice(tuple(written))


def _for_promptfoo(folder: Path, synthesis: Synthesis, matrix: Matrix, chosen: Collection[str]) -> Exported:
    """The prompt, the chosen candidates as assertions of every test, and the examples' inputs as tests."""
    path = SynthesisFolder(folder).prompt(synthesis.prompt)
    prompt = read(path)
    spec = with_assertions(Spec(prompt=synthesis.prompt, intent=prompt.description), synthesis, chosen)
    inputs = {example.case or f"case-{digest(example.inputs, 8)}": example.inputs for example in matrix.examples}
    known_cases = _known_cases(path)
    cases = tuple(_case(name, values, known_cases.get(name)) for name, values in inputs.items())
    return promptfoo.config(prompt, spec, Suite(prompt=synthesis.prompt, cases=cases))


def _known_cases(prompt: Path) -> Mapping[str, Case]:
    path = sibling(prompt, "cases")
    return {case.id: case for case in read_suite(path).cases} if path.exists() else {}


def _case(name: str, inputs: Mapping[str, object], known: Case | None) -> Case:
    """The test of an example; it aims at a rule where the case that it comes from has the same inputs still."""
    case = Case(id=name, inputs=dict(inputs), origin="added")
    if known is None or known.inputs != case.inputs:
        return case
    return case.replace(rule=known.rule, inverse=known.inverse)


def _write(texts: dict[Path, str], mark: str) -> list[Path]:
    """Writes these texts; a file that is there already has to begin as ours do."""
    for path, text in texts.items():
        try:
            if path.exists() and not path.read_bytes().startswith(mark.encode()):
                raise SynthesisError("exists already, and promptpex did not write it; name another file", path=path)
            write_text(path, text, links=False)
        except OSError as failure:
            raise SynthesisError(f"cannot be written ({failure.strerror or failure})", path=path) from None
    return list(texts)
