"""``promptpex init``: a prompt and a settings file to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say

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


@click.command("init", cls=Command)
@click.argument("folder", required=False, default=".", type=click.Path(path_type=Path, file_okay=False))
@options.output_options
def command(folder: Path, as_json: bool, quiet: bool, **flags: object) -> int:
    """Write a first prompt.md and promptpex.toml.

    They go to FOLDER; files that exist are left alone.
    """
    import json
    import shlex

    from promptpex.cli.output import print_json
    from promptpex.codecs.atomic import write_text

    folder.mkdir(parents=True, exist_ok=True)
    name = folder.resolve().name or "prompt"
    texts = {"prompt.md": PROMPT.format(name=json.dumps(name, ensure_ascii=False)), "promptpex.toml": SETTINGS}
    made = [file for file in texts if not (folder / file).exists()]
    for file in made:
        write_text(folder / file, texts[file])
    if as_json:
        print_json({"made": made, "left_alone": [file for file in texts if file not in made]})
    elif not quiet:
        for file in texts:
            say(f"{'made' if file in made else 'left alone'}: {folder / file}")
        say(f"Next: promptpex run {shlex.quote(str(folder / 'prompt.md'))} --models MODEL")
    return 0
