"""Loading of external plugins: entry points, and a folder of files.

- An entry point of group `pyroclast.plugins`: its name is the plugin's, its value a builder, or a module with
  `new(arguments)`.
- A folder (`--plugins-dir`), the counterpart of Volcano's `.so` files: each `*.py` file is one plugin, named by the
  file's stem, hyphens allowed; loaded as `pyroclast_plugins.<stem>`. It has `new(arguments)` (or `New`), or exactly one
  class with `on_session_open`, or it calls `register_plugin` or `register_action` as it is loaded.

A plugin's own name must be the one it is loaded by. All faults are reported together; a broken file is named with its
line.
"""

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.extension.registry import Registry, filling
from pyroclast.model.errors import ConfigError
from pyroclast.model.texts import said_by

__all__ = ["GROUP", "PluginFile", "load_entry_points", "load_files", "load_folder", "read_plugin_files"]

GROUP: Final = "pyroclast.plugins"
PACKAGE: Final = "pyroclast_plugins"
"""Parent of the modules made from files; it exists in `sys.modules` alone."""


def load_entry_points(registry: Registry, found: Iterable[EntryPoint] | None = None) -> tuple[str, ...]:
    """Register the plugins that installed distributions offer; return their names.

    Args:
        registry: Where they go.
        found: The entry points; by default those of group `pyroclast.plugins`.

    Raises:
        ConfigError: A fault for each that cannot be loaded or whose name is taken; the others are registered.
    """
    points = sorted(entry_points(group=GROUP) if found is None else found, key=lambda point: point.name)
    return _each((point.name, partial(_load_entry_point, registry, point)) for point in points)


@dataclass(frozen=True, slots=True)
class PluginFile:
    """One file of a folder of plugins, as it was read."""

    path: Path
    source: str = ""
    fault: str = ""
    """Reason that it cannot be loaded."""


def read_plugin_files(folder: Path) -> tuple[PluginFile, ...]:
    """Read the files of a folder that are plugins: each `*.py` that starts with neither `_` nor `.`."""
    paths = sorted(path for path in folder.glob("*.py") if not path.name.startswith(("_", ".")))
    return tuple(map(_read, paths))


def load_folder(registry: Registry, folder: Path) -> tuple[str, ...]:
    """Register each plugin file of a folder as the plugin of its stem; return the names.

    Raises:
        ConfigError: A fault for each file that is broken, misnamed, or whose name is taken; the others are registered.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: the folder of plugins is not there")
    return load_files(registry, read_plugin_files(folder))


def load_files(registry: Registry, files: Iterable[PluginFile]) -> tuple[str, ...]:
    """Register each file as the plugin of its stem, from the source that was read; return the names.

    Raises:
        ConfigError: As for a folder.
    """
    return _each((file.path.stem, partial(_load_file, registry, file)) for file in files)


def _read(path: Path) -> PluginFile:
    try:
        return PluginFile(path, source=decode_source(path.read_bytes()))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        return PluginFile(path, fault=str(error))


def _each(loads: Iterable[tuple[str, Callable[[], None]]]) -> tuple[str, ...]:
    """Run every load; raise all their faults at once."""
    names: list[str] = []
    faults: list[str] = []
    for name, load in loads:
        try:
            load()
        except ConfigError as error:
            faults += error.faults
        except BaseException as error:  # noqa: BLE001  # code from outside: loading it must not end the process
            faults.append(f"{name}: {type(error).__name__}: {said_by(error)}")
        else:
            names.append(name)
    if faults:
        raise ConfigError(*faults)
    return tuple(names)


def _load_entry_point(registry: Registry, point: EntryPoint) -> None:
    source = f"entry point {point.value}"
    try:
        target = point.load()
    except BaseException as error:  # SystemExit too, see `_each`
        raise ConfigError(f"{source}: {type(error).__name__}: {said_by(error)}") from error
    builder = _builder_in(target, source)
    assert builder is not None, "one is needed"
    _register(registry, point.name, builder, source)


def _load_file(registry: Registry, file: PluginFile) -> None:
    if file.fault:
        raise ConfigError(f"{file.path}: {file.fault}")
    known = len(registry.plugins) + len(registry.actions)
    with filling(registry):
        module = _import_file(file)
    has_registered = len(registry.plugins) + len(registry.actions) > known
    try:
        builder = _builder_in(module, str(file.path), is_needed=not has_registered)
        if builder is not None:
            _register(registry, file.path.stem, builder, str(file.path))
    except ConfigError:
        sys.modules.pop(module.__name__, None)
        raise


class _AsRead(SourceFileLoader):
    """Compiles the source that was read.

    What Python keeps of the last time is known by whole seconds and size: too coarse for a file that is edited while we
    run. The source of a record need not be in a file at all.
    """

    def __init__(self, name: str, file: PluginFile) -> None:
        super().__init__(name, str(file.path.absolute()))
        self._source = file.source

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002  the shape of a loader
        """Return the code of the source."""
        return self.source_to_code(self._source, self.path)


def _import_file(file: PluginFile) -> ModuleType:
    """Return the module made from a file, whose stem need not be an identifier."""
    path = file.path
    name = f"{PACKAGE}.{path.stem}"
    if PACKAGE not in sys.modules:
        package = ModuleType(PACKAGE, "Plugins loaded from files.")
        package.__path__ = []
        sys.modules[PACKAGE] = package
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsRead(name, file))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # as above
        del sys.modules[name]
        raise ConfigError(f"{path}:{_line(error, path)}: {type(error).__name__}: {_message(error)}") from error
    return module


def _builder_in(target: Any, source: str, *, is_needed: bool = True) -> Callable[..., Any] | None:
    """Return the builder in a module, or `target` itself when it is one; None if none is needed, nor there."""
    if not isinstance(target, ModuleType):
        if not callable(target):
            raise ConfigError(f"{source}: {type(target).__name__} is no builder; expected a class or new(arguments)")
        return target  # type: ignore[no-any-return]  # callable is all that is promised of code from outside
    for attribute in ("new", "New"):
        if callable(builder := getattr(target, attribute, None)):
            return builder  # type: ignore[no-any-return]  # as above
    classes = [
        value
        for value in vars(target).values()
        if inspect.isclass(value) and value.__module__ == target.__name__ and issubclass(value, Plugin)
    ]
    if not (classes or is_needed):
        return None  # the file has registered what it is there for
    if len(classes) != 1:
        found = ", ".join(kind.__name__ for kind in classes) or "neither"
        raise ConfigError(
            f"{source}: expected new(arguments) or one class that inherits from pyroclast.Plugin, found {found}"
        )
    return classes[0]


def _register(registry: Registry, name: str, builder: Callable[..., Any], source: str) -> None:
    """Register a builder after a check of its result.

    A `new(arguments)` is called once with no arguments: it must have defaults, or raise a `ConfigError` if it needs
    arguments; then the name is compared when the plugin is made for a configuration.
    """
    if not inspect.isclass(builder):
        try:
            plugin = builder({})
        except ConfigError:
            pass
        except BaseException as error:  # as above
            where = f"{source}:{_line(error, Path(source))}" if source.endswith(".py") else source
            message = f"{where}: new({{}}) failed: {type(error).__name__}: {_message(error)}"
            raise ConfigError(message) from error
        else:
            _check_made(plugin, name, source)
    registry.register_plugin(name, builder, source=source)


def _check_made(plugin: Any, name: str, source: str) -> None:
    if not isinstance(plugin, Plugin):
        kind = type(plugin).__name__
        raise ConfigError(f"{source}: new(arguments) made a {kind}, which does not inherit from pyroclast.Plugin")
    if plugin.name not in ("", name):
        raise ConfigError(f"{source}: the plugin calls itself {plugin.name!r}, it is loaded as {name!r}")


def _line(error: BaseException, path: Path) -> int:
    """Return the last line of `path` that led to the error."""
    file = str(path.absolute())  # as modules are loaded, however the folder was written
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return (lines[-1] or 0) if lines else 0


def _message(error: BaseException) -> str:
    return error.msg if isinstance(error, SyntaxError) else said_by(error)
