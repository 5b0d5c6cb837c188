"""The YAML files that people edit, declared: their keys, what is taken as text, and what belongs to whom."""

from __future__ import annotations

from promptpex.core.errors import SpecError, SuiteError, SynthesisError
from promptpex.core.records import (
    Candidate,
    Case,
    Criterion,
    Implication,
    InputCheck,
    Rule,
    Spec,
    Suite,
    Synthesis,
    VariableSpec,
)
from promptpex.documents.editable_file import DocumentKind
from promptpex.documents.field_types import Items, Named, Pairs, Records, Text

SPEC = DocumentKind(
    what="spec file",
    schema="spec",
    error=SpecError,
    empty=Spec(),
    parts=(
        Text("prompt", placed=True),
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
            named_by="rule",
        ),
    ),
)

CASES = DocumentKind(
    what="case file",
    schema="cases",
    error=SuiteError,
    empty=Suite(),
    parts=(
        Text("prompt", placed=True),
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
            named_by="inputs",
            keeps_repeated_ids=True,
        ),
    ),
)

CANDIDATES = DocumentKind(
    what="file of candidates",
    schema="candidates",
    error=SynthesisError,
    empty=Synthesis(prompt=""),
    parts=(
        Text("prompt"),
        Items(
            "criteria",
            Criterion,
            noun="criterion",
            texts=("id", "text", "source", "version", "rule", "content"),
            always=("id", "text", "category", "origin"),
        ),
        Items(
            "candidates",
            Candidate,
            noun="candidate",
            texts=("id", "description", "content"),
            always=("id", "criteria", "check", "origin"),
        ),
        Pairs(
            "implications",
            Implication,
            noun="implication",
            texts=("stronger", "weaker"),
            always=("stronger", "weaker", "evidence"),
        ),
    ),
)

KINDS = (SPEC, CASES, CANDIDATES)
