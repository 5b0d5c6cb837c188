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
    JUDGING,
    LIMITS,
    MODELS,
    OUTPUT,
    SPEC_AND_CASES,
    STATISTICS,
    option,
    together,
)
from promptpex.core import engine_kinds, store_address
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
of_files = partial(option, group=FILES)
of_output = partial(option, group=OUTPUT)

output_options = together(
    of_output("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    of_output("-q", "--quiet", is_flag=True, help="No progress and no notices on stderr."),
    of_output("--debug", is_flag=True, expose_value=False, expert=True, help="Show a traceback on errors."),
)

open_report = of_output("--open", "opened", is_flag=True, help="Open the report in a browser.")
open_page = of_output("--open", "opened", is_flag=True, help="Open the page in a browser.")
full = of_output("--full", is_flag=True, help="Print every table, not only the answer.")

session_output_options = together(
    output_options,
    of_output("-v", "--verbose", is_flag=True, help="Settings with their origin, and every retry."),
    of_output("--log", type=PATH, metavar="FILE", expert=True, help="Append every event to FILE, a JSON line each."),
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
        help="Let the project's settings file have keys sent to servers and files downloaded.",
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
results = of_files("-o", "--results", metavar="DIR", help="Folder of the runs [results].")
results_beside_out = of_files("--results", metavar="DIR", help="Folder of the runs [results].")
"""Where ``-o`` is ``--out``."""

spec_file = of_files("--spec", type=PATH, metavar="FILE", help="Spec [PROMPT.spec.yaml].")
cases_file = of_files("--cases", type=PATH, metavar="FILE", help="Cases [PROMPT.cases.yaml].")
prompt_files = together(spec_file, cases_file)
prompt_of_runs = of_files("--prompt", type=PATH, metavar="FILE", help="The prompt's file [where the run says it is].")

models = together(
    of_models("-m", "--models", metavar="NAMES", help="Models under test, comma-separated."),
    of_models("-r", "--repeats", type=COUNT, metavar="N", help="Times each case is asked [1]."),
)

author = of_models("-a", "--author", metavar="NAME", help="Model that writes specs and cases.")

judging = together(
    of_judging("-j", "--judge", metavar="NAMES", help="Judges, comma-separated; none: checks alone."),
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
        help="Show the judge the inputs for all rules, not only for those that need them.",
    ),
    of_judging(
        "--judge-sees-prompt",
        is_flag=True,
        default=None,
        expert=True,
        help="Show the judge the prompt for all rules, not only where one points into it.",
    ),
    of_judging(
        "--judge-all",
        is_flag=True,
        default=None,
        expert=True,
        help="Judge also what code decides, to measure how well they agree.",
    ),
    of_judging(
        "--judge-repeat",
        type=COUNT,
        metavar="N",
        expert=True,
        help="Times each judge is asked, to measure its self-agreement [1].",
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
        help="Metrics beside the prompt to score outputs by; none: no metric [all].",
    ),
)
"""What judges decide, and the metrics of commands that score outputs by them."""

verdict_options = together(
    of_judging(
        "--quorum",
        type=click.Choice(["majority", "unanimous"]),
        expert=True,
        help="How several judges settle a verdict [majority].",
    ),
    of_judging(
        "--allow-self-judging",
        is_flag=True,
        default=None,
        expert=True,
        help="No warning when judge and model come from the same vendor.",
    ),
)
"""What becomes of the judges' replies, where there are replies."""

min_agreement = of_judging(
    "--min-agreement",
    type=float,
    metavar="KAPPA",
    expert=True,
    help="Let a judge count on a rule only where its kappa with people is known to be this or more.",
)

judged_by_people = together(
    min_agreement,
    of_judging(
        "--judge-examples",
        type=click.IntRange(0, 8),
        metavar="N",
        expert=True,
        help="Graded outputs that judges are shown for each rule [0].",
    ),
)
"""What people's grades do to judges, where judges are asked."""

allow_missing_models = of_statistics(
    "--allow-missing-models",
    is_flag=True,
    default=None,
    expert=True,
    help="Exit 0 even if a model gave no usable answer, as long as another did.",
)

weights = of_statistics(
    "--weights",
    metavar="NAME=TIMES,...",
    expert=True,
    help="How often a case counts, by kind or rule: rule=3,inverse=1 [1]; inverse=0 leaves inverse cases out.",
)
tolerance = of_statistics("--tolerance", metavar="SHARE", help="Loss against the best that you accept [5%].")
confidence = of_statistics("--confidence", metavar="SHARE", expert=True, help="Confidence level of intervals [95%].")

rank_by = of_statistics(
    "--rank-by",
    metavar="NAME",
    expert=True,
    help="What models are ranked by: non-compliance, accuracy or a metric [non-compliance].",
)

comparison_options = together(
    rank_by,
    tolerance,
    of_statistics("--against", metavar="MODEL", expert=True, help="Compare with MODEL instead of the best."),
    confidence,
    weights,
)

sampling = together(
    of_models("--temperature", type=float, metavar="T", expert=True, help="Of the models under test [the model's]."),
    of_models("--max-tokens", type=COUNT, metavar="N", expert=True, help="Longest answer, in tokens [1024]."),
)

api_base = of_models("--api-base", metavar="URL", help="OpenAI-compatible server of openai/... models.")
seed = of_models("--seed", type=int, metavar="N", expert=True, help="Seed of everything random [0].")
fresh = of_files("--fresh", is_flag=True, default=None, help="Ask again what the store has an answer to.")

request_options = together(
    api_base,
    seed,
    of_models("--pull", is_flag=True, default=None, expert=True, help="Pull Ollama models that are missing."),
    of_limits("--max-cost", type=float, metavar="USD", help="Most US dollars, author and judges included."),
    of_limits("--max-requests", type=COUNT_OR_NONE, metavar="N", expert=True, help="Most requests to send."),
    of_limits("--max-total-tokens", type=COUNT_OR_NONE, metavar="N", expert=True, help="Most tokens to use."),
    of_limits("--deadline", type=float, metavar="SECONDS", expert=True, help="Most seconds for the whole command."),
    of_limits("--timeout", type=float, metavar="SECONDS", expert=True, help="Most seconds a call, with retries [300]."),
    of_limits(
        "--concurrency", type=COUNT, metavar="N", expert=True, help="Most requests at once to one provider [32]."
    ),
    of_limits("--rpm", type=COUNT, metavar="N", expert=True, help="Most requests a minute to one provider."),
    of_limits("--tpm", type=COUNT, metavar="N", expert=True, help="Most tokens a minute to one provider."),
    store_for_experts,
    fresh,
    of_files("--record", metavar="FILE", expert=True, help="Write all requests and replies to FILE, for replay/FILE."),
)

engine_options = together(
    of_limits(
        "--engine",
        type=click.Choice(engine_kinds.names()),
        metavar="WHERE",
        expert=True,
        help=f"Where models are asked and checks run: {engine_kinds.places()} [{engine_kinds.DEFAULT}].",
    ),
    of_limits(
        "--workers", type=COUNT, metavar="N", expert=True, help="Processes that do so [1; ray: one for each CPU]."
    ),
    of_limits(
        "--address",
        metavar="HOST:PORT",
        expert=True,
        help=f"{engine_kinds.clusters()} to use [one of this machine's own].",
    ),
)

page_address = together(
    of_output("--port", type=click.IntRange(0, 65_535), metavar="N", help="Port of the page [8765]."),
    of_output("--no-open", is_flag=True, help="Print the link only, open no browser."),
)
effort = of_cases(
    "--effort",
    type=click.Choice(["min", "low", "medium", "high"]),
    metavar="LEVEL",
    help="Preset of the rest: min, low, medium, high.",
)
labelling = together(
    of_cases(
        "--graders",
        metavar="WHICH",
        default="majority",
        help="majority, any-bad, latest, accuracy, adjudicated:NAME, or one grader's name [majority].",
    ),
    of_cases(
        "--rule-grades",
        type=click.Choice(["every", "graded", "none"]),
        default="every",
        help="Good by grades on rules: every rule good, the graded ones, or never [every].",
    ),
    of_cases("--unsure-is-bad", is_flag=True, help='Count "unsure" as bad, not as no vote.'),
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
    """An age such as ``30d`` in seconds.

    Raises:
        ConfigError: it is not a number with one of the units s, m, h, d, w.
    """
    from promptpex.core.errors import ConfigError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", age.strip().lower())
    if not match:
        raise ConfigError(f"--older-than: {age!r} is not an age: write a number and a unit, such as 30d, 12h or 90m")
    return float(match[1]) * _UNITS[match[2]]


inverse_cases = of_cases(
    "--inverse-cases", type=COUNT_OR_NONE, metavar="N", expert=True, help="Generated cases for each inverse [1]."
)

extraction = together(
    effort,
    of_cases("--max-rules", type=COUNT, metavar="N", expert=True, help="Most rules that one extraction adds [20]."),
    of_cases(
        "--checks/--no-checks", default=None, expert=True, help="Propose code for each rule, keep what proves itself."
    ),
    of_cases(
        "--verify/--no-verify", default=None, expert=True, help="Ask a model whether the prompt says what a rule says."
    ),
)

samples_shown = of_cases(
    "--samples-shown",
    type=click.IntRange(0, 50),
    metavar="N",
    expert=True,
    help="Samples of the prompt that the author is shown [5].",
)

generation = together(
    of_cases("-n", "--cases-per-rule", type=COUNT_OR_NONE, metavar="N", help="Generated cases for each rule [2]."),
    inverse_cases,
    of_cases(
        "--rules-per-request",
        type=COUNT,
        metavar="N",
        expert=True,
        help="Rules that one request for cases covers [6].",
    ),
    samples_shown,
    of_cases(
        "--validity/--no-validity",
        default=None,
        expert=True,
        help="Have the author judge cases against the input spec.",
    ),
    of_cases("--language", metavar="TAG", expert=True, help="Language of generated inputs, such as vi [the prompt's]."),
    of_cases(
        "--expansion", type=COUNT_OR_NONE, metavar="N", expert=True, help="Times a case grows a longer variant [0]."
    ),
)
subset = together(
    of_cases("--case", "case_ids", multiple=True, metavar="ID", help="Only this case, or 't*'; may be repeated."),
    of_cases("--rule", "rule_ids", multiple=True, metavar="ID", help="Only cases for this rule and its inverse."),
    of_cases("--first", type=COUNT, metavar="N", help="Only the first N cases."),
    of_cases(
        "--sample", type=COUNT, metavar="N", expert=True, help="Only N cases, drawn evenly over rules and inverses."
    ),
    of_cases("--only-failed", is_flag=True, help="Only what failed or was unscored last time."),
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
    """What was given, each by an option of its own or several divided by commas."""
    return tuple(dict.fromkeys(part.strip() for text in texts for part in text.split(",") if part.strip()))


rounds = of_cases(
    "--rounds", type=COUNT_OR_NONE, metavar="N", expert=True, help="Times unusable cases are replaced [1]."
)
