"""The frozen records that pass between stages; nothing else does."""

from __future__ import annotations

from promptpex.core.records._base import MAX_EXACT, MAX_TOKENS_COUNTED, Record
from promptpex.core.records.batch import BatchManifest, BatchPart
from promptpex.core.records.blessed_figures import Blessed, BlessedCase, CaseCounts
from promptpex.core.records.calibration import JudgeCalibration, MeasuredShare, calibration_of
from promptpex.core.records.call import Completion, ModelName, Params, Request, TokenLogprob
from promptpex.core.records.case import Case, Match, Rating, Suite
from promptpex.core.records.columnar import AnyRun, Coded, Column, Columns, RunColumns, RunInParts
from promptpex.core.records.example import CandidateResult, CandidateStatus, Example
from promptpex.core.records.file_problem import Problem, Severity
from promptpex.core.records.gc_pause import collector_paused
from promptpex.core.records.grade import (
    KEY_LENGTH,
    LONGEST_NAME,
    OUTPUT_SUBJECT,
    Grade,
    GradeValue,
    output_key,
    superseded,
)
from promptpex.core.records.metric import METRIC_NAME, Language, Metric, Scale
from promptpex.core.records.output import (
    CUT,
    NO_VALUE,
    NOT_ASKED,
    NOT_CONCERNED,
    UNCLEAR,
    UNTRUSTED,
    Output,
    OutputKey,
    Status,
    Verdict,
)
from promptpex.core.records.prompt import INPUT_VARIABLE, Message, Prompt, Role
from promptpex.core.records.prompt_history import CategorisedPhrase, Change, Delta, History, PromptVersion, Tag
from promptpex.core.records.report_card import (
    AlignmentFigures,
    CardAddition,
    CardCandidate,
    CardColumn,
    CardDistribution,
    CardEffect,
    CardFigure,
    CardLabels,
    CardOutput,
    CardRow,
    ConfusionCounts,
    Measured,
    PeopleAgreement,
    ReportCard,
    RowKind,
    Undefined,
)
from promptpex.core.records.run import KILLED, RUNNING, Manifest, PartOfSuite, Run
from promptpex.core.records.score import EXPECTED, Score
from promptpex.core.records.spec import ALSO_VALID, WHOLE_INPUT, Check, InputCheck, Origin, Rule, Spec, VariableSpec
from promptpex.core.records.synthesis import Candidate, Category, Choice, Criterion, Implication, Means, Synthesis

__all__ = [
    "CUT",
    "BatchManifest",
    "BatchPart",
    "Blessed",
    "BlessedCase",
    "CaseCounts",
    "Candidate",
    "CandidateResult",
    "CandidateStatus",
    "CategorisedPhrase",
    "Category",
    "Change",
    "Choice",
    "Criterion",
    "Delta",
    "Example",
    "History",
    "Implication",
    "Means",
    "PromptVersion",
    "Synthesis",
    "Tag",
    "ALSO_VALID",
    "AlignmentFigures",
    "CardAddition",
    "CardCandidate",
    "CardColumn",
    "CardDistribution",
    "CardEffect",
    "CardFigure",
    "CardLabels",
    "CardOutput",
    "CardRow",
    "ConfusionCounts",
    "Measured",
    "PeopleAgreement",
    "ReportCard",
    "RowKind",
    "Undefined",
    "EXPECTED",
    "INPUT_VARIABLE",
    "JudgeCalibration",
    "KEY_LENGTH",
    "KILLED",
    "LONGEST_NAME",
    "MeasuredShare",
    "MAX_EXACT",
    "MAX_TOKENS_COUNTED",
    "METRIC_NAME",
    "NOT_ASKED",
    "NOT_CONCERNED",
    "OUTPUT_SUBJECT",
    "RUNNING",
    "UNCLEAR",
    "NO_VALUE",
    "UNTRUSTED",
    "WHOLE_INPUT",
    "AnyRun",
    "Case",
    "Check",
    "Coded",
    "Column",
    "Columns",
    "Completion",
    "Grade",
    "GradeValue",
    "InputCheck",
    "Manifest",
    "Match",
    "Message",
    "Metric",
    "ModelName",
    "Origin",
    "Output",
    "OutputKey",
    "Params",
    "PartOfSuite",
    "Problem",
    "Prompt",
    "Rating",
    "Record",
    "Request",
    "Role",
    "Rule",
    "Run",
    "RunColumns",
    "RunInParts",
    "Language",
    "Scale",
    "Score",
    "Severity",
    "Spec",
    "Status",
    "Suite",
    "TokenLogprob",
    "VariableSpec",
    "Verdict",
    "collector_paused",
    "calibration_of",
    "output_key",
    "superseded",
]


def __dir__() -> list[str]:
    """The public names: all that completion offers."""
    return sorted(__all__)
