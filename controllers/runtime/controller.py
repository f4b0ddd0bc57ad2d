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
    """A reconciler that is plugged into an operator. Subclasses open their stores, then construct this."""

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
            operator: Follows the kinds, and calls `reconcile`.
            options: What the operator of the cluster chose.
            watches: Which changes concern it.
            workers: Keys at work at a time; by default what the options say.
        """
        self._operator, self._options = operator, options
        workers = options.workers_of(self.name) if workers is None else workers
        self._queue = operator.reconciler(self, watches=watches, workers=workers)

    @abstractmethod
    async def reconcile(self, key: Key) -> float | None:
        """Take the next step for a key, as `Reconciler` says."""
