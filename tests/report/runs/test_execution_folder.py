"""Which folder an execution of a run is written in, and that nothing measured is ever overwritten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier

import pytest

from promptpex.codecs.files.file_lock import LockFile
from promptpex.core.errors import RunError
from promptpex.core.records import Output, Run
from promptpex.report import runs
from promptpex.report.runs import execution_folder, run_folder
from promptpex.report.runs.listing import RunList
from promptpex.report.runs.run_folder import OUTPUTS
from tests.samples import contents
from tests.tables.by_hand import colours


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


class Execution:
    """A run that comes output by output, as ``execute_into_folder`` has it."""

    def __init__(self, run: Run, records: runs.RunRecords, place: runs.RunPlace) -> None:
        self.run, self._records, self._place, self._count = run, records, place, 0

    def add(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            self._records.outputs.put(self._count, [output])
            self._place.written(output)
            self._count += 1

    def finish(self) -> Path:
        self._records.verdicts.put_each(self.run.verdicts)
        folder = self._place.finish(self.run)[1]
        assert folder is not None
        return folder


@contextmanager
def executed(results: Path, run: Run, *, fresh: bool = False) -> Iterator[Execution]:
    begun = run.replace(outputs=(), verdicts=(), scores=())
    with runs.RunRecords() as records, runs.RunPlace(results, begun, records, fresh=fresh) as place:
        yield Execution(run, records, place)


def execute(results: Path, run: Run, *, fresh: bool = False, crash_after: int | None = None) -> Path:
    """Writes a run; its folder."""
    with executed(results, run, fresh=fresh) as execution:
        execution.add(run.outputs[:crash_after])
        if crash_after is not None:
            raise KeyboardInterrupt
        return execution.finish()


def changed(run: Run, number: int, **fields: object) -> Run:
    """The run with another output in one place."""
    outputs = list(run.outputs)
    outputs[number] = outputs[number].replace(**fields)
    return run.replace(outputs=tuple(outputs))


def folders(results: Path) -> list[str]:
    return sorted(path.name for path in results.glob("*/*"))


def test_a_run_that_gives_the_same_is_the_same_run(results: Path) -> None:
    made = colours()
    folder = execute(results, made)
    before = contents(folder)
    assert execute(results, made) == folder
    assert folders(results) == [made.manifest.run]
    assert contents(folder) == before


def test_another_answer_is_another_run_and_the_first_is_kept(results: Path) -> None:
    made = colours()
    first = execute(results, made)
    before = contents(first)
    other = changed(made, 2, text="PINK")
    other = other.replace(manifest=other.manifest.replace(created="2031-05-06T07:08:09+00:00"))
    second = execute(results, other)
    assert [runs.read(folder).manifest.created[:4] for folder in (first, second)] == [made.manifest.created[:4], "2031"]
    assert second.name == f"{first.name}-2"
    assert contents(first) == before
    assert runs.read(second).outputs == other.outputs
    assert execute(results, other) == second
    assert folders(results) == [first.name, second.name]


def test_another_verdict_is_another_run(results: Path) -> None:
    made = colours()
    first = execute(results, made)
    turned = made.verdicts[0].replace(status="pass" if made.verdicts[0].status == "fail" else "fail")
    second = execute(results, made.replace(verdicts=(turned, *made.verdicts[1:])))
    assert (first.name, second.name) == (made.manifest.run, f"{made.manifest.run}-2")
    assert execute(results, made).name == f"{first.name}-3"


def test_what_had_failed_is_put_in_its_place(results: Path) -> None:
    made = colours()
    at = next(number for number, output in enumerate(made.outputs) if output.error)
    first = execute(results, made)
    whole = changed(made, at, text="RED", error=None, message=None)
    assert execute(results, whole) == first
    assert runs.read(first).outputs == whole.outputs
    assert execute(results, made).name == f"{first.name}-2"


def test_fresh_answers_have_a_folder_of_their_own_though_they_are_the_same(results: Path) -> None:
    made = colours()
    names = [execute(results, made, fresh=True).name for _ in range(3)]
    assert names == [made.manifest.run, f"{made.manifest.run}-2", f"{made.manifest.run}-3"]
    assert execute(results, made).name == names[-1]


def test_a_partial_run_goes_on_in_its_folder(results: Path) -> None:
    made = colours()
    partial = made.replace(manifest=made.manifest.replace(partial="budget"), outputs=made.outputs[:3], verdicts=())
    folder = execute(results, partial)
    assert execute(results, made) == folder
    assert runs.read(folder).outputs == made.outputs
    assert runs.read_manifest(folder).partial is None


@pytest.mark.parametrize("moment", [0, 2, 4])
def test_a_crash_beside_a_complete_run_leaves_it_alone(results: Path, moment: int) -> None:
    made = colours()
    first = execute(results, made)
    before = contents(first)
    with pytest.raises(KeyboardInterrupt):
        execute(results, changed(made, 1, text="PINK"), crash_after=moment)
    assert contents(first) == before
    assert folders(results) == [first.name]


def test_a_crash_leaves_what_came_since_the_first_answer_and_it_goes_on(results: Path) -> None:
    made = colours()
    late = changed(made, 0, text=None, error="unavailable", message="away")
    with pytest.raises(KeyboardInterrupt):
        execute(results, late, crash_after=1)
    assert not list(results.iterdir())
    with pytest.raises(KeyboardInterrupt):
        execute(results, late, crash_after=3)
    (name,) = folders(results)
    kept = runs.read(results / made.prompt.name / name)
    assert (kept.manifest.partial, kept.outputs) == ("killed", late.outputs[:3])
    listing = RunList(results)
    with executed(results, made) as execution:
        execution.add(made.outputs[:3])
        assert [one.manifest and one.manifest.partial for one in listing.all()] == ["running"]
    assert [one.manifest and one.manifest.partial for one in listing.all()] == ["killed"]
    assert execute(results, made).name == name
    assert runs.read_manifest(results / made.prompt.name / name).partial is None


def test_a_run_without_an_answer_leaves_nothing(results: Path) -> None:
    made = colours()
    nothing = tuple(one.replace(text=None, error="unavailable", message="away") for one in made.outputs)
    with executed(results, made) as execution:
        execution.add(nothing)
        with pytest.raises(AssertionError):
            execution.finish()
    assert not list(results.iterdir())
    partial = made.replace(manifest=made.manifest.replace(partial="budget"), outputs=made.outputs[:3], verdicts=())
    before = contents(execute(results, partial))
    with executed(results, made) as execution:
        execution.add(nothing)
        with pytest.raises(AssertionError):
            execution.finish()
    assert contents(results / made.prompt.name / made.manifest.run) == before


@pytest.mark.parametrize("name", ["manifest.json", OUTPUTS])
def test_a_damaged_run_is_restored_in_its_folder(results: Path, name: str) -> None:
    made = colours()
    folder = execute(results, made)
    before = contents(folder)
    (folder / name).write_bytes(b"{\n")
    assert execute(results, made) == folder
    assert contents(folder) == before


def test_a_run_that_another_process_writes_is_left_alone(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (execution_folder, run_folder):
        monkeypatch.setattr(module, "MAX_WAIT_S", 0.05)
    made = colours()
    with executed(results, made) as execution:
        execution.add(made.outputs[:2])
        own = results / made.prompt.name / made.manifest.run
        assert runs.read_manifest(own).partial == "running"
        meanwhile = execute(results, changed(made, 3, text="PINK"))
        with pytest.raises(RunError, match="another process writes this run"):
            runs.finish(own, made)
        execution.add(made.outputs[2:])
        folder = execution.finish()
    assert (folder, meanwhile.name) == (own, f"{made.manifest.run}-2")
    assert runs.read(folder).outputs == made.outputs
    assert not list(results.glob("*/.*"))


def test_of_two_that_end_at_the_same_moment_one_folder_stays(results: Path) -> None:
    made = colours()
    together = Barrier(2)

    def end() -> str:
        with executed(results, made) as execution:
            execution.add(made.outputs)
            together.wait()
            return execution.finish().name

    with ThreadPoolExecutor() as threads:
        ended = [one.result() for one in [threads.submit(end) for _ in range(2)]]
    assert folders(results) == [made.manifest.run] == list(set(ended))


def test_a_name_is_given_kept_and_given_anew(results: Path) -> None:
    made = colours()

    def named(name: str | None, run: Run = made) -> tuple[str, str | None]:
        folder = execute(results, run.replace(manifest=run.manifest.replace(name=name)))
        return folder.name, runs.read_manifest(folder).name

    run = made.manifest.run
    assert named("before") == (run, "before")
    assert named(None) == (run, "before")
    assert named("earlier") == (run, "earlier")
    assert named(None, changed(made, 0, text="PINK")) == (f"{run}-2", None)
    assert named("after", changed(made, 0, text="PINK")) == (f"{run}-2", "after")


def test_a_run_is_written_in_no_folder_that_a_link_leads_elsewhere(results: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    results.mkdir()
    made = colours()
    (results / made.manifest.prompt).symlink_to(elsewhere)
    with pytest.raises(RunError, match="a link leads this folder out"):
        execute(results, made)
    assert not list(elsewhere.iterdir())


def test_a_lock_is_given_back_and_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / ".run.lock"
    first = LockFile.take(path)
    assert first is not None
    assert LockFile.take(path) is None
    first.release()
    assert not path.exists()
    again = LockFile.take(path)
    assert again is not None
    again.release()


def test_outputs_of_cases_that_are_new_are_no_change(results: Path) -> None:
    made = colours()
    fewer = made.replace(
        outputs=made.outputs[:-1], verdicts=tuple(v for v in made.verdicts if v.key != made.outputs[-1].key)
    )
    folder = execute(results, fewer)
    more: tuple[Output, ...] = made.outputs
    assert execute(results, made) == folder
    assert runs.read(folder).outputs == more
