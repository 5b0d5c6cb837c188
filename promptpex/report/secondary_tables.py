"""The tables below the main one, as texts: the terminal and the page show the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from promptpex.core.records import UNTRUSTED
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.report.caveats_in_words import FEW, scored_cases
from promptpex.report.corrections_in_words import calibration_section, correction_section
from promptpex.report.ids import shortened_list
from promptpex.report.percentages import TableRow, as_given, at_least, ends, kappa_with_ends, percent, with_ends
from promptpex.report.summary import Summary
from promptpex.report.text_table import Section
from promptpex.tables import RankingOptions, records, weighed

FEW_SHARES = 5
"""Shares in one table that need a warning: of so many 95% intervals one in four tables has one that misses."""


def sections(summary: Summary) -> tuple[Section, ...]:
    """The sections that have something to say, in their order."""
    estimated = [*_by_people(summary), _by_case_type(summary), _scenarios(summary), _repeats(summary)]
    all_sections = (
        *([] if summary.run.manifest.failed_in else estimated),
        _flaky(summary),
        _inconsistent_verdicts(summary),
        *([] if summary.run.manifest.failed_in else [_agreements(summary)]),
        _disagreements(summary),
        _discrimination(summary),
    )
    return tuple(section for section in all_sections if section.rows)


def _by_people(summary: Summary) -> Iterator[Section]:
    """What people's grades say of the models and of the judges; nothing where there are none."""
    by_people = summary.by_people
    if by_people is None:
        return
    versus = {row["model"]: row["versus"] for row in summary.model_rows if row["versus"] is not None}
    yield correction_section(records(by_people.corrections), versus, by_people.grades.label_rules, summary.confidence)
    yield calibration_section(records(by_people.calibrations))


def rule_section(summary: Summary, most: int = 6) -> Section:
    """Failures of scored outputs per rule and model; without rows where there are more than ``most`` models to show."""
    cells = {(row["rule"], row["model"]): row for row in summary.rule_rows}
    names = list(dict.fromkeys(model for _, model in cells))
    rules = list(dict.fromkeys(rule for rule, _ in cells)) if len(names) <= most else []
    rows = tuple((rule, *(_rule_cell(cells.get((rule, name))) for name in names)) for rule in rules)
    is_claimed = bool(rows) and not summary.run.manifest.failed_in
    note = multiplicity_warning(len(cells), summary.confidence) if is_claimed else ""
    return Section("by-rule", tr("Failures by rule"), note, (Key("rule"), *names), rows)


def _rule_cell(row: TableRow | None) -> str:
    """Failures of scored outputs, a lower bound marked, and how many outputs are unscored or not concerned."""
    if row is None:
        return _broken(row)
    unscored = row["unscored"] if row["at_least"] or not row["scored"] else 0
    parts = [f"{'≥' if row['at_least'] and row['broken'] else ''}{_broken(row)}"]
    if unscored:
        parts.append(tr("{count} unscored", count=unscored))
    if row["not_concerned"]:
        parts.append(tr("{count} not concerned", count=row["not_concerned"]))
    return ", ".join(parts)


def multiplicity_warning(shares: int, confidence: float) -> str:
    """A warning for tables with many shares; nothing where there are few."""
    if shares < FEW_SHARES:
        return ""
    return tr(
        "{count} shares: about {missed} of their intervals may miss the true rate, and the largest share is partly the "
        "largest by chance.",
        count=shares,
        missed=digits(f"{(1.0 - confidence) * shares:.1g}"),
    )


def footnotes(summary: Summary) -> tuple[str, ...]:
    """How the figures of the models were computed: what a reader has to know to trust them as far as they go."""
    small = not summary.run.manifest.failed_in and any(0 < scored_cases(row) < FEW for row in summary.model_rows)
    marked = [tr("* fewer than {few} scored cases: treat the share as a rough guide.", few=FEW)] if small else []
    notes = (*_interval_notes(summary), *_accuracy_note(summary))
    notes = (*notes, *trust_note(summary))
    return (*marked, *notes, *_decision_notes(summary), *_saved_note(summary), *_store_note(summary))


def trust_note(summary: Summary) -> Iterator[str]:
    """The rules that are unscored since no judge is known to agree with people on them."""
    least, rules = summary.run.manifest.settings.get("min_agreement"), summary.made.rules_with(UNTRUSTED)
    if rules and least is not None:
        yield tr(
            "{reason}: no judge is known to agree with people on {rules} with a kappa of {least} or more; the judges' "
            "verdicts there are kept and do not count.",
            reason=from_data(UNTRUSTED),
            rules=shortened_list(rules),
            least=digits(f"{least:g}"),
        )


def _store_note(summary: Summary) -> Iterator[str]:
    manifest = summary.run.manifest
    if not manifest.stored:
        return
    counts = {
        "stored": digits(f"{manifest.stored:,}"),
        "all": digits(f"{manifest.stored + manifest.asked:,}"),
    }
    if manifest.settings.get("fresh"):
        yield tr(
            "{stored} of {all} answers came from the store. Requests of a run that are the same are asked once.",
            **counts,
        )
    else:
        yield tr(
            "{stored} of {all} answers came from the store; --fresh asks again. Requests of a run that are the same "
            "are asked once.",
            **counts,
        )


def _interval_notes(summary: Summary) -> Iterator[str]:
    methods = {row["interval"] for row in (*summary.model_rows, *summary.rule_rows)} - {None}
    level = as_given(summary.confidence)
    if "effective-size" in methods:
        yield tr(
            "{level} intervals are exact (Clopper and Pearson) at the number of cases that the repeats are worth: they "
            "count as far as a model's repeats of a case are independent of each other.",
            level=level,
        )
    elif methods & {"exact", "bounds"}:
        yield tr("{level} intervals are exact (Clopper and Pearson).", level=level)
    if any(row["at_least"] for row in (*summary.model_rows, *summary.rule_rows)):
        yield tr(
            "≥, at least: some usable outputs have no verdict, so the share counts the known failures "
            "among all usable outputs, and the interval holds whatever the missing verdicts are."
        )
    if methods:
        yield _estimand(summary)


def _accuracy_note(summary: Summary) -> Iterator[str]:
    """What accuracy is a share of; that a run which could have one has none."""
    count = sum(case.expected is not None for case in summary.run.suite.usable())
    if summary.has_accuracy:
        yield tr_n(
            "accuracy: how many outputs are the expected one, of {count} case with an expected output, counted by "
            "case; scores.csv has each comparison.",
            "accuracy: how many outputs are the expected one, of {count} cases with an expected output, counted by "
            "case; scores.csv has each comparison.",
            count,
        )
    elif count and len(summary.made.rows):
        yield tr_n(
            "{count} case with an expected output, which this run did not compare: `promptpex judge` does.",
            "{count} cases with an expected output, which this run did not compare: `promptpex judge` does.",
            count,
        )


def _estimand(summary: Summary) -> str:
    """What the shares are shares of, in one sentence."""
    weights = summary.rankings.options.weights
    cases = summary.run.suite.usable()
    inverse = [case.inverse for case in cases]
    worth = weighed([case.rule for case in cases], inverse, weights)
    tempting = sum(weight for weight, side in zip(worth, inverse, strict=True) if side)
    named = ", ".join(f"{name} {times}" for name, times in weights.items())
    part = tr("none is left")
    if sum(worth):
        part = tr("{share} of them tempt the model to fail", share=percent(tempting / sum(worth)))
    if cases and all(case.origin == "added" for case in cases):
        like = tr("cases like those of this suite, weighted as in it")
        if weights:
            like = tr("cases like those of this suite, weighted by {weights}", weights=named)
    else:
        like = tr("cases that this author would write for these rules, weighted as in this suite")
        if weights:
            like = tr("cases that this author would write for these rules, weighted by {weights}", weights=named)
    return tr("The shares are of {cases}; {part}. They are not the rate in production.", cases=like, part=part)


def _decision_notes(summary: Summary) -> Iterator[str]:
    ranking = summary.rankings
    options = ranking.options
    if len(ranking.models) < 2 or options.older_rule:
        return
    if options.rank_by == "corrected":
        yield _by_grades_note(options)
        return
    yield tr(
        "decision: {ranked_by}worse by exact sign flips of the differences per case, on cases asked of both models; "
        "tied if shown to be less than {points} points worse than the best; both corrected for the number of models "
        "(Holm), each wrong about any model{looks} with probability {wrong} at most for these rules, and made only if "
        "it holds however the unscored outputs would have come out; otherwise undecided.",
        ranked_by=_ranked_by(summary),
        points=digits(f"{100 * options.tolerance:g}"),
        looks=tr(", at all looks together,") if options.looks else "",
        wrong=as_given(options.alpha),
    )


def _by_grades_note(options: RankingOptions) -> str:
    return tr(
        "decision: by people's grades; worse by the interval of the difference between the corrected shares, on cases "
        "that both models answered; tied if shown to be less than {points} points worse than the best; both corrected "
        "for the number of models (Holm), each wrong about any model with probability {wrong} at most for these rules; "
        "otherwise undecided.",
        points=digits(f"{100 * options.tolerance:g}"),
        wrong=as_given(options.alpha),
    )


def _ranked_by(summary: Summary) -> str:
    """What the models are ranked by, where there is more than one figure."""
    rank_by = summary.rankings.options.rank_by
    if rank_by == "non-compliance" and not summary.has_accuracy:
        return ""
    by = {"non-compliance": tr("non-compliance"), "accuracy": tr("accuracy")}.get(rank_by, rank_by)
    return tr("by {quantity}; ", quantity=by)


def _saved_note(summary: Summary) -> Iterator[str]:
    saved = summary.saved
    if saved is None or not saved.spared:
        return
    counts = {"spared": saved.spared, "planned": saved.planned}
    if saved.judging:
        yield tr(
            "{spared} of {planned} requests to models under test were saved, and {judging} to judges: models that are "
            "shown to be worse were not asked further.",
            **counts,
            judging=saved.judging,
        )
    else:
        yield tr(
            "{spared} of {planned} requests to models under test were saved: models that are shown to be worse were "
            "not asked further.",
            **counts,
        )


def _by_case_type(summary: Summary) -> Section:
    rows = records(summary.details.by_case_type)
    return Section(
        "case-types",
        tr("Rule cases and inverse cases"),
        " ".join(
            (
                tr("Cases that test a rule, and cases that tempt the model to break it."),
                multiplicity_warning(len(rows), summary.confidence),
            )
        ),
        (Key("model"), Key("case type"), Key("failures"), Key("share (interval)"), Key("unscored")),
        tuple(_share_cells(row, from_data(row["case_type"])) for row in rows),
    )


def _scenarios(summary: Summary) -> Section:
    rows = records(summary.details.scenarios)
    return Section(
        "scenarios",
        tr("Scenarios"),
        multiplicity_warning(len(rows), summary.confidence),
        (Key("model"), Key("scenario"), Key("failures"), Key("share (interval)"), Key("unscored")),
        tuple(_share_cells(row, row["scenario"] or tr("none")) for row in rows),
    )


def _repeats(summary: Summary) -> Section:
    return Section(
        "repeats",
        tr("Repeats of the same case"),
        " ".join(
            (
                tr(
                    "flip rate: the chance that two repeats disagree; pass@k, pass^k: the share of cases that comply "
                    "in at least one, and in all, of k repeats. No decision rests on these."
                ),
                *_worth_of_repeats(summary),
            )
        ),
        (
            Key("model"),
            Key("repeats"),
            Key("flaky"),
            Key("flip rate (interval)"),
            Key("pass@k (interval)"),
            Key("pass^k (interval)"),
        ),
        tuple(
            (
                row["model"],
                str(row["repeats"]),
                tr("{some} of {all} cases", some=row["flaky"], all=row["cases"]),
                _interval(row["flip_rate"], row["flip_low"], row["flip_high"]),
                _interval(row["pass_at_k"], row["pass_at_low"], row["pass_at_high"]),
                _interval(row["pass_hat_k"], row["pass_hat_low"], row["pass_hat_high"]),
            )
            for row in records(summary.details.repeats)
        ),
    )


def _worth_of_repeats(summary: Summary) -> Iterator[str]:
    """What a second repeat of the cases is worth for each model, in cases and, where prices are known, in money."""
    from promptpex.report.terminal.texts import money

    prices = {row["model"]: row["cost_per_output"] for row in summary.model_rows}
    for row in records(summary.details.repeats):
        if row["repeat_worth"] is None:
            continue
        more, price = round(row["repeat_worth"]), prices.get(row["model"])
        cases = tr_n("{count} more case", "{count} more cases", more)
        if price:
            yield tr(
                "For {model}, a second repeat of {number} cases is worth {cases}: {money} for the repeat, {other} for "
                "the cases.",
                model=row["model"], number=row["cases"], cases=cases,
                money=money(price * row["cases"]), other=money(price * more),
            )  # fmt: skip
        else:
            yield tr(
                "For {model}, a second repeat of {number} cases is worth {cases}.",
                model=row["model"], number=row["cases"], cases=cases,
            )  # fmt: skip


def _flaky(summary: Summary) -> Section:
    return Section(
        "flaky",
        tr("Flaky cases"),
        tr("Cases that a model both passes and fails, from repeat to repeat."),
        (Key("model"), Key("case"), Key("passed"), Key("failed")),
        tuple(
            (row["model"], row["case"], str(row["passed"]), str(row["failed"]))
            for row in records(summary.details.flaky)
        ),
    )


def _inconsistent_verdicts(summary: Summary) -> Section:
    return Section(
        "inconsistent-verdicts",
        tr("Identical outputs, different verdicts"),
        tr("The same text passed and failed by the same judge; its other verdicts are no more reliable."),
        (Key("judge"), Key("rule"), Key("passed"), Key("failed"), Key("output"), Key("cases")),
        tuple(
            (row["source"], row["rule"], str(row["passed"]), str(row["failed"]), row["output"], row["cases"])
            for row in records(summary.details.inconsistent_verdicts)
        ),
    )


def _agreements(summary: Summary) -> Section:
    return Section(
        "agreement",
        tr("How well code and judges agree"),
        tr(
            "counts: both pass / the first alone fails / the second alone fails / both fail, on outputs that both "
            "found concerned by the rule; then how many only one of them did. "
            "Of rules that checks decide in part only their failures count. "
            "kappa is agreement beyond chance, and says nothing where one of the two always says the same; where "
            "nearly everything passes it is low whatever the judges do: see the shares that each fails."
        ),
        (Key("who"), Key("rule"), Key("counts"), Key("agree"), "kappa", Key("each fails")),
        tuple(
            (
                _pair(row),
                row["rule"] or tr("all"),
                _four(row),
                _interval(row["agreed"], row["agreed_low"], row["agreed_high"]) + few(row["n"]),
                _kappa(row),
                f"{percent(row['fail_rate_first'])}, {percent(row['fail_rate_second'])}" if row["n"] else "–",
            )
            for row in records(summary.details.agreements)
        ),
        file="agreement.csv",
    )


def _pair(row: TableRow) -> str:
    """Whose verdicts are compared."""
    if row["kind"] == "code-judge":
        return tr("code and {judge}", judge=row["second"])
    if row["kind"] == "judges":
        return tr("{first} and {second}", first=row["first"], second=row["second"])
    return tr("{judge} asked again", judge=row["first"])


def _four(row: TableRow) -> str:
    """The counts of an agreement, with those on which the two differ whether the rule concerns the output."""
    counts = [str(row[name]) for name in ("both_pass", "first_fails", "second_fails", "both_fail")] if row["n"] else []
    apart = tr("{count} concerned or not", count=row["one_not_concerned"]) if row["one_not_concerned"] else ""
    return ", ".join(part for part in (" / ".join(counts), apart) if part) or "–"


def _disagreements(summary: Summary) -> Section:
    return Section(
        "disagreements",
        tr("Where code and judge disagree"),
        tr("The check or the judge is wrong: read these first. First what a check fails and the judge does not."),
        (
            Key("rule"),
            Key("code"),
            Key("judge"),
            Key("model"),
            Key("case"),
            Key("output"),
            Key("code says"),
            Key("judge says"),
        ),
        tuple(
            (
                row["rule"],
                from_data(row["code"]),
                f"{from_data(row['judge'])} ({row['judged_by']})",
                row["model"],
                row["case"],
                row["output"] or "",
                from_data(row["code_reason"] or ""),
                row["judge_reason"] or "",
            )
            for row in records(summary.details.disagreements)
        ),
        file="disagreements.csv",
    )


def _discrimination(summary: Summary) -> Section:
    discrimination = summary.details.discrimination
    total = len(summary.made.cells.cases)
    rows: list[tuple[str, ...]] = []
    if discrimination.models > 1:
        rows += _list_row(tr("cases that every model passes"), discrimination.passed_by_all, total)
        rows += _list_row(tr("cases that every model fails"), discrimination.failed_by_all, total)
    rows += _list_row(tr("cases without a scored output"), discrimination.unscored, total)
    rows += _list_row(tr("cases that do not meet their rule's condition"), discrimination.untriggered, total)
    rules = len([rule for rule in summary.run.spec.rules if not rule.stale])
    rows += _list_row(tr("rules that no output breaks"), discrimination.never_broken, rules)
    rows += _list_row(tr("rules that concern no output"), discrimination.never_concerned, rules)
    rows += _list_row(tr("rules that were never scored"), discrimination.never_scored, rules)
    return Section(
        "discrimination",
        tr("Cases and rules that do not separate the models"),
        tr("A case that all models pass, or all fail, does not show how they differ."),
        (Key("what"), Key("how many"), Key("which")),
        tuple(rows),
    )


def _list_row(what: str, names: Sequence[str], total: int) -> list[tuple[str, ...]]:
    return [(what, tr("{some} of {all}", some=len(names), all=total), shortened_list(names))] if names else []


def _share_cells(row: TableRow, name: str) -> tuple[str, ...]:
    share = _interval(row["share"], row["ci_low"], row["ci_high"])
    if row["at_least"] and row["share"] is not None:
        share = f"{at_least(row['share'], True)} ({ends(row['ci_low'], row['ci_high'])})"
    return (row["model"], name, _broken(row), share + few(row["scored"]), str(row["unscored"]))


def few(scored: int) -> str:
    """A mark for shares of few scored outputs."""
    return f" n<{FEW}" if 0 < scored < FEW else ""


def _broken(row: TableRow | None) -> str:
    if row is None:
        return "–"
    return tr("{some} of {all}", some=row["broken"], all=row["usable"] if row["at_least"] else row["scored"])


def _interval(point: float | None, low: float | None, high: float | None) -> str:
    if point is None or low is None or high is None:
        return "–"
    return with_ends(point, low, high)


def _kappa(row: TableRow) -> str:
    always_the_same = {row["fail_rate_first"], row["fail_rate_second"]} & {0.0, 1.0}
    if row["kappa"] is None or always_the_same:
        return "–"
    return kappa_with_ends(row)
