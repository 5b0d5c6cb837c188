"""The matrix: what every candidate says of every example (M of SPADE, section 4.1), in memory and on disk.

In memory a cell is a byte, so that 1,000 candidates on 10,000 examples take 10 MB. On disk it is a line, appended when
it is known. A line counts as long as all that decided it is the same: the check, the example, and the basis.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from promptpex.assertions import CHECKS_VERSION, questions_of, sees_prompt
from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import append_whole
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import SynthesisError
from promptpex.core.ids import digest
from promptpex.core.records import Candidate, CandidateResult, CandidateStatus, Check, Criterion, Example, Synthesis

LONGEST = 50_000
"""Characters of Python that are parsed; longer code is compared as text."""

_IN_ANY_ORDER = ("contains-all", "contains-any", "icontains-all", "icontains-any", "word-any", "word-all")
NOT_DECIDING = ("weight", "metric")
"""Keys of a check that its own verdict does not depend on."""


def normal_form(check: Check) -> str:
    """A digest that checks share if they are the same code.

    Of Python the syntax tree without the function's name and docstring; of a question its words; of the other kinds
    their keys, lists in which order does not matter sorted.
    """
    return digest(_plain(check), 32)


def _plain(check: Check) -> dict[str, object]:
    data = {name: value for name, value in check.to_dict().items() if name not in NOT_DECIDING}
    if check.asserts is not None:
        data["assert"] = [_plain(part) for part in check.asserts]
        return data
    base = check.kind.removeprefix("not-")
    if base == "python" and isinstance(check.value, str):
        data["value"] = python_tree(check.value)
    elif base == "question" and isinstance(check.value, str):
        data["value"] = " ".join(check.value.split())
    elif base in _IN_ANY_ORDER and isinstance(check.value, list) and all(isinstance(one, str) for one in check.value):
        data["value"] = sorted(set(check.value))
    return data


def python_tree(code: str) -> str:
    """The syntax tree of code as text, its only function without name and docstring; the code itself where it cannot be
    parsed. Nothing of it runs."""
    if len(code) > LONGEST:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code.strip())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        if len(functions) == 1:
            functions[0].name = "check"
            functions[0].body = _without_docstring(functions[0].body)
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code.strip()


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def same_code(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """The pairs of candidates, by their ids and in both directions, that are the same code."""
    groups: dict[str, list[str]] = {}
    for candidate in candidates:
        groups.setdefault(normal_form(candidate.check), []).append(candidate.id)
    return [(one, other) for group in groups.values() for one in group for other in group if one != other]


WHAT = "file of results"
LONGEST_LINE = 100_000
LONGEST_REASON = 300
"""Characters that are kept of the reason of a fail or an error; of a pass there is none."""

MOST_REASONS, OTHER_REASONS = 20, "other reasons"
"""Reasons of errors that are counted one by one for each candidate, and what further ones are counted as."""

MISSING, PASS, FAIL, ERROR = range(4)
"""What a byte of the matrix means."""

_BYTES: dict[CandidateStatus, int] = {"pass": PASS, "fail": FAIL, "error": ERROR}
_STATUSES = {byte: status for status, byte in _BYTES.items()}


def may_ask(check: Check) -> bool:
    return questions_of([check]) > 0


def distance_from_code(check: Check) -> int:
    """0 for a ready kind, 1 for Python, 2 for what may ask a judge; of several checks the greatest."""
    own = 2 if may_ask(check) else int(check.kind.removeprefix("not-") == "python")
    return max([own, *map(distance_from_code, check.asserts or ())])


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What a candidate says of an example, by their numbers in the matrix.

    Attributes:
        asked: how many answers of a judge it took.
        kept: whether it goes to disk; an error that the next run may not meet does not.
        questions: what a judge has to answer before the candidate can say anything.
    """

    candidate: int
    example: int
    status: CandidateStatus
    reason: str = ""
    asked: int = 0
    kept: bool = True
    questions: tuple[str, ...] = ()


@dataclass
class Matrix:
    """What candidates say of examples.

    Attributes:
        candidates, examples: the columns and the rows.
        judge: the fingerprint of the judge that questions go to, empty where there is none; results of others do not
            count. None: those of any judge count, the last ones.
        errors: per candidate how often it erred, by reason.
        asked: per candidate how many answers of a judge it took.
    """

    candidates: Sequence[Candidate]
    examples: Sequence[Example]
    judge: str | None = None
    errors: list[Counter[str]] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    _columns: list[bytearray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.errors = [Counter() for _ in self.candidates]
        self.asked = [0 for _ in self.candidates]
        self._columns = [bytearray(len(self.examples)) for _ in self.candidates]
        self._fingerprints = [candidate.fingerprint for candidate in self.candidates]
        self._sees = [sees_prompt([candidate.check]) for candidate in self.candidates]
        self._asks = [may_ask(candidate.check) for candidate in self.candidates]
        self._prompts = [digest(example.prompt, 16) for example in self.examples]
        self._bases: dict[str, str] = {}

    def missing(self) -> int:
        return sum(column.count(MISSING) for column in self._columns)

    def asking(self, candidate: int) -> bool:
        return self._asks[candidate]

    def open_cells(self, candidate: int, examples: range) -> list[int]:
        column = self._columns[candidate]
        return [example for example in examples if column[example] == MISSING]

    def where(self, candidate: int, *statuses: int) -> int:
        """The examples of which a candidate says one of these (``PASS``, ``FAIL``, ``ERROR``, ``MISSING``), as bits:
        the first example is the lowest."""
        return int(self._columns[candidate].translate(_signs(statuses))[::-1] or b"0", 2)

    def results(self, candidate: int) -> dict[str, CandidateStatus]:
        column = zip(self.examples, self._columns[candidate], strict=True)
        return {example.id: _STATUSES[status] for example, status in column if status != MISSING}

    def fails(self, candidate: int) -> int:
        """The examples that do not pass a candidate, as bits; an error is a fail, and so is what is not known."""
        return self.where(candidate, FAIL, ERROR, MISSING)

    def unknown(self, candidate: int) -> int:
        return self.where(candidate, MISSING)

    def settled(self, candidates: Iterable[int]) -> int:
        settled_examples = (1 << len(self.examples)) - 1
        for candidate in candidates:
            settled_examples &= ~self.unknown(candidate)
        return settled_examples

    def add(self, cell: MatrixCell) -> None:
        self._columns[cell.candidate][cell.example] = _BYTES[cell.status]
        self.asked[cell.candidate] += cell.asked
        if cell.status == "error":
            reasons = self.errors[cell.candidate]
            reasons[cell.reason if cell.reason in reasons or len(reasons) < MOST_REASONS else OTHER_REASONS] += 1

    def record(self, cell: MatrixCell) -> CandidateResult:
        """A cell as it stands on disk."""
        return CandidateResult(
            candidate=self._fingerprints[cell.candidate],
            example=self.examples[cell.example].id,
            status=cell.status,
            reason=cell.reason,
            basis=self._basis(cell.candidate, cell.example),
            judge=(self.judge or "") if self._asks[cell.candidate] else "",
            asked=cell.asked,
        )

    def _basis(self, candidate: int, example: int) -> str:
        """The digest of what else code decides a cell by than the check and the example's inputs and output."""
        prompt = self._prompts[example] if self._sees[candidate] else ""
        if prompt not in self._bases:
            self._bases[prompt] = digest([CHECKS_VERSION, prompt], 12)
        return self._bases[prompt]

    def take(self, results: Iterable[CandidateResult]) -> None:
        """Enters the results that still hold, of these candidates on these examples."""
        columns: dict[str, list[int]] = {}
        for number, fingerprint in enumerate(self._fingerprints):
            columns.setdefault(fingerprint, []).append(number)
        rows = {example.id: number for number, example in enumerate(self.examples)}
        for result in results:
            row = rows.get(result.example)
            for column in columns.get(result.candidate, ()) if row is not None else ():
                assert row is not None
                if self._holds(result, column, row):
                    self.add(MatrixCell(column, row, result.status, result.reason, result.asked))

    def _holds(self, result: CandidateResult, candidate: int, example: int) -> bool:
        same_judge = self.judge is None or not self._asks[candidate] or result.judge == self.judge
        return same_judge and result.basis == self._basis(candidate, example)


@cache
def _signs(statuses: tuple[int, ...]) -> bytes:
    """What makes a column of statuses a number in base 2 that has 1 for these."""
    return bytes(ord("1") if status in statuses else ord("0") for status in range(256))


class MatrixFile:
    """The matrix on disk, a record a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[CandidateResult]:
        """The results in the file, one by one; none where there is no such file. A cut last line is left out."""
        if not os.path.lexists(self.path):
            return
        for line in jsonl.raw_lines(self.path, what=WHAT, error=SynthesisError, longest=LONGEST_LINE, links=False):
            if not line.is_whole or not line.data.strip():
                continue
            try:
                yield jsonl.parse_record(line.data, CandidateResult)
            except (ValueError, RecursionError):
                message = f"this is not the result of a candidate; remove the {WHAT}: the candidates will be run again"
                raise SynthesisError(message, path=self.path, line=line.number) from None

    def add(self, lines: str) -> None:
        """Adds lines behind those that are there, all or none; what a killed program left of a line is taken off.

        Several processes may do so at a time.
        """
        try:
            append_whole(self.path, lines.encode(), drop_cut_line=True)
        except OSError as failure:
            message = (
                f"the {WHAT} cannot be written ({failure.strerror or failure}); free some space, or make it writable"
            )
            raise SynthesisError(message, path=self.path) from None


def reason_of(code: str | None, reason: str) -> str:
    """The reason of an error as it is kept: its code, then its words."""
    text = " ".join(reason.split())
    return cut(f"{code}: {text}" if code else text, LONGEST_REASON)


def in_force(synthesis: Synthesis) -> tuple[Candidate, ...]:
    """The candidates that are run and chosen from, in their order.

    One of several criteria takes part where one of these admits it, and so does one whose criteria are not there.
    """
    criteria = {criterion.id: criterion for criterion in synthesis.criteria}
    return tuple(candidate for candidate in synthesis.candidates if _takes_part(candidate, criteria))


def _takes_part(candidate: Candidate, criteria: dict[str, Criterion]) -> bool:
    own_criteria = [criteria[name] for name in candidate.criteria if name in criteria]
    return not own_criteria or any(admits(criterion, candidate) for criterion in own_criteria)


def admits(criterion: Criterion, candidate: Candidate) -> bool:
    """Whether a criterion takes part and is to be decided by such a candidate; one that has to be chosen is."""
    if not criterion.selected:
        return False
    if criterion.by == "both" or candidate.choice == "must":
        return True
    return may_ask(candidate.check) == (criterion.by == "judge")


def outdated(synthesis: Synthesis) -> dict[str, tuple[str, ...]]:
    """The candidates that were written for other words, each with the ids of the criteria that were reworded since."""
    made_for = {
        candidate.id: tuple(one.id for one in synthesis.criteria if candidate.is_outdated([one]))
        for candidate in synthesis.candidates
    }
    return {name: criteria for name, criteria in made_for.items() if criteria}
