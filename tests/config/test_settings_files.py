"""Which settings files are obeyed, and that the others are named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from promptpex.codecs.files.find_settings_files import not_obeyed, user_file
from promptpex.config import load
from promptpex.core.errors import ConfigError


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
