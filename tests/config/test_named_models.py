"""``[models.NAME]`` in settings files: what it sets, over what, whose word it is, and what is refused where."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.codecs.files.find_settings_files import user_file
from promptpex.config import Resolved, load
from promptpex.core.errors import ConfigError
from promptpex.workflow.roles import provider_options

SMALL = '[models.small]\nmodel = "openai/x"\napi_base = "http://127.0.0.1:9/v1"\nkey_env = "SMALL_API_KEY"\n'


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def project(text: str, **flags: object) -> Resolved:
    Path("promptpex.toml").write_text(text, encoding="utf-8")
    return load(flags, start=Path.cwd(), env={})


def own(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, encoding="utf-8")


def test_names_and_the_models_under_test_stand_in_one_table() -> None:
    resolved = project(f'[models]\nunder_test = ["small"]\n{SMALL}temperature = 0\nprice_input = 1\nprice_output = 2\n')
    assert resolved.settings.models == ("small",)
    small = resolved.settings.named_models["small"]
    assert (small.model, small.temperature, small.price) == ("openai/x", 0.0, (1.0, 2.0))
    assert resolved.origins["models"] == resolved.origins["named_models"] == "file promptpex.toml"


def test_a_name_of_the_project_takes_the_place_of_the_users_as_a_whole() -> None:
    own(SMALL + '[models.large]\nmodel = "openai/y"\nkey_env = "LARGE_API_KEY"\n')
    resolved = project('[models.small]\nmodel = "openai/z"\n', models=["small", "large"])
    named = resolved.named_models
    assert (named["small"].model, named["small"].api_base, named["small"].key_env) == ("openai/z", None, None)
    assert named["large"].key_env == "LARGE_API_KEY"


def test_a_server_and_a_key_of_the_project_need_consent() -> None:
    stranger = project(SMALL, models=["small"])
    assert provider_options(stranger).key_servers == frozenset()
    assert (stranger.named_models["small"].key_env, stranger.untrusted_keys) == (None, ("small",))
    trusted = project(SMALL, models=["small"], trust_settings=True)
    assert provider_options(trusted).key_servers == {"http://127.0.0.1:9"}
    assert trusted.named_models["small"].key_env == "SMALL_API_KEY"


def test_what_the_user_names_needs_none_whoever_chooses_it() -> None:
    own(SMALL)
    resolved = project('models = ["small"]\n')
    assert provider_options(resolved).key_servers == {"http://127.0.0.1:9"}
    assert resolved.named_models["small"].key_env == "SMALL_API_KEY"
    elsewhere = project('models = ["small?api_base=http://127.0.0.1:10/v1"]\n')
    assert provider_options(elsewhere).key_servers == frozenset()


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("seed = 1", "model is missing"),
        ('modle = "openai/x"', "there is no key 'modle' for a model; did you mean 'model'"),
        ('model = "openai/x"\napi_key = "canary"', r"API keys do not belong in settings.* key_env"),
        ('model = "openai/x"\nkey_env = "PATH"', "PATH, which is not named like a key"),
        ('model = "openai/x"\nkey_env = "a b"', "key_env must be the name of an environment variable"),
        ('model = "anthropic/x"\nkey_env = "MY_API_KEY"', "key_env is for openai/NAME"),
        ('model = "anthropic/x"\napi_base = "http://127.0.0.1:9"', "api_base= is for openai/NAME"),
        (
            'model = "openai/x"\napi_base = ["http://h/v1", "http://i/v1"]',
            "for several servers put a proxy in front of",
        ),
        ('model = "openai/x"\nprice_input = 1', "price_input and price_output belong together"),
        ('model = "openai/x"\nprice_input = -1\nprice_output = 1', "price_input: it should be 0 or more"),
        ('model = "openai/x"\ntemperature = 1000', "temperature must be from 0 to 100"),
        ('model = "openai/x"\nreasoning_effort = "http://x"', "reasoning_effort must be a word"),
        ('model = "openai/x"\napi_base = "http://u:canary@h/v1"', "must not hold a user|API keys"),
        ('model = "y=openai/x"', "the model has a name already; write model = 'openai/x'"),
        ('model = "a b"', "is not a model name"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_repeats_no_key(entry: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence) as caught:
        project(f"seed = 1\n[models.small]\n{entry}\n")
    assert caught.value.line == 2
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("replay/../out.jsonl", "outside the project"), ("embedded/hf:a/b/c.gguf", "would be downloaded")],
)
@pytest.mark.parametrize("way", ["table", "list"])
def test_a_name_leads_nowhere_that_its_model_may_not(model: str, sentence: str, way: str) -> None:
    text = f'[models.n]\nmodel = "{model}"\n' if way == "table" else f'models = ["n={model}"]\n'
    with pytest.raises(ConfigError, match=sentence):
        project(text)
