"""Options that several commands share. Each has the name of the setting that it overrides."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli.help import (
    FILES,
    FILTERS,
    JUDGING,
    LIMITS,
    MODELS,
    OUTPUT,
    SPEC_AND_CASES,
    STATISTICS,
    option,
    together,
)
from promptpex.core import store_address
from promptpex.core.match_kinds import DEFAULT_MATCH, MATCH_KINDS
from promptpex.judging import modes

if TYPE_CHECKING:
    from promptpex.grading.labels import LabelRules
    from promptpex.workflow.execution.subset import Subset


class ShareOption(click.ParamType[Fraction]):
    """A share, ``.25`` or ``25%``, as a fraction: nothing is rounded."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """The fraction that a person wrote."""
        from promptpex.core.errors import InputError
        from promptpex.core.shares import share

        try:
            return value if isinstance(value, Fraction) else share(value)
        except InputError as error:
            self.fail(error.message, param, ctx)


SHARE = ShareOption()
PATH = click.Path(path_type=Path)
COUNT = click.IntRange(1)
COUNT_OR_NONE = click.IntRange(0)

PROMPT = click.argument("prompt", type=PATH)
PROMPTS = click.argument("prompts", nargs=-1, required=True, type=PATH, metavar="PROMPT...")
RUN = click.argument("run", required=False, type=PATH)
RUNS = click.argument("runs", nargs=-1, metavar="[RUN]...", type=PATH)

of_models = partial(option, group=MODELS)
of_judging = partial(option, group=JUDGING)
of_cases = partial(option, group=SPEC_AND_CASES)
of_limits = partial(option, group=LIMITS)
of_statistics = partial(option, group=STATISTICS)
of_filters = partial(option, group=FILTERS)
of_files = partial(option, group=FILES)
of_output = partial(option, group=OUTPUT)

output_options = together(
    of_output("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    of_output("-q", "--quiet", is_flag=True, help="Show no progress and no notices on stderr."),
    of_output("--debug", is_flag=True, expose_value=False, expert=True, help="Show a traceback on errors."),
)

open_report = of_output("--open", "opened", is_flag=True, help="Open the report in a browser.")
open_page = of_output("--open", "opened", is_flag=True, help="Open the page in a browser.")
full = of_output("--full", is_flag=True, help="Print every table, not only the answer.")

session_output_options = together(
    output_options,
    of_output("-v", "--verbose", is_flag=True, help="Show settings with their origins, and every retry."),
    of_output("--log", type=PATH, metavar="FILE", expert=True, help="Append every event to FILE as a line of JSON."),
)
"""The output options of commands that open a session, so that there are events to print and to log."""

report_language = of_output(
    "--report-language", metavar="TAG", expert=True, help="Language of reports and messages: en, vi [en]."
)

settings_options = together(
    report_language,
    of_files("--config", type=PATH, metavar="FILE", expert=True, help="Settings file [promptpex.toml]."),
    of_files("--no-config", is_flag=True, default=None, expert=True, help="Read no settings file (for CI on forks)."),
    of_files(
        "--trust-settings",
        is_flag=True,
        default=None,
        expert=True,
        help="Allow the project's settings file to send keys to servers and to download files.",
    ),
)

_STORE = partial(
    of_files,
    "--store",
    metavar="STORE",
    help=f"Response store: a file or {store_address.EXAMPLES} [.promptpex/store.db].",
)
store = _STORE()
store_for_experts = _STORE(expert=True)
results = of_files("--results", metavar="DIR", help="Folder of the runs [results].")

spec_file = of_files("--spec", type=PATH, metavar="FILE", help="Spec [PROMPT.spec.yaml].")
cases_file = of_files("--cases", type=PATH, metavar="FILE", help="Cases [PROMPT.cases.yaml].")
prompt_files = together(spec_file, cases_file)
prompt_of_runs = of_files(
    "--prompt", type=PATH, metavar="FILE", help="File of the prompt [the one that the run names]."
)

models = together(
    of_models("-m", "--models", metavar="NAMES", help="Models under test, comma-separated."),
    of_models("-r", "--repeats", type=COUNT, metavar="N", help="Times each case is asked [1]."),
)

author = of_models("-a", "--author", metavar="NAME", help="Model that writes specs and cases.")

judging = together(
    of_judging("-j", "--judge", metavar="NAMES", help="Judges, comma-separated; none: only checks."),
    of_judging(
        "--judge-mode",
        type=click.Choice(modes.names()),
        metavar="MODE",
        expert=True,
        help=f"What judges decide on: {' or '.join(modes.names())} [{modes.DEFAULT}].",
    ),
    of_judging(
        "--judge-sees-input",
        is_flag=True,
        default=None,
        expert=True,
        help="Show judges the input for every rule, not only where it is needed.",
    ),
    of_judging(
        "--judge-sees-prompt",
        is_flag=True,
        default=None,
        expert=True,
        help="Show judges the prompt for every rule, not only where a rule refers to it.",
    ),
    of_judging(
        "--judge-all",
        is_flag=True,
        default=None,
        expert=True,
        help="Also judge what checks decide, to measure how well the two agree.",
    ),
    of_judging(
        "--judge-repeat",
        type=COUNT,
        metavar="N",
        expert=True,
        help="Ask each judge N times, to measure how well it agrees with itself [1].",
    ),
    of_judging(
        "--match",
        metavar="KIND",
        expert=True,
        help=f"How outputs are compared with expected ones: {', '.join(MATCH_KINDS)} [{DEFAULT_MATCH}].",
    ),
    of_judging("--judge-confidence", is_flag=True, default=None, expert=True, help="Ask judges for log-probabilities."),
)

judge_options = together(
    judging,
    of_judging(
        "--metrics",
        metavar="NAMES",
        expert=True,
        help="Metrics next to the prompt to score outputs by, or none [all].",
    ),
)
"""What judges decide, and the metrics of commands that score outputs by them."""

verdict_options = together(
    of_judging(
        "--quorum",
        type=click.Choice(["majority", "unanimous"]),
        expert=True,
        help="What decides of several judges: more than half of those asked, or all [majority].",
    ),
    of_judging(
        "--allow-self-judging",
        is_flag=True,
        default=None,
        expert=True,
        help="Do not warn when a judge and a model come from the same vendor.",
    ),
)
"""What becomes of the judges' replies, where there are replies."""

min_agreement = of_judging(
    "--min-agreement",
    type=float,
    metavar="KAPPA",
    expert=True,
    help="Count a judge on a rule only if its kappa with people is at least this, by the lower end of its interval.",
)

judged_by_people = together(
    min_agreement,
    of_judging(
        "--judge-examples",
        type=click.IntRange(0, 8),
        metavar="N",
        expert=True,
        help="Show judges N graded outputs for each rule [0].",
    ),
)
"""What people's grades do to judges, where judges are asked."""

allow_missing_models = of_output(
    "--allow-missing-models",
    is_flag=True,
    default=None,
    expert=True,
    help="Exit 0 even if a model gave no usable answer, as long as another one did.",
)

weights = of_statistics(
    "--weights",
    metavar="NAME=TIMES,...",
    expert=True,
    help="Weight of a case by type or rule: rule=3,inverse=1 [1]; inverse=0 leaves out inverse cases.",
)
tolerance = of_statistics("--tolerance", metavar="SHARE", help="Accepted loss compared with the best model [5%].")
confidence = of_statistics("--confidence", metavar="SHARE", expert=True, help="Confidence level of intervals [95%].")

rank_by = of_statistics(
    "--rank-by",
    metavar="NAME",
    expert=True,
    help="Rank models by non-compliance, accuracy, corrected (by people's grades) or a metric [non-compliance].",
)

comparison_options = together(
    rank_by,
    tolerance,
    of_statistics("--against", metavar="MODEL", expert=True, help="Compare with MODEL instead of the best one."),
    confidence,
    weights,
)

sampling = together(
    of_models(
        "--temperature",
        type=float,
        metavar="T",
        expert=True,
        help="Temperature of the models under test [the provider's].",
    ),
    of_models(
        "--max-tokens", type=COUNT, metavar="N", expert=True, help="Maximum length of an answer, in tokens [1024]."
    ),
)

api_base = of_models("--api-base", metavar="URL", help="OpenAI-compatible server for openai/... models.")
seed = of_models("--seed", type=int, metavar="N", expert=True, help="Seed of all random choices [0].")
fresh = of_files("--fresh", is_flag=True, default=None, help="Ignore stored replies and ask again.")

request_options = together(
    api_base,
    seed,
    of_models("--pull", is_flag=True, default=None, expert=True, help="Pull missing Ollama models."),
    of_limits("--max-cost", type=float, metavar="USD", help="Spend at most USD, author and judges included."),
    of_limits("--max-requests", type=COUNT_OR_NONE, metavar="N", expert=True, help="Send at most N requests."),
    of_limits("--max-total-tokens", type=COUNT_OR_NONE, metavar="N", expert=True, help="Use at most N tokens."),
    of_limits(
        "--deadline",
        type=float,
        metavar="SECONDS",
        expert=True,
        help="Send nothing after so many seconds; what was sent is waited for, up to 30 s more.",
    ),
    of_limits(
        "--timeout", type=float, metavar="SECONDS", expert=True, help="Time limit per request, retries included [300]."
    ),
    of_limits(
        "--concurrency", type=COUNT, metavar="N", expert=True, help="At most N concurrent requests to a provider [32]."
    ),
    of_limits("--rpm", type=COUNT, metavar="N", expert=True, help="At most N requests per minute to a provider."),
    of_limits("--tpm", type=COUNT, metavar="N", expert=True, help="At most N tokens per minute to a provider."),
    store_for_experts,
    fresh,
    of_files(
        "--record",
        metavar="FILE",
        expert=True,
        help="Record all requests and replies in FILE, to replay as replay/FILE.",
    ),
)

engine_options = together(
    of_limits(
        "--engine",
        type=click.Choice(("local", "ray")),
        metavar="WHERE",
        expert=True,
        help="Where checks run: local, on this machine, or ray, on your Ray cluster [local].",
    ),
    of_limits(
        "--workers", type=COUNT, metavar="N", expert=True, help="Number of worker processes [1; ray: one per CPU]."
    ),
    of_limits(
        "--address",
        metavar="HOST:PORT",
        expert=True,
        help="Ray cluster to connect to [that of this machine].",
    ),
)

page_address = together(
    of_output("--port", type=click.IntRange(0, 65_535), metavar="N", help="Port of the local page [8765]."),
    of_output("--no-open", is_flag=True, help="Only print the link; do not open a browser."),
)
effort = of_cases(
    "--effort",
    type=click.Choice(["min", "low", "medium", "high"]),
    metavar="LEVEL",
    help="Preset of other options: min, low, medium, high.",
)
labelling = together(
    of_judging(
        "--graders",
        metavar="WHICH",
        default="majority",
        help="Whose grades count: majority, any-bad, latest, accuracy, adjudicated:NAME, or one grader [majority].",
    ),
    of_judging(
        "--rule-grades",
        type=click.Choice(["every", "graded", "none"]),
        default="every",
        expert=True,
        help="Grades on rules make an output good if every rule, or each graded rule, is good; or never [every].",
    ),
    of_judging("--unsure-is-bad", is_flag=True, expert=True, help='Count "unsure" as bad, not as an abstention.'),
)
"""How grades become labels; ``label_rules`` reads what was given."""


def label_rules(flags: dict[str, Any]) -> LabelRules:
    """How grades become labels, by the options of ``labelling``, which are taken out of the flags."""
    from promptpex.grading.labels import LabelRules

    graders, rule_grades, unsure_is_bad = (flags.pop(name) for name in ("graders", "rule_grades", "unsure_is_bad"))
    if not graders.strip() or graders == "adjudicated:":
        message = "--graders takes majority, any-bad, latest, accuracy, adjudicated:NAME, or one grader's name"
        raise click.UsageError(f"{message}; here the name is missing")
    return LabelRules(graders, rule_grades, "bad" if unsure_is_bad else "no-vote")


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds_of(age: str) -> float:
    """An age such as ``30d`` in seconds."""
    from promptpex.core.errors import ConfigError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", age.strip().lower())
    if not match:
        raise ConfigError(f"--older-than: {age!r} is not an age: write a number and a unit, such as 30d, 12h or 90m")
    return float(match[1]) * _UNITS[match[2]]


inverse_cases = of_cases(
    "--inverse-cases", type=COUNT_OR_NONE, metavar="N", expert=True, help="Cases to generate for each inverse [1]."
)

extraction = together(
    effort,
    of_cases("--max-rules", type=COUNT, metavar="N", expert=True, help="Add at most N rules per extraction [20]."),
    of_cases(
        "--checks/--no-checks",
        default=None,
        expert=True,
        help="Propose checks for each rule, and keep those that pass their own tests.",
    ),
    of_cases(
        "--verify/--no-verify", default=None, expert=True, help="Ask a model whether the prompt states each rule."
    ),
)

samples_shown = of_cases(
    "--samples-shown",
    type=click.IntRange(0, 50),
    metavar="N",
    expert=True,
    help="Show the author N sample inputs of the prompt [5].",
)

generation = together(
    of_cases("-n", "--cases-per-rule", type=COUNT_OR_NONE, metavar="N", help="Cases to generate for each rule [2]."),
    inverse_cases,
    of_cases(
        "--rules-per-request",
        type=COUNT,
        metavar="N",
        expert=True,
        help="Rules per request for cases [6].",
    ),
    samples_shown,
    of_cases(
        "--validity/--no-validity",
        default=None,
        expert=True,
        help="Have the author check cases against the input spec.",
    ),
    of_cases(
        "--language", metavar="TAG", expert=True, help="Language of generated inputs, such as vi [that of the prompt]."
    ),
    of_cases(
        "--expansion", type=COUNT_OR_NONE, metavar="N", expert=True, help="Lengthen each generated input N times [0]."
    ),
)
subset = together(
    of_cases(
        "--case",
        "case_ids",
        multiple=True,
        metavar="ID",
        help="Only this case, or 't*'; may be repeated.",
    ),
    of_cases(
        "--rule",
        "rule_ids",
        multiple=True,
        metavar="ID",
        help="Only cases for this rule and its inverse.",
    ),
    of_cases("--first", type=COUNT, metavar="N", help="Only the first N cases."),
    of_cases(
        "--sample", type=COUNT, metavar="N", expert=True, help="Only N cases, drawn evenly across rules and inverses."
    ),
    of_cases("--only-failed", is_flag=True, help="Only cases that failed or were unscored last time."),
)
"""Which cases to keep to; ``subset_of`` reads what was given."""


SUBSET_OPTIONS, SUBSET_FLAGS = ("--case", "--rule", "--first", "--sample"), ("--only-failed",)


def subset_of(flags: dict[str, Any]) -> Subset:
    """The cases to keep to, by the options of ``subset``, which are taken out of the flags."""
    from promptpex.workflow.execution.subset import Subset

    cases, rules, first, sample, only_failed = (
        flags.pop(name) for name in ("case_ids", "rule_ids", "first", "sample", "only_failed")
    )
    if first is not None and sample is not None:
        raise click.UsageError("--first and --sample both limit the number of cases: give one of them")
    return Subset(_each(cases), _each(rules), first, sample, only_failed)


def _each(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",") if part.strip()))


rounds = of_cases(
    "--rounds",
    type=COUNT_OR_NONE,
    metavar="N",
    expert=True,
    help="Replace unusable cases by new ones up to N times [1].",
)
