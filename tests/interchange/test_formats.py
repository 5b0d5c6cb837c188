"""A foreign format is one file: with it in place, ``import`` and ``export`` know it, its options and its parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from promptpex import interchange
from promptpex.cases.file import read_suite, write_suite
from promptpex.interchange.format import formats
from promptpex.promptfile import read as read_prompt
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.workflow.importing.exchange import FileSource
from tests.e2e.command import ROOT, environment
from tests.fork_server.start import forking
from tests.samples import suite

TOY = '''
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Manifest, Message, Output, Prompt, Rule, Run, Spec, Suite
from promptpex.interchange.format import Exported, Format, Imported, ImportedPrompt, Option


def read(path, *, shout):
    """A prompt, then a case per line."""
    text, *inputs = path.read_text().splitlines()
    if not inputs:
        raise InputError("there are no cases", path=path, line=1)
    message = Message(role="system", content=text.upper() if shout else text)
    prompt = Prompt(name="toy", messages=(message,), variables=("input",), fingerprint="f")
    spec = Spec(prompt="x.md", rules=(Rule(id="r1", rule="It is short."),))
    suite = Suite(
        prompt="x.md", cases=tuple(Case(id=f"c{n}", rule="r1", inputs={"input": t}) for n, t in enumerate(inputs))
    )
    digests = {"prompt_fingerprint": "f", "spec_digest": "s", "suite_digest": "u"}
    manifest = Manifest(run="a1", prompt="toy", models=("m",), **digests)
    outputs = tuple(Output(case=case.id, model="m", text="ok") for case in suite.cases)
    run = Run(manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=outputs)
    return Imported(prompt=ImportedPrompt(prompt.name, prompt.messages), spec=spec, suite=suite, runs=(run,))


def write(source, *, mark):
    project = source.project()
    counts = f"{len(project.spec.rules)} {len(project.suite.cases)}"
    return Exported(f"{mark} {project.prompt.name} {counts}\\n", ("the rest",))


FORMAT = Format(
    name="toy",
    summary="a toy",
    extensions=(".toy",),
    reads="project",
    writes="project",
    read=read,
    write=write,
    read_options=(Option("shout", "in capitals.", kind=bool),),
    write_options=(Option("mark", "the first word.", default="toy"),),
)
'''

CALL = """
import sys
from promptpex import interchange
interchange.__path__.append(sys.argv[1])
from promptpex.cli.main import run_cli
sys.exit(run_cli(sys.argv[2:]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "formats").mkdir()
    (tmp_path / "formats" / "toy.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "a.toy").write_text("Answer in one word.\nfox\ndog\n", encoding="utf-8")
    return tmp_path


def _call(folder: Path, *arguments: str, forked: bool = True) -> subprocess.CompletedProcess[str]:
    with forking(forked):
        return subprocess.run(
            [sys.executable, "-c", CALL, str(folder / "formats"), *arguments],
            cwd=folder,
            env=environment(PYTHONPATH=str(ROOT), COLUMNS="80"),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )


def test_a_new_format_is_one_file(folder: Path) -> None:
    shown = _call(folder, "import", "--help-all").stdout
    assert "a toy" in shown
    assert "--shout" in shown
    done = _call(folder, "import", "toy", "a.toy", "--shout", "--out", "made", forked=False)
    assert (done.returncode, done.stdout) == (0, "the prompt, 1 rule, 2 cases, 1 run in made\n"), done.stderr
    made = folder / "made"
    assert read_prompt(made / "prompt.md").messages[0].content == "ANSWER IN ONE WORD."
    assert [rule.id for rule in read_spec(made / "prompt.spec.yaml").rules] == ["r1"]
    assert [case.inputs for case in read_suite(made / "prompt.cases.yaml").cases] == [
        {"input": "fox"},
        {"input": "dog"},
    ]
    assert [output.text for output in runs.read(made / "toy" / "a1").outputs] == ["ok", "ok"]
    exported = _call(folder, "export", "toy", "made/prompt.cases.yaml", "--mark", "!")
    assert (exported.returncode, exported.stdout) == (0, "! toy 1 2\n"), exported.stderr
    assert exported.stderr == "note: the rest\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("import", "toy", "a.toy"), "more than cases"),
        (("import", "toy", "a.csv", "--out", "x"), "must end in .toy"),
        (("import", "csv", "a.csv", "--shout"), "--shout goes with toy, not with csv"),
        (("import", "toys", "a.toy"), "'toys' is not one of"),
    ],
)
def test_what_does_not_fit_a_format_is_reported(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = _call(folder, *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_every_format_reads_or_writes_and_says_what() -> None:
    for name, format_ in formats(interchange).items():
        assert name == format_.name
        assert format_.read or format_.write
        assert (format_.reads is None, format_.writes is None) == (format_.read is None, format_.write is None)
        assert all(ending.startswith(".") and ending.islower() for ending in format_.extensions)


def test_two_formats_of_one_name_are_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="two formats"):
        formats(interchange, interchange)


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_a_suite_that_is_exported_reads_back(tmp_path: Path, name: str) -> None:
    format_ = formats(interchange)[name]
    assert format_.read is not None
    assert format_.write is not None
    write_suite(tmp_path / "a.cases.yaml", suite())
    file = tmp_path / f"a{format_.extensions[0]}"
    source = FileSource(tmp_path / "a.cases.yaml", lambda: tmp_path)
    file.write_text(format_.write(source).text, encoding="utf-8", newline="")
    assert format_.read(file).suite == read_suite(tmp_path / "a.cases.yaml")
