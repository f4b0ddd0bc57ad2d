"""Elastic quotas: guarantees and ceilings whose unused part is lent, as Koordinator defines them."""

from collections.abc import Mapping
from typing import ClassVar

from pyroclast.model.api import names
from pyroclast.model.api.definitions import AGE, Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import EMPTY, LabelSelector, ResourceList, Wire

__all__ = [
    "ElasticQuota",
    "ElasticQuotaProfile",
    "ElasticQuotaProfileSpec",
    "ElasticQuotaProfileStatus",
    "ElasticQuotaSpec",
    "ElasticQuotaStatus",
]


class ElasticQuotaSpec(Wire, frozen=True, kw_only=True):
    """What the quota is guaranteed, and what it may have at most."""

    min: ResourceList = EMPTY
    """Guarantee, by resource name; others may use it while nobody asks for it."""
    max: ResourceList = EMPTY
    """Ceiling, by resource name; resources that are not named are not limited."""


class ElasticQuotaStatus(Wire, frozen=True, kw_only=True):
    """How the quota stands."""

    used: ResourceList = EMPTY
    """What pods of the quota, and of those below it, have."""


class ElasticQuota(KubernetesObject, frozen=True, kw_only=True):
    """ElasticQuota guarantees a part of the cluster to the pods that use it; its name is unique in the cluster."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.ELASTIC_QUOTAS,
        kind="ElasticQuota",
        plural="elasticquotas",
        short_names=("eq", "eqs"),
        has_status_subresource=False,
        columns=(
            PrinterColumn(name="PARENT", path=".metadata.labels.quota\\.scheduling\\.koordinator\\.sh/parent"),
            AGE,
        ),
        approval="https://github.com/kubernetes-sigs/scheduler-plugins/pull/52",
    )
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    """What the quota is guaranteed, and what it may have at most."""
    status: ElasticQuotaStatus = ElasticQuotaStatus()
    """How the quota stands; written by the scheduler."""


class ElasticQuotaProfileSpec(Wire, frozen=True, kw_only=True):
    """Which nodes make up the tree, and the quota at its top."""

    quota_name: str
    """Name of the ElasticQuota, in the namespace of the profile, that stands at the top of the tree."""
    quota_labels: Mapping[str, str] = EMPTY
    """Labels that the quota gets beside those that the profile gives it."""
    resource_ratio: str | None = None
    """Part of what the nodes offer that is divided, above 0 and at most 1."""
    node_selector: LabelSelector
    """Nodes that make up the tree."""


class ElasticQuotaProfileStatus(Wire, frozen=True, kw_only=True):
    """Nothing: the quota says how large the tree is."""


class ElasticQuotaProfile(KubernetesObject, frozen=True, kw_only=True):
    """ElasticQuotaProfile gives some nodes a tree of quotas of their own, as large as they are."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.ELASTIC_QUOTA_PROFILES,
        kind="ElasticQuotaProfile",
        plural="elasticquotaprofiles",
        short_names=("eqp",),
        has_status_subresource=False,
    )
    spec: ElasticQuotaProfileSpec = ElasticQuotaProfileSpec(quota_name="", node_selector=LabelSelector())
    """Which nodes make up the tree, and the quota at its top."""
    status: ElasticQuotaProfileStatus = ElasticQuotaProfileStatus()
    """Nothing: the quota says how large the tree is."""
