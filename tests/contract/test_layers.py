"""The rules on imports speak of all that is there."""

import pkgutil
import tomllib
from pathlib import Path

from pyroclast import plugins

ROOT = Path(__file__).parents[2]


def test_no_plugin_may_import_another() -> None:
    """Each module or folder of plugins stands in the rule, in order; the registry alone knows them all."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (independent,) = (rule["modules"] for rule in rules if rule["type"] == "independence")

    there = {f"pyroclast.plugins.{module.name}" for module in pkgutil.iter_modules(plugins.__path__)}
    assert independent == sorted(there - {"pyroclast.plugins.registry"})
