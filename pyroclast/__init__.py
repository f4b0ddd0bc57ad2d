"""A batch scheduler for Kubernetes. The public names for plugin authors and users of the library are in `face`.

The folders of the repository are its sub-packages, by links: `pyroclast.framework`, `pyroclast.plugins` and so on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroclast.face import *  # noqa: F403  # one list of public names: `face.__all__`
else:

    def __getattr__(name: str) -> Any:
        """Return a public name; the first use imports all of them.

        The import of any sub-package runs this file, and the emulator needs neither numpy nor the framework.
        """
        if name == "__all__" or not name.startswith("_"):
            face = import_module("pyroclast.face")
            if name == "__all__" or name in face.__all__:
                return getattr(face, name)
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
