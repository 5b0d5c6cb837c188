"""Options that several commands share. Each is named like the setting that it overrides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

PROMPT = click.argument("prompt", type=click.Path(path_type=Path))


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order by ``--help``."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


manners = together(
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no notices on stderr."),
    click.option("--debug", is_flag=True, expose_value=False, help="Show a traceback on errors."),
)

listening = together(
    click.option("-v", "--verbose", is_flag=True, help="Say more: settings with their origin, every retry."),
    click.option("--log", type=click.Path(path_type=Path), help="Append every event to this file, a JSON line each."),
    manners,
)
"""The manners of commands in which something is going on: those that open a session."""

config = together(
    click.option("--config", type=click.Path(path_type=Path), help="Settings file [promptpex.toml]."),
    click.option("--no-config", is_flag=True, default=None, help="Read no settings file, as CI on strangers' changes."),
    click.option(
        "--trust-settings", is_flag=True, default=None, help="Let keys go to servers that the project's file names."
    ),
    click.option("--store", help="Response store [.promptpex/store.db]."),
    click.option("--results", "results_dir", help="Folder of the runs [results]."),
)

files = together(
    click.option("--spec", type=click.Path(path_type=Path), help="Spec file [PROMPT.spec.yaml]."),
    click.option("--cases", type=click.Path(path_type=Path), help="Case file [PROMPT.cases.yaml]."),
)

models = together(
    click.option("--models", help="Models under test, comma-separated: gpt-4o-mini,llama3.2:1b?temperature=0."),
    click.option("--repeats", type=click.IntRange(1), help="Times each case is asked [1]."),
)

author = click.option("--author", help="Model that writes specs and cases.")

judge = together(
    click.option(
        "--judge", help="Model that judges what no check decides; several, comma-separated, vote; none: checks alone."
    ),
    click.option(
        "--judge-mode", type=click.Choice(["rules", "prompt"]), help="Judge rule by rule, or the prompt whole."
    ),
    click.option("--judge-sees-input", is_flag=True, default=None, help="Show the judge the inputs."),
    click.option(
        "--judge-all", is_flag=True, default=None, help="Judge also what code decides, to see how they agree."
    ),
    click.option(
        "--judge-repeat",
        type=click.IntRange(1),
        help="Times each judge is asked, to see if it keeps its word [1].",
    ),
    click.option("--judge-confidence", is_flag=True, default=None, help="Ask judges for log-probabilities."),
    click.option("--quorum", type=click.Choice(["majority", "unanimous"]), help="How several judges agree [majority]."),
    click.option(
        "--allow-self-judging",
        is_flag=True,
        default=None,
        help="No warning when judge and model come from the same vendor.",
    ),
)

missing = click.option(
    "--allow-missing-models",
    is_flag=True,
    default=None,
    help="Exit 0 also when a model gave not one usable answer, if another did.",
)

weights = click.option(
    "--weights",
    metavar="NAME=TIMES,...",
    help="Times each case counts: rule=3,inverse=1, or a rule's id; inverse=0 leaves inverse cases out [1].",
)

tolerance = click.option("--tolerance", help="Loss against the best that you accept: 5% or 0.05 [5%].")
confidence = click.option("--confidence", help="Level of the intervals: 95% or 0.95 [95%].")

standing = together(
    tolerance,
    click.option("--against", metavar="MODEL", help="Compare with this model instead of the best."),
    confidence,
    weights,
)

sampling = together(
    click.option("--temperature", type=float, help="Sampling temperature of the models under test."),
    click.option("--max-tokens", type=click.IntRange(1), help="Longest answer, in tokens [1024]."),
)

asking = together(
    click.option("--api-base", help="Base URL of an OpenAI-compatible server for openai/... models."),
    click.option("--seed", type=int, help="Seed of everything random [0]."),
    click.option("--concurrency", type=click.IntRange(1), help="Most requests in flight to one provider."),
    click.option("--rpm", type=click.IntRange(1), help="Most requests a minute to one provider."),
    click.option("--tpm", type=click.IntRange(1), help="Most tokens a minute to one provider."),
    click.option("--timeout", "call_timeout_s", type=float, help="Seconds a call may take, retries included [300]."),
    click.option("--deadline", "run_deadline_s", type=float, help="Seconds the whole run may take."),
    click.option("--max-cost", type=float, help="US dollars the run may cost, authors and judges included."),
    click.option("--max-requests", type=click.IntRange(0), help="Requests the run may send."),
    click.option("--max-total-tokens", "max_tokens_total", type=click.IntRange(0), help="Tokens the run may use."),
    click.option("--record", help="Write every request and reply to this JSONL file, for replay/FILE."),
    click.option("--fresh", is_flag=True, default=None, help="Ask anew also what the store has an answer to."),
    click.option("--pull", is_flag=True, default=None, help="Pull Ollama models that are missing."),
)

extraction = together(
    click.option("--max-rules", type=click.IntRange(1), help="Most rules to extract [10]."),
    click.option("--checks/--no-checks", default=None, help="Propose code for each rule, and keep what proves itself."),
    click.option("--verify/--no-verify", default=None, help="Ask a model whether the prompt says what each rule says."),
    click.option("--inverse-cases", type=click.IntRange(0), help="Generated cases for each inverse, 0 = none [1]."),
    click.option(
        "--effort", type=click.Choice(["min", "low", "medium", "high"]), help="Preset for what no other flag sets."
    ),
)

generation = together(
    extraction,
    click.option("--cases-per-rule", type=click.IntRange(0), help="Generated cases for each rule [2]."),
    click.option("--rounds", type=click.IntRange(0), help="Times unusable cases are replaced [1]."),
    click.option("--validity/--no-validity", default=None, help="Have the author judge cases against the input spec."),
    click.option("--language", help="Language that generated inputs have to be in, such as vi [the prompt's]."),
    click.option("--expansion", type=click.IntRange(0), help="Times each case grows a longer variant [0]."),
)
