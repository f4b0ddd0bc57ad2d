"""What lint believes about built-in plugins is what their code registers."""

import re
import sys
from pathlib import Path

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.extension.served import ALWAYS_ASKED, SERVED
from pyroclast.plugins.registry import register_built_in

PLUGINS = Path(__file__).parents[2] / "plugins"


def built_in() -> Registry:
    """The plugins that come with the project."""
    registry = Registry()
    register_built_in(registry)
    return registry


def flags_in_code(plugin: str) -> set[str | None]:
    """The flags of the points that a plugin's files name when they register; None for a point without one."""
    module = Path(str(sys.modules[built_in().builder(plugin).make.__module__].__file__)).resolve()
    files = [module] if module.parent == PLUGINS else sorted(module.parent.glob("*.py"))
    names = {name for file in files for name in re.findall(r"register\(\s*contract\.([A-Z_]+)", file.read_text())}
    return {getattr(contract, name).flag for name in names}


@pytest.mark.parametrize("plugin", built_in().names())
def test_no_flag_that_matters_is_called_useless(plugin: str) -> None:
    """Every flag that gates a registered point is in the table."""
    registered = flags_in_code(plugin)

    assert registered
    assert registered - {None} <= SERVED[plugin]
    assert None not in registered or plugin in ALWAYS_ASKED
