"""A store on a server as a setting: who may name it, and what never stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.errors import ConfigError

ADDRESS = "postgresql://me@db.example/team?sslmode=verify-full"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "prompts").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_address_stays_as_it_is_wherever_a_command_is_called_from(project: Path) -> None:
    for start in (project, project / "prompts"):
        for resolved in (
            load({"store": ADDRESS}, start=start, env={}),
            load({}, start=start, env={"PROMPTPEX_STORE": ADDRESS}),
        ):
            assert resolved.settings.store == ADDRESS


@pytest.mark.parametrize("store", [ADDRESS, "postgres://other.example", "service=team"])
def test_a_settings_file_of_the_project_names_no_server_without_consent(project: Path, store: str) -> None:
    """The user's PGPASSWORD would go there, and what comes back would answer for the models."""
    (project / "promptpex.toml").write_text(f'author = "fake/x"\nstore = "{store}"\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load({}, start=project, env={})
    assert caught.value.line == 2


def test_consent_is_given_by_a_flag_a_variable_or_the_users_own_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (project / "promptpex.toml").write_text(f'store = "{ADDRESS}"\n', encoding="utf-8")
    refused = "only a settings file of the project names"
    with pytest.raises(ConfigError, match=refused):
        load({}, start=project, env={})
    with pytest.raises(ConfigError, match=refused):
        load({"config": "promptpex.toml"}, start=project, env={})
    assert load({"trust_settings": True}, start=project, env={}).settings.store == ADDRESS
    assert load({}, start=project, env={"PROMPTPEX_TRUST_SETTINGS": "1"}).settings.store == ADDRESS
    assert load({"store": "own.db"}, start=project, env={}).settings.store == "own.db"
    assert load({"store": "postgresql://mine"}, start=project, env={}).settings.store == "postgresql://mine"
    (project / "promptpex.toml").unlink()
    home = tmp_path_factory.mktemp("home")
    (home / "promptpex").mkdir()
    (home / "promptpex" / "settings.toml").write_text(f'store = "{ADDRESS}"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    assert load({}, start=project, env={}).settings.store == ADDRESS


@pytest.mark.parametrize("where", ["flag", "argument", "variable", "file"])
def test_a_password_is_refused_wherever_it_stands_and_not_repeated(project: Path, where: str) -> None:
    store = "postgresql://me:hunter2000@db.example/team"
    if where == "file":
        (project / "promptpex.toml").write_text(f'store = "{store}"\n', encoding="utf-8")
    given = {"store": store} if where in ("flag", "argument") else {}
    env = {"PROMPTPEX_STORE": store} if where == "variable" else {}
    with pytest.raises(ConfigError, match="PGPASSWORD") as caught:
        load(given, start=project, env=env, given_as="argument" if where == "argument" else "flag")
    assert "hunter2000" not in str(caught.value)


def test_an_env_file_of_the_project_sets_nothing_of_libpqs(project: Path) -> None:
    """Neither where a store is nor with which password: that is for the user's environment."""
    names = ("PGHOST", "PGPASSWORD", "PGSERVICEFILE", "PGPASSFILE", "PGSSLMODE", "PROMPTPEX_STORE")
    (project / ".env").write_text("".join(f"{name}=elsewhere.example\n" for name in names), encoding="utf-8")
    resolved = load({}, start=project, env={})
    assert resolved.settings.store == ".promptpex/store.db"
    assert resolved.env_file is not None
    assert not set(resolved.keys_of_file().keys) & set(names)
