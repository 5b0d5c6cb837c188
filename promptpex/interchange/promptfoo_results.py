"""``promptfoo-results``: the JSON that ``promptfoo eval`` writes, as a run whose outputs are there to be judged again.

Prompt, cases and rules come from the prompts and tests that the results repeat. Verdicts of promptfoo are not taken
over: ``promptpex judge`` gives its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from promptpex.codecs.files.ordinary_files import is_file
from promptpex.core.records import Output
from promptpex.core.translation import stored
from promptpex.interchange.format import Format, Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.files import FILE, ConfigFiles
from promptpex.interchange.promptfoo.prompts import TheirPrompt, prompts_of_text
from promptpex.interchange.promptfoo.providers import our_name
from promptpex.interchange.promptfoo.read import read_config
from promptpex.interchange.reading.exchanges import RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_files import At, head, mapping, named, read_json

Row = Mapping[str, object]
_TEST = ("description", "threshold", "metadata", "assert")
"""Keys of a row's test that are read; its variables stand beside it as they were filled in."""
_NOT_A_CASE = "conversationId"


def recognise(path: Path) -> bool:
    beginning = head(path) if path.suffix.lower() == ".json" else ""
    return '"results"' in beginning and any(f'"{key}"' in beginning for key in ("evalId", "promptIdx", "gradingResult"))


def read(path: Path) -> Imported:
    """The outputs of a file of results, with the prompt, the cases and the rules that they are of."""
    at = At(path)
    data = mapping(read_json(path, "file of results"), at, "a file of results")
    rows, heads = _parts(data, at)
    files = ConfigFiles(path.parent, Log())
    prompts, columns = _prompts(files, heads, at)
    numbers, tests = _tests(files, rows, at)
    config = {"description": _description(data), "tests": tests}
    read_as = read_config(files, config, at, prompts)
    case_of = {number: read_as.cases[place] for number, place in numbers.items()}
    outputs = _outputs(files, rows, columns, case_of, at)
    imported = replace(read_as.imported, over=dict(files.log.over), notes=files.log.notes)
    if not imported.further:
        return replace(imported, outputs=tuple(outputs.get(0, ())))
    further = tuple(replace(part, outputs=tuple(outputs.get(n, ()))) for n, part in enumerate(imported.further))
    return replace(imported, further=further)


def _parts(data: Row, at: At) -> tuple[list[Row], list[Row]]:
    """The rows, and the heads of the columns that they belong to: a prompt and a model each."""
    results = mapping(data.get("results"), at["results"], "results")
    result_rows = results.get("results")
    table = mapping(results.get("table"), at["results"]["table"], "the table")
    inner = mapping(table.get("head"), at["results"]["table"]["head"], "the table's head")
    heads = results.get("prompts") or inner.get("prompts")
    if not isinstance(result_rows, list) or not isinstance(heads, list) or not heads:
        raise at["results"].fail("these are not promptfoo results: there are no rows, or no prompts")
    places = at["results"]["results"]
    rows = [mapping(row, places[number], "a row") for number, row in enumerate(result_rows)]
    return rows, [mapping(one, at["results"]["prompts"][number], "a prompt") for number, one in enumerate(heads)]


def _prompts(files: ConfigFiles, heads: Sequence[Row], at: At) -> tuple[list[TheirPrompt], list[int | None]]:
    """The prompts, each once, and by column which one it is; None: it could not come over."""
    place_of: dict[str, int | None] = {}
    prompts: list[TheirPrompt] = []
    columns: list[int | None] = []
    for number, column in enumerate(heads):
        raw, place = column.get("raw"), at["results"]["prompts"][number]
        if not isinstance(raw, str):
            raise place.fail(f"a prompt must be text, not {named(raw)}")
        if raw not in place_of:
            label = column.get("label")
            new_prompts = list(
                prompts_of_text(files, raw, label if isinstance(label, str) and label != raw else "", place)
            )
            place_of[raw] = len(prompts) if new_prompts else None
            prompts += new_prompts
        columns.append(place_of[raw])
    return prompts, columns


def _tests(files: ConfigFiles, rows: Sequence[Row], at: At) -> tuple[dict[int, int], list[dict[str, object]]]:
    """The tests of the rows, each once, and by promptfoo's number of a test its place among them."""
    numbers: dict[int, int] = {}
    tests: list[dict[str, object]] = []
    for place, row in enumerate(rows):
        number = _number(row.get("testIdx"), place)
        if number in numbers:
            continue
        where = at["results"]["results"][place]
        written = mapping(row.get("testCase"), where["testCase"], "a test")
        variables = mapping(row.get("vars", written.get("vars")), where["vars"], "vars")
        options = mapping(written.get("options"), where["testCase"]["options"], "options")
        test = {key: written[key] for key in _TEST if written.get(key) is not None}
        test["assert"] = list(_there(files, test.get("assert"), where["testCase"]["assert"]))
        test["metadata"] = {
            key: value
            for key, value in mapping(test.get("metadata"), where, "metadata").items()
            if not key.startswith("_") and key != _NOT_A_CASE
        }
        transform = {key: options[key] for key in ("transform", "postprocess") if key in options}
        numbers[number] = len(tests)
        tests.append({**test, "vars": dict(variables), "options": {**transform, "disableVarExpansion": True}})
    return numbers, tests


def _there(files: ConfigFiles, asserts: object, at: At) -> Iterator[object]:
    for number, entry in enumerate(asserts if isinstance(asserts, list) else ()):
        value = entry.get("value") if isinstance(entry, dict) else None
        if isinstance(value, str) and value.startswith(FILE):
            name = value.removeprefix(FILE)
            names = (name, name.rpartition(":")[0])
            if not any(one and is_file(files.path_of(one, at[number])) for one in names):
                files.left_out(at[number], stored("the file with its value is not beside the results"))
                continue
        yield entry


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _description(data: Row) -> str:
    config = data.get("config")
    description = config.get("description") if isinstance(config, dict) else None
    return description if isinstance(description, str) else ""


def _outputs(
    files: ConfigFiles, rows: Sequence[Row], columns: Sequence[int | None], case_of: Mapping[int, str], at: At
) -> dict[int, list[Output]]:
    """The outputs by the place of their prompt; several of the same case and model are repeats."""
    repeats: dict[tuple[int, str, str], int] = {}
    outputs: dict[int, list[Output]] = {}
    for place, row in enumerate(rows):
        column = _number(row.get("promptIdx"), 0)
        prompt = columns[column] if 0 <= column < len(columns) else None
        if prompt is None:
            files.left_out(at["results"]["results"][place], stored("its prompt could not be imported"))
            continue
        case, model = case_of[_number(row.get("testIdx"), place)], _model(row)
        repeat = repeats[prompt, case, model] = repeats.get((prompt, case, model), -1) + 1
        outputs.setdefault(prompt, []).append(_output(row, case, model, repeat))
        files.log.came("outputs")
    return outputs


def _model(row: Row) -> str:
    provider = row.get("provider")
    about = provider if isinstance(provider, dict) else {"id": provider}
    their_id = str(about.get("id") or "unknown")
    return " ".join(str(about.get("label") or our_name(their_id) or their_id).split())[:100]


def _output(row: Row, case: str, model: str, repeat: int) -> Output:
    response = row.get("response")
    about: Row = response if isinstance(response, dict) else {}
    answer, usage = about.get("output"), about.get("tokenUsage")
    text = answer if isinstance(answer, str) or answer is None else json.dumps(answer, ensure_ascii=False)
    tokens: Row = usage if isinstance(usage, dict) else {}
    reason = about.get("finishReason")
    answered = RecordedAnswer(
        text,
        model,
        message=str(about.get("error") or row.get("error") or "there is no output"),
        finish_reason=reason if isinstance(reason, str) else None,
        tokens_in=count(tokens.get("prompt")),
        tokens_out=count(tokens.get("completion")),
        cost_usd=amount(row.get("cost")),
        latency_ms=amount(row.get("latencyMs")),
    )
    return answered.output(case, repeat)


FORMAT = Format(
    name="promptfoo-results",
    summary="the JSON of promptfoo eval, as a run to judge again",
    extensions=(".json",),
    reads="run",
    read=read,
    recognise=recognise,
    lost="promptfoo's verdicts (judge again), parameters, cached tokens",
)  # fmt: skip
