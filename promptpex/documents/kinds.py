"""The YAML files that people edit, declared: their keys, what is taken as text, and what belongs to whom."""

from __future__ import annotations

from promptpex.core.errors import SpecError, SuiteError
from promptpex.core.records import Case, InputCheck, Rule, Spec, Suite, VariableSpec
from promptpex.documents.document import DocumentKind
from promptpex.documents.field_types import Items, Named, Records, Text

SPEC = DocumentKind(
    what="spec file",
    schema="spec",
    error=SpecError,
    empty=Spec(prompt=""),
    parts=(
        Text("prompt"),
        Text("prompt_fingerprint"),
        Text("intent"),
        Named("inputs", VariableSpec, short="constraints", wanted="name the variables, each with its constraints"),
        Records("input_checks", InputCheck, texts=("variable",)),
        Items(
            "rules",
            Rule,
            noun="rule",
            texts=("id", "rule", "inverse", "source", "after", "content"),
            always=("id", "rule", "origin"),
        ),
    ),
)

CASES = DocumentKind(
    what="case file",
    schema="cases",
    error=SuiteError,
    empty=Suite(prompt=""),
    parts=(
        Text("prompt"),
        Text("match", stays=True),
        Items(
            "cases",
            Case,
            noun="case",
            texts=(
                "id",
                "rule",
                "reasoning",
                "expected",
                "scenario",
                "inputs_fingerprint",
                "expanded_from",
                "expected_from",
                "invalid",
                "aside",
                "content",
            ),
            always=("id", "rule", "inverse", "inputs", "origin"),
        ),
    ),
)

KINDS = (SPEC, CASES)
