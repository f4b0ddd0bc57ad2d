"""Reconciler: updates the root ElasticQuota of each profile to the resources of the profile's nodes."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from pyroclast.controllers.quotaprofiles.root_quota import (
    Root,
    change_of,
    faults_of,
    faults_of_root,
    root_of,
    takes_pods,
    tree_of,
)
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.invalid_condition import FaultReporter
from pyroclast.controllers.runtime.keys import own_key
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS, NODES
from pyroclast.model.api.quota import ElasticQuota, ElasticQuotaProfile
from pyroclast.model.elastic.names import PROFILE, TREE_ID
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.wire import Node

__all__ = ["QuotaProfiles"]

_BY_QUOTA: Final = "profile-by-quota"

_CREATE_FAILED: Final = "CreateQuotaFailed"
_UPDATE_FAILED: Final = "UpdateQuotaFailed"


class QuotaProfiles(Controller):
    """Creates and updates the roots of quota trees. Its keys are profiles."""

    name: ClassVar[str] = "quotaprofile"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch profiles, nodes and quotas."""
        self._profiles: Store[ElasticQuotaProfile] = operator.store(ELASTIC_QUOTA_PROFILES, {_BY_QUOTA: _quota_of})
        self._quotas: Store[ElasticQuota] = operator.store(ELASTIC_QUOTAS)
        self._nodes: Store[Node] = operator.store(NODES)
        self._faults = FaultReporter(operator, ELASTIC_QUOTA_PROFILES)
        super().__init__(
            operator,
            options,
            watches=[
                Watch(resource=ELASTIC_QUOTA_PROFILES, keys=own_key),
                Watch(resource=ELASTIC_QUOTAS, keys=self._keys_of_quota),
                Watch(resource=NODES, keys=self._keys_of_node),
            ],
        )

    async def reconcile(self, key: Key) -> float | None:
        """Create or update the root of a profile's tree. Faults of the profile are reported.

        Raises:
            ApiError: The server refused temporarily.
        """
        profile = self._profiles.get(*key)
        if profile is None or profile.metadata.deletion_timestamp:
            self._faults.forget(key)
            return None
        faults = list(faults_of(profile))
        there = self._quotas.get(profile.metadata.namespace, profile.spec.quota_name)
        other = "" if there is None else there.metadata.labels.get(PROFILE, "")
        if other not in {"", profile.metadata.name}:
            faults.append(f"spec.quotaName: {profile.spec.quota_name} is the quota of profile {other}")
        self._faults.report(profile, "; ".join(faults))
        if any(faults_of_root(profile)) or other not in {"", profile.metadata.name}:
            return None
        if not profile.metadata.labels.get(TREE_ID):
            labels = {"metadata": {"labels": {TREE_ID: tree_of(profile)}}}
            await self._operator.writer.merge(ELASTIC_QUOTA_PROFILES, profile.metadata, labels)
        await self._ensure(profile, there, root_of(profile, self._nodes.values()))
        return None

    async def _ensure(self, profile: ElasticQuotaProfile, there: ElasticQuota | None, root: Root) -> None:
        reason = _CREATE_FAILED if there is None else _UPDATE_FAILED
        try:
            if there is None:
                body = root.manifest()
                body["metadata"] |= {"namespace": profile.metadata.namespace, "name": profile.spec.quota_name}
                # a quota that was created meanwhile is checked when the store shows it
                await self._operator.writer.create(ELASTIC_QUOTAS, body)
            elif change := change_of(there, root):
                await self._operator.writer.merge(ELASTIC_QUOTAS, there.metadata, change)
        except ApiError as error:
            if not error.is_temporary:
                self._operator.record(ELASTIC_QUOTA_PROFILES, profile, "Warning", reason, error.message)
            raise

    def _keys_of_node(self, old: Node | None, new: Node | None) -> Iterable[Key]:
        """Return the profiles that select a node before or after a change. Heartbeats are ignored."""
        if _looks_of(old) == _looks_of(new):
            return ()
        labels = [each.metadata.labels for each in (old, new) if each is not None]
        return [key_of(profile) for profile in self._profiles.values() if _means(profile, labels)]

    def _keys_of_quota(self, old: ElasticQuota | None, new: ElasticQuota | None) -> Iterable[Key]:
        """Return the profiles that name a quota, whichever controller owns it. Changes of its status are ignored."""
        if old is not None and new is not None and _said_by(old) == _said_by(new):
            return ()
        name = next("/".join(key_of(each)) for each in (new, old) if each is not None)
        return [key_of(profile) for profile in self._profiles.by(_BY_QUOTA, name)]


def _quota_of(profile: ElasticQuotaProfile) -> Iterable[str]:
    return (f"{profile.metadata.namespace}/{profile.spec.quota_name}",)


def _means(profile: ElasticQuotaProfile, labels: Iterable[Mapping[str, str]]) -> bool:
    selector = Selector.of(profile.spec.node_selector)
    return any(map(selector.matches, labels))


def _looks_of(node: Node | None) -> tuple[object, ...] | None:
    return None if node is None else (node.metadata.labels, node.status.allocatable, takes_pods(node))


def _said_by(quota: ElasticQuota) -> tuple[object, ...]:
    sized = {key: text for key, text in quota.metadata.annotations.items() if key.endswith("-resource")}
    return quota.metadata.labels, sized, quota.spec
