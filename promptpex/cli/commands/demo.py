"""``promptpex demo``: a run in seconds, on recorded answers."""

from __future__ import annotations

from pathlib import Path

import click

from promptpex.cli import options
from promptpex.cli.commands.init import written_to
from promptpex.cli.help import Command
from promptpex.core.translation import Key

BENCHMARK = "support-reply"
RECORDING = "two-levels-of-care.jsonl"
FILES = ("prompt.md", "prompt.spec.yaml", "prompt.cases.yaml", RECORDING)
CHECKOUT_SCHEMAS, OWN_SCHEMAS = "$schema=../../promptpex/documents/schemas/", "$schema=.promptpex/schemas/"

SETTINGS = f"""# The models of the demo are a recording: one language model answered every request of this folder's
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
def command(
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
    words += ["--", str(folder / "prompt.md")]
    with run.make_context("run", words, parent=context.parent) as run_context:
        return int(run.invoke(run_context))


def _write(folder: Path) -> None:
    from promptpex.codecs.files.atomic import write_text

    texts = {name: (_source() / name).read_text(encoding="utf-8") for name in FILES}
    with written_to(folder):
        for name, text in {**texts, "promptpex.toml": SETTINGS}.items():
            if not (folder / name).exists():
                write_text(folder / name, text.replace(CHECKOUT_SCHEMAS, OWN_SCHEMAS))


def _source() -> Path:
    package = Path(__file__).parents[2]
    packaged = package / "_demo"
    return packaged if packaged.is_dir() else package.parent / "benchmarks" / BENCHMARK
