"""What people do to criteria and candidates: each a step from one state of ``candidates.yaml`` to the next.

All that comes of it is a person's (origin ``added`` or ``edited``), and nothing is made up to date in silence: what was
written for other words of a criterion says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from pydantic import ValidationError

from promptpex.assertions import check_time, compile_checks
from promptpex.core.errors import CheckError, SynthesisError
from promptpex.core.records import Candidate, Check, Choice, Criterion, Means, Synthesis
from promptpex.core.records.criteria_board import CandidateForm
from promptpex.core.surrogates import has_surrogate, replace_surrogates
from promptpex.documents import yaml_writer
from promptpex.documents.ownership import edited
from promptpex.documents.record_problems import record_problems
from promptpex.documents.yaml_reader import load
from promptpex.synthesis.proposing.criteria import LONGEST_CRITERION, criterion_id
from promptpex.synthesis.proposing.propose_candidates import PYTHON, QUESTION
from promptpex.synthesis.proposing.replies import free_name, slug

LONGEST = 50_000
"""Characters of what a person writes."""
_FUNCTION = re.compile(r"^\s*(?:async\s+)?def\s+(\w+)", re.MULTILINE)
_WORDS_OF_A_NAME = 6


def form_of(check: Check) -> CandidateForm:
    """How people are shown this check; what holds more than code or a question is YAML."""
    if (
        check.kind in (PYTHON, QUESTION)
        and isinstance(check.value, str)
        and check.to_dict().keys() <= {"kind", "value"}
    ):
        return "python" if check.kind == PYTHON else "question"
    return "yaml"


def shown(check: Check) -> str:
    """The check as text, which ``written`` reads back."""
    form = form_of(check)
    return yaml_writer.document(check.to_dict()).strip() if form == "yaml" else str(check.value)


def written(form: CandidateForm, text: str) -> Check:
    """The check that a person wrote."""
    if not text.strip():
        form_in_words = {
            "python": "a Python function",
            "question": "a question",
            "yaml": "a check, such as kind: contains",
        }
        raise CheckError(f"nothing was written: it needs {form_in_words[form]}")
    if len(text) > LONGEST:
        raise CheckError(f"a candidate has at most {LONGEST:,} characters")
    if has_surrogate(text):
        raise CheckError("the text contains half a character (a lone surrogate); type it again")
    check = _from_yaml(text) if form == "yaml" else Check(kind=form, value=text.strip())
    with check_time():
        compile_checks([check])
    return check


def name_of(form: CandidateForm, text: str) -> str:
    """What a hand-written candidate is called: as its function, or by the first words of its question."""
    function = _FUNCTION.search(text) if form == "python" else None
    if function is not None:
        return slug(function[1])
    words = slug(text).split("_") if form == "question" else []
    return "_".join(words[:_WORDS_OF_A_NAME])


def _from_yaml(text: str) -> Check:
    data = load(text, error=CheckError, what="check").data
    if isinstance(data, list) and len(data) == 1:
        data = data[0]
    if not isinstance(data, dict):
        raise CheckError("a check is a mapping, such as kind: contains and value: sorry")
    try:
        return Check.model_validate(data)
    except ValidationError as failure:
        problem = record_problems(failure, Check)[0]
        raise CheckError(f"{problem.message}; {problem.suggestion}".removesuffix("; ")) from None


_WORDS_OF_AN_ID = 5

Item = TypeVar("Item", Criterion, Candidate)


def checked_text(text: str) -> str:
    """A criterion's words on one line."""
    plain = " ".join(replace_surrogates(text).split())
    if not plain:
        raise SynthesisError("write the criterion: what has to be true of a good output")
    if len(plain) > LONGEST_CRITERION:
        raise SynthesisError(f"a criterion has at most {LONGEST_CRITERION:,} characters; this one has {len(plain):,}")
    return plain


def find(synthesis: Synthesis, name: str) -> Criterion:
    return _named(synthesis.criteria, name, "criterion")


def _candidate(synthesis: Synthesis, name: str) -> Candidate:
    return _named(synthesis.candidates, name, "candidate")


def _named(items: Iterable[Item], name: str, what: str) -> Item:
    item = next((one for one in items if one.id == name), None)
    if item is None:
        raise SynthesisError(f"there is no {what} {name[:60]!r} any more; load the page again")
    return item


def add(
    synthesis: Synthesis, text: str, *, title: str = "", taken: Collection[str] = (), notes: Sequence[str] = ()
) -> tuple[Synthesis, str]:
    """With a person's new criterion, and its id.

    Args:
        title: what the id is made of; else the first words are.
        taken: ids that it may not have.
        notes: ids of the grades that it comes from.
    """
    plain = checked_text(text)
    words = title.strip() or " ".join(plain.split()[:_WORDS_OF_AN_ID])
    name = criterion_id(words, {*taken, *(one.id for one in synthesis.criteria)})
    criterion = Criterion(id=name, text=plain, notes=tuple(notes), origin="added")
    return synthesis.replace(criteria=(*synthesis.criteria, criterion)), name


def reword(synthesis: Synthesis, name: str, text: str) -> Synthesis:
    """With other words for a criterion; its candidates are then for the old ones."""
    old, plain = find(synthesis, name), checked_text(text)
    if old.text == plain:
        return synthesis
    dated = [_dated(candidate, [old]) for candidate in synthesis.candidates]
    criteria = _with(synthesis.criteria, edited(old, text=plain))
    return synthesis.replace(criteria=criteria, candidates=tuple(dated))


def delete(synthesis: Synthesis, name: str) -> Synthesis:
    """Without a criterion and the candidates that are for it alone."""
    find(synthesis, name)
    candidates = []
    for one in synthesis.candidates:
        if name not in one.criteria:
            candidates.append(one)
        elif len(one.criteria) > 1:
            left = tuple(each for each in one.criteria if each != name)
            candidates.append(edited(one, criteria=left))
    criteria = tuple(one for one in synthesis.criteria if one.id != name)
    return _without_dangling(synthesis.replace(criteria=criteria, candidates=tuple(candidates)))


def settle(
    synthesis: Synthesis, name: str, *, by: Means, selected: bool, max_ffr: float | None, must: bool
) -> Synthesis:
    """With what a person set of a criterion; it stays whose it is."""
    if max_ffr is not None and not 0 <= max_ffr <= 1:
        raise SynthesisError("the limit of false alarms is a share from 0 to 1, such as 0.1")
    new = find(synthesis, name).replace(by=by, selected=selected, max_ffr=max_ffr, must=must)
    return synthesis.replace(criteria=_with(synthesis.criteria, new))


def add_candidate(synthesis: Synthesis, criterion: str, name: str, check: Check) -> tuple[Synthesis, str]:
    """With a person's candidate for a criterion, and its id."""
    criterion_record = find(synthesis, criterion)
    for one in synthesis.candidates:
        if criterion in one.criteria and one.check == check:
            raise SynthesisError(f"{one.id} is the same check")
    free = free_name(name or f"checks_{criterion}"[:60], {one.id for one in synthesis.candidates})
    new = Candidate(id=free, criteria=(criterion,), check=check, origin="added").written_for([criterion_record])
    return synthesis.replace(candidates=(*synthesis.candidates, new)), free


def edit_candidate(synthesis: Synthesis, name: str, check: Check) -> Synthesis:
    """With another check under a candidate's name; it is then for its criteria's present words."""
    old = _candidate(synthesis, name)
    if old.check == check:
        return synthesis
    new = edited(old, check=check).written_for(synthesis.criteria)
    return synthesis.replace(candidates=_with(synthesis.candidates, new))


def keep_candidate(synthesis: Synthesis, name: str) -> Synthesis:
    new = _candidate(synthesis, name).written_for(synthesis.criteria)
    return synthesis.replace(candidates=_with(synthesis.candidates, new))


def choose(synthesis: Synthesis, name: str, choice: Choice | None) -> Synthesis:
    new = _candidate(synthesis, name).replace(choice=choice)
    return synthesis.replace(candidates=_with(synthesis.candidates, new))


def delete_candidate(synthesis: Synthesis, name: str) -> Synthesis:
    _candidate(synthesis, name)
    left = tuple(one for one in synthesis.candidates if one.id != name)
    return _without_dangling(synthesis.replace(candidates=left))


def with_added_candidates(synthesis: Synthesis, new: Iterable[Candidate]) -> tuple[Synthesis, tuple[str, ...]]:
    """With an author's candidates under names that are free now, those of criteria that are gone left out; and the
    ids that they got."""
    criteria = {one.id for one in synthesis.criteria}
    taken_ids = {one.id for one in synthesis.candidates}
    added = []
    for one in new:
        if criteria.isdisjoint(one.criteria):
            continue
        added.append(one.replace(id=free_name(one.id, taken_ids)))
        taken_ids.add(added[-1].id)
    return synthesis.replace(candidates=(*synthesis.candidates, *added)), tuple(one.id for one in added)


def _with(items: Sequence[Item], new: Item) -> tuple[Item, ...]:
    return tuple(new if one.id == new.id else one for one in items)


def _dated(candidate: Candidate, criteria: Iterable[Criterion]) -> Candidate:
    """The candidate, which says of these criteria for which words it was written: these, if it does not say yet."""
    wordings = {one.id: one.wording for one in criteria if one.id in candidate.criteria}
    return candidate.replace(wordings={**wordings, **candidate.wordings}) if wordings else candidate


def _without_dangling(synthesis: Synthesis) -> Synthesis:
    ids = {one.id for one in synthesis.candidates}
    left = tuple(one for one in synthesis.implications if {one.stronger, one.weaker} <= ids)
    return synthesis.replace(implications=left)
