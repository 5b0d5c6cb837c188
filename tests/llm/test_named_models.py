"""Names that users give to models: what is read, what they stand for, and which names are refused."""

from __future__ import annotations

from random import Random
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError
from promptpex.core.records import Case, Completion, Params
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.named_models import NamedModel, split_name
from promptpex.llm.names import FURTHER_PARAMETERS, PARAMETERS, parse_model, parse_models
from promptpex.llm.stack import StackOptions, build, rates_for
from promptpex.llm.structured import Structured
from promptpex.workflow.execution.collect import Cell, request_for
from tests.llm.questions import request
from tests.samples import prompt

PROMPT, CASE = prompt(), Case(id="c1", inputs={"thing": "sky", "place": "here"})
NAMED = {
    "small": NamedModel(model="openai/x?top_k=3", api_base="http://127.0.0.1:1/v1", temperature=0.5, max_tokens=9),
    "paid": NamedModel(model="openai/y", price_input=2, price_output=8, key_env="PAID_API_KEY"),
}


def test_a_name_is_the_label_and_what_stands_behind_it_is_asked() -> None:
    model = parse_model("small=openai/x?temperature=0&api_base=http://127.0.0.1:1/v1")
    plain = parse_model("openai/x?temperature=0&api_base=http://127.0.0.1:1/v1")
    assert (model.label, model.name, model.params.temperature) == ("small", "openai/x", 0.0)
    assert model.replace(label=plain.label, spelled=None) == plain
    assert model.as_asked == plain.label


def test_the_request_does_not_depend_on_the_name() -> None:
    ids = {
        request_for(PROMPT, Cell(CASE, model, 0), Params()).id
        for model in parse_models("openai/x?seed=3") + parse_models("a=openai/x?seed=3")
    }
    assert len(ids) == 1
    named = parse_model("paid", named=NAMED)
    asked = request_for(PROMPT, Cell(CASE, named, 0), Params())
    assert (asked.label, asked.price, asked.key_env) == ("paid", (2.0, 8.0), "PAID_API_KEY")
    assert asked.id == request_for(PROMPT, Cell(CASE, parse_model("openai/y"), 0), Params()).id


def test_a_judge_is_the_same_judge_under_another_name() -> None:
    structured = Structured(FakeClient([]))
    plain, named = parse_model("openai/x?top_p=0.5"), parse_model("strict=openai/x?top_p=0.5")
    assert RoleModel(structured, plain).identity == RoleModel(structured, named).identity
    assert RoleModel(structured, named).label == "strict"


def test_a_name_of_the_settings_brings_server_parameters_and_price() -> None:
    small, hot = parse_models("small,small?temperature=1", named=NAMED)
    assert (small.label, small.name, small.api_base) == ("small", "openai/x", "http://127.0.0.1:1/v1")
    assert small.params == Params(temperature=0.5, max_tokens=9, extra={"top_k": 3})
    assert (hot.label, hot.params) == ("small?temperature=1", small.params.replace(temperature=1.0))
    renamed = parse_model("hot=small?temperature=1&top_k=5", named=NAMED)
    assert (renamed.label, renamed.params.extra) == ("hot", {"top_k": 5})
    assert rates_for(parse_model("paid", named=NAMED), {"openai/y": (1, 1)}) == (2.0, 8.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("openai=openai/x", "is that of a provider"),
        ("anthropic=openai/x", "is that of a provider"),
        ("gpt-4o-mini=openai/x", "is that of a model itself"),
        ("none=openai/x", "has a meaning of its own"),
        ("under_test=openai/x", "has a meaning of its own"),
        ("my model=openai/x", "cannot be the name of a model"),
        ("=openai/x", "cannot be the name of a model"),
        (f"{'n' * 41}=openai/x", "cannot be the name of a model"),
        ("small=", "names no model"),
        ("small=openai/z", r"given here and in \[models.small\] of the settings"),
        ("a=openai/x,a=openai/y", "The model a is named twice"),
        ("a=openai/x,b=openai/x", "a and b are the same model with the same parameters"),
        ("smal", "No model is called 'smal'; did you mean 'small'"),
        ("a=openai/x?api_key=canary-93-canary", "a key|no parameter"),
        ("a=openai/x?temprature=0", "no parameter 'temprature'; did you mean 'temperature'; these can be given"),
    ],
)
def test_a_name_that_would_mislead_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        parse_models(text, named=NAMED)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "label", ["fake/a=b", 'fake/{"a"=1}', "gpt-4o?temperature=0", "m:1?top_k=2", "replay/a=b.jsonl"]
)
def test_an_equals_sign_elsewhere_makes_no_name(label: str) -> None:
    assert split_name(label) == (None, label)


@given(st.text(max_size=60))
def test_any_text_has_a_name_or_none_or_is_refused(text: str) -> None:
    try:
        name, model = split_name(text)
    except ConfigError:
        return
    assert name is None or model
    assert name is None or (text.lstrip().startswith(name) and text.rstrip().endswith(model))


def test_every_parameter_of_a_name_can_stand_in_the_settings() -> None:
    others = {"model", "api_base", "key_env", "price_input", "price_output"}
    assert set(NamedModel.model_fields) == others | set(PARAMETERS) | set(FURTHER_PARAMETERS)


async def test_the_price_of_a_name_is_what_its_answers_cost() -> None:
    answers = [
        Completion(text="a", tokens_in=1_000_000, tokens_out=500_000, cost_usd=7.0),
        Completion(text="b", tokens_in=5, cost_usd=7.0),
        Completion(text="c", cost_usd=7.0),
    ]
    client = build(FakeClient(answers), store=None, rng=Random(1), clock=monotonic, options=StackOptions())
    priced = request(price=(2.0, 8.0))
    assert (await client.complete(priced)).cost_usd == 6.0
    assert (await client.complete(priced)).cost_usd is None
    assert (await client.complete(request())).cost_usd == 7.0
