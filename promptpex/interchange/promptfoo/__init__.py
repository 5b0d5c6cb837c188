"""``promptfoo``: its configurations, both ways.

Our kinds of checks bear promptfoo's names; what one of the two programs lacks, or would read otherwise, is left out and
named. Nothing of a configuration is run, rendered or fetched when it is read.
"""

from __future__ import annotations

from promptpex.interchange.format import Format, Option
from promptpex.interchange.promptfoo.read import read, recognise
from promptpex.interchange.promptfoo.write import config, write

__all__ = ["FORMAT", "config", "read", "write"]

FORMAT = Format(
    name="promptfoo",
    summary="a promptfooconfig: prompts, tests with their assertions, providers",
    export_note="of a case file, with the prompt and the spec in its folder",
    extensions=(".yaml", ".yml", ".json"),
    reads="project",
    writes="project",
    read=read,
    write=write,
    write_options=(
        Option("models", "its providers [those of the run].", short="-m", metavar="NAMES"),
        Option("rubrics", "llm-rubric assertions for what no check decides.", kind=bool),
    ),
    recognise=recognise,
    lost="prompts, tests and providers that programs or services make; tools, response formats, keys; "
    "`similar`, `classifier`, `moderation`, `webhook`, `select-best`; scores of rubrics; modules "
    "that the sandbox lacks; all other keys, each named",
)  # fmt: skip
