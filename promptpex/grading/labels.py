"""Labels: how what people say of an output comes to good or bad.

A label is made of people's words alone: of their grades, or of a table that they filled in. Nothing that a check or a
judge says of an output gets here, so that assertions are never chosen by their own verdicts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Example, Grade, GradeValue
from promptpex.core.translation import stored
from promptpex.stats.dawid_skene import UNKNOWN_ACCURACY, logit, one_coin

Label = Literal["good", "bad"]

JOINT = ("majority", "any-bad", "latest", "accuracy")
"""The ways in which several graders come to one label; any other word is the name of the only one that counts."""
ADJUDICATED = "adjudicated:"
"""What the name of the grader follows who decides where the others differ."""


@dataclass(frozen=True, slots=True)
class LabelRules:
    """How grades become labels.

    Attributes:
        graders: ``majority`` (a tie gives no label), ``any-bad`` (one bad is enough), ``latest`` (the grade that was
            given last), ``accuracy`` (each grader weighs the log-odds of their accuracy, as ``stats.grader_accuracy``
            estimates it), ``adjudicated:NAME`` (NAME decides where the others differ), or the name of the one grader
            who counts.
        rules: what makes an output good that has grades on single rules only: ``every`` rule of the spec is graded
            good, those with a condition aside; all ``graded`` ones are; or ``none``: such grades make none good.
            One bad rule always makes it bad.
        unsure: what "unsure" is: ``no-vote``, or ``bad``.
    """

    graders: str = "majority"
    rules: Literal["every", "graded", "none"] = "every"
    unsure: Literal["no-vote", "bad"] = "no-vote"

    @property
    def adjudicator(self) -> str:
        """Who decides where the others differ; empty where nobody does."""
        return self.graders.removeprefix(ADJUDICATED) if self.graders.startswith(ADJUDICATED) else ""

    @property
    def only(self) -> str:
        """The one grader who counts; empty where several do."""
        return "" if self.graders in JOINT or self.adjudicator else self.graders

    def sentence(self) -> str:
        """The rules in words, to be printed with the labels."""
        joint = {
            "majority": stored("the majority of the graders decides, a tie gives no label"),
            "any-bad": stored("bad where one grader says so"),
            "latest": stored("the latest grade decides"),
            "accuracy": stored("each grader weighs as much as their estimated accuracy says, a tie gives no label"),
        }
        by_rules = {
            "every": stored(
                "without a grade on the whole output, it is good where every rule is graded good, "
                "and bad where one is graded bad"
            ),
            "graded": stored(
                "without a grade on the whole output, it is good where every graded rule is good, "
                "and bad where one is graded bad"
            ),
            "none": stored(
                "without a grade on the whole output, it is never good, and bad where one rule is graded bad"
            ),
        }
        who = joint.get(self.graders, stored("{grader} alone decides", grader=self.graders))
        if self.adjudicator:
            who = stored("where graders differ, {grader} decides", grader=self.adjudicator)
        unsure = stored("unsure is not a vote") if self.unsure == "no-vote" else stored("unsure counts as bad")
        return f"{who}; {by_rules[self.rules]}; {unsure}"


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person says of one output, or of a rule or criterion of it.

    Attributes:
        order: greater for what was given later.
        by_rules: whether it is what grades on single rules come to.
        derived: whether it follows from a good grade on the whole output.
    """

    grader: str
    value: GradeValue
    order: float
    by_rules: bool = False
    derived: bool = False


def moment(grade: Grade) -> tuple[float, str]:
    """When a grade was given, in seconds; of two at one moment the id decides which is the later one."""
    return datetime.fromisoformat(grade.time).timestamp(), grade.id


def by_rules(grader: str, grades: Mapping[str, Grade], wanted: frozenset[str], how: LabelRules) -> Vote | None:
    """The vote that grades on single rules come to; None where they are too few to say good."""
    if not grades:
        return None
    values = {name: grade.value for name, grade in grades.items()}
    order = max(moment(grade)[0] for grade in grades.values())
    if "bad" in values.values():
        return Vote(grader, "bad", order, by_rules=True)
    if "unsure" in values.values():
        return Vote(grader, "unsure", order, by_rules=True)
    enough = {"every": bool(wanted) and wanted <= values.keys(), "graded": True, "none": False}[how.rules]
    return Vote(grader, "good", order, by_rules=True) if enough else None


def counted(votes: Sequence[Vote], how: LabelRules) -> list[Vote]:
    """The votes of those who count."""
    return [vote for vote in votes if how.only in ("", vote.grader)]


def label_of(
    votes: Sequence[Vote], how: LabelRules, accuracy: Mapping[str, float] | None = None
) -> tuple[Label | None, str]:
    """The label that votes on one thing come to, and how it came about; None where they come to none.

    Args:
        accuracy: of each grader, from 0.5 to below 1, for the rule ``accuracy``; a grader without one counts as .75.
    """
    voices = counted(votes, how)
    clear: list[tuple[Label, Vote]] = []
    for vote in voices:
        if vote.value != "unsure":
            clear.append((vote.value, vote))
        elif how.unsure == "bad":
            clear.append(("bad", vote))
    if not clear:
        return None, stored("unsure: {names}", names=_who(voices)) if voices else ""
    label = _joint(clear, how, accuracy or {})
    if label is None:
        tally = Counter(value for value, _ in clear)
        if how.adjudicator:
            decides = stored("{grader} has to decide: {passed} good, {failed} bad")
            return None, decides.format(grader=how.adjudicator, passed=tally["good"], failed=tally["bad"])
        disagree = stored("the graders disagree: {passed} good, {failed} bad")
        return None, disagree.format(passed=tally["good"], failed=tally["bad"])
    agreeing = [vote for value, vote in clear if value == label]
    if len(agreeing) == len(clear):
        return label, _who(agreeing)
    return label, stored("{count} of {number} graders", count=len(agreeing), number=len(clear))


def _joint(clear: Sequence[tuple[Label, Vote]], how: LabelRules, accuracy: Mapping[str, float]) -> Label | None:
    if how.graders == "any-bad":
        return "bad" if any(label == "bad" for label, _ in clear) else "good"
    if how.graders == "majority":
        return _heavier(clear, lambda _: 1.0)
    if how.graders == "accuracy":
        return _heavier(clear, lambda vote: logit(accuracy.get(vote.grader, UNKNOWN_ACCURACY)))
    if how.adjudicator:
        own = [label for label, vote in clear if vote.grader == how.adjudicator]
        labels = {label for label, _ in clear}
        return own[-1] if own else labels.pop() if len(labels) == 1 else None
    return max(clear, key=lambda pair: pair[1].order)[0]


def _heavier(clear: Sequence[tuple[Label, Vote]], weight: Callable[[Vote], float]) -> Label | None:
    """The label of the greater weight; None where both weigh the same."""
    difference = math.fsum(weight(vote) if label == "good" else -weight(vote) for label, vote in clear)
    return None if abs(difference) < 1e-9 else "good" if difference > 0 else "bad"


def accuracies(things: Iterable[Sequence[Vote]]) -> dict[str, float]:
    """Each grader's accuracy, estimated from what others say of the same things; unsure tells nothing of it."""
    return one_coin({vote.grader: vote.value == "good" for vote in votes if vote.value != "unsure"} for votes in things)


def _who(votes: Sequence[Vote]) -> str:
    names = list(dict.fromkeys(f"{vote.grader}, by rules" if vote.by_rules else vote.grader for vote in votes))
    return ", ".join(names) if len(names) <= 3 else stored("{count} graders", count=len(names))


def require_known_grader(how: LabelRules, graders: Collection[str]) -> None:
    """Refuses the name of a grader who is not among these."""
    names = sorted(graders)
    grader = how.adjudicator or how.only
    if not grader or grader in names:
        return
    choices = f"the graders are {', '.join(names[:8]) or 'none'}; or give one of {', '.join(JOINT)}"
    raise SynthesisError(f"no grader is called {grader!r}; {did_you_mean(grader, [*names, *JOINT]) or choices}")


def require_no_misspelling(how: LabelRules, graders: Collection[str]) -> None:
    """Refuses the name of a grader who is not among these and that is nearly a way in which several come to one label;
    any other may belong to somebody who has graded nothing yet.
    """
    if how.only and did_you_mean(how.only, JOINT):
        require_known_grader(how, graders)


def labelled(
    examples: Iterable[Example],
    grades: Mapping[str, Sequence[Vote]],
    table: Mapping[str, Sequence[Vote]],
    how: LabelRules,
    accuracy: Mapping[str, float] | None = None,
) -> tuple[Example, ...]:
    """The examples with their labels. A table that people filled in counts before the grades of the same output.

    Where neither says anything, a label from an earlier table stays; one from grades does not.

    Args:
        grades, table: what each says of the examples, by their ids.
        accuracy: as for ``label_of``.
    """

    def one(example: Example) -> Example:
        votes = table.get(example.id)
        if votes is None and example.from_table:
            return example
        label, source = label_of(votes or grades.get(example.id, ()), how, accuracy)
        return example.replace(label=label, label_from=source, from_table=votes is not None)

    return tuple(map(one, examples))
