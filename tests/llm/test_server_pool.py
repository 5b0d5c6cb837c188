"""Several servers for one model: what a list may be, and that no request depends on it."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.config.named_models import named_problems
from promptpex.core.errors import ConfigError
from promptpex.core.records import ModelName, Request
from promptpex.llm.named_models import NamedModel
from promptpex.llm.names import parse_model, parse_models
from promptpex.llm.server_pool import MAX_SERVERS
from promptpex.llm.stack import rates_for
from tests.llm.questions import request

A, B, C = (f"http://127.0.0.1:{port}/v1" for port in (1, 2, 3))


def named(api_base: object, **more: object) -> dict[str, NamedModel]:
    return {"small": NamedModel.model_validate({"model": "openai/x", "api_base": api_base, **more})}


def small(api_base: object, label: str = "small", **more: object) -> ModelName:
    return parse_model(label, named=named(api_base, **more))


def asked(model: ModelName) -> Request:
    return request(
        model=model.name, api_base=model.api_base, servers=model.servers, backend=model.backend, params=model.params
    )


@given(st.lists(st.integers(1, 60000), min_size=1, max_size=9, unique=True), st.randoms(use_true_random=False))
def test_a_request_depends_neither_on_the_list_nor_on_its_order_nor_on_who_answers(
    ports: list[int], rng: random.Random
) -> None:
    servers = [f"http://127.0.0.1:{port}/v1" for port in ports]
    request_id = asked(small(servers)).id
    for other in (rng.sample(servers, len(servers)), servers[:1], [*servers, "http://elsewhere/v1"]):
        assert asked(small(other)).id == request_id
    assert {asked(small(servers)).replace(sent_to=server).id for server in servers} == {request_id}


def test_another_name_in_the_settings_and_a_single_address_are_other_requests() -> None:
    ids = {asked(small([A])).id, asked(small(A)).id, asked(small(B)).id, asked(parse_model("openai/x")).id}
    other = parse_model("large", named={"large": named([A])["small"]})
    assert len(ids | {asked(other).id}) == 5
    assert asked(small([A], "tables=small")).id in ids


def test_a_single_address_keeps_its_id() -> None:
    """Replies that older versions stored are found by it."""
    assert (
        asked(small("http://127.0.0.1:1/v1")).id == "4e0bb0b6a9d9534ead0030eeb5c825e4484e5eee82ce8938e9b7a69bbe578732"
    )


def test_what_a_model_is_asked_knows_its_servers_and_stores_none() -> None:
    model = small([A, B])
    assert (model.api_base, model.servers, model.spelled) == (None, (A, B), "openai/x")
    assert "servers" not in asked(model).to_dict()
    assert asked(model).replace(sent_to=B).address == B


def test_parameters_and_a_server_of_ones_own_go_before_the_list() -> None:
    model = small([A, B], "small?temperature=1")
    assert (model.params.temperature, model.servers) == (1.0, (A, B))
    elsewhere = small([A, B], f"small?api_base={C}")
    assert (elsewhere.api_base, elsewhere.servers, elsewhere.backend) == (C, (), None)


@pytest.mark.parametrize(
    ("listed", "sentence"),
    [
        ([], "api_base: the list is empty; name a server"),
        ([A, B, f"{A}/"], f"{A} is listed twice; list it once"),
        (["http://127.0.0.1:80/v1", "http://127.0.0.1"], "is listed twice, once as http://127.0.0.1:80/v1"),
        ([A, "https://h/v1"], "http and https are mixed"),
        ([A, "ftp://h"], "is not an http or https URL"),
        ([A, "http://u:canary@h/v1"], "API keys do not belong in settings"),
        ([A, 5], "each server of the list should be an address in quotes"),
        ([A, " "], "each server of the list should be an address in quotes"),
        (5, "it should be the address of a server in quotes, or a list of several"),
        ([f"http://h:{port}/v1" for port in range(1, MAX_SERVERS + 2)], "65 servers are listed; .* up to 64"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_in_a_sentence(listed: object, sentence: str) -> None:
    ((name, problem),) = named_problems({"small": {"model": "openai/x", "api_base": listed}})
    assert name == "small"
    assert re.search(sentence, problem), problem
    assert "canary" not in problem


def test_servers_of_two_kinds_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"different ways: .*:1/v1 as openai-compatible and .*:2 as ollama"):
        small([A, "http://127.0.0.1:2"], model="llama3.2:1b")


def test_a_provider_of_its_own_address_takes_no_list() -> None:
    with pytest.raises(ConfigError, match="api_base= is for openai/NAME"):
        small([A, B], model="anthropic/x")


def test_a_server_beside_the_list_is_one_too_many() -> None:
    with pytest.raises(ConfigError, match=r"api_base is given twice.*a list in the settings"):
        small([A, B], model=f"openai/x?api_base={C}")
    with pytest.raises(ConfigError, match=r"api_base is given twice.*a list in the settings"):
        parse_model(f"openai/x?api_base={A}&api_base={B}")


def test_two_names_for_the_same_servers_are_refused_in_whatever_order() -> None:
    both = {**named([A, B]), "other": named([B, A])["small"]}
    with pytest.raises(ConfigError, match="are the same model"):
        parse_models("small,other", named=both)


def test_a_price_that_only_some_servers_have_is_unknown() -> None:
    assert rates_for(small(["https://api.openai.com/v1"], model="openai/gpt-4o-mini"), {}) is not None
    both = small(["https://api.openai.com/v1", "https://elsewhere/v1"], model="openai/gpt-4o-mini")
    assert rates_for(both, {}) is None
    assert rates_for(small([A, B], price_input=1, price_output=2), {}) == (1.0, 2.0)
