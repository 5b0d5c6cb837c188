"""How people refer to a run: its folder, ``latest``, its id, the name they gave it, or its prompt; ``~1`` behind any of
them is the run of the same prompt before that one.

The order is that of ``latest``: by when ``run`` or ``judge`` last wrote the run, also where all its answers came from
the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from promptpex.codecs.files import find_settings_files
from promptpex.codecs.files.file_state import state_of
from promptpex.codecs.files.ordinary_files import is_inside
from promptpex.codecs.text.wording import plural
from promptpex.core.errors import RunError
from promptpex.report.runs.batch_folder import latest_batch, read_batch
from promptpex.report.runs.run_folder import MANIFEST, folder_for, read_manifest

LATEST = "latest"
_BACK = re.compile(r"(.+)~(\d{1,6})", re.DOTALL)
_NAME = re.compile(r"[^\W_][\w.-]{0,39}")
_LIKE_AN_ID = re.compile(r"[0-9a-f]{10}(-\d+)?")
_TAKEN = (LATEST, "blessed")
_NO_SUCH = "no such run; give its folder, id or name, PROMPT, or latest (`promptpex runs` lists them)"


def resolve(named: Path | None, results: Path) -> Path:
    """The folder of a run: a folder as given, ``PROMPT/RUN`` under ``results``, what ``refer`` finds, or the latest.

    Raises:
        RunError: there is no such run, or several are meant.
    """
    if named is None:
        return refer(Path(LATEST), results)
    if (named / MANIFEST).is_file():
        return named
    if (results / named / MANIFEST).is_file() and is_inside(results / named, results):
        return results / named
    return refer(named, results)


def refer(named: Path, results: Path) -> Path:
    """The folder under ``results`` of the run that ``latest``, an id, a name or a prompt means, each also behind
    ``PROMPT/`` and with ``~N`` for the Nth run of its prompt before it.

    A name that several runs of a prompt have means the latest of them, and so does the prompt itself.

    Raises:
        RunError: as ``resolve``.
    """
    *prompt, last = named.parts or ("",)
    back = _BACK.fullmatch(last)
    wanted_name, steps = (back[1], int(back[2])) if back else (last, 0)
    all_runs = newest_first(runs_in(results))
    if wanted_name == LATEST and not all_runs:
        raise RunError(_none_yet(results), path=results)
    if wanted_name == LATEST and not prompt and (batch := latest_batch(results)) is not None:
        _refuse_batch(batch, named)
    matching = _meant(wanted_name, [folder for folder in all_runs if prompt in ([], [folder.parent.name])])
    if not matching:
        raise RunError(_NO_SUCH, path=named)
    if len(matching) > 1:
        names = ", ".join(sorted(folder.relative_to(results).as_posix() for folder in matching)[:5])
        raise RunError(f"{named} names several runs ({names}); name one", path=results)
    return _before(matching[0], steps, [folder for folder in all_runs if folder.parent == matching[0].parent], named)


def _refuse_batch(folder: Path, named: Path) -> None:
    """Refuses a batch of several runs where one run is wanted.

    Raises:
        RunError: with the prompts to choose from.
    """
    parts = [part.run.split("/")[0] for part in read_batch(folder).parts if part.run is not None]
    if len(parts) > 1:
        names = ", ".join(parts[:5])
        raise RunError(f"{named} is the batch {folder.name} of {len(parts)} prompts ({names}); name one of them")


def _meant(wanted: str, folders: Sequence[Path]) -> list[Path]:
    """The folders that a word means, the latest of each prompt: as ``latest``, else as an id, a name or a prompt."""
    if wanted == LATEST:
        return list(folders[:1])
    for fits in (lambda run: run.name == wanted, lambda run: name_of(run) == wanted):
        if fitting := [folder for folder in folders if fits(folder)]:
            return list({folder.parent: folder for folder in reversed(fitting)}.values())
    return [folder for folder in folders if folder.parent.name == wanted][:1]


def _before(folder: Path, steps: int, siblings: Sequence[Path], named: Path) -> Path:
    """The run so many steps before this one, of all runs of its prompt, newest first."""
    older = siblings[siblings.index(folder) :]
    if steps < len(older):
        return older[steps]
    older_text = plural(len(older) - 1, "run is older", "runs are older")
    raise RunError(f"no such run: of {folder.parent.name}, {older_text} than {folder.name}", path=named)


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


def latest(results: Path) -> Path:
    """The run that was written last under a results folder.

    Raises:
        RunError: there is none.
    """
    all_runs = newest_first(runs_in(results))
    if not all_runs:
        raise RunError(_none_yet(results), path=results)
    return all_runs[0]


def _none_yet(results: Path) -> str:
    """That there is no run, and where one is: a settings file in a folder below keeps its runs there."""
    settings = (path for depth in ("*", "*/*") for path in results.parent.glob(f"{depth}/{find_settings_files.FILE}"))
    nested = (
        find_settings_files.results_of(path, results.name) for path in settings if is_inside(path, results.parent)
    )
    below = newest_first(run for folder in nested for run in runs_in(folder))
    sentence = "no run here yet; make one with `promptpex run PROMPT --models ...`"
    return f"{sentence}, or name the one in a folder with settings of its own: {below[0]}" if below else sentence


def latest_of(results: Path, prompt_name: str) -> Path | None:
    """The run of this prompt that was written last; None where there is none."""
    return next(iter(newest_first(all_of(results, prompt_name))), None)


def made_before(folder: Path) -> Path | None:
    """The folder of the run of the same prompt that was written last before this one; None where there is none."""
    return next(iter(made_earlier(folder)), None)


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
