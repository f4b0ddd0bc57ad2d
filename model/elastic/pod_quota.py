"""Pod quota: the elastic quota that a pod uses."""

from collections.abc import Iterable
from typing import Final

from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.elastic.quota import ParsedQuota

__all__ = ["Belonging"]

_SYSTEM_NAMESPACES: Final = frozenset({"kube-system"})


class Belonging:
    """Which quota pods use, by what they name and where they are.

    The quota that a pod names, else one that has the name of the pod's namespace and stands in it, else one that lists
    the namespace, else the default one; so does a pod that names a quota which is not there, or the root, which is the
    cluster. Anyone who may create pods may write the label, so that a cluster with tenants may want it to count only
    where the quota stands in the pod's namespace or lists it; the system quota is then that of `kube-system`.
    """

    def __init__(self, quotas: Iterable[ParsedQuota], *, own_alone: bool = False) -> None:
        """Read who may use what; with `own_alone` a label counts for quotas of the pod's namespace alone."""
        self._own_alone = own_alone
        self._served: dict[str, frozenset[str]] = {SYSTEM_QUOTA: _SYSTEM_NAMESPACES, DEFAULT_QUOTA: frozenset()}
        self._names = {SYSTEM_QUOTA}  # which is always there
        self._of_namespace: dict[str, str] = {}
        self._listed: dict[str, str] = {}
        for quota in quotas:
            if quota.name == ROOT_QUOTA:
                continue
            self._names.add(quota.name)
            self._served[quota.name] = frozenset({quota.namespace, *quota.namespaces})
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
        if label and (not self._own_alone or namespace in self._served.get(label, ())):
            return label if label in self._names else DEFAULT_QUOTA
        return self._of_namespace.get(namespace) or self._listed.get(namespace) or DEFAULT_QUOTA
