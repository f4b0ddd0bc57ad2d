"""Elastic quotas: guarantees and maximums whose unused part is lent, as Koordinator defines them."""

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
    """Guarantee and maximum of the quota."""

    min: ResourceList = EMPTY
    """Guarantee, by resource name. Other quotas can use the unused part."""
    max: ResourceList = EMPTY
    """Maximum, by resource name. Other resources are not limited."""


class ElasticQuotaStatus(Wire, frozen=True, kw_only=True):
    """Status of the quota."""

    used: ResourceList = EMPTY
    """Use of the pods of the quota and of the quotas below it."""


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
    """Guarantee and maximum of the quota."""
    status: ElasticQuotaStatus = ElasticQuotaStatus()
    """Status of the quota. The scheduler writes it."""


class ElasticQuotaProfileSpec(Wire, frozen=True, kw_only=True):
    """Nodes of the tree, and its root quota."""

    quota_name: str
    """Name of the root ElasticQuota of the tree, in the namespace of the profile."""
    quota_labels: Mapping[str, str] = EMPTY
    """Additional labels of the quota."""
    resource_ratio: str | None = None
    """Share of the nodes' capacity that is divided, above 0 and at most 1."""
    node_selector: LabelSelector
    """Nodes of the tree."""


class ElasticQuotaProfileStatus(Wire, frozen=True, kw_only=True):
    """Empty. The quota has the size of the tree."""


class ElasticQuotaProfile(KubernetesObject, frozen=True, kw_only=True):
    """ElasticQuotaProfile creates a separate tree of quotas for some nodes, sized by those nodes."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.ELASTIC_QUOTA_PROFILES,
        kind="ElasticQuotaProfile",
        plural="elasticquotaprofiles",
        short_names=("eqp",),
        has_status_subresource=False,
    )
    spec: ElasticQuotaProfileSpec = ElasticQuotaProfileSpec(quota_name="", node_selector=LabelSelector())
    """Nodes of the tree, and its root quota."""
    status: ElasticQuotaProfileStatus = ElasticQuotaProfileStatus()
    """Empty. The quota has the size of the tree."""
