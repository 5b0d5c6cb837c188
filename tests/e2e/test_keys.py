"""A stranger's settings file against the user's keys: a server records what it is sent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.llm.providers.prices import known_providers
from tests.e2e.command import Done
from tests.e2e.faults import Place, command, place
from tests.e2e.scripted_author import Author
from tests.servers import ScriptedServer, Step, completion_body

CANARIES = {
    name: f"canary-{name.lower().replace('_', '-')}-93"
    for name in (
        "OPENAI_API_KEY", "PROMPTPEX_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY",
        "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "COHERE_API_KEY", "HUGGINGFACE_API_KEY", "TOGETHERAI_API_KEY",
        "OPENROUTER_API_KEY", "XAI_API_KEY", "PERPLEXITYAI_API_KEY", "FIREWORKS_AI_API_KEY", "AZURE_API_KEY",
        "GITHUB_API_KEY", "DATABRICKS_API_KEY", "OLLAMA_API_KEY", "AI21_API_KEY",
    )
}  # fmt: skip
NAMED = (
    "anthropic", "gemini", "groq", "mistral", "deepseek", "cohere", "huggingface", "together_ai", "openrouter", "xai",
    "perplexity", "fireworks_ai", "azure", "github", "databricks", "text-completion-openai", "custom_openai", "ai21",
)  # fmt: skip
OTHER_WAYS = ("base_url", "api_endpoint", "azure_endpoint", "aws_bedrock_runtime_endpoint", "custom_llm_provider")
WAYS = ("api_base", *OTHER_WAYS)


@pytest.fixture
def here(tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    scripted.otherwise = Step(completion_body("NN"))
    made = place(tmp_path, cells=2)
    (tmp_path / ".git").mkdir()
    return made


def settings(here: Place, text: str, kind: str = "promptpex.toml") -> None:
    """The stranger's file, beside the prompt."""
    head = "[tool.promptpex]\n" if kind == "pyproject.toml" else ""
    (here.prompt.parent / kind).write_text(head + text, encoding="utf-8")


def leaked(server: ScriptedServer) -> set[str]:
    """The variables whose keys the server was sent, in whatever header or body."""
    received = "".join(str(seen.headers) + str(seen.body) + seen.path for seen in server.requests)
    return {name for name, value in CANARIES.items() if value in received}


async def run(here: Place, *more: str) -> Done:
    return await command([*here.arguments(*more), "--judge", "none", "--timeout", "5"])


@pytest.mark.parametrize("kind", ["promptpex.toml", "pyproject.toml"])
@pytest.mark.parametrize("role", ["models", "author", "judge", "expected", "against"])
def test_no_providers_name_takes_an_address_from_a_file(here: Place, kind: str, role: str) -> None:
    folder = here.prompt.parent
    for provider in sorted(known_providers() | {"openai"}) if kind == "promptpex.toml" else NAMED:
        for way in OTHER_WAYS if provider in NAMED else OTHER_WAYS[:1]:
            settings(here, f'{role} = "{provider}/m?{way}=http://127.0.0.1:9"\n', kind)
            with pytest.raises(ConfigError, match="there is no parameter") as caught:
                load({}, start=folder, env={})
            assert caught.value.line == (2 if kind == "pyproject.toml" else 1)


@pytest.mark.parametrize("provider", NAMED)
async def test_a_hostile_file_gets_no_key_of_a_provider(here: Place, scripted: ScriptedServer, provider: str) -> None:
    for way in WAYS:
        settings(here, f'models = ["{provider}/m?{way}={scripted.url}/v1"]\n')
        done = await run(here)
        assert done.code == 2, done.err
        assert "Traceback" not in done.err
    assert scripted.count == 0


@pytest.mark.parametrize(
    "text",
    [
        'api_base = "{url}/v1"\nmodels = ["openai/m"]\n',
        'api_base = "{url}/v1"\nmodels = ["gpt-4o-mini"]\n',
        'models = ["openai/m?api_base={url}/v1"]\n',
        'models = ["gpt-4o-mini?api_base={url}/v1"]\n',
    ],
)
@pytest.mark.parametrize("kind", ["promptpex.toml", "pyproject.toml"])
async def test_a_server_of_the_file_is_asked_without_a_key(
    here: Place, scripted: ScriptedServer, text: str, kind: str
) -> None:
    settings(here, text.format(url=scripted.url), kind)
    done = await run(here)
    assert done.code == 0, done.err
    assert scripted.count == 2
    assert leaked(scripted) == set()
    assert f"no key is sent to {scripted.url}" in done.err


@pytest.mark.parametrize("way", ["name", "server"])
async def test_a_whole_job_by_models_of_the_file_takes_no_key_along(
    here: Place, scripted: ScriptedServer, way: str
) -> None:
    base = f"{scripted.url}/v1"
    label = f"openai/m?api_base={base}&top_k=3" if way == "name" else "openai/m?temperature=0.5"
    roles = ("models", "author", "judge", "expected")
    server = "" if way == "name" else f'api_base = "{base}"\n'
    settings(here, server + "".join(f'{role} = "{label}"\n' for role in roles))
    author = Author({"Reply with the tag alone.": "The output is one tag."})
    scripted.otherwise = author
    here.prompt.write_text("Name the word's part of speech. Reply with the tag alone.\n\n{{word}}\n", encoding="utf-8")
    for file in ("prompt.spec.yaml", "prompt.cases.yaml"):
        here.prompt.with_name(file).unlink()
    for verb, shows in (("extract", "rules"), ("generate", "output"), ("run", "r1")):
        done = await command(here.arguments("--timeout", "5", verb=verb))
        assert done.code in (0, 3), done.err
        assert author.stages[shows], (verb, author.stages)
    assert leaked(scripted) == set()


async def test_the_user_can_allow_it(
    here: Place, scripted: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'api_base = "{scripted.url}/v1"\nmodels = ["openai/m"]\n'
    settings(here, text)
    assert (await run(here, "--trust-settings")).code == 0
    assert leaked(scripted) == {"PROMPTPEX_API_KEY"}
    settings(here, 'models = ["openai/n"]\n')
    for flags in (("--api-base", f"{scripted.url}/v1"), ("--models", f"openai/o?api_base={scripted.url}/v1")):
        scripted.requests.clear()
        assert (await run(here, *flags)).code == 0
        assert leaked(scripted) == {"PROMPTPEX_API_KEY"}
    scripted.requests.clear()
    own = tmp_path / "config" / "promptpex"
    own.mkdir(parents=True)
    (own / "settings.toml").write_text(f'api_base = "{scripted.url}/v1"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    settings(here, 'models = ["openai/p"]\n')
    assert (await run(here)).code == 0
    assert leaked(scripted) == {"PROMPTPEX_API_KEY"}


async def test_without_settings_the_file_says_nothing(here: Place, scripted: ScriptedServer) -> None:
    settings(here, f'api_base = "{scripted.url}/v1"\nmodels = ["openai/m"]\nrepeats = 2\n')
    done = await run(here, "--no-config", "--models", "fake/NN")
    assert done.code == 0, done.err
    assert scripted.count == 0
    assert here.manifest()["origins"]["repeats"] == "default"
    both = await run(here, "--no-config", "--config", "x.toml")
    assert both.code == 2


@pytest.mark.parametrize("secret", ["token=hunter2word", "password=hunter2word", "stop=sk-proj-Qm81xhunter2wordZ0000"])
@pytest.mark.parametrize("role", ["models", "author", "judge"])
async def test_a_secret_in_a_models_name_is_written_nowhere(here: Place, secret: str, role: str) -> None:
    log = here.folder / "log.jsonl"
    named = (
        ["--models", f"fake/NN?{secret}"] if role == "models" else ["--models", "fake/NN", f"--{role}", f"m:1?{secret}"]
    )
    done = await command([*here.arguments(*named), "-v", "--log", str(log)])
    assert done.code == 2
    assert "hunter2word" not in done.out + done.err
    files = [path for path in here.folder.rglob("*") if path.is_file()]
    assert not any(b"hunter2word" in path.read_bytes() for path in files)


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
async def test_what_a_run_leaves_is_for_its_owner_alone(here: Place) -> None:
    log, record = here.folder / "log.jsonl", here.folder / "record.jsonl"
    before = os.umask(0o022)
    try:
        done = await run(here, "--models", "fake/NN", "--log", str(log), "--record", str(record))
    finally:
        os.umask(before)
    assert done.code == 0, done.err
    (folder,) = here.folder.glob("results/*/*/")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (log, record, here.store) if path.stat().st_mode & 0o077] == []
