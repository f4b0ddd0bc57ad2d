"""The plugins and actions of this process: built in, registered, installed, and from a folder."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from pyroclast.actions.registry import register_built_in as register_actions
from pyroclast.framework.extension.loading import PluginFile, load_entry_points, load_files, load_folder
from pyroclast.framework.extension.registry import DEFAULT, Registry
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.registry import register_built_in as register_plugins

__all__ = ["load_registry"]


def load_registry(plugins_dir: str = "", *, files: Iterable[PluginFile] | None = None) -> Registry:
    """Collect plugins and actions.

    Args:
        plugins_dir: Folder of plugins, one `.py` file each; empty for none.
        files: Plugin files that have been read already; the folder is not read then.

    Raises:
        ConfigError: Plugins cannot be loaded, or their names are taken.
    """
    registry = DEFAULT.copy()
    register_actions(registry)
    register_plugins(registry)
    faults: list[str] = []
    loads: list[Callable[[Registry], object]] = [load_entry_points]
    if files is not None:
        loads.append(partial(load_files, files=files))
    elif plugins_dir:
        loads.append(partial(load_folder, folder=Path(plugins_dir)))
    for load in loads:
        try:
            load(registry)
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(*faults)
    return registry
