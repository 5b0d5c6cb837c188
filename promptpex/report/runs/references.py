"""How people refer to a run: its folder, ``latest``, its id, the name they gave it, or its prompt; ``~1`` behind any of
them is the run of the same prompt before that one.

The order is that of ``latest``: by when ``run`` or ``judge`` last wrote the run, also where all its answers came from
the store. Where a run decides something, as in ``gate``, ``latest`` and a prompt mean the latest whole run that has an
answer; a run that is named is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from promptpex.codecs.files import find_settings_files
from promptpex.codecs.files.ordinary_files import is_inside, state_of
from promptpex.codecs.text.wording import plural
from promptpex.core.errors import RunError
from promptpex.core.translation import stored
from promptpex.report.runs.batch_folder import latest_batch, read_batch
from promptpex.report.runs.run_folder import MANIFEST, folder_for, read_manifest

LATEST = "latest"
_BACK = re.compile(r"(.+)~(\d{1,6})", re.DOTALL)
_NAME = re.compile(r"[^\W_][\w.-]{0,39}")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{10}(-\d+)?")
_TAKEN = (LATEST, "blessed")
Tell = Callable[[str], object]
"""Is told, in a sentence, which run is meant where later ones were passed over."""
MOST_PASSED = 3
"""Runs that such a sentence names."""
_NO_SUCH = "no such run; give its folder, id or name, PROMPT, or latest (`promptpex runs` lists them)"


def resolve(named: Path | None, results: Path, tell: Tell | None = None) -> Path:
    """The folder of a run: a folder as given, ``PROMPT/RUN`` under ``results``, what ``refer`` finds, or the latest.

    Args:
        tell: as for ``refer``.

    Raises:
        RunError: there is no such run, or several are meant.
    """
    if named is None:
        return refer(Path(LATEST), results, tell)
    if (named / MANIFEST).is_file():
        return named
    if (results / named / MANIFEST).is_file() and is_inside(results / named, results):
        return results / named
    return refer(named, results, tell)


def refer(named: Path, results: Path, tell: Tell | None = None) -> Path:
    """The folder under ``results`` of the run that ``latest``, an id, a name or a prompt means, each also behind
    ``PROMPT/`` and with ``~N`` for the Nth run of its prompt before it.

    A name that several runs of a prompt have means the latest of them, and so does the prompt itself.

    Args:
        tell: where the run decides something: ``latest`` and a prompt then mean runs of a whole suite.

    Raises:
        RunError: as ``resolve``.
    """
    *prompt, last = named.parts or ("",)
    back = _BACK.fullmatch(last)
    wanted_name, steps = (back[1], int(back[2])) if back else (last, 0)
    all_runs = newest_first(runs_in(results))
    if wanted_name == LATEST and not all_runs:
        raise RunError(_none_yet(results), path=results)
    if wanted_name == LATEST and not prompt and (batch := latest_batch(results, may_decide if tell else None)):
        _refuse_batch(batch, named)
    inside = [folder for folder in all_runs if prompt in ([], [folder.parent.name])]
    matching = [] if wanted_name == LATEST else _called(wanted_name, inside)
    if len(matching) > 1:
        names = ", ".join(sorted(folder.relative_to(results).as_posix() for folder in matching)[:5])
        raise RunError(f"{named} names several runs ({names}); name one", path=results)
    if matching:
        siblings = [folder for folder in all_runs if folder.parent == matching[0].parent]
        return _nth(siblings[siblings.index(matching[0]) :], steps, named)
    if wanted_name != LATEST:
        inside = [folder for folder in inside if folder.parent.name == wanted_name]
    if not inside:
        raise RunError(_NO_SUCH, path=named)
    return _nth(inside, steps, named, tell)


def _refuse_batch(folder: Path, named: Path) -> None:
    """Refuses a batch of several runs where one run is wanted.

    Raises:
        RunError: with the prompts to choose from.
    """
    parts = [part.run.split("/")[0] for part in read_batch(folder).parts if part.run is not None]
    if len(parts) > 1:
        names = ", ".join(parts[:5])
        raise RunError(f"{named} is the batch {folder.name} of {len(parts)} prompts ({names}); name one of them")


def _called(wanted: str, folders: Sequence[Path]) -> list[Path]:
    """The folders of the runs with an id, else with a name, the latest of each prompt."""
    for fits in (lambda run: run.name == wanted, lambda run: name_of(run) == wanted):
        if fitting := [folder for folder in folders if fits(folder)]:
            return list({folder.parent: folder for folder in reversed(fitting)}.values())
    return []


def _nth(folders: Iterable[Path], steps: int, named: Path | str, tell: Tell | None = None) -> Path:
    """The first of these runs, or the one so many steps after it among those of its prompt.

    Raises:
        RunError: there are not so many.
    """
    passed: list[str] = []
    taken = (folder for folder in folders if tell is None or _may_decide(folder, passed))
    first = next(taken, None)
    if first is None:
        raise RunError(f"{named}: there is no run of the whole suite yet ({_first_of(passed)}); name a run")
    older = [first, *islice((folder for folder in taken if folder.parent == first.parent), steps)]
    if steps >= len(older):
        older_text = plural(len(older) - 1, "run is older", "runs are older")
        raise RunError(f"no such run: of {first.parent.name}, {older_text} than {first.name}", path=Path(named))
    if tell and passed:
        tell(
            stored(
                "{named} is the run {run}; passed over: {runs}", named=named, run=older[-1].name, runs=_first_of(passed)
            )
        )
    return older[-1]


def _first_of(passed: Sequence[str]) -> str:
    more = len(passed) - MOST_PASSED
    return ", ".join([*passed[:MOST_PASSED], *([f"+{more}"] if more > 0 else [])])


def _may_decide(folder: Path, passed: list[str]) -> bool:
    """Whether ``latest`` may mean this run where it decides something; else it is added to those passed over."""
    try:
        subset = read_manifest(folder).subset
    except RunError:
        return True  # whoever takes it says what is wrong with it
    if subset is None:
        return True
    passed.append(f"{folder.name} ({subset.words})")
    return False


def may_decide(folder: Path) -> bool:
    """Whether it is a run of the whole suite."""
    return _may_decide(folder, [])


def name_of(folder: Path) -> str | None:
    """The name that people gave a run; None where it has none, or its manifest cannot be read."""
    try:
        return read_manifest(folder).name
    except RunError:
        return None


def checked_name(name: str) -> str:
    """A name for a run, if it can be one.

    Raises:
        RunError: with what a name may be.
    """
    if name in _TAKEN or _LIKE_AN_ID.fullmatch(name):
        raise RunError(f"{name!r} means something else where a run is named; choose another name")
    if not _NAME.fullmatch(name):
        rule = "up to 40 letters, digits, dots, hyphens and underscores, a letter or digit first"
        raise RunError(f"{name!r} cannot name a run: a name has {rule}")
    return name


def latest(results: Path, tell: Tell | None = None) -> Path:
    """The run that was written last under a results folder.

    Args:
        tell: as for ``refer``.

    Raises:
        RunError: there is none.
    """
    all_runs = newest_first(runs_in(results))
    if not all_runs:
        raise RunError(_none_yet(results), path=results)
    return _nth(all_runs, 0, LATEST, tell)


def _none_yet(results: Path) -> str:
    """That there is no run, and where one is: a settings file in a folder below keeps its runs there."""
    settings = (path for depth in ("*", "*/*") for path in results.parent.glob(f"{depth}/{find_settings_files.FILE}"))
    nested = (
        find_settings_files.results_of(path, results.name) for path in settings if is_inside(path, results.parent)
    )
    below = newest_first(run for folder in nested for run in runs_in(folder))
    sentence = "no run here yet; make one with `promptpex run PROMPT --models ...`"
    return f"{sentence}, or name the one in a folder with settings of its own: {below[0]}" if below else sentence


def latest_of(results: Path, prompt_name: str, tell: Tell | None = None) -> Path | None:
    """The run of this prompt that was written last; None where there is none.

    Args:
        tell: as for ``refer``.

    Raises:
        RunError: there are runs of it, and none that may decide.
    """
    own_runs = newest_first(all_of(results, prompt_name))
    return _nth(own_runs, 0, prompt_name, tell) if own_runs else None


def made_earlier(folder: Path) -> list[Path]:
    """The folders of the runs of the same prompt that were written before this one, newest first."""
    siblings = [path.parent for path in folder.parent.glob(f"*/{MANIFEST}") if is_inside(path, folder.parent)]
    ordered = newest_first(siblings)
    later = ordered.index(folder) + 1 if folder in ordered else len(ordered)
    return ordered[later:]


def all_of(results: Path, prompt_name: str) -> list[Path]:
    """The folders of all runs of this prompt, sorted by their ids."""
    of_prompt = folder_for(results, prompt_name, "*").parent
    return sorted(path.parent for path in of_prompt.glob(f"*/{MANIFEST}") if is_inside(path, results))


def runs_in(results: Path) -> list[Path]:
    """All run folders under a results folder, by prompt and id; what a link leads elsewhere is left out."""
    return sorted(path.parent for path in results.glob(f"*/*/{MANIFEST}") if is_inside(path, results))


def newest_first(folders: Iterable[Path]) -> list[Path]:
    """Run folders by when their manifests were written; one that goes meanwhile is left out."""
    states = ((state_of(folder / MANIFEST), folder) for folder in folders)
    dated = [(state.time, str(folder), folder) for state, folder in states if state is not None]
    return [folder for *_, folder in sorted(dated, reverse=True)]
