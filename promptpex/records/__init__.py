"""The frozen records that pass between stages; nothing else does (design: the flow is records)."""

from __future__ import annotations

from promptpex.records._base import Record
from promptpex.records.call import Completion, ModelName, Params, Request, TokenLogprob
from promptpex.records.case import Case, Suite
from promptpex.records.output import Grade, Output, Status, Verdict
from promptpex.records.problem import Problem, Severity
from promptpex.records.prompt import INPUT_VARIABLE, Message, Prompt, Role
from promptpex.records.run import Manifest, Run
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
    "PROMPT_RULE",
    "WHOLE_INPUT",
    "Case",
    "Check",
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
    "Severity",
    "Spec",
    "Status",
    "Suite",
    "TokenLogprob",
    "VariableSpec",
    "Verdict",
]
