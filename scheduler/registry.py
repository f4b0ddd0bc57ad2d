"""Which plugins and actions this process has: built in, registered, installed, and from a folder."""

from pathlib import Path

from actions.registry import register_built_in as register_actions
from framework.loading import load_entry_points, load_folder
from framework.registry import DEFAULT, Registry
from model.errors import ConfigError
from plugins.registry import register_built_in as register_plugins

__all__ = ["load_registry"]


def load_registry(plugins_dir: str = "") -> Registry:
    """Collect plugins and actions.

    Args:
        plugins_dir: Folder of plugins, one `.py` file each; none where empty.

    Raises:
        ConfigError: With every plugin that cannot be loaded, or whose name is taken.
    """
    registry = DEFAULT.copy()
    register_actions(registry)
    register_plugins(registry)
    faults: list[str] = []
    try:
        load_entry_points(registry)
    except ConfigError as error:
        faults += error.faults
    if plugins_dir:
        try:
            load_folder(registry, Path(plugins_dir))
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(*faults)
    return registry
