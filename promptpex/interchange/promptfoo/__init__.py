"""``promptfoo``: its configurations, both ways.

Our kinds of checks bear promptfoo's names; what one of the two programs lacks, or would read otherwise, is left out and
named. Nothing of a configuration is run, rendered or fetched when it is read.
"""

from __future__ import annotations

from promptpex.interchange.format import Format, Mapped, Option
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
    maps=(
        Mapped("`prompts`: texts, chats, files", "a prompt file each", "in",
               "those that programs make or services keep; blank lines around a text"),
        Mapped("`prompts`", "the prompt as a chat", "out"),
        Mapped("`providers`, in YAML and JSON files too", "`[models]` of the settings, or the run's models", "both",
               "programs, agents, services without a name here, tools, response formats, keys"),
        Mapped("`env.NAME` in a prompt", "an input, empty", "in", "the environment's value"),
        Mapped("`tests`: a list, CSV, JSON, JSON lines, YAML", "cases; lists of texts multiply", "in",
               "tests that programs make, or whose prompt a program fills; spreadsheets of services"),
        Mapped("`tests`", "the usable cases", "out", "inputs that promptfoo would take for a file or fill in"),
        Mapped("`vars`", "inputs; those that the prompt does not name are `checks_only`"),
        Mapped("`vars.expected`", "the expected output, where the prompt does not name it"),
        Mapped("`defaultTest`, an assertion of all tests", "a rule"),
        Mapped("an assertion of some tests", "a rule with a condition (`when`) on the inputs", "both"),
        Mapped("`metric`", "the rule's id; assertions of one metric are one rule"),
        Mapped("`weight`, `assert-set`, `not-`", "the same"),
        Mapped("`threshold` of a test", "an `assert-set` over its assertions", "in"),
        Mapped("`transform`, of a test or an assertion, also in a JavaScript file", "`transform` of the checks", "both",
               "other languages, modules; for judges"),
        Mapped("`llm-rubric`, `g-eval`, `model-graded-closedqa`, `factuality`, `answer-relevance`",
               "a rule for the judge, or a question where its text is a template", "in", "scores and thresholds"),
        Mapped("`llm-rubric`", "rules for the judge, with `--rubrics`; questions", "out"),
        Mapped("`python`, `javascript`", "checks of these kinds, in a sandbox", "both",
               "modules and packages that the sandbox lacks; Python that asks a judge"),
        Mapped("`similar`, `classifier`, `moderation`, `webhook`, `select-best` and others", "nothing", "in",
               "they are named"),
        Mapped("`scenarios`", "cases with a `scenario`", "in"),
        Mapped("`description` of a test", "`reasoning` of the case", "in"),
        Mapped("`evaluateOptions`, `commandLineOptions`: `repeat`, `maxConcurrency`", "`repeats`, `concurrency`", "in",
               "the others"),
        Mapped("`metadata`", "case ids, aims and sentences of rules, as an export keeps them", "both",
               "other metadata"),
        Mapped("`env`, `extensions`, `nunjucksFilters`, `outputPath`, `derivedMetrics` and all other keys", "nothing",
               "in", "each is named (`tests/interchange/promptfoo/test_every_key.py`)"),
    ),
)  # fmt: skip
