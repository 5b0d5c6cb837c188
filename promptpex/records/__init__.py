"""The frozen records that pass between stages; nothing else does (design: the flow is records)."""

from __future__ import annotations

from promptpex.records._base import MOST, MOST_COUNTED, Record
from promptpex.records.call import Completion, ModelName, Params, Request, TokenLogprob
from promptpex.records.case import Case, Suite
from promptpex.records.collector import collector_paused
from promptpex.records.columns import AnyRun, Coded, Column, Columns, RunColumns
from promptpex.records.output import NOT_ASKED, Grade, Output, Status, Verdict
from promptpex.records.problem import Problem, Severity
from promptpex.records.prompt import INPUT_VARIABLE, Message, Prompt, Role
from promptpex.records.run import RUNNING, Manifest, Run
from promptpex.records.spec import (
    PROMPT_RULE,
    WHOLE_INPUT,
    Check,
    InputCheck,
    Origin,
    Rule,
    Spec,
    VariableSpec,
)

__all__ = [
    "INPUT_VARIABLE",
    "MOST",
    "MOST_COUNTED",
    "NOT_ASKED",
    "PROMPT_RULE",
    "RUNNING",
    "WHOLE_INPUT",
    "AnyRun",
    "Case",
    "Check",
    "Coded",
    "Column",
    "Columns",
    "Completion",
    "Grade",
    "InputCheck",
    "Manifest",
    "Message",
    "ModelName",
    "Origin",
    "Output",
    "Params",
    "Problem",
    "Prompt",
    "Record",
    "Request",
    "Role",
    "Rule",
    "Run",
    "RunColumns",
    "Severity",
    "Spec",
    "Status",
    "Suite",
    "TokenLogprob",
    "VariableSpec",
    "Verdict",
    "collector_paused",
]
