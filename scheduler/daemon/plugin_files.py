"""Plugins and actions of a daemon, loaded anew when a file of `--plugins-dir` is another than it was.

Files are compared as the configuration file is: by what is in them, since a mounted ConfigMap is a chain of links. What
a module registers beside plugins (`register_binder`, `register_preparer`) is asked for once, at the start.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pyroclast.framework.extension.loading import PluginFile, read_plugin_files
from pyroclast.framework.extension.registry import Registry
from pyroclast.scheduler.registry import load_registry

__all__ = ["PluginFiles"]


class PluginFiles:
    """The folder of plugins, and the last registry that was made with it."""

    def __init__(self, folder: str = "") -> None:
        """Load all plugins there are.

        Args:
            folder: Folder of plugins, one `.py` file each; none where empty.

        Raises:
            ConfigError: With every plugin that cannot be loaded, or whose name is taken.
        """
        self._folder = folder
        self._files = self._read()
        self._registry = self._load(self._files)

    @property
    def sources(self) -> Mapping[str, str]:
        """The texts of the files that were loaded last, by the files' names."""
        return {file.path.name: file.source for file in self._files}

    def digest(self) -> str:
        """Return what tells the files as they are from what they were, also where they cannot be read."""
        if not self._folder:
            return ""
        digest = hashlib.sha256()
        for file in self._read():
            digest.update(f"{file.path.name}\n{len(file.source)}\n{file.source}{file.fault}\n".encode())
        return digest.hexdigest()

    def registry(self) -> Registry:
        """Return plugins and actions as the files are now.

        Raises:
            ConfigError: As at the start.
        """
        files = self._read()
        if files != self._files:
            self._registry = self._load(files)
            self._files = files
        return self._registry

    def _read(self) -> tuple[PluginFile, ...]:
        return read_plugin_files(Path(self._folder)) if self._folder else ()

    def _load(self, files: tuple[PluginFile, ...]) -> Registry:
        is_there = not self._folder or Path(self._folder).is_dir()
        return load_registry(files=files) if is_there else load_registry(self._folder)
