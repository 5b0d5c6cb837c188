#!/usr/bin/env python3
"""Measures what to grade next and how to choose by the grades; docs/alignment.md quotes the tables.

    python scripts/bench_alignment.py                   # simulated graders, and the recordings where they are
    python scripts/bench_alignment.py --plots docs/alignment   # and draws the pictures into that folder
    python scripts/bench_alignment.py --seeds 2 --stops 4,8    # roughly, in seconds

Three kinds of simulated worlds are drawn anew for each seed; the recordings are those published with PromptPex, where
rules that code decides are the truth.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from alignment_bench import choices, drawing  # noqa: E402
from alignment_bench.recordings import recordings  # noqa: E402
from alignment_bench.summaries import Summary, differences, summary  # noqa: E402
from alignment_bench.trials import WAYS, Progress, Shares, after, trial  # noqa: E402
from alignment_bench.weighting import weighting_table  # noqa: E402
from alignment_bench.worlds import KINDS, World, simulated  # noqa: E402

STOPS = (8, 16, 32)
SEEDS = 10
BIAS_SEEDS = 10
"""Times as many seeds where an estimate is held against the truth, since it varies more."""
PUBLISHED = ROOT.parent / "shared" / "published"

Makers = Sequence[Callable[[int], World]]
Results = dict[str, list[list[list[float]]]]
"""By way to grade, per number of grades, per kind and seed: the alignment on outputs held out."""


def by_policy(
    makers: Makers, seeds: Sequence[int], stops: Sequence[int], *, named: bool
) -> tuple[Results, list[float]]:
    """The results, and the seconds that each way took."""
    results: Results = {}
    seconds = []
    worlds = [[make(seed) for seed in seeds] for make in makers]
    for way in WAYS:
        begin = time.perf_counter()
        trials = [
            [trial(world, way, stops, seed, named=named) for seed, world in zip(seeds, each, strict=True)]
            for each in worlds
        ]
        seconds.append(time.perf_counter() - begin)
        results[way.name] = [[[one[place] for one in kind] for kind in trials] for place in range(len(stops))]
    return results, seconds


def policy_table(results: Results, stops: Sequence[int]) -> Iterator[str]:
    """Markdown: alignment by way and number of grades, its spread, and the difference from random at the last one."""
    yield "| outputs are chosen | " + " | ".join(f"{stop} grades | spread" for stop in stops) + " | against random |"
    yield "|---|" + "---|---|" * len(stops) + "---|"
    chance = results[WAYS[0].name]
    for name, places in results.items():
        cells = [cell for kinds in places for cell in (summary(kinds).text(), f"{summary(kinds).spread:.2f}")]
        against = [summary(differences(kinds, others)).signed() for kinds, others in zip(places, chance, strict=True)]
        yield f"| {name} | " + " | ".join(cells) + f" | {'' if name == WAYS[0].name else against[-1]} |"


def chart(title: str, results: Results, stops: Sequence[int]) -> str:
    """The picture of a table."""
    lines: dict[str, list[Summary]] = {name: [summary(kinds) for kinds in places] for name, places in results.items()}
    return drawing.chart(title, "grades given", stops, lines)


def choice_table(makers: Makers, seeds: Sequence[int]) -> Iterator[str]:
    """Markdown: EvalGen's choice and SPADE's by limit; where one found no set, and why."""
    yield "| FFR limit | choice | sets found | assertions | coverage | FFR | alignment | no set counts 0 | time |"
    yield "|---|---|---|---|---|---|---|---|---|"
    fastest, reasons = 0.0, []
    for limit, name, tally in choices.compared(makers, seeds):
        every = list(chain.from_iterable(tally.held_out))
        sets = [one for one in every if one is not None]
        fastest = tally.seconds if name == "EvalGen's" else fastest
        alignments = [[one.alignment if one else 0.0 for one in kind] for kind in tally.held_out]
        shown = " | ".join(_shares(sets, list(chain.from_iterable(tally.by_labels))))
        ratio = f"{tally.seconds / fastest:.0f}x" if fastest else ""
        cells = [f"{float(limit):.2f}", name, f"{len(sets)} of {len(every)}", shown, summary(alignments).text(), ratio]
        yield f"| {' | '.join(cells)} |"
        reasons += [f"{name}, {float(limit):.2f}: {tally.reason}"] if tally.reason else []
    yield ""
    yield "Held out; in brackets on the labels that the choice was made by. Where there was no set, the first reason:"
    yield ""
    yield from (f"- {reason}" for reason in reasons)


def _shares(sets: Sequence[Shares], by_labels: Sequence[Shares | None]) -> Iterator[str]:
    labels = [one for one in by_labels if one is not None]
    if not sets:
        yield from ("", "", "", "")
        return
    yield f"{mean(one.size for one in sets):.1f}"
    for name in ("coverage", "ffr", "alignment"):
        held_out, inside = (
            [value for one in many if (value := getattr(one, name)) is not None] for many in (sets, labels)
        )
        yield f"{mean(held_out):.2f} ({mean(inside):.2f})"


def bias_table(makers: Makers, seeds: Sequence[int], count: int) -> Iterator[str]:
    """Markdown: by way, how far the share of bad outputs is from the truth, by all grades and by the random sample."""
    yield "| outputs are chosen | by all grades | by the random sample | outputs in it |"
    yield "|---|---|---|---|"
    worlds = [[make(seed) for seed in seeds] for make in makers]
    for way in WAYS:
        if way.policy == WAYS[0].policy or way.share:
            made = [
                [_errors(world, after(world, way, count, seed)) for seed, world in zip(seeds, each, strict=True)]
                for each in worlds
            ]
            by_all, by_sample, sizes = ([[one[place] for one in kind] for kind in made] for place in range(3))
            cells = (summary(by_all).signed(), summary(by_sample).signed(), f"{summary(sizes).mean:.1f}")
            yield f"| {way.name} | {' | '.join(cells)} |"


def _errors(world: World, progress: Progress) -> tuple[float, float, float]:
    """By how much all grades, and those of the sample, say more than the person would of the whole pool, on average."""
    truth = mean(bool(world.bad >> output & 1) for output in world.pool)
    truth += world.error * (1 - 2 * truth)
    by_all = mean(progress.says_bad.values())
    by_sample = mean(progress.says_bad[output] for output in progress.sample) if progress.sample else truth
    return by_all - truth, by_sample - truth, len(progress.sample)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables as Markdown and draws the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds per kind of world, 2 or more [{SEEDS}]")
    parser.add_argument("--stops", default=",".join(map(str, STOPS)), help="numbers of grades [8,16,32]")
    parser.add_argument("--plots", type=Path, help="folder for the pictures")
    parser.add_argument("--published", type=Path, default=PUBLISHED, help="folder of the published recordings")
    options = parser.parse_args(arguments)
    seeds, stops = range(options.seeds), tuple(int(stop) for stop in options.stops.split(","))
    sets: dict[str, Makers] = {"simulated": [partial(simulated, kind) for kind in KINDS]}
    if recorded := [one.world for one in recordings(options.published)]:
        sets["recordings"] = recorded
    else:
        print(f"skipped: there are no recordings in {options.published}\n")
    for name, makers in sets.items():
        _measure(name, makers, seeds, stops, options.plots)


def _measure(name: str, makers: Makers, seeds: Sequence[int], stops: Sequence[int], plots: Path | None) -> None:
    for named in (False, True):
        how = "what a bad output breaks is graded too" if named else "outputs are graded as a whole"
        results, seconds = by_policy(makers, seeds, stops, named=named)
        print(f"### Alignment by policy, {name}: {how}\n")
        print(*policy_table(results, stops), sep="\n")
        ratios = ", ".join(f"{way.name} {one / seconds[0]:.1f}" for way, one in zip(WAYS, seconds, strict=True))
        print(f"\nTime of a trial, as a multiple of random's: {ratios}\n")
        if plots and not named:
            plots.mkdir(parents=True, exist_ok=True)
            picture = chart(f"Alignment of the chosen set, held out ({name})", results, stops)
            (plots / f"policies-{name}.svg").write_text(picture, encoding="utf-8")
    print(f"### The share of bad outputs after {max(stops)} grades, against the truth, {name}\n")
    print(*bias_table(makers, range(BIAS_SEEDS * len(seeds)), max(stops)), "", sep="\n")
    for named in (False, True):
        how = "what a bad output breaks is graded too" if named else "outputs are graded as a whole"
        print(f"### Grades that weigh inversely to their probability, {name}: {how}\n")
        print(*weighting_table(makers, seeds, stops, named=named), "", sep="\n")
    print(f"### EvalGen's choice and SPADE's, {name}, {choices.LABELS} labels\n")
    print(*choice_table(makers, seeds), "", sep="\n")


if __name__ == "__main__":
    main()
