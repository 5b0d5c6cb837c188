"""An engine is named in one table, which settings, options and whoever opens it read."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import click
import pytest

from promptpex.cli.commands.check import command as check
from promptpex.config import load
from promptpex.core import engine_kinds
from promptpex.core.errors import ConfigError
from promptpex.engines import LocalEngine
from promptpex.engines.open_engine import open_engine
from promptpex.engines.ray_engine import RayEngine
from promptpex.engines.ray_links import RayCarrier


def test_the_option_offers_the_engines_that_there_are() -> None:
    option = next(parameter for parameter in check.params if parameter.name == "engine")
    assert isinstance(option.type, click.Choice)
    assert option.type.choices == engine_kinds.names()
    assert isinstance(option, click.Option)
    assert "local, on this machine, or ray, on a Ray cluster [local]" in str(option.help)


def test_no_engine_is_named_elsewhere() -> None:
    further = "|".join(set(engine_kinds.names()) - {engine_kinds.DEFAULT})
    named = re.compile(rf"[\"']({further})[\"']|\bRay cluster")
    package = Path(engine_kinds.__file__).parents[1]
    places = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if named.search(path.read_text("utf-8"))
    }
    assert {place for place in places if not place.startswith("engines/")} == {"core/engine_kinds.py"}


@pytest.mark.parametrize("name", engine_kinds.names())
def test_settings_take_every_engine_and_its_home_opens_it(name: str, tmp_path: Path) -> None:
    assert load({"engine": name}, start=tmp_path, env={}).settings.engine == name
    assert callable(import_module(engine_kinds.engine_kind(name).home).opened)


def test_an_engine_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no engine 'slurm'; they are local, ray"):
        load({}, start=tmp_path, env={"PROMPTPEX_ENGINE": "slurm"})


def test_what_is_opened_is_what_was_named() -> None:
    here, cluster = (open_engine(name, workers=1, address="h:1") for name in ("local", "ray"))
    assert isinstance(here.engine, LocalEngine)
    assert here.carrier is None
    assert isinstance(cluster.engine, RayEngine)
    assert isinstance(cluster.carrier, RayCarrier)
    for opened in (here, cluster):  # nothing was connected to
        opened.close()
