"""``candidates.yaml``: criteria, candidates and implications, edited in place, so that what people write stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, Synthesis
from promptpex.documents.editable_file import CANDIDATES, Reading, read, update
from promptpex.documents.record_problems import Findings
from promptpex.documents.yaml_reader import Keys

_MOST_HINTS = 20


def read_candidates(path: Path) -> Synthesis:
    """The criteria, candidates and implications of this file, each with the origin it has in truth.

    Raises:
        SynthesisError: the first mistake, with file and line.
    """
    return examine(path).require()


def candidates_in(path: Path, prompt: str) -> Synthesis:
    """As ``read_candidates``; nothing, for the prompt of this name, where there is no such file."""
    return read_candidates(path) if path.exists() else Synthesis(prompt=prompt)


def examine(path: Path) -> Reading[Synthesis]:
    """What a file of candidates says, and all its problems, not just the first."""
    from promptpex.assertions import check_time

    with check_time():
        return read(CANDIDATES, path, checker=_CandidateChecker())


def write_candidates(path: Path, synthesis: Synthesis, *, by_hand: bool = False) -> Synthesis:
    """Writes the file, or brings it up to date with the least edits; gives what it then says.

    Raises:
        SynthesisError: the file on disk is broken (it is left as it is), or cannot be edited in place.
        OSError: it cannot be written.
    """
    from promptpex.assertions import check_time

    with check_time():
        return update(CANDIDATES, path, synthesis, by_hand=by_hand, checker=_CandidateChecker())


class _CandidateChecker:
    """What has to hold of candidates beyond their shape."""

    def admits(self, data: Mapping[str, Any], findings: Findings) -> bool:
        """Whether the checks are few enough to be compiled; their patterns are by then, in few calls."""
        from promptpex.assertions import MAX_CHECKS, compile_patterns, count_checks, prepare

        items = data["candidates"] if isinstance(data.get("candidates"), list) else []
        checks = [item["check"] for item in items if isinstance(item, dict) and isinstance(item.get("check"), dict)]
        if count_checks(checks) > MAX_CHECKS:
            findings.add(f"there are more than {MAX_CHECKS:,} checks", "candidates", suggestion="remove some")
            return False
        compile_patterns([prepare(checks)])
        return True

    def check(self, values: Mapping[str, Any], findings: Findings) -> None:
        """Checks that cannot be used; criteria and candidates that are named and not there."""
        criteria = {criterion.id for criterion in values["criteria"]}
        ids = {candidate.id for candidate in values["candidates"]}
        for candidate in values["candidates"]:
            place = findings.places["candidates", candidate.id]
            _compile(candidate.check, f"candidate {candidate.id}", (*place, "check"), findings)
            for name in candidate.criteria:
                _named(name, criteria, "criterion", (*place, "criteria"), findings)
        for implication in values["implications"]:
            place = findings.places["implications", implication.id]
            for name in (implication.stronger, implication.weaker):
                _named(name, ids, "candidate", place, findings)


def _named(name: str, names: set[str], noun: str, place: Keys, findings: Findings) -> None:
    if name not in names:
        hint = did_you_mean(name, names) if len(findings.problems) < _MOST_HINTS else ""
        message = f"there is no {noun} {name!r}"
        findings.add(message, *place, suggestion=hint or "it may have been removed", severity="warning")


def _compile(check: Check, where: str, place: Keys, findings: Findings) -> None:
    from promptpex.assertions import compile_checks

    try:
        compile_checks([check], where=where)
    except CheckError as failure:
        findings.add(failure.message, *place)
