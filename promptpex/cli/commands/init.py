"""``promptpex init`` and ``promptpex demo``: a prompt to begin with, and a run in seconds on recorded answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import Key, tr

PROMPT_FILE, SETTINGS_FILE = "prompt.md", "promptpex.toml"


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path, file_okay=False))
@options.of_files("--example", is_flag=True, help="Write a spec and cases for that prompt as well.")
@options.report_language
@options.output_options
def command(folder: Path, example: bool, as_json: bool, quiet: bool, **flags: object) -> int:
    """Write a first prompt.md and promptpex.toml.

    They go to FOLDER; files that exist are left alone.
    """
    import shlex

    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.codecs.files.atomic import write_text

    with written_to(folder):
        texts = _texts(folder, example)
        new_files = [file for file in texts if not (folder / file).exists()]
        for file in new_files:
            write_text(folder / file, texts[file])
        _keep_schemas(folder)
    settings(flags, start=folder)
    if as_json:
        print_json({"made": new_files, "left_alone": [file for file in texts if file not in new_files]})
    elif not quiet:
        for file in texts:
            place = folder / file
            say(tr("made: {file}", file=place) if file in new_files else tr("left alone: {file}", file=place))
        if example and len(texts) == len(_texts(folder, False)):
            own = tr(
                "{file} is your own: the spec and the cases of the example would not fit it and are left out",
                file=PROMPT_FILE,
            )
            say(own)
        command_line = f"promptpex run {shlex.quote(str(folder / PROMPT_FILE))} --models MODEL --judge MODEL"
        say(tr("Next: {command}", command=command_line))
    return 0


def _texts(folder: Path, example: bool) -> dict[str, str]:
    """The files by name. A spec and cases are written for our prompt alone. With its settings file the folder is a
    project, at the top of which the schemas lie."""
    import json

    from promptpex.documents.schema_ref import FOLDER

    name = folder.resolve().name or "prompt"
    prompt = PROMPT.format(name=json.dumps(name, ensure_ascii=False))
    settings = f"#:schema {FOLDER}/settings.schema.json\n{SETTINGS}"
    texts = {PROMPT_FILE: prompt, SETTINGS_FILE: settings}
    if example and _is_ours(folder / PROMPT_FILE, prompt):
        for kind, content in (("spec", SPEC), ("cases", CASES)):
            line = f"# yaml-language-server: $schema={FOLDER}/{kind}.schema.json"
            texts[f"prompt.{kind}.yaml"] = f"{line}\n{content}"
    return texts


def _is_ours(file: Path, text: str) -> bool:
    return not file.exists() or (file.is_file() and file.read_bytes() == text.encode())


def _keep_schemas(folder: Path) -> None:
    from promptpex.documents.schema_ref import keep_schema

    for file in (folder / SETTINGS_FILE, *sorted(folder.glob("*.spec.yaml")), *sorted(folder.glob("*.cases.yaml"))):
        keep_schema(file)


PROMPT = """---
name: {name}
description: What this prompt is for, in a line.
---
system:
Answer the customer's question in at most two sentences, in the language of the question.
Do not promise refunds or dates. If the question is not about an order, answer exactly: OTHER

user:
{{{{question}}}}
"""

SPEC = """intent: Answer a customer's question about an order, in two sentences at most.
inputs:
  question:
    - The question is what a customer writes to a web shop, in any language.
rules:
  - id: short
    rule: The answer has at most two sentences.
    inverse: The answer has three sentences or more.
    source: in at most two sentences
    checks:
      - {kind: word-count, value: {max: 2}, unit: sentences}
  - id: no-promises
    rule: The answer promises neither a refund nor a date.
    inverse: The answer says that the money comes back, or on which day something happens.
    source: Do not promise refunds or dates.
    checks:
      - kind: not-word-any
        value: [will be refunded, full refund, guarantee, tomorrow, tonight, next week]
        ignore_case: true
  - id: other
    rule: The word OTHER stands alone or not at all.
    inverse: The answer holds the word OTHER and more.
    source: 'answer exactly: OTHER'
    checks:
      - {kind: regex, value: '^\\s*OTHER\\s*$|^(?![\\s\\S]*\\bOTHER\\b)'}
"""

CASES = """cases:
  - id: parcel
    rule: short
    inputs:
      question: Where is my parcel? I ordered it last week.
  - id: everything-at-once
    rule: short
    inverse: true                # it tempts the model to break the rule
    reasoning: Five questions in one invite a long answer.
    inputs:
      question: How do I send it back, what does that cost, how long does it take, who pays, and why?
  - id: money-back
    rule: no-promises
    inverse: true
    inputs:
      question: Can you promise that I get my money back by Friday?
  - id: weather
    rule: other
    inputs:
      question: What is the weather in Hanoi?
    expected: OTHER              # the right answer, where there is one
  - rule: short                  # a case without an id is called by its inputs
    inputs:
      question: Đơn hàng của tôi đâu rồi?
"""

SETTINGS = """# Settings of promptpex; environment (PROMPTPEX_...) and flags go over them. Keys do not belong here.
# models = ["gpt-4o-mini", "llama3.2:1b"]   # models under test
# author = "..."                            # writes specs and cases
# judge = ["..."]                           # judges what no check decides
# metrics = ["tone"]                        # of the tone.metric.md, ... beside the prompt; by default all
# repeats = 1
# max_cost = 1.0                            # US dollars, authors and judges included

# [models.small]                            # a name of your own, for --models small
# model = "openai/x?temperature=0"
# api_base = "http://127.0.0.1:8080/v1"

# [prices."my/model"]                       # US dollars per million tokens
# input = 0.1
# output = 0.4
"""


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Makes the folder, and an error of the file system one that says what to do."""
    from promptpex.core.errors import ConfigError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ConfigError(
            f"nothing can be written here ({error.strerror}); name another folder", path=folder
        ) from error


BENCHMARK = "support-reply"
RECORDING = "two-levels-of-care.jsonl"
FILES = ("prompt.md", "prompt.spec.yaml", "prompt.cases.yaml", RECORDING)
CHECKOUT_SCHEMAS, OWN_SCHEMAS = "$schema=../../promptpex/documents/schemas/", "$schema=.promptpex/schemas/"

DEMO_SETTINGS = f"""# The models of the demo are a recording: one language model answered every request of this folder's
# cases twice, reading with care (careful) and in haste (hasty), and judged the answers with care (reader).
# So the figures say nothing about models that one can buy. To ask real ones, put their names in here.
judge = ["reader"]

[models]
under_test = ["careful", "hasty"]

[models.careful]
model = "replay/{RECORDING}#careful"

[models.hasty]
model = "replay/{RECORDING}#hasty"

[models.reader]
model = "replay/{RECORDING}#reader"
"""

LABEL = Key("Recorded answers of one language model, once careful and once hasty.")


@click.command("demo", cls=Command)
@click.argument("folder", required=False, default="promptpex-demo", type=click.Path(path_type=Path, file_okay=False))
@options.full
@options.open_report
@options.report_language
@options.output_options
@click.pass_context
def demo(
    context: click.Context,
    /,
    folder: Path,
    as_json: bool,
    quiet: bool,
    full: bool,
    opened: bool,
    report_language: str | None,
    **flags: object,
) -> int:
    """See a run in seconds, offline, on recorded answers.

    Writes a prompt with spec, cases, settings and a recording to FOLDER [promptpex-demo], leaving files that exist
    alone, and runs it: 28 mails of a help desk by two models, which are one language model that reads with more and
    with less care.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.commands.run import command as run
    from promptpex.cli.output import say

    _write(folder)
    settings({"report_language": report_language}, start=folder)
    if not (quiet or as_json):
        say(f"{LABEL.tr()}\n")
    switches = {"--json": as_json, "--quiet": quiet, "--full": full, "--open": opened}
    words = [name for name, chosen in switches.items() if chosen]
    words += ["--report-language", report_language] if report_language else []
    words += ["--", str(folder / PROMPT_FILE)]
    with run.make_context("run", words, parent=context.parent) as run_context:
        return int(run.invoke(run_context))


def _write(folder: Path) -> None:
    from promptpex.codecs.files.atomic import write_text

    texts = {name: (_source() / name).read_text(encoding="utf-8") for name in FILES}
    with written_to(folder):
        for name, text in {**texts, "promptpex.toml": DEMO_SETTINGS}.items():
            if not (folder / name).exists():
                write_text(folder / name, text.replace(CHECKOUT_SCHEMAS, OWN_SCHEMAS))


def _source() -> Path:
    package = Path(__file__).parents[2]
    packaged = package / "_demo"
    return packaged if packaged.is_dir() else package.parent / "benchmarks" / BENCHMARK
