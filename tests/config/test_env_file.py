"""Keys from ``.env`` files: what is taken, what is not, and how long it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.config import load
from promptpex.config.env_file import LONGEST_FILE, in_environment, read_env_file
from promptpex.llm.providers.prices import key_variable, known_providers

KEY = "canary-of-a-file-93"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_TOKEN")):
            monkeypatch.delenv(name)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")


def env_file(text: str | bytes, place: str = ".env") -> Path:
    path = Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def file_in_force(start: str = ".", **flags: object) -> str | None:
    Path(start).mkdir(parents=True, exist_ok=True)
    return load(flags, start=Path(start), env={}).env_file


def test_the_usual_ways_of_writing_are_read() -> None:
    path = env_file(
        f"\ufeff# keys\nexport OPENAI_API_KEY=\"{KEY}1\"\r\nANTHROPIC_API_KEY = '{KEY}2'  # mine\nGROQ_API_KEY={KEY}3\n"
        "MISTRAL_API_KEY=\nHF_TOKEN=hf-canary-93\nsome words\n"
    )
    assert dict(read_env_file(path).keys) == {
        "OPENAI_API_KEY": f"{KEY}1",
        "ANTHROPIC_API_KEY": f"{KEY}2",
        "GROQ_API_KEY": f"{KEY}3",
        "HF_TOKEN": "hf-canary-93",
    }


@pytest.mark.parametrize(
    "name",
    [
        "PROMPTPEX_API_KEY", "PROMPTPEX_MODELS", "PROMPTPEX_TRUST_SETTINGS", "PROMPTPEX_STORE", "OPENAI_BASE_URL",
        "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "AZURE_API_BASE", "OLLAMA_HOST", "HTTPS_PROXY", "http_proxy",
        "NO_PROXY", "PATH", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "HOME", "XDG_CONFIG_HOME", "SSL_CERT_FILE",
        "CI", "LITELLM_MODE", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS",
        "DATABASE_API_KEY",
        "openai_api_key", "SECRET_TOKEN",
    ],
)  # fmt: skip
def test_nothing_but_keys_of_providers_is_taken(name: str) -> None:
    given = read_env_file(env_file(f"{name}={KEY}\n"))
    assert dict(given.keys) == {}
    assert KEY not in "".join(given.notices)


def test_what_people_expect_to_count_is_named() -> None:
    given = read_env_file(env_file(f"OPENAI_BASE_URL=http://x\nPROMPTPEX_MODELS=a\nOTHER=1\nOPENAI_API_KEY={KEY}\n"))
    taken, unused = given.notices
    assert taken == "OPENAI_API_KEY taken from .env"
    assert unused.startswith("2 variables of .env not used (OPENAI_BASE_URL, PROMPTPEX_MODELS): it gives keys")


@pytest.mark.parametrize(
    ("set_", "written"),
    [
        ("OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
        ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
    ],
)
@pytest.mark.parametrize("value", ["the-users-own-key-1", ""])
def test_the_environment_is_not_overridden_under_any_name(
    set_: str, written: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(set_, value)
    assert dict(read_env_file(env_file(f"{written}={KEY}\n")).keys) == {}


def test_the_nearest_file_of_the_project_counts_and_none_beyond() -> None:
    env_file("", "../.env")
    assert file_in_force("a/b") is None
    top = env_file("", ".env")
    assert file_in_force("a/b") == str(top.resolve())
    near = env_file("", "a/.env")
    assert file_in_force("a/b") == str(near.resolve())
    assert file_in_force("a/b", no_config=True) is None
    assert load({}, start=Path("a/b"), env={"PROMPTPEX_NO_CONFIG": "1"}).env_file is None


def test_a_link_out_of_the_project_is_not_read() -> None:
    outside = env_file(f"OPENAI_API_KEY={KEY}\n", "../elsewhere")
    Path(".env").symlink_to(outside.resolve())
    given = read_env_file(Path(".env"))
    assert dict(given.keys) == {}
    assert "a link that leads out of its project" in given.notices[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"OPENAI_API_KEY=\xff\xfe\n", "it is not UTF-8"),
        (b"#" * (LONGEST_FILE + 1), "the limit is"),
        (f"OPENAI_API_KEY='two\nlines-{KEY}'\n".encode(), "cannot be a key"),
        (f"OPENAI_API_KEY='with blanks {KEY}'\n".encode(), "cannot be a key"),
        (b"OPENAI_API_KEY=short\n", "cannot be a key"),
        (f"OPENAI_API_KEY={'k' * 5000}\n".encode(), "cannot be a key"),
    ],
)
def test_what_is_no_key_or_no_text_is_said_without_its_value(text: bytes, sentence: str) -> None:
    given = read_env_file(env_file(text))
    assert dict(given.keys) == {}
    assert sentence in given.notices[0]
    assert "canary" not in given.notices[0]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.one_of(st.binary(max_size=200), st.text("OPENAI_API_KEY=\"'\\\n#$ {}x1", max_size=200).map(str.encode)))
def test_any_bytes_give_keys_or_a_notice(data: bytes) -> None:
    given_ = read_env_file(env_file(data))
    assert set(given_.keys) <= {key_variable(name) for name in known_providers()}
    assert all(value.isprintable() and " " not in value for value in given_.keys.values())


def test_keys_are_there_while_they_are_needed_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "the-users-own-key-1")
    path = env_file(f"OPENAI_API_KEY={KEY}\n")
    with in_environment({**read_env_file(path).keys, "GROQ_API_KEY": KEY}):
        assert (os.environ["OPENAI_API_KEY"], os.environ["GROQ_API_KEY"]) == (KEY, "the-users-own-key-1")
        with in_environment(read_env_file(path).keys):
            pass
        assert os.environ["OPENAI_API_KEY"] == KEY
    assert "OPENAI_API_KEY" not in os.environ


def test_what_shows_the_file_shows_no_key() -> None:
    assert KEY not in repr(read_env_file(env_file(f"OPENAI_API_KEY={KEY}\n")))
