"""Settings: where each comes from, what wins, and what is refused with which sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.codecs.files.find_settings_files import not_obeyed, user_file
from promptpex.config import EFFORT, Price, Resolved, Settings, find_file, load
from promptpex.core.errors import ConfigError


def _load(tmp_path: Path, flags: dict[str, Any] | None = None, **env: str) -> Resolved:
    return load(flags or {}, start=tmp_path, env=env)


def _file(tmp_path: Path, text: str, name: str = "promptpex.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def test_nothing_set_gives_the_defaults(tmp_path: Path) -> None:
    resolved = _load(tmp_path)
    assert resolved.settings == Settings()
    assert set(resolved.origins.values()) == {"default"}
    assert set(resolved.origins) == set(Settings.model_fields)


def test_file_environment_flag_win_in_this_order(tmp_path: Path) -> None:
    _file(tmp_path, "seed = 1\nrepeats = 1\nmax_tokens = 1\n")
    resolved = _load(tmp_path, {"max_tokens": 3, "rpm": None}, PROMPTPEX_REPEATS="2", PROMPTPEX_MAX_TOKENS="2")
    assert (resolved.settings.seed, resolved.settings.repeats, resolved.settings.max_tokens) == (1, 2, 3)
    named = {name: resolved.origins[name] for name in ("seed", "repeats", "max_tokens", "rpm")}
    assert named == {"seed": "file promptpex.toml", "repeats": "environment", "max_tokens": "flag", "rpm": "default"}


def test_pyproject_counts_only_with_its_section(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    _file(inner, "[project]\nname = 'x'\n", "pyproject.toml")
    _file(tmp_path, "[tool.promptpex]\nmodels = 'a, b'\n", "pyproject.toml")
    assert find_file(inner) == tmp_path / "pyproject.toml"
    assert load({}, start=inner, env={}).settings.models == ("a", "b")


def test_the_search_ends_at_the_repository(tmp_path: Path) -> None:
    inner = tmp_path / "repo"
    (inner / ".git").mkdir(parents=True)
    _file(tmp_path, "seed = 5\n")
    assert find_file(inner) is None


def test_a_preset_fills_only_what_nobody_set(tmp_path: Path) -> None:
    resolved = _load(tmp_path, {"effort": "high", "repeats": 1}, PROMPTPEX_CASES_PER_RULE="2")
    assert (resolved.settings.repeats, resolved.settings.cases_per_rule) == (1, 2)
    assert resolved.settings.inverse_cases == EFFORT["high"]["inverse_cases"]
    assert (resolved.origins["inverse_cases"], resolved.origins["repeats"]) == ("preset high", "flag")


@given(
    st.sampled_from(list(EFFORT)),
    st.dictionaries(st.sampled_from(["repeats", "cases_per_rule", "inverse_cases", "rounds"]), st.integers(1, 9)),
)
def test_explicit_beats_preset(effort: str, flags: dict[str, int]) -> None:
    resolved = load({**flags, "effort": effort}, start=Path("/"), env={})
    plain = resolved.settings.to_dict()
    assert {name: plain[name] for name in flags} == flags
    assert all(plain[name] == value for name, value in EFFORT[effort].items() if name not in flags)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("seed = 1\nrepaets = 2\n", 2, "did you mean 'repeats'?"),
        ("seed = 1\nrepeats = 0\n", 2, "repeats: it should be 1 or more, not 0"),
        ("seed = \n", 1, "not valid TOML"),
        (f"seed = {'1' * 5001}\n", None, "not valid TOML: Exceeds the limit"),
        ("\nopenai_api_key = 'x'\n", 2, "keys do not belong"),
        ("author = 'sk-abcdefghijklmnopqrstuvwxyz'\n", 1, "keys do not belong"),
        ("[prices.'a/b']\ninput = 1\n", 1, "needs 'input' and 'output'"),
        ("judge_mode = 'both'\n", 1, "judge_mode"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    path = _file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert message in str(caught.value)
    assert "sk-abc" not in str(caught.value)


def test_a_bad_variable_and_a_bad_flag_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="PROMPTPEX_SEED"):
        _load(tmp_path, PROMPTPEX_SEED="many")
    with pytest.raises(ConfigError, match="--max-cost"):
        _load(tmp_path, {"max_cost": -1})
    with pytest.raises(ConfigError, match="PROMPTPEX_OPENAI_API_KEY"):
        _load(tmp_path, PROMPTPEX_OPENAI_API_KEY="x")
    resolved = _load(tmp_path, PROMPTPEX_API_KEY="local-gateway-1", PROMPTPEX_DEBUG="1")
    assert resolved.warnings == ()
    assert "local-gateway-1" not in resolved.model_dump_json()


def test_tables_lists_and_prices(tmp_path: Path) -> None:
    _file(
        tmp_path,
        "models = ['a', 'b?temperature=0']\njudge = 'j'\nmax-tokens = 7\nresults = 'out'\n"
        "[prices.'my/model']\ninput = 1\n"
        "output = 2.5\n[instructions]\ncases = 'short ones'\n[[scenarios]]\nname = 'angry'\nfixed = {tone = 'x'}\n",
    )
    settings = _load(tmp_path, PROMPTPEX_PULL="true").settings
    assert settings.models == ("a", "b?temperature=0")
    assert settings.judge == ("j",)
    assert settings.results == "out"
    assert settings.prices == {"my/model": Price(1.0, 2.5)}
    assert settings.scenarios[0].fixed == {"tone": "x"}
    assert settings.pull


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a prompt two folders down, called from its top."""
    (tmp_path / "private").mkdir()
    top = tmp_path / "project"
    (top / ".git").mkdir(parents=True)
    (top / "shop" / "mails").mkdir(parents=True)
    monkeypatch.chdir(top)
    return top


def places(start: Path) -> set[tuple[Path, Path]]:
    """Where store and results are, from everywhere one may call from."""
    places = set()
    before = Path.cwd()
    for cwd in (start, *start.parents[:4], Path("/")):
        os.chdir(cwd)
        settings = load({}, start=start, env={}).settings
        places.add((Path(settings.store).resolve(), Path(settings.results).resolve()))
    os.chdir(before)
    return places


def test_store_and_results_are_the_project_s_wherever_one_calls_from(project: Path) -> None:
    wanted = {(project / ".promptpex" / "store.db", project / "results")}
    assert places(project / "shop" / "mails") == wanted
    assert places(project / "shop") == wanted


def test_store_and_results_stand_beside_the_settings_file(project: Path) -> None:
    (project / "shop" / "promptpex.toml").write_text('results = "out"\n', encoding="utf-8")
    wanted = {(project / "shop" / ".promptpex" / "store.db", project / "shop" / "out")}
    assert places(project / "shop" / "mails") == wanted


def test_without_a_project_our_own_folder_marks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").rmdir()
    prompts = tmp_path / "a" / "prompts"
    prompts.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    assert load({}, start=prompts, env={}).settings.store == ".promptpex/store.db"
    (tmp_path / ".promptpex").mkdir()
    tmp_path.chmod(0o1777)
    assert load({}, start=prompts, env={}).settings.store == ".promptpex/store.db"
    (tmp_path / "a" / ".promptpex").mkdir()
    assert places(prompts) == {(tmp_path / "a" / ".promptpex" / "store.db", tmp_path / "a" / "results")}


def test_neither_the_home_folder_nor_the_root_becomes_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").rmdir()
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (tmp_path / ".promptpex").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for cwd in (tmp_path, Path("/")):
        monkeypatch.chdir(cwd)
        store = Path(load({}, start=prompts, env={}).settings.store).resolve()
        assert store == prompts / ".promptpex" / "store.db"


def test_flags_and_variables_are_taken_from_the_working_folder(project: Path) -> None:
    (project / "promptpex.toml").write_text('results = "out"\nstore = "in.db"\n', encoding="utf-8")
    flags, env = {"results": "../elsewhere"}, {"PROMPTPEX_STORE": "/far/store.db"}
    settings = load(flags, start=project / "shop", env=env).settings
    assert (settings.results, settings.store) == ("../elsewhere", "/far/store.db")


@pytest.mark.parametrize("where", [".", "shop", ".."])
def test_files_of_models_are_where_the_settings_file_says(
    project: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'judge = "replay/rec.jsonl#j?seed=1, gpt-4o"\nmodels = ["a=replay/in/rec.jsonl", "embedded/m.gguf"]\n'
    (project / "promptpex.toml").write_text(f'{text}[named_models.b]\nmodel = "replay/rec.jsonl#b"\n', encoding="utf-8")
    (project / "shop").mkdir(exist_ok=True)
    monkeypatch.chdir(project / where)
    settings = load({}, start=project, env={}).settings
    to = {".": "", "shop": "../", "..": f"{project.name}/"}[where]
    assert settings.judge == (f"replay/{to}rec.jsonl#j?seed=1", "gpt-4o")
    assert settings.models == (f"a=replay/{to}in/rec.jsonl", f"embedded/{to}m.gguf")
    assert settings.named_models["b"].model == f"replay/{to}rec.jsonl#b"


OUT = [
    'record = "../private/.bash_profile"',
    'results = "/somewhere"',
    'store = "../store.db"',
    'embedded_model = "../m.gguf"',
    'record = ".git/hooks/pre-commit"',
    'record = "shop/../.GIT/config"',
    'record = "a\\u0000b"',
    'models = ["replay//dev/zero"]',
    'models = "gpt-4o-mini, replay/../private/rec.jsonl#a?seed=1"',
    'judge = ["embedded/../m.gguf"]',
    'author = "embedded/~/m.gguf"',
]


@pytest.mark.parametrize("line", OUT)
@pytest.mark.parametrize("name", ["promptpex.toml", "pyproject.toml"])
def test_a_settings_file_leads_nowhere_out_of_its_project(project: Path, line: str, name: str) -> None:
    text = line if name == "promptpex.toml" else f"[tool.promptpex]\n{line}"
    (project / name).write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"leads out of the project|is outside the project") as caught:
        load({}, start=project, env={})
    assert caught.value.line == text.count("\n") + 1
    assert "PROMPTPEX_" in str(caught.value) or "flag" in str(caught.value)


def test_an_ordinary_folder_is_no_key(project: Path) -> None:
    name = "data/sk-learn-prompt-experiments-2026"
    (project / "promptpex.toml").write_text(f'results = "{name}"\n', encoding="utf-8")
    assert load({}, start=project, env={}).settings.results.endswith(name)


FETCHED = ['models = "a, embedded/hf:org/repo/w.gguf?seed=1"', 'judge = ["embedded/hf:org/repo/w.gguf"]', "pull = true"]


def test_a_settings_file_of_the_project_sends_nothing_to_a_cluster(project: Path) -> None:
    (project / "promptpex.toml").write_text('address = "elsewhere:6379"\n')
    with pytest.raises(ConfigError, match=r"promptpex\.toml:1: address: .* would be sent .* --trust-settings"):
        load({}, start=project, env={})
    assert load({"trust_settings": True}, start=project, env={}).settings.address == "elsewhere:6379"
    assert load({"address": "mine:1", "engine": "ray"}, start=project, env={}).settings.address == "mine:1"
    assert (
        load({}, start=project, env={"PROMPTPEX_ADDRESS": "mine:1", "PROMPTPEX_ENGINE": "ray"}).settings.address
        == "mine:1"
    )


@pytest.mark.parametrize("line", FETCHED)
def test_a_settings_file_of_the_project_has_nothing_downloaded(project: Path, line: str) -> None:
    (project / "promptpex.toml").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"promptpex\.toml:1: .* would be downloaded; .* --trust-settings"):
        load({}, start=project, env={})
    assert load({"trust_settings": True}, start=project, env={}).file is not None
    name = line.partition(" ")[0]
    over = {"models": ["b"], "judge": ["b"], "pull": False}[name]
    assert load({name: over}, start=project, env={}).origins[name] == "flag"
    own = load({}, start=project, env={f"PROMPTPEX_{name.upper()}": line.partition(" = ")[2].strip('[]"')})
    assert own.origins[name] == "environment"


@pytest.mark.parametrize(
    ("name", "flag"),
    [("timeout", "--timeout"), ("deadline", "--deadline"), ("max_cost", "--max-cost"), ("tpm", "--tpm")],
)
def test_a_bad_flag_is_named_as_it_is_typed(tmp_path: Path, name: str, flag: str) -> None:
    with pytest.raises(ConfigError, match=f"^{flag}: it should be (more than 0|[01] or more), not -1"):
        load({name: -1}, start=tmp_path, env={})


@pytest.mark.parametrize(
    "address", ["http://h:-0", "h:x", "", " ", "ftp://h", "http://u:hunter2word@h/v1", "http://[::1"]
)
def test_an_address_that_is_none_is_refused_where_it_stands_and_not_repeated(tmp_path: Path, address: str) -> None:
    (tmp_path / "promptpex.toml").write_text(f'api_base = "{address}"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"promptpex\.toml:1: api_base: (The address|API keys)") as caught:
        load({}, start=tmp_path, env={})
    assert "hunter2word" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"^--api-base: (The address|API keys)"):
        load({"api_base": address, "no_config": True}, start=tmp_path, env={})


@pytest.mark.parametrize("name", ["results", ".promptpex", "out"])
def test_a_link_of_the_checkout_leads_nowhere_out_of_its_project(project: Path, name: str) -> None:
    (project / name).symlink_to(project.parent / "private", target_is_directory=True)
    if name == "out":
        (project / "promptpex.toml").write_text('results = "out"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="leads out of the project"):
        load({}, start=project, env={})
    given = {"results": str(project / name), "store": str(project / "s.db")}
    assert load(given, start=project, env={}).settings.results == str(project / name)


def test_paths_inside_the_project_are_as_the_file_has_them(project: Path) -> None:
    text = 'record = "rec/all.jsonl"\nmodels = ["replay/rec/all.jsonl", "embedded/smollm2-135m", "embedded/w/m.gguf"]\n'
    (project / "promptpex.toml").write_text(text, encoding="utf-8")
    settings = load({}, start=project / "shop", env={}).settings
    assert settings.record == "rec/all.jsonl"
    assert len(settings.models) == 3


def test_a_price_beyond_all_measure_is_named(tmp_path: Path) -> None:
    for price in ("1" + "0" * 400, "1e300", "inf", "nan", "-1"):
        (tmp_path / "promptpex.toml").write_text(f"[prices]\nm = [{price}, 1]\n", encoding="utf-8")
        with pytest.raises(ConfigError, match="two numbers from 0"):
            load({}, start=tmp_path, env={})


@pytest.mark.parametrize("name", ["models", "max_cost", "seed", "tolerance", "weights", "effort"])
def test_bytes_that_are_no_utf_8_are_refused_and_not_an_error_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"PROMPTPEX_{name.upper()}"):
        load({}, start=tmp_path, env={f"PROMPTPEX_{name.upper()}": "5\udcff"})
    with pytest.raises(ConfigError):
        load({name: "5\udcff"}, start=tmp_path, env={})


def test_all_problems_of_the_settings_are_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "promptpex.toml"
    file.write_text('models = 3\nconcurency = 2\nrepeats = 0\napi_key = "x"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="5 problems") as caught:
        load({}, start=tmp_path, env={"PROMPTPEX_EFFORT": "most"})
    lines = str(caught.value).splitlines()[1:]
    places = [line.split(": ")[0].strip() for line in lines]
    assert places == [*(f"{file}:{number}" for number in (1, 2, 3, 4)), "PROMPTPEX_EFFORT"]


def test_a_file_above_the_home_folder_is_not_obeyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, work = tmp_path / "home" / "me", tmp_path / "home" / "me" / "work"
    work.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "home" / "promptpex.toml").write_text("seed = 5\n", encoding="utf-8")
    resolved = load({}, start=work, env={})
    assert resolved.settings.seed == 0
    assert resolved.file is None
    assert len(resolved.warnings) == 1
    assert "is ignored: it is above your home folder" in resolved.warnings[0]
    (home / "promptpex.toml").write_text("seed = 6\n", encoding="utf-8")
    assert load({}, start=work, env={}).settings.seed == 6


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_not_obeyed_unless_it_is_named(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    path = tmp_path / "promptpex.toml"
    path.write_text("seed = 5\n", encoding="utf-8")
    os.chown(path, 12345, 12345)
    resolved = load({}, start=work, env={})
    assert resolved.settings.seed == 0
    assert "it belongs to another user; name it with --config" in resolved.warnings[0]
    assert load({"config": path}, start=work, env={}).settings.seed == 5
    os.chown(work, 12345, 12345)
    assert not_obeyed(path, work) is None, "who works in another's folder means its settings"


def test_the_users_own_file_lies_below_the_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    user_file().parent.mkdir(parents=True)
    user_file().write_text("seed = 1\nrepeats = 2\n", encoding="utf-8")
    (tmp_path / "promptpex.toml").write_text("seed = 3\n", encoding="utf-8")
    resolved = load({}, start=tmp_path, env={})
    assert (resolved.settings.seed, resolved.settings.repeats) == (3, 2)
    assert (resolved.origins["seed"], resolved.origins["repeats"]) == ("file promptpex.toml", "user file settings.toml")
    assert (resolved.by_user("seed"), resolved.by_user("repeats")) == (False, True)
    assert load({"trust_settings": True}, start=tmp_path, env={}).by_user("seed")
    alone = load({}, start=tmp_path, env={"PROMPTPEX_NO_CONFIG": "1"})
    assert (alone.settings.seed, alone.settings.repeats) == (0, 1)
    (tmp_path / "promptpex.toml").write_text("trust_settings = true\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no such setting"):
        load({}, start=tmp_path, env={})
