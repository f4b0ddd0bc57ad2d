"""The kinds the server knows: the built-in table, and the registry that custom resources join."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["BUILT_IN", "Registry", "Resource"]

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CHANGE = ("get", "patch", "update")
SUBRESOURCE_VERBS = {"binding": ("create",), "eviction": ("create",), "finalize": ("update",)}
"""Verbs of subresources that are not views of the object; the others can be read and changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource in one version, as discovery shows it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    list_kind: str = ""
    storage_version: str = ""
    """Version the objects are kept in; other versions are rewritten on the way out."""
    custom: bool = False
    printers: tuple[dict[str, Any], ...] | None = None
    """Additional printer columns, as the CRD spells them."""
    selectable: tuple[str, ...] = ()
    """Further field-selector paths, from a CRD's `selectableFields`."""
    scale: dict[str, Any] | None = None
    """Paths of the scale subresource (`specReplicasPath`…), where it is served."""
    replaceable: bool = False
    """Whether PUT creates what does not exist."""

    @property
    def group_version(self) -> str:
        """The `apiVersion` of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage_group_version(self) -> str:
        """The `apiVersion` its objects are stored with."""
        version = self.storage_version or self.version
        return f"{self.group}/{version}" if self.group else version

    def verbs_of(self, subresource: str) -> tuple[str, ...]:
        """Return the verbs of the objects, or of a subresource of theirs."""
        return SUBRESOURCE_VERBS.get(subresource, CHANGE) if subresource else self.verbs

    @property
    def qualified(self) -> str:
        """The name as error messages give it: `pods`, `queues.scheduling.example.com`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_name(self) -> str:
        """Kind of its lists."""
        return self.list_kind or f"{self.kind}List"

    @property
    def single(self) -> str:
        """Singular name, lower case."""
        return self.singular or self.kind.lower()


def built_in(group_version: str, plural: str, kind: str, short: str = "", *, sub: str = "", **more: Any) -> Resource:
    """Make one row of the table from words separated by spaces."""
    group, _, version = group_version.rpartition("/")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        short_names=tuple(short.split()),
        subresources=tuple(sub.split()),
        **more,
    )


EVERYTHING = ("all",)
SCALED = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}
REVIEW = ("create",)

BUILT_IN: tuple[Resource, ...] = (
    built_in("v1", "bindings", "Binding", verbs=("create",)),
    built_in("v1", "configmaps", "ConfigMap", "cm"),
    built_in("v1", "endpoints", "Endpoints", "ep", list_kind="EndpointsList", singular="endpoints"),
    built_in("v1", "events", "Event", "ev", replaceable=True),
    built_in("v1", "limitranges", "LimitRange", "limits", replaceable=True),
    built_in("v1", "namespaces", "Namespace", "ns", sub="finalize status", namespaced=False),
    built_in("v1", "nodes", "Node", "no", sub="status", namespaced=False),
    built_in("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "pvc", sub="status"),
    built_in("v1", "persistentvolumes", "PersistentVolume", "pv", sub="status", namespaced=False),
    built_in(
        "v1",
        "pods",
        "Pod",
        "po",
        sub="binding ephemeralcontainers eviction resize status",
        categories=EVERYTHING,
    ),
    built_in("v1", "podtemplates", "PodTemplate"),
    built_in(
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        "rc",
        sub="scale status",
        categories=EVERYTHING,
        scale=SCALED,
    ),
    built_in("v1", "resourcequotas", "ResourceQuota", "quota", sub="status"),
    built_in("v1", "secrets", "Secret"),
    built_in("v1", "serviceaccounts", "ServiceAccount", "sa"),
    built_in("v1", "services", "Service", "svc", sub="status", categories=EVERYTHING),
    built_in("apps/v1", "controllerrevisions", "ControllerRevision"),
    built_in("apps/v1", "daemonsets", "DaemonSet", "ds", sub="status", categories=EVERYTHING),
    built_in("apps/v1", "deployments", "Deployment", "deploy", sub="scale status", categories=EVERYTHING, scale=SCALED),
    built_in("apps/v1", "replicasets", "ReplicaSet", "rs", sub="scale status", categories=EVERYTHING, scale=SCALED),
    built_in("apps/v1", "statefulsets", "StatefulSet", "sts", sub="scale status", categories=EVERYTHING, scale=SCALED),
    built_in("batch/v1", "cronjobs", "CronJob", "cj", sub="status", categories=EVERYTHING),
    built_in("batch/v1", "jobs", "Job", sub="status", categories=EVERYTHING),
    built_in("coordination.k8s.io/v1", "leases", "Lease", replaceable=True),
    built_in("events.k8s.io/v1", "events", "Event", "ev", replaceable=True),
    built_in("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", sub="status"),
    built_in("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "pc", namespaced=False),
    built_in("storage.k8s.io/v1", "csidrivers", "CSIDriver", namespaced=False),
    built_in("storage.k8s.io/v1", "csinodes", "CSINode", namespaced=False),
    built_in("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", list_kind="CSIStorageCapacityList"),
    built_in("storage.k8s.io/v1", "storageclasses", "StorageClass", "sc", namespaced=False),
    built_in("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", sub="status", namespaced=False),
    built_in("resource.k8s.io/v1", "deviceclasses", "DeviceClass", namespaced=False),
    built_in("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", sub="status"),
    built_in("resource.k8s.io/v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
    built_in("resource.k8s.io/v1", "resourceslices", "ResourceSlice", namespaced=False),
    built_in("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
    built_in("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", namespaced=False),
    built_in("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding"),
    built_in("rbac.authorization.k8s.io/v1", "roles", "Role"),
    built_in("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", namespaced=False),
    built_in("discovery.k8s.io/v1", "endpointslices", "EndpointSlice"),
    built_in("networking.k8s.io/v1", "ingressclasses", "IngressClass", namespaced=False),
    built_in("networking.k8s.io/v1", "ingresses", "Ingress", "ing", sub="status"),
    built_in("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "netpol"),
    built_in(
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        namespaced=False,
    ),
    built_in(
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        namespaced=False,
    ),
    built_in(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd crds",
        sub="status",
        namespaced=False,
        categories=("api-extensions",),
    ),
    built_in("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False, verbs=REVIEW),
    built_in("authentication.k8s.io/v1", "tokenreviews", "TokenReview", namespaced=False, verbs=REVIEW),
    built_in("authorization.k8s.io/v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=REVIEW),
    built_in(
        "authorization.k8s.io/v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False, verbs=REVIEW
    ),
    built_in(
        "authorization.k8s.io/v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False, verbs=REVIEW
    ),
    built_in("authorization.k8s.io/v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False, verbs=REVIEW),
)
"""Built-in resources; `replaceable` kinds may be created by PUT, as on the real server."""


class Registry:
    """All resources served now, by group, version and plural."""

    def __init__(self, resources: tuple[Resource, ...] = BUILT_IN) -> None:
        self._resources: dict[tuple[str, str, str], Resource] = {}
        self.revision = 0
        """Grows with every change, so that cached documents know when they are stale."""
        for resource in resources:
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        """All resources, in order of registration."""
        return iter(self._resources.values())

    def add(self, resource: Resource) -> None:
        """Serve a resource from now on, replacing one of the same name and version."""
        self._resources[resource.group, resource.version, resource.plural] = resource
        self.revision += 1

    def remove(self, group: str, plural: str) -> None:
        """Stop serving a resource in every version."""
        for key in [key for key in self._resources if key[0] == group and key[2] == plural]:
            del self._resources[key]
        self.revision += 1

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource of that name, or None when it is not served."""
        return self._resources.get((group, version, plural))

    def of_group_version(self, group: str, version: str) -> list[Resource]:
        """Return the resources of one group version."""
        return [one for one in self if one.group == group and one.version == version]

    def versions(self) -> dict[str, list[str]]:
        """Versions by group, the preferred one first."""
        found: dict[str, list[str]] = {}
        for resource in self:
            versions = found.setdefault(resource.group, [])
            if resource.version not in versions:
                versions.append(resource.version)
        return {group: sorted(versions, key=version_rank) for group, versions in found.items()}

    def storage_resource(self, group: str, plural: str) -> Resource | None:
        """The resource of a stored kind, in any of its versions."""
        return next((one for one in self if one.group == group and one.plural == plural), None)

    def storage_resources(self) -> list[Resource]:
        """One resource of each stored kind (events count once, in the core group)."""
        by_storage = {(one.group, one.plural): one for one in self if "list" in one.verbs}
        by_storage.pop(("events.k8s.io", "events"), None)
        return list(by_storage.values())


def version_rank(version: str) -> tuple[int, int, int]:
    """Order of versions in discovery: v2, v1, v1beta2, v1alpha1."""
    main, beta, alpha = version[1:].partition("beta"), "beta" in version, "alpha" in version
    if alpha:
        main = version[1:].partition("alpha")
    stage = 2 if alpha else 1 if beta else 0
    numbers = [int(part) if part.isdigit() else 0 for part in (main[0], main[2])]
    return stage, -numbers[0], -numbers[1]
