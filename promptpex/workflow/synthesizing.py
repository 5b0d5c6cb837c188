"""From a prompt's history to candidates: versions, deltas, categories, criteria, candidates, and the files of these.

Only what is new is asked about: a version whose changes were asked about before, a criterion that candidates were asked
for, a rule that has not changed bring nothing again, also where a person has deleted what came of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from promptpex.codecs.text.wording import named
from promptpex.core.errors import ConfigError, SynthesisError
from promptpex.core.events import Notice
from promptpex.core.ids import digest
from promptpex.core.records import Candidate, Criterion, Delta, History, Prompt, Spec, Synthesis
from promptpex.core.translation import stored, stored_n, tr
from promptpex.documents.ownership import owned_by_people
from promptpex.grading.labels import LabelRules
from promptpex.promptfile import sibling
from promptpex.specs.file import read_spec, rules_in
from promptpex.synthesis.folder import HISTORY, SynthesisFolder, candidates_in, history_in, write_candidates
from promptpex.synthesis.history.categories import categorise, packs_of
from promptpex.synthesis.history.versions import Versions, deltas, from_files, from_git
from promptpex.synthesis.proposing.criteria import propose_criteria, sentence_digest, unasked
from promptpex.synthesis.proposing.from_rules import from_rules
from promptpex.synthesis.proposing.propose_candidates import exclusions_by_phrases
from promptpex.workflow.estimate import EstimateLine, part_lines, tokens_of, total_in_words
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.preconditions import raise_if_cancelled, require_author
from promptpex.workflow.project_files import Files, read_prompt
from promptpex.workflow.session import Session
from promptpex.workflow.stages.stage import Workload
from promptpex.workflow.suggesting import (
    TYPICAL_SUGGESTIONS,
    Suggesting,
    graded_for_notes,
    labelled_first,
    new_candidates,
    of_latest_run,
    shown_to_author,
    suggest,
)


@dataclass(frozen=True, slots=True)
class OpenQuestions:
    """What an author can be asked about."""

    categories: tuple[str, ...]
    sentences: tuple[str, ...]
    criteria: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.categories or self.sentences or self.criteria)

    def of(self, author: str) -> set[str]:
        """Each question to this author, as a digest that stands in the history once it was asked in vain."""
        kinds = {"categories": self.categories, "criteria": self.sentences, "candidates": self.criteria}
        return {digest([author, kind, one], 12) for kind, some in kinds.items() for one in some}

    def sentence(self) -> str:
        """What waits for an answer, in words."""
        versions, new, criteria = map(len, (self.categories, self.sentences, self.criteria))
        parts = [
            versions
            and stored_n("{count} version without categories", "{count} versions without categories", versions),
            new and stored_n("{count} new sentence", "{count} new sentences", new),
            criteria
            and stored_n("{count} criterion without a candidate", "{count} criteria without a candidate", criteria),
        ]
        return "; ".join(part for part in parts if part)


def open_questions(deltas: Iterable[Delta], new: Iterable[Delta], waiting: Iterable[Criterion]) -> OpenQuestions:
    """What there is to ask."""
    return OpenQuestions(
        tuple(repr(delta.changes) for delta in deltas if delta.changes and not delta.categories),
        tuple(sentence_digest(change.text) for delta in new for change in delta.changes if change.tag == "added"),
        tuple(criterion.text for criterion in waiting),
    )


Owned = TypeVar("Owned", Criterion, Candidate)

CRITERIA_PER_SENTENCE = 1.0
"""Criteria of an added sentence, for estimates: in SPADE's history of a film prompt (Table 1) about one."""


@dataclass(frozen=True, slots=True)
class SynthesisWishes:
    """What a synthesis is made of."""

    versions: Sequence[Path] = ()
    since: datetime | None = None
    spec_rules: bool = True
    infer: bool = False
    from_notes: bool = False
    rules: LabelRules = field(default_factory=LabelRules)


@dataclass(frozen=True, slots=True)
class SynthesisPlan:
    """What there is, and what will be asked.

    Attributes:
        prompt, folder: of which, and where.
        history: the versions and their deltas, with the categories that are known.
        synthesis: criteria and candidates, those of the spec's rules among them.
        new_changes: the changes that no criteria were asked for.
        suggesting: what criteria are to be suggested from, besides.
        lines: what that asks for and costs.
        why_unasked: where there is something new that nobody is asked about: what, and why, in words.
    """

    prompt: Prompt
    folder: SynthesisFolder
    history: History
    synthesis: Synthesis
    new_changes: tuple[Delta, ...] = ()
    suggesting: Suggesting = field(default_factory=Suggesting)
    lines: tuple[EstimateLine, ...] = ()
    why_unasked: str = ""

    @property
    def waiting(self) -> list[Criterion]:
        """Criteria without a candidate that none were asked for."""
        return _without_candidates(self.synthesis, self.history.criteria)


@dataclass(frozen=True, slots=True)
class Synthesised:
    """What came of it."""

    history: History
    synthesis: Synthesis
    criteria: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)
    unanswered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """The history and the synthesis after asking for what is new."""

    history: History
    synthesis: Synthesis
    dropped: Mapping[str, str] = field(default_factory=dict)
    unanswered: tuple[str, ...] = ()


def planned(session: Session, files: Files, wishes: SynthesisWishes = SynthesisWishes()) -> SynthesisPlan:
    """What a synthesis would do and what that would cost; nothing is asked and nothing written."""
    if session.roles.without_author and (wishes.infer or wishes.from_notes):
        raise ConfigError("--infer and --from-notes ask an author, and --author none asks nobody: leave one out")
    prompt = read_prompt(session, files.prompt)
    folder = SynthesisFolder.of(files.prompt)
    versions = _versions(session, prompt, files.prompt, wishes)
    _require_renamed_along(folder, files.prompt, versions.former)
    name = files.prompt.name
    before = history_in(folder.versions, name).replace(prompt=name)
    history = _history(before, versions)
    synthesis = _renamed(candidates_in(folder.candidates, name).replace(prompt=name), before, history)
    if wishes.spec_rules and files.spec.exists():
        history, synthesis = with_rules(history, synthesis, read_spec(files.spec))
    asking = _suggesting(session, files, prompt, synthesis, wishes)
    new = unasked(history.deltas, history.sentences)
    plan = SynthesisPlan(prompt, folder, history, synthesis, new, asking)
    return replace(plan, why_unasked=why) if (why := _why_unasked(session, plan)) else _priced(session, plan)


def _why_unasked(session: Session, plan: SynthesisPlan) -> str:
    """Why nothing is to be asked though there is something new, in words; empty where that is not so."""
    roles = session.roles
    new = open_questions(plan.history.deltas, plan.new_changes, plan.waiting)
    if roles.without_author:
        return stored("no author is asked (--author none); waiting: {words}", words=new.sentence()) if new else ""
    if not new or plan.suggesting.requests or session.settings.fresh or not plan.synthesis.candidates:
        return ""
    if not plan.history.in_vain or not new.of(roles.author().label) <= set(plan.history.in_vain):
        return ""
    name = roles.author().label
    return stored(
        "{model} gave nothing usable before and is not asked again; name another --author, or use --fresh; waiting: "
        "{words}",
        model=name,
        words=new.sentence(),
    )


def _priced(session: Session, plan: SynthesisPlan) -> SynthesisPlan:
    if session.roles.without_author:
        return plan
    return replace(plan, lines=tuple(part_lines(session, "synthesize", _workload(session, plan))))


async def synthesize(session: Session, files: Files, wishes: SynthesisWishes = SynthesisWishes()) -> Synthesised:
    """Brings ``versions.json`` and ``candidates.yaml`` up to date with the prompt's history and its spec.

    What it will cost is emitted before the first request. Nothing is asked where there is nothing new, or where the
    author is set to none.
    """
    plan = planned(session, files, wishes)
    if plan.lines:
        require_author(session)
        session.emit(Notice.of(lambda: tr("to ask: {requests}", requests=total_in_words(plan.lines)), "always"))
    elif plan.why_unasked:
        session.emit(Notice(plan.why_unasked, "always"))
    proposals = await _asked(session, files, plan, wishes)
    raise_if_cancelled(session)
    with plan.folder.alone(files.prompt):
        old = candidates_in(plan.folder.candidates, files.prompt.name)
        on_file = write_candidates(plan.folder.candidates, _as_of_now(proposals.synthesis, old))
        HISTORY.write(plan.folder.versions, proposals.history)
    known_ids = {one.id for one in old.criteria}, {one.id for one in old.candidates}
    criteria = tuple(one.id for one in on_file.criteria if one.id not in known_ids[0])
    candidates = tuple(one.id for one in on_file.candidates if one.id not in known_ids[1])
    _tell_of_phrase_lists(session, on_file, candidates)
    return Synthesised(proposals.history, on_file, criteria, candidates, proposals.dropped, proposals.unanswered)


async def _asked(session: Session, files: Files, plan: SynthesisPlan, wishes: SynthesisWishes) -> _Asked:
    """The history with categories, the criteria and candidates that came of asking for what is new."""
    history, synthesis = plan.history, plan.synthesis
    if not plan.lines:
        return _Asked(history, synthesis)
    author, emit = session.roles.author(), session.emit
    own = instructions_of(session.settings, plan.prompt)
    note = own.get("categories", "")
    history = history.replace(
        deltas=await categorise(author, plan.prompt, history.deltas, instructions=note, emit=emit)
    )
    criteria = await propose_criteria(
        author,
        plan.prompt,
        plan.new_changes,
        known=synthesis.criteria,
        taken=history.criteria,
        instructions=own.get("criteria", ""),
        emit=emit,
    )
    history = history.replace(sentences=_union(history.sentences, criteria.asked))
    synthesis = synthesis.replace(criteria=(*synthesis.criteria, *criteria.criteria))
    suggested, in_vain = await suggest(session, plan.prompt, plan.suggesting, synthesis.criteria)
    synthesis = synthesis.replace(criteria=(*synthesis.criteria, *suggested))
    waiting = _without_candidates(synthesis, history.criteria)
    examples_shown = shown_to_author(session, files, plan.prompt, plan.folder)
    candidates = await new_candidates(session, plan.prompt, synthesis, waiting, examples_shown)
    history = history.replace(criteria=_union(history.criteria, candidates.asked))
    synthesis = synthesis.replace(candidates=(*synthesis.candidates, *candidates.candidates))
    unanswered = [*(["criteria"] if plan.new_changes and not criteria.asked else []), *in_vain]
    unanswered += ["candidates"] if waiting and not candidates.asked else []
    if unanswered:
        left = open_questions(
            history.deltas, unasked(history.deltas, history.sentences), _without_candidates(synthesis, history.criteria)
        )
        history = history.replace(in_vain=_union(history.in_vain, sorted(left.of(author.label))))
    return _Asked(history, synthesis, candidates.dropped, tuple(unanswered))


def _suggesting(
    session: Session, files: Files, prompt: Prompt, synthesis: Synthesis, wishes: SynthesisWishes
) -> Suggesting:
    rules = rules_in(files.spec)
    taken_ids = frozenset(rule.id for rule in rules)
    if not wishes.from_notes:
        return Suggesting(wishes.infer, taken=taken_ids)
    folder = SynthesisFolder.of(files.prompt)
    examples = labelled_first(folder, prompt) or of_latest_run(session, prompt)
    graded = graded_for_notes(files.prompt, rules, synthesis.criteria, examples, wishes.rules)
    if not graded:
        message = stored("every note on a bad output already has a criterion: write more notes when you grade")
        session.emit(Notice(message))
    return Suggesting(wishes.infer, graded, taken_ids)


def _versions(session: Session, prompt: Prompt, file: Path, wishes: SynthesisWishes) -> Versions:
    if wishes.versions:
        versions = from_files(prompt, file, wishes.versions)
    else:
        versions = from_git(prompt, file, since=wishes.since)
    for notice in versions.notices:
        session.emit(Notice(notice, "warning"))
    return versions


def _require_renamed_along(folder: SynthesisFolder, file: Path, former: Sequence[Path]) -> None:
    """Refuses to begin anew, and to pay again, where the folder still has the name that the prompt had."""
    if folder.path.exists():
        return
    for old in former:
        left = SynthesisFolder.of(old)
        if left.candidates.is_file() and not old.exists():
            moves = [f"{left.path.name} to {folder.path.name}"]
            if (grades := sibling(old, "grades")).exists():
                moves.append(f"{grades.name} to {sibling(file, 'grades').name}")
            raise SynthesisError(
                f"{old.name} is {file.name} now; to keep its candidates and labels rename {' and '.join(moves)}, "
                f"or remove {left.path.name} to begin anew",
                path=left.path,
            )


def _history(before: History, versions: Versions) -> History:
    """The versions and their deltas, with what an earlier look at the same changes brought."""
    categories = {delta.changes: delta.categories for delta in before.deltas}
    categorised_deltas = [
        delta.replace(categories=categories.get(delta.changes, ())) for delta in deltas(versions.versions)
    ]
    return before.replace(versions=versions.versions, deltas=tuple(categorised_deltas))


def _renamed(synthesis: Synthesis, before: History, now: History) -> Synthesis:
    """The criteria under the names that their versions have now: a working copy becomes a commit."""
    names = {delta.version for delta in now.deltas}
    changed = {delta.changes: delta.version for delta in now.deltas}
    new_name = {
        delta.version: changed[delta.changes]
        for delta in before.deltas
        if delta.version not in names and delta.changes in changed
    }
    criteria = [
        criterion.replace(version=new_name[criterion.version])
        if criterion.version in new_name and not owned_by_people(criterion.origin)
        else criterion
        for criterion in synthesis.criteria
    ]
    return synthesis.replace(criteria=tuple(criteria))


def with_rules(history: History, synthesis: Synthesis, spec: Spec) -> tuple[History, Synthesis]:
    """The rules of the spec as criteria, with their checks as candidates; people's own stay as they are."""
    converted = from_rules(spec, synthesis, history.rules, history.criteria)
    synthesis = synthesis.replace(
        criteria=_updated(synthesis.criteria, converted.criteria),
        candidates=_updated(synthesis.candidates, converted.candidates),
    )
    return history.replace(rules=dict(converted.rules)), synthesis


def _updated(old: Sequence[Owned], new: Iterable[Owned]) -> tuple[Owned, ...]:
    """The old items, those of the machine that are made anew replaced, and the new ones behind them."""
    new_by_id = {item.id: item for item in new}
    updated = [item if owned_by_people(item.origin) else new_by_id.get(item.id, item) for item in old]
    return _with_further(updated, new_by_id.values())


def _without_candidates(synthesis: Synthesis, asked: Collection[str]) -> list[Criterion]:
    covered = {name for candidate in synthesis.candidates for name in candidate.criteria}
    return [one for one in synthesis.criteria if one.id not in covered and one.id not in asked]


def _workload(session: Session, plan: SynthesisPlan) -> Workload:
    added = sum(change.tag == "added" for delta in plan.new_changes for change in delta.changes)
    return Workload(
        settings=session.settings,
        prompt_tokens=tokens_of(plan.prompt.messages),
        criteria=round(added * CRITERIA_PER_SENTENCE)
        + len(plan.waiting)
        + plan.suggesting.requests * TYPICAL_SUGGESTIONS,
        requests={
            "categories": len(
                packs_of(delta for delta in plan.history.deltas if delta.changes and not delta.categories)
            ),
            "criteria": len(packs_of(plan.new_changes)),
            "infer": int(plan.suggesting.infer),
            "notes": int(bool(plan.suggesting.graded)),
        },
    )


def _as_of_now(synthesis: Synthesis, on_file: Synthesis) -> Synthesis:
    """The synthesis with what came about on the local page while the author was writing: choices, and new items."""
    choices = {candidate.id: candidate.choice for candidate in on_file.candidates}
    candidates = [one.replace(choice=choices.get(one.id, one.choice)) for one in synthesis.candidates]
    settings = {criterion.id: criterion for criterion in on_file.criteria}
    criteria = [one.with_settings_of(settings.get(one.id, one)) for one in synthesis.criteria]
    return synthesis.replace(
        criteria=_with_further(criteria, on_file.criteria), candidates=_with_further(candidates, on_file.candidates)
    )


def _with_further(items: Sequence[Owned], on_file: Iterable[Owned]) -> tuple[Owned, ...]:
    ids = {item.id for item in items}
    all_items = list(items)
    all_items += [item for item in on_file if item.id not in ids]
    return tuple(all_items)


def _tell_of_phrase_lists(session: Session, synthesis: Synthesis, new: Collection[str]) -> None:
    fresh = [candidate for candidate in synthesis.candidates if candidate.id in new]
    phrase_lists = exclusions_by_phrases(synthesis.criteria, fresh)
    if phrase_lists:
        message = stored(
            (
                "{names} look for fixed phrases to decide what an answer must not do; an answer in other words gets "
                "through"
            ),
            names=named(phrase_lists),
        )
        if len(phrase_lists) == 1:
            message = stored(
                (
                    "{names} looks for fixed phrases to decide what an answer must not do; an answer in other words "
                    "gets through"
                ),
                names=named(phrase_lists),
            )
        session.emit(Notice(message, "warning"))


def _union(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *more)))
