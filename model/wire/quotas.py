"""Elastic quotas on the wire (`scheduling.sigs.k8s.io/v1alpha1`), as Koordinator defines them."""

from pyroclast.model.wire.base import EMPTY, ObjectMeta, ResourceList, Wire

__all__ = ["ElasticQuota", "ElasticQuotaSpec", "ElasticQuotaStatus"]


class ElasticQuotaSpec(Wire, frozen=True, kw_only=True):
    """Guarantee and ceiling."""

    min: ResourceList = EMPTY
    max: ResourceList = EMPTY


class ElasticQuotaStatus(Wire, frozen=True, kw_only=True):
    """What is used."""

    used: ResourceList = EMPTY


class ElasticQuota(Wire, frozen=True, kw_only=True):
    """A guarantee and a ceiling for a part of the cluster's pods; labels put quotas below each other."""

    metadata: ObjectMeta
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
