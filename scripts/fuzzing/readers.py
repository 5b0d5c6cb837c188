"""Every reader of foreign text, as a function of a maker and a folder that makes one hostile input and reads it.

What is read well is used as well: rendered, checked, exported, reported. An error of promptpex's own tree is a good
end; any other exception is a finding.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from fuzzing import seeds
from fuzzing.foreign_files import imports
from fuzzing.making import Maker
from fuzzing.own_files import grade_files, imported_grades, recordings, run_folders, run_lists, stores
from promptpex import config
from promptpex.assertions import (
    ExpectedOutput,
    OutputOfCase,
    RuleCheckJob,
    assertion_file,
    batch,
    check,
    check_conditions,
    chunked,
    compare,
    rows_to_check,
)
from promptpex.assertions.kinds.json_schema import compiled
from promptpex.assertions.model import Unscorable
from promptpex.cases.file import examine as examine_suite
from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.samples_and_scenarios import read_samples, read_scenarios
from promptpex.codecs import safe_csv
from promptpex.codecs.model_json import ReplyError, read_json_reply
from promptpex.config.env_file import read_env_file
from promptpex.core.errors import PromptpexError
from promptpex.core.match_kinds import ASKED, MATCH_KINDS
from promptpex.core.records import Case, Completion, History, Message, Prompt, PromptVersion, Spec
from promptpex.engines import LocalEngine
from promptpex.interchange import promptfoo, promptpex_files, suite_files
from promptpex.judging.verdict_precedence import after_broken
from promptpex.llm.named_models import NamedModel
from promptpex.llm.names import parse_models, provider_of
from promptpex.llm.providers import http, llama_engine, ollama, openai_format
from promptpex.llm.structured import usable
from promptpex.promptfile import read_with_warnings, render
from promptpex.promptfile.metric_files import metrics_beside
from promptpex.specs.file import examine as examine_spec
from promptpex.specs.file import read_spec, write_spec
from promptpex.specs.prompt_diff import diff_prompts
from promptpex.synthesis.folder import HISTORY, read_candidates, write_candidates
from promptpex.synthesis.folder import examine as examine_candidates
from promptpex.synthesis.history.categories import packs_of
from promptpex.synthesis.history.versions import deltas
from promptpex.synthesis.proposing.criteria import unasked
from promptpex.tables.counts_per_case import check_weights
from promptpex.workflow.metrics import criteria_texts
from promptpex.workflow.validation.validate import validate

Reader = Callable[[Maker, Path], object]

INPUTS = {"thing": "apple", "count": 2}
NAMED = {"small": NamedModel(model="openai/a", api_base="http://127.0.0.1:1/v1", temperature=0.5)}


def prompts(maker: Maker, folder: Path) -> object:
    """Prompt files of all formats, rendered with hostile inputs."""
    kind = maker.rng.choice((".md", ".md", ".txt", ".prompty", ".prompt.yml", ".j2", ".json"))
    listed = kind in (".json", ".prompt.yml")
    good = json.dumps(seeds.MESSAGES if kind != ".json" else seeds.MESSAGES["messages"]) if listed else seeds.PROMPT
    text = maker.document(good, json.loads(good)) if listed else maker.mangled(good)
    prompt, _ = read_with_warnings(maker.file(folder, f"prompt{kind}", text))
    read_scenarios(prompt.meta.get("scenarios"), variables=prompt.variables)
    given = {name: maker.value() for name in prompt.variables}
    return render(prompt, {**INPUTS, **given} if maker.rng.random() < 0.7 else given)


def specs(maker: Maker, folder: Path) -> object:
    """Spec files: read, or every problem named; then their checks on an output."""
    text = maker.document(seeds.SPEC_YAML, maker.changed(seeds.SPEC, 1))
    path = maker.file(folder, "prompt.spec.yaml", text)
    if maker.rng.random() < 0.5:
        return examine_spec(path)
    spec = read_spec(path)
    return _edited(maker, path, spec) if maker.rng.random() < 0.3 else spec


def _edited(maker: Maker, path: Path, spec: Spec) -> object:
    """The file edited in place and read again."""
    rules = tuple(rule.replace(rule=_typed(maker)) if maker.rng.random() < 0.5 else rule for rule in spec.rules)
    return write_spec(path, spec.replace(rules=rules[: maker.rng.randrange(1, len(rules) + 1)], intent=_typed(maker)))


def _typed(maker: Maker) -> str:
    """An odd text that a record holds: halves of characters are refused where records are made."""
    return maker.text().encode("utf-8", "replace").decode() or "x"


def candidates(maker: Maker, folder: Path) -> object:
    """Files of candidates: read, or every problem named, or edited in place."""
    text = maker.document(json.dumps(seeds.CANDIDATES), maker.changed(seeds.CANDIDATES, 1))
    path = maker.file(folder, "candidates.yaml", text)
    if maker.rng.random() < 0.4:
        return examine_candidates(path)
    synthesis = read_candidates(path)
    kept = [one.replace(description=_typed(maker)) for one in synthesis.candidates if maker.rng.random() < 0.7]
    return write_candidates(path, synthesis.replace(candidates=tuple(kept), implications=synthesis.implications[:1]))


def histories(maker: Maker, folder: Path) -> object:
    """Two versions of a prompt, and what the second one changed; a file of versions."""
    texts = [maker.mangled(seeds.PROMPT) if maker.rng.random() < 0.7 else maker.text() for _ in range(2)]
    versions = [
        PromptVersion(name=f"v{number}", messages=(Message(role="system", content=text),), fingerprint=str(number))
        for number, text in enumerate(texts)
    ]
    made = deltas(versions)
    history = History(prompt="prompt.md", versions=tuple(versions), deltas=made).to_dict()
    path = maker.file(folder, "versions.json", maker.document(json.dumps(history), maker.changed(history, 1)))
    return packs_of(unasked(made, ())), HISTORY.read(path)


def suites(maker: Maker, folder: Path) -> object:
    """Case files in YAML, JSON lines and CSV: read, and written again in the other forms."""
    kind, good = maker.rng.choice(
        ((".yaml", seeds.CASES_YAML), (".jsonl", seeds.CASES_JSONL), (".csv", seeds.CASES_CSV))
    )
    path = maker.file(folder, f"prompt.cases{kind}", maker.document(good, seeds.CASES))
    if maker.rng.random() < 0.4:
        return examine_suite(path)
    suite = read_suite(path)
    if maker.rng.random() < 0.2:
        return write_suite(path, suite.replace(cases=suite.cases[:-1]))
    return safe_csv.loads(safe_csv.dumps(suite_files.rows_of(suite))), suite_files.jsonl_text(suite)


def exports(maker: Maker, folder: Path) -> object:
    """A suite and a spec that can be read, as promptfoo's configuration."""
    spec = read_spec(maker.file(folder, "prompt.spec.yaml", json.dumps(maker.changed(seeds.SPEC, 1))))
    suite = read_suite(maker.file(folder, "prompt.cases.yaml", json.dumps(maker.changed(seeds.CASES, 1))))
    body = "{{thing}} " + maker.text()
    prompt = Prompt(name="p", messages=(Message(role="user", content=body),), variables=("thing",), fingerprint="f")
    return promptfoo.config(prompt, spec, suite, models=["openai/a", maker.word()], rubrics=True).text


def validated(maker: Maker, folder: Path) -> object:
    """Prompt, spec, cases and settings side by side, by ``validate``."""
    for name, good, value in (
        ("prompt.md", seeds.PROMPT, seeds.MESSAGES),
        ("prompt.spec.yaml", seeds.SPEC_YAML, seeds.SPEC),
        ("prompt.cases.yaml", seeds.CASES_YAML, seeds.CASES),
        ("promptpex.toml", seeds.SETTINGS, seeds.SPEC),
    ):
        maker.file(folder, name, maker.document(good, value) if maker.rng.random() < 0.4 else good)
    return [problem.text() for problem in validate([folder / "prompt.md"])]


def compared(maker: Maker, folder: Path) -> object:
    """Two versions of a prompt and of a spec, by ``diff``."""
    versions = [_prompt(maker), _prompt(maker)]
    spec = read_spec(maker.file(folder, "prompt.spec.yaml", json.dumps(maker.changed(seeds.SPEC, 1))))
    return diff_prompts(*versions, spec=spec)


def _prompt(maker: Maker) -> Prompt:
    body = maker.mangled("Name the colour of the thing in one word. Answer in capitals. Never explain.\n- One.\n- Two.")
    return Prompt(name="p", messages=(Message(role="system", content=body),), variables=(), fingerprint=body)


def assertion_files(maker: Maker, folder: Path) -> object:
    """Files of assertions, ours and promptfoo's."""
    good, value = maker.rng.choice(((seeds.ASSERTIONS_YAML, seeds.ASSERTIONS), ("", seeds.PROMPTFOO)))
    path = maker.file(folder, "asserts.yaml", maker.document(good or json.dumps(value), value))
    checks = assertion_file.read(path)
    row = rows_to_check.row_of({"output": maker.text(), "vars": INPUTS}, 1)
    return _checked(maker, [row], checks)


def _checked(
    maker: Maker, rows: Iterable[rows_to_check.CheckRow], checks: assertion_file.CheckFile | None = None
) -> str:
    """The rows checked in this process, and written in one of the formats."""
    chunks = asyncio.run(LocalEngine().map(batch.RowCheckJob(checks), batch.chunks(rows)))
    return "".join(maker.rng.choice(list(batch.FORMATS.values()))(chain.from_iterable(chunks)))


def assertions(maker: Maker, folder: Path) -> object:
    """One assertion on one output."""
    one = maker.rng.choice([each for each in seeds.CHECKS if each["kind"] != "javascript"])
    made = maker.changed(one) if maker.rng.random() < 0.7 else one
    output = maker.rng.choice(
        (maker.text, lambda: maker.json(maker.value()), lambda: maker.mangled("<p>SELECT RED</p>"))
    )()
    checked: dict[str, Any] = {"cost": maker.value(), "latency_ms": maker.value()} if maker.rng.random() < 0.1 else {}
    return check(output, [made], vars=_inputs(maker), **checked)


def _inputs(maker: Maker) -> dict[str, Any]:
    """A case's inputs, some of them odd; a mapping, as every door makes sure."""
    odd = {maker.rng.choice((*INPUTS, "other")): maker.value() for _ in range(maker.rng.choice((0, 0, 1, 2)))}
    return {**INPUTS, **odd}


def scripts(maker: Maker, folder: Path) -> object:
    """Assertions in JavaScript and Python, and transforms, mangled."""
    if maker.rng.random() < 0.4:
        code = maker.rng.choice(seeds.PYTHON)
        code = maker.mangled(code) if maker.rng.random() < 0.8 else code
        return check(maker.text(), [{"kind": "python", "value": code}], vars=INPUTS, prompt=maker.text())
    good = maker.rng.choice(("output.length < 30", "({pass: output === 'RED', score: 1, reason: 'x'})", "return 1/0"))
    made: dict[str, Any] = {"kind": "javascript", "value": maker.mangled(good) if maker.rng.random() < 0.8 else good}
    if maker.rng.random() < 0.3:
        made = {"kind": "contains", "value": "R", "transform": maker.mangled("output.trim()")}
    return check(maker.text(), [made], vars=INPUTS)


def output_rows(maker: Maker, folder: Path) -> object:
    """Files of outputs for ``check``, as JSON lines and CSV."""
    kind = maker.rng.choice((".jsonl", ".csv"))
    good = json.dumps(seeds.ROW) + "\n" if kind == ".jsonl" else 'id,output,assert\n1,RED,"[{""kind"": ""is-json""}]"\n'
    path = maker.file(folder, f"outputs{kind}", maker.document(good, seeds.ROW))
    return _checked(maker, rows_to_check.read(path))


def settings_files(maker: Maker, folder: Path) -> object:
    """The project's settings file."""
    text = seeds.SETTINGS
    for _ in range(maker.rng.randrange(1, 3)):
        text = maker._mangled_once(text)
    maker.file(folder, "promptpex.toml", text if maker.rng.random() < 0.8 else _setting(maker))
    return config.load({}, start=folder, env={})


def _setting(maker: Maker) -> str:
    """One setting with any value that TOML can say."""
    try:
        value = json.dumps(json.loads(maker.json(maker.value())), ensure_ascii=True)
    except ValueError:
        value = "nan"
    return f"{maker.rng.choice(list(config.Settings.model_fields))} = {value}\n"


def settings_values(maker: Maker, folder: Path) -> object:
    """Flags and variables."""
    names = list(config.Settings.model_fields)
    flags = {maker.rng.choice(names): maker.value() for _ in range(maker.rng.randrange(3))}
    env = {f"PROMPTPEX_{maker.rng.choice(names).upper()}": maker.text() for _ in range(maker.rng.randrange(3))}
    return config.load(flags, start=folder, env=env)


def model_names(maker: Maker, folder: Path) -> object:
    """Names of models with their parameters, and who would answer."""
    models = parse_models(maker.mangled(maker.rng.choice(seeds.NAMES)), named=NAMED)
    return [provider_of(model.name, model.api_base) for model in models]


def env_files(maker: Maker, folder: Path) -> object:
    """Keys in a file beside the prompt."""
    path = maker.file(folder, ".env", maker.mangled(seeds.ENV_FILE))
    given = read_env_file(path, further=("SMALL_API_KEY",))
    if any(name.startswith("PROMPTPEX_") or not name.endswith(("_API_KEY", "_TOKEN")) for name in given.keys):
        raise RuntimeError("something other than a provider's key was taken")
    return given


def weights(maker: Maker, folder: Path) -> object:
    """Weights of cases, as a flag and as a table."""
    setting = maker.mangled(maker.rng.choice(seeds.WEIGHTS)) if maker.rng.random() < 0.7 else maker.value()
    resolved = config.load({"weights": setting}, start=folder, env={})
    check_weights(resolved.settings.weights, ["r1", "r2", None], [False, True, False])
    return resolved


def gguf_heads(maker: Maker, folder: Path) -> object:
    """Heads of files of weights."""
    pairs = _gguf_text("general.architecture") + struct.pack("<I", 8) + _gguf_text("llama")
    pairs += _gguf_text("llama.context_length") + struct.pack("<II", 4, 2048)
    pairs += _gguf_text("a") + struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 1, 2)
    path = folder / "weights.gguf"
    path.write_bytes(maker.flipped(b"GGUF" + struct.pack("<IQQ", 3, 0, 3) + pairs))
    try:
        return llama_engine.read_head(path)
    except llama_engine.NotGguf:
        return None


def _gguf_text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def samples(maker: Maker, folder: Path) -> object:
    """Samples in front matter, and in the files that it names."""
    maker.file(folder, "samples.csv", maker.document(seeds.SAMPLES_CSV, INPUTS))
    maker.file(folder, "samples.jsonl", maker.document(json.dumps(INPUTS) + "\n", INPUTS))
    entries = ["apple", INPUTS, {"file": "samples.csv"}, {"file": "samples.jsonl"}]
    value = maker.rng.choice((entries, maker.changed(entries), "samples.csv", "samples.jsonl", maker.text()))
    return read_samples(value, variables=("thing", "count"), path=folder / "prompt.md")


def schemas(maker: Maker, folder: Path) -> object:
    """JSON schemas in checks, and values held against them."""
    made = maker.changed(seeds.SCHEMA)
    try:
        schema = compiled(made if isinstance(made, dict) else {"not": made})
        return schema.problem(
            maker.value() if maker.rng.random() < 0.5 else maker.changed({"a": "x", "b": [1], "c": 1})
        )
    except Unscorable:
        return None


def tests_csv(maker: Maker, folder: Path) -> object:
    """The published tests.csv, and any CSV."""
    path = maker.file(folder, "tests.csv", maker.document(seeds.TESTS_CSV, INPUTS))
    if maker.rng.random() < 0.5:
        return safe_csv.read(path, what="file")
    return promptpex_files.csv_tests(path, rule_count=maker.rng.choice((None, 1, 2)))


def json_replies(maker: Maker, folder: Path) -> object:
    """JSON as models write it: in prose, in fences, cut, doubled."""
    text = maker.json(maker.value())
    around = maker.rng.choice(("{}", "Here:\n```json\n{}\n```\nDone.", "<think>{}</think>{}", "{}{}", "a {} b"))
    try:
        return read_json_reply(maker.mangled(around.replace("{}", text)))
    except ReplyError:
        return None


def server_replies(maker: Maker, folder: Path) -> object:
    """Bodies of replies of OpenAI-compatible servers and of Ollama, usage and log-probabilities among them."""
    good = maker.rng.choice((seeds.CHAT, seeds.OLLAMA))
    body = maker.json(maker.changed(good)) if maker.rng.random() < 0.8 else maker.mangled(json.dumps(good))
    payload = http.parsed(maker.bytes_of(body), {}, model="m", where="w")
    if good is seeds.CHAT or not isinstance(payload, dict):
        return usable(openai_format.completion_of(payload, model="m"), "m")
    return usable(ollama._completion(http.JsonReply(payload, 1.0), "m"), "m")


def usage_numbers(maker: Maker, folder: Path) -> object:
    """Counts, costs and times in a reply, kept as a record keeps them."""
    number = maker.value()
    chat = {**seeds.CHAT, "usage": {"prompt_tokens": number, "completion_tokens": maker.value()}}
    completion = openai_format.completion_of(chat, model="m", latency_ms=1.0)
    text = completion.model_dump_json()
    return Completion.model_validate(json.loads(text))


def error_replies(maker: Maker, folder: Path) -> object:
    """Replies that are not a success, and how long they ask to wait."""
    body = maker.bytes_of(maker.document('{"error": {"message": "no", "code": "x"}}', {"error": {"message": "no"}}))
    headers = {"Retry-After": maker.mangled("Wed, 21 Oct 2026 07:28:00 GMT"), "retry-after-ms": maker.word()}
    headers["Location"] = maker.mangled("http://127.0.0.1/v1")
    return http.refusal(maker.rng.choice((301, 400, 401, 404, 429, 500, 599)), headers, body, model="m", where="w")


def rule_checks(maker: Maker, folder: Path) -> object:
    """A spec that can be read: its conditions, its checks on hostile outputs, and what rules come after others."""
    from promptpex.core.records import Output

    changed = json.dumps(maker.changed(seeds.SPEC) if maker.rng.random() < 0.7 else seeds.SPEC)
    rules = read_spec(maker.file(folder, "prompt.spec.yaml", changed)).rules
    rules = tuple(rule.replace(after=maker.rng.choice(("r1", "r2", "r3", None))) for rule in rules)
    made = [
        Output(case="c1", model="m", text=maker.text()),
        Output(case="c2", model="m", text=maker.json(maker.value())),
    ]
    expected = ExpectedOutput(maker.text(), maker.rng.choice(MATCH_KINDS))
    unconcerned = check_conditions(rules, made, lambda _: _inputs(maker))
    chunks = chunked(
        OutputOfCase(each, _inputs(maker), maker.rng.choice((None, expected)), maker.text()) for each in made
    )
    checked = asyncio.run(LocalEngine().map(RuleCheckJob(rules), chunks))
    return after_broken(rules, [*unconcerned, *(each.verdict for each in chain.from_iterable(checked))])


def metrics(maker: Maker, folder: Path) -> object:
    """Metric files beside a prompt: the criteria filled in with hostile values, the code run on a hostile output."""
    kind = maker.rng.choice((".md", ".md", ".md", ".prompty", ".js"))
    name = maker.rng.choice(("tone", "tone", "tone", "Expected", "a b", "x" * 41, "tone\n", "é", "a.b", "\udc80"))
    good = seeds.METRIC_CODE if kind == ".js" else seeds.METRIC
    maker.file(folder, f"{name}.metric{kind}", maker.mangled(good) if maker.rng.random() < 0.9 else good)
    spec, case = Spec.model_validate(seeds.SPEC), Case(id="c1", inputs=_inputs(maker), expected=_typed(maker))
    criteria = criteria_texts(_prompt(maker), spec)
    return [
        check(maker.text(), [{"kind": "javascript", "value": metric.code}], vars=case.inputs)
        if metric.code
        else criteria.text(metric, case, maker.text())
        for metric in metrics_beside(folder / "prompt.md")
    ]


def comparisons(maker: Maker, folder: Path) -> object:
    """Outputs beside expected ones, by every comparison that code makes."""
    texts = [maker.text(), maker.json(maker.value()), maker.document("1,234.5\n- a\n", [1, "a"])]
    kind = maker.rng.choice([*(kind for kind in MATCH_KINDS if kind != ASKED), "numeric:1%", maker.word()])
    try:
        return compare(maker.rng.choice(texts), ExpectedOutput(maker.rng.choice(texts), kind))
    except (Unscorable, ValueError) as error:
        if isinstance(error, ValueError) and kind in (*MATCH_KINDS, "numeric:1%"):
            raise RuntimeError("a comparison that exists was refused") from error
        return error


READERS: dict[Reader, int] = {
    prompts: 60, specs: 40, suites: 50, exports: 15, validated: 6, compared: 15, assertion_files: 30, assertions: 120,
    scripts: 6, output_rows: 50, settings_files: 40, settings_values: 40, model_names: 90, env_files: 30, weights: 30,
    gguf_heads: 40, samples: 40, schemas: 50, tests_csv: 40, json_replies: 90, server_replies: 90, usage_numbers: 40,
    error_replies: 30, recordings: 30, grade_files: 30, imported_grades: 20, run_folders: 25, stores: 6,
    rule_checks: 15, comparisons: 30, metrics: 30, candidates: 30, histories: 30, run_lists: 15,
    imports: 60,
}  # fmt: skip
"""Each reader with its weight among the inputs that are not replies for stages."""

GOOD_ENDS = (PromptpexError,)


def clean(folder: Path) -> None:
    """Takes away what the last input left."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                os.unlink(entry.path)
