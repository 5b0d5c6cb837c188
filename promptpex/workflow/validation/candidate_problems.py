"""What is wrong with the candidates of a prompt, for ``validate``."""

from __future__ import annotations

from pathlib import Path

from promptpex.codecs.text.wording import named
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Problem, Synthesis
from promptpex.documents.editable_file import Reading
from promptpex.documents.record_problems import as_problem
from promptpex.synthesis.active_candidates import outdated
from promptpex.synthesis.candidate_file import examine
from promptpex.synthesis.folder import ENDING, SynthesisFolder
from promptpex.synthesis.phrase_list_warning import exclusions_by_phrases


def is_candidate_file(path: Path) -> bool:
    """Whether this is ``candidates.yaml`` of a synthesis folder."""
    return path.parent.name.endswith(ENDING) and path == SynthesisFolder(path.parent).candidates


def problems_beside(prompt: Path) -> list[Problem]:
    """The problems of the candidates of a prompt; none where it has no synthesis folder."""
    try:
        path = SynthesisFolder.of(prompt).candidates
    except SynthesisError as failure:
        return [as_problem(failure)]
    return problems_of(path) if path.exists() else []


def problems_of(path: Path) -> list[Problem]:
    """The problems of a file of candidates, and a hint at each that decides an exclusion by phrases."""
    reading = examine(path)
    problems = sorted(reading.problems, key=lambda problem: problem.line or 0)
    phrase_lists = exclusions_by_phrases(reading.record.criteria, reading.record.candidates)
    slips = "an answer in other words gets through; a question would catch it"
    hints = [
        Problem.info(
            path,
            reading.lines.get(name),
            f"the candidate {name!r} looks for fixed phrases to decide what an answer must not do",
            slips,
        )
        for name in phrase_lists
    ]
    return [*problems, *hints, *_outdated(path, reading)]


def _outdated(path: Path, reading: Reading[Synthesis]) -> list[Problem]:
    """A hint at each candidate that was written for other words than its criterion has now."""
    return [
        Problem.info(
            path,
            reading.lines.get(name),
            f"the candidate {name!r} was written for another wording of {named(criteria)}",
            "check whether it still decides it; without its 'wordings' it counts as up to date",
        )
        for name, criteria in outdated(reading.record).items()
    ]
