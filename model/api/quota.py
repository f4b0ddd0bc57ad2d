"""Elastic quotas: guarantees and ceilings whose unused part is lent, as Koordinator defines them."""

from typing import ClassVar

import msgspec

from model.api import names
from model.api.definitions import AGE, Column, Definition, KubernetesObject
from model.api.meta import Amounts
from model.wire.base import Wire

__all__ = ["ElasticQuota", "ElasticQuotaSpec", "ElasticQuotaStatus"]


class ElasticQuotaSpec(Wire, frozen=True, kw_only=True):
    """What the quota is guaranteed, and what it may have at most."""

    min: Amounts = msgspec.field(default_factory=dict)
    """Guarantee, by resource name; others may use it while nobody asks for it."""
    max: Amounts = msgspec.field(default_factory=dict)
    """Ceiling, by resource name; resources that are not named are not limited."""


class ElasticQuotaStatus(Wire, frozen=True, kw_only=True):
    """How the quota stands."""

    used: Amounts = msgspec.field(default_factory=dict)
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
            Column(name="PARENT", path=".metadata.labels.quota\\.scheduling\\.koordinator\\.sh/parent"),
            AGE,
        ),
        approval="https://github.com/kubernetes-sigs/scheduler-plugins/pull/52",
    )
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    """What the quota is guaranteed, and what it may have at most."""
    status: ElasticQuotaStatus = ElasticQuotaStatus()
    """How the quota stands; written by the scheduler."""
