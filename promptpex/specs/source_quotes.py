"""Whether the words that rules cite still stand in the prompt, which sentences no rule cites, and notices of both.

Pure text work, without a model. Whether a rule is true to the prompt is decided in ``groundedness``; how two texts of a
prompt differ, in ``prompt_diff``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from promptpex.codecs.text import comparing
from promptpex.codecs.text.comparing import ComparisonBudget
from promptpex.codecs.text.wording import quoted
from promptpex.core.records import Case, Prompt, Record, Rule, Spec, Suite
from promptpex.core.sentences import headings, sentences
from promptpex.core.translation import stored

CHANGED = 70.0
"""Similarity (0..100) to a sentence of the prompt from which missing words count as changed, not missing: a
sentence with a phrase replaced stays above it."""
OVERLAP = 90.0
"""Similarity from which a quotation counts as taken from a sentence in spite of a wrong letter."""
SHORTEST = 8
"""Characters from which a fragment in plain letters tells what it was taken from."""
MOST_OF_A_LABEL = 5
"""Words that name an input, as in ``The customer's last message: {{message}}``."""
_ROLE = re.compile(
    r"(?:you are|you're|act as|du bist|sie sind|tu es|vous êtes|eres|usted es|você é|sei un|bạn là)\s"
    r"(?!(?:not|never|to|allowed|expected|required|asked|free|only|nicht|nie|pas|no|não|non)\b)",
    re.I,
)
"""Beginnings of sentences that say who the model is; in other languages such a sentence is named as one without a
rule."""
_PLACES = re.compile(r"(?:[^:={}]{0,60}[:=]?\s*[\"'`<(\[]*\{\{[^{}]*\}\}[\"'`>)\]]*[\s.;,]*)+")
_PREPARED, _CALL = 60, 2_000
"""Steps of ``ComparisonBudget`` to prepare a character for comparison, and to call for a sentence."""

Status = Literal["kept", "changed", "missing"]


class SourceStatus(Record):
    """Whether the words that a rule cites are in the prompt.

    Attributes:
        rule: its id.
        status: ``kept``: all of them, a letter may be wrong; ``changed``: similar words; ``missing``: not.
        source: the words it cites.
        nearest: the most similar sentence of the prompt, or the similar words of a longer one, where they are not kept.
        likeness: how similar it is, 0 to 100.
    """

    rule: str
    status: Status
    source: str
    nearest: str | None = None
    likeness: float = 100.0


def check_sources(rules: Iterable[Rule], text: str) -> list[SourceStatus]:
    """For each rule that cites words of the prompt: whether they still stand in ``text``."""
    normalized, parts, budget = comparing.normalize(text), sentences(text), ComparisonBudget()
    return [
        _source_status(rule, rule.source, normalized, parts, budget)
        for rule in rules
        if rule.source and rule.source.strip()
    ]


def uncovered(rules: Sequence[Rule], prompt: Prompt) -> tuple[str, ...]:
    """The sentences of the prompt's instructions that no rule cites.

    Instructions are the system messages; where there are none, the user messages. Turns of an example conversation
    promise nothing; neither do headings, rows of tables, lines that only announce what follows (``Rules:``), those
    that say who the model is, and those that only put the inputs in their places (``Word: {{word}}``).
    """
    text = instruction_text(prompt)
    titles = headings(text)
    cited = [part for rule in rules if rule.source for part in cited_parts(rule.source)]
    budget = ComparisonBudget()
    promises = (part for part in sentences(text) if part not in titles and not _asks_nothing(part))
    return tuple(part for part in promises if not cites(cited, comparing.normalize(part), budget))


def instruction_text(prompt: Prompt) -> str:
    role = "system" if any(turn.role == "system" for turn in prompt.messages) else "user"
    return "\n\n".join(turn.content for turn in prompt.messages if turn.role == role)


def prompt_text(prompt: Prompt) -> str:
    return "\n\n".join(turn.content for turn in prompt.messages)


def cited_parts(source: str) -> list[str]:
    """The fragments of a quotation, normalized for ``cites``; of several, those too short to tell are left out."""
    parts = comparing.fragments(source)
    return [part for part in parts if len(parts) == 1 or len(part) >= SHORTEST or not part.isascii()]


def cites(cited: Sequence[str], sentence: str, budget: ComparisonBudget) -> bool:
    """Whether cited parts are taken from a normalized sentence, one containing the other or nearly so.

    Without enough left of ``budget``, only what is contained letter by letter counts.
    """
    return any(_overlap(part, sentence, budget) for part in cited)


def mark_misquoted(rules: Sequence[Rule], text: str) -> list[Rule]:
    """New rules with ``misquoted`` set where the words that they cite are not in the prompt that they come from."""
    wrong = {checked.rule for checked in check_sources(rules, text) if checked.status != "kept"}
    return [rule.replace(misquoted=True) if rule.id in wrong else rule for rule in rules]


def mark_stale(spec: Spec, text: str) -> Spec:
    """The spec with ``stale`` set on the machine's rules whose words are not in the prompt, unset where they are.

    Words that have changed are no longer there: only reading the prompt again tells what it promises now. Rules that
    people edited or added stay as they are, and so do rules that cite nothing, or words that never were there.
    """
    stale = {checked.rule for checked in check_sources(spec.rules, text) if checked.status != "kept"}
    rules = (
        rule.replace(stale=rule.id in stale and not rule.misquoted)
        if rule.origin in ("extracted", "generated")
        else rule
        for rule in spec.rules
    )
    return spec.replace(rules=tuple(rules))


def _source_status(
    rule: Rule, source: str, normalized: str, parts: Sequence[str], budget: ComparisonBudget
) -> SourceStatus:
    fragments = comparing.fragments(source)
    if not fragments or comparing.match_fragments(fragments, normalized, budget):
        return SourceStatus(rule=rule.id, status="kept", source=source)
    nearest, likeness = _nearest(source, parts, budget)
    fitting = [fragment for fragment in fragments if len(fragment) <= len(normalized)]
    near = min((_best_place(fragment, normalized, budget) for fragment in fitting), default=0.0)
    if likeness < CHANGED and near >= OVERLAP:
        nearest, likeness = _similar_words(source, parts, budget) or nearest, near
    return SourceStatus(
        rule=rule.id,
        status="changed" if likeness >= CHANGED else "missing",
        source=source,
        nearest=nearest,
        likeness=round(likeness, 1),
    )


def _nearest(source: str, parts: Sequence[str], budget: ComparisonBudget) -> tuple[str | None, float]:
    """The most similar sentence, and how similar it is; None if ``budget`` does not allow it."""
    from rapidfuzz import fuzz, process, utils

    if not parts or not budget.allows(sum(map(len, parts)) * (len(source) + _PREPARED) / 3 + len(parts) * _CALL):
        return None, 0.0
    best = process.extractOne(source, parts, scorer=fuzz.ratio, processor=utils.default_process)
    return (best[0], float(best[1])) if best else (None, 0.0)


def _similar_words(source: str, parts: Sequence[str], budget: ComparisonBudget) -> str | None:
    """The words most similar to a quotation in the sentences that are at least as long; None if ``budget`` does not
    allow it. What looks like one sentence may be a list without marks, of which one item was cited."""
    from rapidfuzz import fuzz

    best, words = 0.0, None
    for part in parts:
        if len(part) < len(source) or not budget.partial(len(source), len(part)):
            continue
        place = fuzz.partial_ratio_alignment(source, part, score_cutoff=best)
        if place is not None and place.score > best:
            end = part.find(" ", max(place.dest_end - 1, 0))
            best = place.score
            words = part[part.rfind(" ", 0, place.dest_start + 1) + 1 : end if end >= 0 else len(part)]
    return words


def _best_place(fragment: str, normalized: str, budget: ComparisonBudget) -> float:
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(fragment, normalized) if budget.partial(len(fragment), len(normalized)) else 0.0


def _asks_nothing(sentence: str) -> bool:
    """Whether a sentence of a prompt promises nothing by its form."""
    if sentence[0] == "|" or sentence[-1] in ":：":
        return True
    places = _PLACES.fullmatch(sentence)
    labels = re.split(r"\{\{[^{}]*\}\}", sentence) if places else []
    return bool(_ROLE.match(sentence)) or (bool(places) and all(map(_is_label, labels)))


def _is_label(text: str) -> bool:
    """Whether what stands before a variable only names it: nothing, or a few words before a colon."""
    bare = text.strip(" \t\"'`<>()[].;,")
    return not bare or (bare[-1] in ":=：" and len(bare.split()) <= MOST_OF_A_LABEL)


def _overlap(part: str, sentence: str, budget: ComparisonBudget) -> bool:
    from rapidfuzz import fuzz

    if part in sentence or sentence in part:
        return True
    if min(len(part), len(sentence)) < SHORTEST or not budget.partial(len(part), len(sentence)):
        return False
    return fuzz.partial_ratio(part, sentence) >= OVERLAP


MOST = 8
"""Sentences and rules that are named one by one; of the rest only the number is given."""


def changed(prompt: Prompt, spec: Spec) -> bool:
    return spec.prompt_fingerprint not in (None, prompt.fingerprint)


def notices(prompt: Prompt, spec: Spec) -> list[str]:
    """A sentence for each rule whose words are gone or changed, and for each sentence of the prompt without a rule."""
    rules = [rule for rule in spec.rules if not rule.stale]
    lost_sources = [_lost(source) for source in check_sources(rules, prompt_text(prompt)) if source.status != "kept"]
    return [*_few(lost_sources, len(lost_sources) - MOST, of_rules=True), *uncited(prompt, rules)]


def uncited(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each sentence of the prompt that no rule cites; of many the first few."""
    without = [stored("no rule cites: {words}", words=quoted(sentence)) for sentence in uncovered(rules, prompt)]
    return _few(without, len(without) - MOST, of_rules=False)


def ungrounded(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each rule whose quoted words are not in the prompt, as far as code can tell."""
    return [
        _lost(source, gone=False) for source in check_sources(rules, prompt_text(prompt)) if source.status != "kept"
    ]


def orphans(spec: Spec, suite: Suite) -> list[Case]:
    """The cases that aim at a rule that the spec does not have, or has marked as stale."""
    current = {rule.id for rule in spec.rules if not rule.stale}
    return [case for case in suite.cases if case.rule is not None and case.rule not in current]


def _lost(source: SourceStatus, *, gone: bool = True) -> str:
    changed_to = source.nearest if source.status == "changed" else None
    values = {"rule": source.rule, "words": quoted(source.source), "other": quoted(changed_to or "")}
    if gone and changed_to:
        return stored("rule {rule} cites words that are gone: {words}; the prompt says {other}", **values)
    if gone:
        return stored("rule {rule} cites words that are gone: {words}", **values)
    if changed_to:
        return stored("rule {rule} cites words that are not in the prompt: {words}; the prompt says {other}", **values)
    return stored("rule {rule} cites words that are not in the prompt: {words}", **values)


def _few(lines: list[str], left: int, *, of_rules: bool) -> list[str]:
    """The lines, of many the first; ``left`` are the others."""
    if left <= 1:
        return lines
    more = stored("and {count} more sentences that no rule cites; `promptpex validate` names them all", count=left)
    if of_rules:
        more = stored("and {count} more rules whose words are gone; `promptpex validate` names them all", count=left)
    return [*lines[:MOST], more]
