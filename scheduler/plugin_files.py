"""Plugins and actions of a daemon, loaded anew when a file of `--plugins-dir` is another than it was.

Files are compared as the configuration file is: by what is in them, since a mounted ConfigMap is a chain of links. What
a module registers beside plugins (`register_binder`, `register_preparer`) is asked for once, at the start.
"""

import hashlib
from pathlib import Path

from framework.loading import plugin_files
from framework.registry import Registry
from scheduler.registry import load_registry

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
        self._loaded = self.digest()
        self._registry = load_registry(folder)

    def digest(self) -> str:
        """Return what tells the files as they are from what they were, also where they cannot be read."""
        if not self._folder:
            return ""
        digest = hashlib.sha256()
        for path in plugin_files(Path(self._folder)):
            digest.update(f"{path.name}\n{_content(path)}\n".encode())
        return digest.hexdigest()

    def registry(self) -> Registry:
        """Return plugins and actions as the files are now.

        Raises:
            ConfigError: As at the start.
        """
        seen = self.digest()
        if seen != self._loaded:
            self._registry = load_registry(self._folder)
            self._loaded = seen
        return self._registry


def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return str(error)
