"""Pod quota: the elastic quota that a pod uses."""

from collections.abc import Iterable
from typing import Final

from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.elastic.quota import ParsedQuota

__all__ = ["Belonging"]

_SYSTEM_NAMESPACES: Final = frozenset({"kube-system"})


class Belonging:
    """Quotas of pods, by label and namespace.

    A pod uses the quota that it names, else the quota of its namespace that has the namespace's name, else a quota that
    lists the namespace, else the default quota. A pod that names an unknown quota or the root also uses the default
    quota. Users who may create pods may write the label. With tenants, `own_alone` limits the label to quotas that are
    in the pod's namespace or list it. The system quota is then that of `kube-system`.
    """

    def __init__(self, quotas: Iterable[ParsedQuota], *, own_alone: bool = False) -> None:
        """Index the quotas; with `own_alone`, a label counts only for quotas of the pod's namespace."""
        self._own_alone = own_alone
        self._served: dict[str, frozenset[str]] = {SYSTEM_QUOTA: _SYSTEM_NAMESPACES, DEFAULT_QUOTA: frozenset()}
        self._names = {SYSTEM_QUOTA}  # which is always there
        self._of_namespace: dict[str, str] = {}
        self._listed: dict[str, str] = {}
        for quota in quotas:
            if quota.name == ROOT_QUOTA:
                continue
            self._names.add(quota.name)
            served = self._served.get(quota.name, frozenset())
            self._served[quota.name] = served | {quota.namespace, *quota.namespaces}
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
