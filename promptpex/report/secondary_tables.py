"""The tables below the main one, as texts: the terminal and the page show the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptpex.codecs.wording import plural
from promptpex.core.records import UNTRUSTED
from promptpex.report.caveats_in_words import FEW
from promptpex.report.corrections_in_words import calibration_section, correction_section
from promptpex.report.ids import shortened_list
from promptpex.report.percentages import TableRow, percent, with_ends
from promptpex.report.section import Section
from promptpex.report.summary import Summary
from promptpex.stats import RULE_CORRELATION
from promptpex.tables import records, weighed

FEW_SHARES = 5
"""Shares in one table that need a warning: of so many 95% intervals one in four tables has one that misses."""

DAGGER = "†"
"""Marks a decision that holds for these rules and would not be shown if they were a sample."""


def sections(summary: Summary) -> tuple[Section, ...]:
    """The sections that have something to say, in their order."""
    made = (
        *_by_people(summary),
        _by_case_type(summary),
        _scenarios(summary),
        _repeats(summary),
        _flaky(summary),
        _inconsistent_verdicts(summary),
        _agreements(summary),
        _disagreements(summary),
        _discrimination(summary),
    )
    return tuple(section for section in made if section.rows)


def _by_people(summary: Summary) -> Iterator[Section]:
    """What people's grades say of the models and of the judges; nothing where there are none."""
    by_people = summary.by_people
    if by_people is None:
        return
    versus = {row["model"]: row["versus"] for row in records(summary.models) if row["versus"] is not None}
    yield correction_section(records(by_people.corrections), versus, by_people.grades.label_rules, summary.confidence)
    yield calibration_section(records(by_people.calibrations))


def rule_section(summary: Summary, most: int = 6) -> Section:
    """Failures of scored outputs per rule and model; without rows where there are more than ``most`` models to show."""
    cells = {(row["rule"], row["model"]): row for row in records(summary.rules)}
    names = list(dict.fromkeys(model for _, model in cells))
    rules = list(dict.fromkeys(rule for rule, _ in cells)) if len(names) <= most else []
    rows = tuple((rule, *(_rule_cell(cells.get((rule, name))) for name in names)) for rule in rules)
    note = many(len(cells), summary.confidence) if rows else ""
    return Section("by-rule", "Failures by rule", note, ("rule", *names), rows)


def _rule_cell(row: TableRow | None) -> str:
    """Failures of scored outputs, a lower bound marked, and how many outputs are unscored or not concerned."""
    if row is None:
        return _broken(row)
    unscored = row["unscored"] if row["at_least"] or not row["scored"] else 0
    left_out = f", {unscored} unscored" if unscored else ""
    left_out += f", {row['not_concerned']} not concerned" if row["not_concerned"] else ""
    return f"{'≥' if row['at_least'] else ''}{_broken(row)}{left_out}"


def many(shares: int, confidence: float) -> str:
    """A warning for tables with many shares; nothing where there are few."""
    if shares < FEW_SHARES:
        return ""
    missed = f"{(1.0 - confidence) * shares:.1g}"
    return (
        f"{shares} shares: about {missed} of their intervals may miss the true rate, "
        "and the largest share is partly the largest by chance."
    )


def footnotes(summary: Summary) -> tuple[str, ...]:
    """How the figures of the models were computed: what a reader has to know to trust them as far as they go."""
    small = summary.models["scored"].between(1, FEW - 1).any()
    marked = [f"* fewer than {FEW} scored outputs: treat the share as a rough guide."] if small else []
    notes = (*_interval_notes(summary), *_accuracy_note(summary))
    notes = (*notes, *trust_note(summary))
    return (*marked, *notes, *_decision_notes(summary), *_saved_note(summary), *_store_note(summary))


def trust_note(summary: Summary) -> Iterator[str]:
    """The rules that are unscored since no judge is known to agree with people on them."""
    cube, least = summary.verdicts, summary.run.manifest.settings.get("min_agreement")
    rules = list(dict.fromkeys(cube.loc[cube["unscored"].eq(UNTRUSTED).fillna(False), "rule"]))
    if rules and least is not None:
        yield (
            f"{UNTRUSTED}: no judge is known to agree with people on {shortened_list(rules)} with a kappa of "
            f"{least:g} or more; the judges' verdicts there are kept and do not count."
        )


def _store_note(summary: Summary) -> Iterator[str]:
    manifest = summary.run.manifest
    if manifest.stored:
        count = f"{manifest.stored:,} of {manifest.stored + manifest.asked:,} answers came from the store"
        again = "" if manifest.settings.get("fresh") else "; --fresh asks again"
        yield f"{count}{again}. Requests of a run that are the same are asked once."


def _interval_notes(summary: Summary) -> Iterator[str]:
    methods = set(summary.models["interval"].dropna()) | set(summary.rules["interval"].dropna())
    level = f"{100 * summary.confidence:g}%"
    if methods & {"exact", "bounds"}:
        yield f"{level} intervals are exact (Clopper and Pearson); each case counts once."
    if "effective-size" in methods:
        yield (
            f"{level} intervals count the repeats of a case as far as they are independent of each other: one figure, "
            "from the model whose repeats are most alike, serves all models."
        )
    if any(frame["at_least"].fillna(False).any() for frame in (summary.models, summary.rules)):
        yield (
            "≥, at least: some usable outputs have no verdict, so the share counts the known failures "
            "among all usable outputs, and the interval holds whatever the missing verdicts are."
        )
    if "looks" in methods:
        yield (
            f"{level} intervals of the models hold however often the results were looked at, "
            "as the run stopped when it was decided."
        )
    if methods:
        yield _estimand(summary)


def _accuracy_note(summary: Summary) -> Iterator[str]:
    """What accuracy is a share of; that a run which could have one has none."""
    count = sum(case.expected is not None for case in summary.run.suite.usable())
    cases = plural(count, "case")
    if summary.models["accuracy_scored"].notna().any():
        yield (
            f"accuracy: how many outputs are the expected one, of {cases} with an expected output, counted by case; "
            "scores.csv has each comparison."
        )
    elif count and len(summary.outputs):
        yield f"{cases} with an expected output, which this run did not compare: `promptpex judge` does."


def _estimand(summary: Summary) -> str:
    """What the shares are shares of, in one sentence."""
    weights = summary.rankings.options.weights
    cases = summary.run.suite.usable()
    inverse = [case.inverse for case in cases]
    worth = weighed([case.rule for case in cases], inverse, weights)
    tempting = sum(weight for weight, side in zip(worth, inverse, strict=True) if side)
    named = ", ".join(f"{name} {times}" for name, times in weights.items())
    part = f"{percent(tempting / sum(worth))} of them tempt the model to fail" if sum(worth) else "none is left"
    if cases and all(case.origin == "added" for case in cases):
        like, suite = "cases like those of this suite", "it"
    else:
        like, suite = "cases that this author would write for these rules", "this suite"
    how = f"weighted by {named}" if weights else f"weighted as in {suite}"
    return f"The shares are of {like}, {how}; {part}. They are not the rate in production."


def _decision_notes(summary: Summary) -> Iterator[str]:
    ranking = summary.rankings
    options = ranking.options
    if len(ranking.models) < 2 and ranking.basis != "limit":
        return
    wrong = f"{100 * options.alpha:g}%"
    points = f"{100 * options.tolerance:g} points"
    if ranking.basis == "limit":
        yield (
            "decision: below or above the limit, by exact tests; wrong about any model, however often the results were "
            f"looked at, with probability {wrong} at most."
        )
        return
    looks = ", however often the results were looked at," if ranking.basis == "sequential" else ""
    yield (
        f"decision: {_ranked_by(summary)}worse by exact sign flips of the differences per case, on cases asked of both "
        "models; tied if shown "
        f"to be less than {points} worse than the best; both corrected for the number of models (Holm), each wrong "
        f"about any model{looks} with probability {wrong} at most for these rules, and made only if it holds however "
        "the unscored outputs would have come out; otherwise undecided."
    )
    if (~summary.models["holds_sampled"].fillna(True)).any():
        yield (
            f"{DAGGER} would not hold if these rules were a sample of a prompt's possible rules (correlation "
            f"{RULE_CORRELATION:g} within a rule; sign flips of whole rules)."
        )


def _ranked_by(summary: Summary) -> str:
    """What the models are ranked by, where there is more than one figure."""
    rank_by = summary.rankings.options.rank_by
    if rank_by == "non-compliance" and not summary.models["accuracy_scored"].notna().any():
        return ""
    return f"by {rank_by}; "


def _saved_note(summary: Summary) -> Iterator[str]:
    saved = summary.saved
    if saved is None or not saved.spared:
        return
    judging = f", and {saved.judging} to judges" if saved.judging else ""
    yield f"Stopped when decided: {saved.spared} of {saved.planned} requests to models under test were saved{judging}."


def _by_case_type(summary: Summary) -> Section:
    rows = records(summary.details.by_case_type)
    return Section(
        "case-types",
        "Rule cases and inverse cases",
        "Cases that test a rule, and cases that tempt the model to break it. " + many(len(rows), summary.confidence),
        ("model", "case type", "failures", "share (interval)", "unscored"),
        tuple(_share_cells(row, row["case_type"]) for row in rows),
    )


def _scenarios(summary: Summary) -> Section:
    rows = records(summary.details.scenarios)
    return Section(
        "scenarios",
        "Scenarios",
        many(len(rows), summary.confidence),
        ("model", "scenario", "failures", "share (interval)", "unscored"),
        tuple(_share_cells(row, row["scenario"] or "none") for row in rows),
    )


def _repeats(summary: Summary) -> Section:
    return Section(
        "repeats",
        "Repeats of the same case",
        "flip rate: the chance that two repeats disagree; pass@k, pass^k: the share of cases that comply in at least "
        "one, and in all, of k repeats. No decision rests on these.",
        ("model", "repeats", "flaky", "flip rate (interval)", "pass@k (interval)", "pass^k (interval)"),
        tuple(
            (
                row["model"],
                str(row["repeats"]),
                f"{row['flaky']} of {row['cases']} cases",
                _interval(row["flip_rate"], row["flip_low"], row["flip_high"]),
                _interval(row["pass_at_k"], row["pass_at_low"], row["pass_at_high"]),
                _interval(row["pass_hat_k"], row["pass_hat_low"], row["pass_hat_high"]),
            )
            for row in records(summary.details.repeats)
        ),
    )


def _flaky(summary: Summary) -> Section:
    return Section(
        "flaky",
        "Flaky cases",
        "Cases that a model both passes and fails, from repeat to repeat.",
        ("model", "case", "passed", "failed"),
        tuple(
            (row["model"], row["case"], str(row["passed"]), str(row["failed"]))
            for row in records(summary.details.flaky)
        ),
    )


def _inconsistent_verdicts(summary: Summary) -> Section:
    return Section(
        "inconsistent-verdicts",
        "Identical outputs, different verdicts",
        "The same text passed and failed by the same judge; its other verdicts are no more reliable.",
        ("judge", "rule", "passed", "failed", "output", "cases"),
        tuple(
            (row["source"], row["rule"], str(row["passed"]), str(row["failed"]), row["output"], row["cases"])
            for row in records(summary.details.inconsistent_verdicts)
        ),
    )


def _agreements(summary: Summary) -> Section:
    pairs = {"code-judge": "code and {1}", "judges": "{0} and {1}", "again": "{0} asked again"}
    return Section(
        "agreement",
        "How well code and judges agree",
        "counts: both pass / the first alone fails / the second alone fails / both fail, on outputs that both found "
        "concerned by the rule; then how many only one of them did. "
        "Of rules that checks decide in part only their failures count. "
        "kappa is agreement beyond chance, and says nothing where one of the two always says the same; where nearly "
        "everything passes it is low whatever the judges do: see the shares that each fails.",
        ("who", "rule", "counts", "agree", "kappa", "each fails"),
        tuple(
            (
                pairs[row["kind"]].format(row["first"], row["second"]),
                row["rule"] or "all",
                _four(row),
                _interval(row["agreed"], row["agreed_low"], row["agreed_high"]) + few(row["n"]),
                _kappa(row),
                f"{percent(row['fail_rate_first'])}, {percent(row['fail_rate_second'])}" if row["n"] else "–",
            )
            for row in records(summary.details.agreements)
        ),
        file="agreement.csv",
    )


def _four(row: TableRow) -> str:
    """The counts of an agreement, with those on which the two differ whether the rule concerns the output."""
    counts = [str(row[name]) for name in ("both_pass", "first_fails", "second_fails", "both_fail")] if row["n"] else []
    apart = f"{row['one_not_concerned']} concerned or not" if row["one_not_concerned"] else ""
    return ", ".join(part for part in (" / ".join(counts), apart) if part) or "–"


def _disagreements(summary: Summary) -> Section:
    return Section(
        "disagreements",
        "Where code and judge disagree",
        "The check or the judge is wrong: read these first. First what a check fails and the judge does not.",
        ("rule", "code", "judge", "model", "case", "output", "code says", "judge says"),
        tuple(
            (
                row["rule"],
                row["code"],
                f"{row['judge']} ({row['judged_by']})",
                row["model"],
                row["case"],
                row["output"] or "",
                row["code_reason"] or "",
                row["judge_reason"] or "",
            )
            for row in records(summary.details.disagreements)
        ),
        file="disagreements.csv",
    )


def _discrimination(summary: Summary) -> Section:
    discrimination = summary.details.discrimination
    total = summary.outputs["case"].nunique()
    rows: list[tuple[str, ...]] = []
    if discrimination.models > 1:
        rows += _list_row("cases that every model passes", discrimination.passed_by_all, total)
        rows += _list_row("cases that every model fails", discrimination.failed_by_all, total)
    rows += _list_row("cases without a scored output", discrimination.unscored, total)
    rows += _list_row("cases that do not meet their rule's condition", discrimination.untriggered, total)
    rules = len([rule for rule in summary.run.spec.rules if not rule.stale])
    rows += _list_row("rules that no output breaks", discrimination.never_broken, rules)
    rows += _list_row("rules that concern no output", discrimination.never_concerned, rules)
    rows += _list_row("rules that were never scored", discrimination.never_scored, rules)
    return Section(
        "discrimination",
        "Cases and rules that do not separate the models",
        "A case that all models pass, or all fail, does not show how they differ.",
        ("what", "how many", "which"),
        tuple(rows),
    )


def _list_row(what: str, names: Sequence[str], total: int) -> list[tuple[str, ...]]:
    return [(what, f"{len(names)} of {total}", shortened_list(names))] if names else []


def _share_cells(row: TableRow, name: str) -> tuple[str, ...]:
    share = ("at least " if row["at_least"] else "") + _interval(row["share"], row["ci_low"], row["ci_high"])
    return (row["model"], name, _broken(row), share + few(row["scored"]), str(row["unscored"]))


def few(scored: int) -> str:
    """A mark for shares of few scored outputs."""
    return f" n<{FEW}" if 0 < scored < FEW else ""


def _broken(row: TableRow | None) -> str:
    return "–" if row is None else f"{row['broken']} of {row['usable'] if row['at_least'] else row['scored']}"


def _interval(point: float | None, low: float | None, high: float | None) -> str:
    if point is None or low is None or high is None:
        return "–"
    return with_ends(point, low, high)


def _kappa(row: TableRow) -> str:
    always_the_same = {row["fail_rate_first"], row["fail_rate_second"]} & {0.0, 1.0}
    if row["kappa"] is None or always_the_same:
        return "–"
    return f"{row['kappa']:z.2f} ({row['kappa_low']:z.2f} to {row['kappa_high']:z.2f})"
