"""promptfoo's own verdicts on a corpus of configurations, recorded by ``scripts/agree_with_promptfoo.py --record``, and
ours by what the import makes of them; where promptfoo is installed, both programs are run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import check, check_inputs
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Spec
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.files import ConfigFiles, merged
from promptpex.interchange.promptfoo.read import read_config
from promptpex.interchange.reading.foreign_files import At

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import agree_with_promptfoo  # noqa: E402
from agreement.answers import AnswerServer  # noqa: E402
from agreement.suites import ODD, answers_for  # noqa: E402
from promptfoo_agreement.compare import RECORDED, Pair, exported, imported  # noqa: E402
from promptfoo_agreement.program import Promptfoo, default_folder  # noqa: E402

PROGRAM = Promptfoo(default_folder())
installed = pytest.mark.skipif(
    not PROGRAM.is_there, reason="promptfoo is not installed (scripts/agree_with_promptfoo.py --install)"
)
CONFIGURATIONS = agree_with_promptfoo.configurations()


def _verdict(spec: Spec, case: Case, output: str) -> str:
    """What the rules of code that concern a case come to."""
    statuses = {
        check(output, rule.checks, vars=case.inputs, expected=case.expected).status
        for rule in spec.rules
        if rule.checks and not check_inputs(rule.when, case.inputs)
    }
    return "fail" if "fail" in statuses else "unscored" if "unscored" in statuses else "pass"


@pytest.mark.parametrize("folder", CONFIGURATIONS, ids=lambda path: path.name)
def test_the_rules_of_an_import_decide_as_promptfoo_did(folder: Path) -> None:
    config = folder / "promptfooconfig.yaml"
    doc = yaml_reader.read(config, error=InputError, what="configuration")
    data: Any = merged(doc.data)
    made = read_config(ConfigFiles(folder, Log()), data, At(config, doc=doc))
    parts = made.imported.further or (made.imported,)
    recorded = json.loads((folder / RECORDED).read_text(encoding="utf-8"))
    assert len(recorded) >= 10
    for row in recorded:
        part = parts[row["prompt"]]
        assert part.spec is not None
        assert part.suite is not None
        case = part.suite.case(made.cases[row["test"]])
        assert case is not None
        ours = _verdict(part.spec, case, row["output"])
        pair = Pair(f"{folder.name} {row['test']}", ours, row["verdict"], tuple(row["kinds"]))
        assert ours == row["verdict"] or pair.reason, (pair, row["output"])


def test_the_corpus_is_read_whole() -> None:
    assert len(CONFIGURATIONS) >= 6
    for folder in CONFIGURATIONS:
        config = folder / "promptfooconfig.yaml"
        doc = yaml_reader.read(config, error=InputError, what="configuration")
        data: Any = merged(doc.data)
        notes = read_config(ConfigFiles(folder, Log()), data, At(config, doc=doc)).imported.notes
        assert [note for note in notes if note.became == "left out"] == [], folder.name


@installed
@pytest.mark.slow
@pytest.mark.parametrize("name", ["sets", "scenarios"])
def test_promptfoo_and_we_agree_on_a_configuration_of_its_own(tmp_path: Path, name: str) -> None:
    folder = next(path for path in CONFIGURATIONS if path.name == name)
    with AnswerServer(ODD) as server:
        agreement = imported(PROGRAM, folder, tmp_path, server)
    assert not agreement.unexplained
    assert agreement.requests[1] == 0
    assert len(agreement.pairs) >= 10


@installed
@pytest.mark.slow
def test_promptfoo_and_we_agree_on_a_suite_of_ours(tmp_path: Path) -> None:
    suite = ROOT / "benchmarks" / "classify"
    with AnswerServer(answers_for(suite)) as server:
        agreement = exported(PROGRAM, suite, tmp_path, server)
    assert not agreement.unexplained
    assert agreement.requests[1] == 0
    assert agreement.pairs
