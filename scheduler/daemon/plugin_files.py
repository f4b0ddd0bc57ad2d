"""Plugins and actions of a daemon, loaded again when a file of `--plugins-dir` changes.

Files are compared by content, as the configuration file is, because a mounted ConfigMap is a chain of links. Other
registrations of a module (`register_binder`, `register_preparer`) take effect only at the start.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pyroclast.framework.extension.loading import PluginFile, read_plugin_files
from pyroclast.framework.extension.registry import Registry
from pyroclast.scheduler.registry import load_registry

__all__ = ["PluginFiles"]


class PluginFiles:
    """The folder of plugins, and the last registry made with it."""

    def __init__(self, folder: str = "") -> None:
        """Load all plugins of the folder.

        Args:
            folder: Folder of plugins, one `.py` file each; empty for none.

        Raises:
            ConfigError: Plugins cannot be loaded, or their names are taken.
        """
        self._folder = folder
        self._files = self._read()
        self._registry = self._load(self._files)

    @property
    def sources(self) -> Mapping[str, str]:
        """The texts of the files that were loaded last, by file name."""
        return {file.path.name: file.source for file in self._files}

    def digest(self) -> str:
        """Return a digest of the files' contents. Unreadable files count with their error."""
        if not self._folder:
            return ""
        digest = hashlib.sha256()
        for file in self._read():
            digest.update(f"{file.path.name}\n{len(file.source)}\n{file.source}{file.fault}\n".encode())
        return digest.hexdigest()

    def registry(self) -> Registry:
        """Return the registry for the current files.

        Raises:
            ConfigError: Plugins cannot be loaded, or their names are taken.
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
