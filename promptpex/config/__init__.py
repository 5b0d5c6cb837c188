"""Settings: defaults, effort presets, files, ``PROMPTPEX_*`` in the environment, flags, each over the last.

Two files: the user's own (``settings.toml`` in the user's configuration folder), and the project's over it. The
project's may come from a stranger: a server that it alone names is sent no key (``Resolved.by_user``).

What somebody set is never changed by a preset: explicit beats preset beats default. API keys do not belong here; the
providers read them from the environment under their own names.
"""

from __future__ import annotations

from promptpex.codecs.files.find_settings_files import find_file
from promptpex.config.load import Resolved, load, with_effort
from promptpex.config.setting_types import EFFORT, Price, ScenarioSetting, checked_effort
from promptpex.config.settings import Settings
from promptpex.config.sources import OTHER_VARIABLES

__all__ = [
    "EFFORT",
    "OTHER_VARIABLES",
    "Price",
    "Resolved",
    "ScenarioSetting",
    "Settings",
    "checked_effort",
    "find_file",
    "load",
    "with_effort",
]
