"""``promptpex init``: a prompt and a settings file to begin with, and a spec and cases that go with them."""

from __future__ import annotations

from pathlib import Path

import click

from promptpex.cli import options, starter_files
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import tr

PROMPT, SETTINGS = "prompt.md", "promptpex.toml"


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

    with starter_files.written_to(folder):
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
                file=PROMPT,
            )
            say(own)
        command_line = f"promptpex run {shlex.quote(str(folder / PROMPT))} --models MODEL --judge MODEL"
        say(tr("Next: {command}", command=command_line))
    return 0


def _texts(folder: Path, example: bool) -> dict[str, str]:
    """The files by name. A spec and cases are written for our prompt alone. With its settings file the folder is a
    project, at the top of which the schemas lie."""
    import json

    from promptpex.documents.schema_ref import FOLDER

    name = folder.resolve().name or "prompt"
    prompt = starter_files.PROMPT.format(name=json.dumps(name, ensure_ascii=False))
    settings = f"#:schema {FOLDER}/settings.schema.json\n{starter_files.SETTINGS}"
    texts = {PROMPT: prompt, SETTINGS: settings}
    if example and _is_ours(folder / PROMPT, prompt):
        for kind, content in (("spec", starter_files.SPEC), ("cases", starter_files.CASES)):
            line = f"# yaml-language-server: $schema={FOLDER}/{kind}.schema.json"
            texts[f"prompt.{kind}.yaml"] = f"{line}\n{content}"
    return texts


def _is_ours(file: Path, text: str) -> bool:
    return not file.exists() or (file.is_file() and file.read_bytes() == text.encode())


def _keep_schemas(folder: Path) -> None:
    """Writes the schemas that files of the folder name, those of people too."""
    from promptpex.documents.schema_ref import keep_schema

    for file in (folder / SETTINGS, *sorted(folder.glob("*.spec.yaml")), *sorted(folder.glob("*.cases.yaml"))):
        keep_schema(file)
