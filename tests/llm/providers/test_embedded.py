"""The embedded model: contexts that grow, one load per process, cancellation, schemas."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ContextTooSmall, TimedOut
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.embedded import MOST_ITEMS, EmbeddedClient, bounded, grammar_schema
from promptpex.llm.providers.llama_engine import Ask, LlamaEngine, LlamaEngineKey, acquire, release, thread_count
from promptpex.llm.providers.weights import found_default
from tests.e2e.faults import until
from tests.llm.providers.questions import asked

MODEL = "embedded/smollm2-135m"


def _weights() -> Path:
    path = found_default()
    assert path is not None
    return path


def _ask(text: str, **more: Any) -> Ask:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 2, "temperature": 0, **more}
    return Ask(MODEL, body | {"stream": True, "stream_options": {"include_usage": True}}, threading.Event())


def _shallow_client(path: Path, **options: Any) -> EmbeddedClient:
    return EmbeddedClient(MODEL, ProviderOptions(embedded_model_path=str(path), **options))


@pytest.mark.long
@pytest.mark.embedded
def test_the_context_grows_with_the_prompt_up_to_what_was_trained(shallow: Path) -> None:
    engine = LlamaEngine(LlamaEngineKey(shallow, threads=1, slots=1))
    engine.ask(_ask("hi"))
    assert engine.context == 2048
    with pytest.raises(ContextTooSmall, match="8192"):
        engine.ask(_ask("hello " * 8500))
    assert engine.context == 8192
    engine.close()


@pytest.mark.long
@pytest.mark.embedded
def test_an_answer_that_the_context_cut_is_asked_again_with_room(shallow: Path) -> None:
    engine = LlamaEngine(LlamaEngineKey(shallow, threads=1, slots=1), first_context=256)
    payload, _ = engine.ask(_ask("ệ" * 100, max_tokens=40, ignore_eos=True))
    assert engine.context == 512
    assert payload["usage"]["completion_tokens"] == 40
    assert payload["choices"][0]["finish_reason"] == "length"
    engine.close()


@pytest.mark.embedded
async def test_clients_of_one_model_share_it() -> None:
    first, second = EmbeddedClient(MODEL), EmbeddedClient(MODEL)
    await first.complete(asked(MODEL, max_tokens=1))
    await second.complete(asked(MODEL, max_tokens=1))
    key = LlamaEngineKey(_weights(), thread_count(None), 1)
    engine = acquire(key)
    assert engine.users == 3
    assert release(engine) is None
    await first.close()
    assert (await second.complete(asked(MODEL, max_tokens=1))).tokens_out == 1
    await second.close()
    fresh = acquire(key)
    assert fresh is not engine
    assert release(fresh) is not None


@pytest.mark.long
@pytest.mark.embedded
def test_several_slots_answer_side_by_side_while_the_context_grows(shallow: Path) -> None:
    engine = LlamaEngine(LlamaEngineKey(shallow, threads=1, slots=2), first_context=128)
    texts = ["one", "two " * 120, "three", "four"]
    asks = [engine.pool.submit(engine.ask, _ask(text)) for text in texts]
    assert [each.result(60)[0]["usage"]["completion_tokens"] for each in asks] == [2, 2, 2, 2]
    engine.close()


@pytest.mark.embedded
async def test_a_cancelled_request_stops_the_model() -> None:
    """The next one does not wait for the story, which would take as much CPU as a hundred short answers."""
    client = EmbeddedClient(MODEL)
    await client.complete(asked(MODEL, max_tokens=1))
    begun = time.process_time()
    await client.complete(asked(MODEL, "Write a very long story.", max_tokens=10))
    short = time.process_time() - begun
    task = asyncio.create_task(client.complete(asked(MODEL, "Write a very long story.", max_tokens=1000)))
    begun = time.process_time()
    await until(lambda: time.process_time() - begun > short)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    begun = time.process_time()
    await client.complete(asked(MODEL, max_tokens=1))
    assert time.process_time() - begun < 40 * short
    await client.close()


@pytest.mark.embedded
async def test_an_answer_that_takes_too_long_is_timed_out(shallow: Path) -> None:
    client = _shallow_client(shallow, timeout_s=0.5)
    with pytest.raises(TimedOut, match=MODEL):
        await client.complete(asked(MODEL, "Write a very long story.", max_tokens=1000, extra={"ignore_eos": True}))
    await client.close()


@pytest.mark.embedded
async def test_a_schema_that_no_grammar_holds_is_asked_without(shallow: Path) -> None:
    client = _shallow_client(shallow)
    for _ in range(2):
        answer = await client.complete(asked(MODEL, schema={"type": "no-such-type"}, max_tokens=3))
        assert answer.tokens_out == 3
    await client.close()


@pytest.mark.long
@pytest.mark.embedded
async def test_a_pattern_that_no_grammar_holds_is_no_noise(capfd: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": r"\bword\b"}}, "required": ["a"]}
    client = EmbeddedClient(MODEL)
    answer = await client.complete(asked(MODEL, schema=schema, max_tokens=20, temperature=0))
    await client.close()
    assert answer.text.lstrip().startswith("{")
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


@pytest.mark.embedded
async def test_no_path_of_this_machine_is_reported() -> None:
    client = EmbeddedClient(f"embedded/{_weights()}")
    answer = await client.complete(asked(f"embedded/{_weights()}", max_tokens=1))
    await client.close()
    assert answer.model_reported == _weights().stem


@pytest.mark.embedded
@pytest.mark.parametrize(
    "content", [b"", b"not a model", b"GGUF" + b"\x00" * 500, b"GGUF\x03\x00\x00\x00" + b"\x00" * 16]
)
async def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.gguf"
    file.write_bytes(content)
    client = EmbeddedClient(f"embedded/{file}")
    with pytest.raises(Exception, match=r"bad\.gguf") as caught:
        await client.complete(asked(f"embedded/{file}"))
    await client.close()
    assert type(caught.value).__module__ == "promptpex.core.errors"


@pytest.mark.long
@pytest.mark.embedded
def test_a_process_ends_cleanly_with_a_model_loaded_and_busy() -> None:
    code = (
        "import asyncio, time\n"
        "from promptpex.llm.providers.embedded import EmbeddedClient\n"
        "from promptpex.core.records import Message, Params, Request\n"
        "async def main():\n"
        f"    client = EmbeddedClient({MODEL!r})\n"
        "    story = (Message(role='user', content='Tell a long story'),)\n"
        f"    request = Request(model={MODEL!r}, messages=story, params=Params(max_tokens=900))\n"
        "    await client.complete(request.model_copy(update={'params': Params(max_tokens=1)}))\n"
        "    begun = time.process_time()\n"
        "    task = asyncio.create_task(client.complete(request))\n"
        "    while time.process_time() - begun < 0.2:\n"
        "        await asyncio.sleep(0.01)\n"
        "    print('busy', not task.done(), flush=True)\n"
        "    raise KeyboardInterrupt\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "busy True"
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert done.returncode in (1, 130, -2)


SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"pattern": st.sampled_from([r"^\d+$", r"\d", r"^(?=a)b$", r"^a\b$"])}
    ),
    lambda inner: (
        st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(st.sampled_from(["pattern", "a"]), inner, max_size=2),
            }
        )
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)})
    ),
    max_leaves=6,
)


@given(SCHEMAS)
def test_only_patterns_are_taken_out_of_a_schema(schema: dict[str, Any]) -> None:
    kept = grammar_schema(schema)
    unanchored = re.compile(r'"pattern": "(?!\^)')
    assert not unanchored.search(json.dumps(kept))
    assert grammar_schema(kept) == kept
    if "properties" in schema:
        assert set(kept["properties"]) == set(schema["properties"])


def test_a_very_small_model_gets_short_lists_but_as_many_items_as_are_demanded() -> None:
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": text, "maxItems": 20}}}
    short = bounded(schema)["properties"]["a"]
    assert (short["maxItems"], "maxLength" in short["items"]) == (MOST_ITEMS, True)
    assert bounded({"type": "array", "items": text, "minItems": 9, "maxItems": 9})["maxItems"] == 9
    assert bounded({"type": "array", "items": text, "maxItems": 2})["maxItems"] == 2
