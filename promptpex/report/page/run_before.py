"""The run before a run, as its report points to it: where its figures say what changed, and nothing where they would
mislead."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from promptpex.core.errors import RunError
from promptpex.core.records import Manifest
from promptpex.report.quantities import Estimate, quantities
from promptpex.report.runs.listing import listed
from promptpex.report.runs.references import made_earlier
from promptpex.report.runs.run_folder import read_manifest
from promptpex.report.summary import Summary

REPORT = "report.html"
MOST_EARLIER = 10
"""Earlier runs among which one is looked for."""
MEASURING = (
    "weights", "confidence", "judge_mode", "judge_sees_input", "judge_sees_prompt", "judge_all", "judge_repeat",
    "judge_confidence", "quorum", "min_agreement",
)  # fmt: skip
"""The settings that shares and their intervals depend on, next to rules and judges."""
MOST_MODELS = 4
"""Models whose shares are shown; the comparison has all."""


@dataclass(frozen=True, slots=True)
class RunBefore:
    """The latest earlier run of the same prompt on the same cases.

    Attributes:
        folder: where it is.
        name, created: what people call it, else its folder's name; its date.
        address: of its report; empty where there is none.
        command: the one that compares the two; empty where they have no plain names.
        shares: by model its share of outputs that break a rule then and now; empty where the rules or the judges were
            others.
        comparison: the address of the page that compares the two, where a server has one.
    """

    folder: Path
    name: str
    created: str
    address: str
    command: str
    shares: tuple[tuple[str, str, str], ...]
    comparison: str = ""


def run_before(summary: Summary) -> RunBefore | None:
    """The run to compare with, from the folders beside the run's own; None where there is none on the same suite, all
    of it, and with one of the models."""
    folder = summary.folder
    if folder is None or summary.run.manifest.subset is not None or summary.run.manifest.partial:
        return None
    for earlier, manifest in _comparable(summary.run.manifest, folder):
        return _pointed_to(summary, folder, earlier, manifest)
    return None


def _pointed_to(summary: Summary, folder: Path, earlier: Path, manifest: Manifest) -> RunBefore:
    page = earlier / REPORT
    return RunBefore(
        folder=earlier,
        name=manifest.name or earlier.name,
        created=manifest.created,
        address=f"../{quote(earlier.name)}/{REPORT}" if page.is_file() else "",
        command=_command(earlier.name, folder.name),
        shares=tuple(_shares(summary, earlier)) if _measured_alike(summary.run.manifest, manifest) else (),
    )


def _command(*names: str) -> str:
    """The command that compares runs by their ids; nothing where an option could be read in a stranger's name."""
    if any(name.startswith("-") for name in names):
        return ""
    return f"promptpex compare {shlex.join(names)}"


def _comparable(now: Manifest, folder: Path) -> Iterator[tuple[Path, Manifest]]:
    """The earlier runs on the same suite, newest first."""
    for earlier in made_earlier(folder)[:MOST_EARLIER]:
        try:
            then = read_manifest(earlier)
        except RunError:
            continue
        whole = then.subset is None and not then.partial
        if whole and then.suite_digest == now.suite_digest and set(then.models) & set(now.models):
            yield earlier, then


def _measured_alike(now: Manifest, then: Manifest) -> bool:
    """Whether both runs held outputs to the same rules, by the same judges, who were asked in the same way, and whether
    their figures are reckoned alike; what an older version did not write down counts as the same."""
    same = (now.spec_digest, _judges(now), now.mode_rules) == (then.spec_digest, _judges(then), then.mode_rules)
    return same and all(then.settings.get(name, now.settings.get(name)) == now.settings.get(name) for name in MEASURING)


def _judges(manifest: Manifest) -> list[str]:
    """The judges, by what their names stand for."""
    return [manifest.named.get(judge, judge) for judge in manifest.judges]


def _shares(summary: Summary, earlier: Path) -> Iterator[tuple[str, str, str]]:
    then = {one.model: one.broken for one in listed(earlier).models}
    of_rules = next((one for one in quantities(summary) if one.name == "non-compliance"), None)
    now: dict[str, Estimate] = dict(of_rules.estimates) if of_rules is not None else {}
    for model in list(now)[:MOST_MODELS]:
        if model in then and then[model].point is not None and now[model].point is not None:
            yield model, then[model].in_words, now[model].in_words
