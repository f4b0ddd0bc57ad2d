"""Controller: base class of the reconcilers of all kinds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key

__all__ = ["Controller"]


class Controller(ABC):
    """A reconciler of an operator. Subclasses create their stores, then call this constructor."""

    name: ClassVar[str]

    def __init__(
        self,
        operator: Operator,
        options: ControllerOptions,
        *,
        watches: Sequence[Watch[Any]],
        workers: int | None = None,
    ) -> None:
        """Register with the operator.

        Args:
            operator: Watches the kinds, and calls `reconcile`.
            options: Options of the controllers.
            watches: Changes that it depends on.
            workers: Maximum number of concurrent reconciliations. Default: the value of the options.
        """
        self._operator, self._options = operator, options
        workers = options.workers_of(self.name) if workers is None else workers
        self._queue = operator.reconciler(self, watches=watches, workers=workers)

    @abstractmethod
    async def reconcile(self, key: Key) -> float | None:
        """Take the next step for a key, as `Reconciler` says."""
