"""Belonging: which elastic quota a pod uses."""

from collections.abc import Iterable

from model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from model.elastic.quota import ElasticQuota

__all__ = ["Belonging"]


class Belonging:
    """Which quota pods use, by what they name and where they are.

    The quota that a pod names, else one that has the name of the pod's namespace and stands in it, else one that lists
    the namespace, else the default one; so does a pod that names a quota which is not there, or the root, which is the
    cluster.
    """

    def __init__(self, quotas: Iterable[ElasticQuota]) -> None:
        self._names = {SYSTEM_QUOTA}  # which is always there
        self._of_namespace: dict[str, str] = {}
        self._listed: dict[str, str] = {}
        for quota in quotas:
            if quota.name == ROOT_QUOTA:
                continue
            self._names.add(quota.name)
            if quota.name == quota.namespace:
                self._of_namespace[quota.namespace] = quota.name
            for namespace in quota.namespaces:
                self._listed.setdefault(namespace, quota.name)

    def quota_of(self, label: str, namespace: str) -> str:
        """Return the name of the quota of pods.

        Args:
            label: The quota that they name, or empty.
            namespace: Where they are.
        """
        if label:
            return label if label in self._names else DEFAULT_QUOTA
        return self._of_namespace.get(namespace) or self._listed.get(namespace) or DEFAULT_QUOTA
