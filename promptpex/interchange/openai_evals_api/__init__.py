"""``openai-evals-api``: evals of OpenAI's hosted Evals API: graders, items and the prompt of a run, as JSON.

After the reference of the API: an eval has ``testing_criteria``, a run a ``data_source`` with the items and the turns
that a model is sent. Items come as JSON lines, too, each under ``item``, beside it what a model answered (``sample``).
"""

from __future__ import annotations

from pathlib import Path

from promptpex.interchange.format import Format, Imported, Mapped, Option, head
from promptpex.interchange.openai_evals_api.read import read_eval, read_items
from promptpex.interchange.openai_evals_api.write import write
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row

_LINES = (".jsonl", ".ndjson")


def recognise(path: Path) -> bool:
    """Whether it is JSON with graders or a run, or begins with an item."""
    if path.suffix.lower() in _LINES:
        return isinstance(first_row(path).get("item"), dict)
    beginning = head(path) if path.suffix.lower() == ".json" else ""
    is_object = beginning.lstrip().startswith("{")
    return is_object and ('"testing_criteria"' in beginning or '"data_source"' in beginning)


def read(path: Path, *, items: str | None) -> Imported:
    """An eval, or items as JSON lines.

    Args:
        items: the file with the items of an eval that does not hold them.

    Raises:
        InputError: it is not such a file, or nothing in it can come over; with the line.
    """
    if path.suffix.lower() in _LINES:
        return read_items(path)
    return read_eval(path, Path(items) if items else None)


FORMAT = Format(
    name="openai-evals-api",
    summary="OpenAI's Evals API: an eval's graders, with the prompt and items of its run, as JSON",
    import_note="or items as JSON lines",
    extensions=JSON_ENDINGS,
    reads="project",
    writes="project",
    read=read,
    write=write,
    read_options=(Option("items", "the items of an eval, as JSON lines.", metavar="FILE"),),
    write_options=(
        Option("model", "its model [the first of the run].", metavar="NAME"),
        Option("judge_model", "the model that grades what code does not decide.", metavar="NAME"),
    ),
    recognise=recognise,
    maps=(
        Mapped("`input_messages.template`", "the prompt"),
        Mapped("`input_messages.item_reference`", "chats: the prompt is what they have in common"),
        Mapped("`item`", "a case; each field is an input", "both", "ids"),
        Mapped("`item.expected`, the field of a `string_check` with `eq`", "the expected output"),
        Mapped("`sample`", "an output", "in", "what it is about besides text and tokens"),
        Mapped("`{{item.NAME}}`, `{{sample.output_text}}`, `{{sample.output_json.NAME}}`",
               "`{{NAME}}`, the output, `path`"),
        Mapped("`string_check`: `eq`, `ne`, `like`, `ilike`", "`equals`, `not-equals`, `contains`, `icontains`", "both",
               "other checks, and rules with a condition"),
        Mapped("`text_similarity`: `bleu`, `gleu`, `rouge_1` to `rouge_5`, `rouge_l`",
               "`bleu`, `gleu`, `rouge-n`, `rouge-l`", "both", "`fuzzy_match`, `meteor`, `cosine`"),
        Mapped("`label_model`, `score_model`", "a rule with a question for the judge", "in",
               "labels, scores, the grader's model, images"),
        Mapped("`label_model`", "a rule for the judge, with `--judge-model`; questions", "out"),
        Mapped("`python`", "a check `python`, in a sandbox", "both", "packages that the sandbox lacks"),
        Mapped("`multi` with `pass_threshold`, its formula a weighted sum, the `min` of some, or the `max` or the "
               "product of `string_check` and `label_model`", "a rule with an `assert-set` of its graders' checks, "
               "with weights and threshold", "in", "scores of models"),
        Mapped("`multi` with another formula", "its graders, a rule each", "in", "the formula over their scores"),
        Mapped("`source` with a file's id, or logs", "nothing: name the items with `--items`", "in", "they are named"),
    ),
)  # fmt: skip
