"""Criteria and candidates as the local page shows them, and what the author was asked for there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from promptpex.core.records._base import Record
from promptpex.core.records.synthesis import Choice, Means

CandidateState = Literal["aside", "waiting", "kept", "culled"]
"""``aside``: its criterion is set aside or asks for another kind; ``waiting``: not run on all outputs; ``culled``: it
tells nothing that another one does not."""


CandidateForm = Literal["python", "question", "yaml"]
"""How a candidate's check is shown and written."""


class AskedCriterion(Record):
    """What an author was asked for a criterion, with graded outputs.

    Attributes:
        criterion: its id.
        wording: the digest of its text at the last request.
        shown: how many graded outputs could be shown then.
        turns, rounds: how many requests there were, and how many of them without a person asking.
        refused: by name, why proposals of the last request were of no use.
        made: how many candidates came of all requests.
    """

    criterion: str
    wording: str
    shown: int = Field(default=0, ge=0)
    turns: int = Field(default=0, ge=0)
    rounds: int = Field(default=0, ge=0)
    refused: dict[str, str] = Field(default_factory=dict)
    made: int = Field(default=0, ge=0)


class AskedCriteria(Record):
    """The file ``asked.json``."""

    criteria: tuple[AskedCriterion, ...] = ()

    def of(self, name: str) -> AskedCriterion | None:
        """What was asked for a criterion; None: nothing."""
        return next((one for one in self.criteria if one.criterion == name), None)

    def with_one(self, new: AskedCriterion) -> AskedCriteria:
        return self.replace(criteria=(*(one for one in self.criteria if one.criterion != new.criterion), new))


class ShownCandidate(Record):
    """A candidate on the page.

    Attributes:
        form, text: how it is written, and what is written.
        asks: whether it puts questions to a judge.
        outdated: whether it was written for another wording of its criterion.
        state, why: what became of it, and the reason in words.
        passes, fails, errors, waiting: outputs, of all.
        caught, bad, flagged, good: of the outputs that people graded by this criterion and no author was shown, how
            many bad ones it fails, and how many good ones.
        yours: whether a person wrote or edited it.
        arriving: whether the author is still writing the reply that it came in, so that it may yet go.
    """

    id: str
    description: str = ""
    form: CandidateForm
    text: str
    asks: bool = False
    choice: Choice | None = None
    outdated: bool = False
    yours: bool = False
    arriving: bool = False
    state: CandidateState = "waiting"
    why: str = ""
    passes: int = 0
    fails: int = 0
    errors: int = 0
    waiting: int = 0
    caught: int = 0
    bad: int = 0
    flagged: int = 0
    good: int = 0


class ShownCriterion(Record):
    """A criterion on the page.

    Attributes:
        comes_from: in words.
        notes: what people wrote that it was made from.
        good, bad, unsure, stale: outputs by what grades on it come to; ``stale``: those graded under older words.
        refused: proposals that were of no use, by name with the reason.
        verdict: what to know of its candidates as a whole, in a sentence.
        is_lacking: whether there is something to do about that.
        working: what is being done for it; empty: nothing.
    """

    id: str
    text: str
    comes_from: str
    rule: str | None = None
    by: Means = "both"
    selected: bool = True
    max_ffr: float | None = None
    must: bool = False
    notes: tuple[str, ...] = ()
    good: int = 0
    bad: int = 0
    unsure: int = 0
    stale: int = 0
    candidates: tuple[ShownCandidate, ...] = ()
    refused: dict[str, str] = Field(default_factory=dict)
    verdict: str = ""
    is_lacking: bool = False
    working: str = ""


class ShownWork(Record):
    """A piece of work in the background.

    Attributes:
        what: in words.
        criterion: the id of the criterion that it is for; empty: for none.
        state: as long as it is ``waiting`` it can be taken back.
        sentence: what came of it.
    """

    what: str
    criterion: str = ""
    state: Literal["waiting", "running", "done", "failed", "dropped"]
    sentence: str = ""


class CriteriaBoard(Record):
    """All that the page shows.

    Attributes:
        prompt: the prompt's name.
        criteria: in the file's order.
        outputs, graded: how many outputs there are, and how many people have graded.
        noted: bad outputs with a note that no criterion was made from.
        work: what is being done, then what was done last.
        is_working: whether anything is under way or waiting.
        made, tried, to_try, culled: candidates that came of the work, results that there are and that are missing, and
            candidates that tell nothing.
        spent: requests and price so far, in words.
        price: what making candidates for all criteria would ask for and cost, in words; or why nobody can be asked.
        renewing: whether candidates are made again as grades come.
        to_ask: questions that wait for a person's word before a judge is asked.
        notices: what else to know, a sentence each.
        trouble: what keeps the file from being shown or written, in a sentence.
    """

    prompt: str
    criteria: tuple[ShownCriterion, ...] = ()
    outputs: int = 0
    graded: int = 0
    noted: int = 0
    work: tuple[ShownWork, ...] = ()
    is_working: bool = False
    made: int = 0
    tried: int = 0
    to_try: int = 0
    culled: int = 0
    spent: str = ""
    price: str = ""
    renewing: bool = False
    to_ask: int = 0
    notices: tuple[str, ...] = ()
    trouble: str = ""
