"""A server in memory with a custom resource, a cache, and the handles of plugins."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyroclast.framework.extension.contract import PluginController, ReconcileRequest
from pyroclast.framework.extension.declarations import Declared
from pyroclast.model.watched import WatchedKind
from pyroclast.scheduler.handles.handles import PluginHandles
from pyroclast.scheduler.monitoring.metrics import Metrics
from tests.unit.cache.conftest import WatchedCluster
from tests.unit.cache.conftest import watched as watched  # noqa: PLC0414  # a fixture

LICENCES = WatchedKind(group="example.com", version="v1", resource="licences", kind="Licence", is_namespaced=False)
PATH = "/apis/example.com/v1/licences"


@dataclass
class Handled:
    """The handles, and what they reported."""

    cluster: WatchedCluster
    metrics: Metrics = field(default_factory=Metrics)
    events: list[tuple[str, str]] = field(default_factory=list)
    is_leader: bool = True

    def __post_init__(self) -> None:
        """Create the handles."""
        self.handles = PluginHandles(
            self.cluster.cache,
            self.cluster.world.client,
            self.metrics,
            is_leader=lambda: self.is_leader,
            warn=lambda reason, message: self.events.append((reason, message)),
        )

    @property
    def names(self) -> list[str]:
        """Names of the objects that the next snapshot has."""
        return list(self.cluster.cache.state.snapshot().objects.of(LICENCES))

    async def licence(self, name: str, **spec: Any) -> Mapping[str, Any]:
        """Create an object."""
        body = {"apiVersion": "example.com/v1", "kind": "Licence", "metadata": {"name": name}, "spec": spec}
        created: Mapping[str, Any] = await self.cluster.world.post(PATH, body)
        return created

    async def read(self, name: str) -> Any:
        """Read an object."""
        return await self.cluster.world.client.request_json("GET", f"{PATH}/{name}")

    async def delete(self, name: str) -> None:
        """Delete an object."""
        await self.cluster.world.client.request("DELETE", f"{PATH}/{name}")

    async def soon(self, is_true: Callable[[], bool]) -> None:
        """Wait until something holds."""
        await self.cluster.world.soon(is_true)

    async def watch(self, *kinds: WatchedKind) -> None:
        """Watch kinds, and run no controllers."""
        await self.handles.follow(
            Declared(
                kinds={kind.name: kind for kind in kinds},
                watchers={kind.name: ("seats",) for kind in kinds},
                controllers={},
            )
        )

    async def control(
        self,
        reconcile: Callable[[ReconcileRequest], Any],
        *,
        others: Mapping[str, Callable[[ReconcileRequest], Any]] | None = None,
        **more: Any,
    ) -> None:
        """Run a controller of the kind for the plugin `seats`, and others by their plugins."""
        made = {
            plugin: PluginController(name="count", kind=LICENCES, reconcile=each, **more)
            for plugin, each in {"seats": reconcile, **(others or {})}.items()
        }
        await self.handles.follow(
            Declared(
                kinds={LICENCES.name: LICENCES},
                watchers={LICENCES.name: tuple(made)},
                controllers={f"{plugin}/count": (plugin, each) for plugin, each in made.items()},
            )
        )


@pytest.fixture
async def handled(watched: WatchedCluster) -> AsyncIterator[Handled]:
    """Handles on a server that has the kind."""
    await watched.world.define("licences", "Licence", group="example.com", version="v1", has_status=True)
    made = Handled(watched)
    yield made
    await made.handles.controllers.retire()
