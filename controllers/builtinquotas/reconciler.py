"""Creates and keeps the objects of the root, the system and the default quota. Its keys are these objects.

They exist as soon as there is another ElasticQuota, or an ElasticQuotaProfile. A deleted one is created again. The root
keeps its labels and has no amounts: the cluster is its limit. The maximums of the other two are their owner's.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.elastic.names import (
    ALLOW_LENT_RESOURCE,
    DEFAULT_QUOTA,
    IS_PARENT,
    PARENT,
    ROOT_QUOTA,
    SYSTEM_QUOTA,
)

__all__ = ["BuiltInQuotas", "change_of", "manifest_of"]

NAMES: Final = (ROOT_QUOTA, SYSTEM_QUOTA, DEFAULT_QUOTA)
_ROOT_LABELS: Final = {IS_PARENT: "true", ALLOW_LENT_RESOURCE: "false"}
_BY_NAME: Final = "quota-by-name"


class BuiltInQuotas(Controller):
    """Creates and keeps built-in quotas."""

    name: ClassVar[str] = "builtinquota"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch quotas and their profiles."""
        self._quotas: Store[ElasticQuota] = operator.store(ELASTIC_QUOTAS, {_BY_NAME: _name_of})
        self._profiles: Store[ElasticQuotaProfile] = operator.store(ELASTIC_QUOTA_PROFILES)
        self._namespace = options.quota_namespace
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=ELASTIC_QUOTAS, keys=self._keys_of_quota),
                Watch(resource=ELASTIC_QUOTA_PROFILES, keys=self._keys_of_profile),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Create a built-in quota if other quotas exist and it does not, or restore the root.

        Raises:
            ApiError: The server refused for now.
        """
        _, name = key
        there = self._quotas.by(_BY_NAME, name)
        if not there:
            if self._is_needed():
                # one that was created meanwhile is seen when the store shows it
                await self._operator.writer.create(ELASTIC_QUOTAS, manifest_of(name, self._namespace))
            return None
        for quota in there:
            if quota.metadata.namespace == self._namespace and (change := change_of(quota)):
                await self._operator.writer.merge(ELASTIC_QUOTAS, quota.metadata, change)
        return None

    def _is_needed(self) -> bool:
        return len(self._profiles) > 0 or any(quota.metadata.name not in NAMES for quota in self._quotas.values())

    def _keys_of_quota(self, old: ElasticQuota | None, new: ElasticQuota | None) -> Iterable[Key]:
        """Yield the built-in quota that changed, or all of them when another quota appears."""
        quota = new if new is not None else old
        if quota is not None and quota.metadata.name in NAMES:
            return [(self._namespace, quota.metadata.name)]
        return self._all() if old is None else ()

    def _keys_of_profile(self, old: ElasticQuotaProfile | None, _: ElasticQuotaProfile | None) -> Iterable[Key]:
        return self._all() if old is None else ()

    def _all(self) -> list[Key]:
        return [(self._namespace, name) for name in NAMES]


def manifest_of(name: str, namespace: str) -> dict[str, Any]:
    """Return a new built-in quota. The arguments of the scheduler limit the system and the default quota."""
    labels = _ROOT_LABELS if name == ROOT_QUOTA else {PARENT: ROOT_QUOTA}
    return {"metadata": {"name": name, "namespace": namespace, "labels": dict(labels)}, "spec": {}}


def change_of(quota: ElasticQuota) -> Mapping[str, Any]:
    """Return the merge patch that restores the root, empty if nothing differs. Other quotas stay as they are."""
    if quota.metadata.name != ROOT_QUOTA:
        return {}
    labels: dict[str, str | None] = {
        key: text for key, text in _ROOT_LABELS.items() if quota.metadata.labels.get(key) != text
    }
    if quota.metadata.labels.get(PARENT):
        labels[PARENT] = None
    change: dict[str, Any] = {"metadata": {"labels": labels}} if labels else {}
    spec = {field: None for field in ("min", "max") if getattr(quota.spec, field)}
    return change | ({"spec": spec} if spec else {})


def _name_of(quota: ElasticQuota) -> tuple[str, ...]:
    return (quota.metadata.name,)
