"""One object, or a few, of each built-in kind that the emulator serves: what `kubectl get` shows of them.

Each is made so that no controller of a cluster has anything to do with it.
"""

from collections.abc import Iterator
from typing import Any

__all__ = ["shown_objects"]

Object = dict[str, Any]
CONTAINERS = [{"name": "main", "image": "busybox"}, {"name": "side", "image": "pause"}]
POD = {"restartPolicy": "Always", "containers": CONTAINERS}
TEMPLATE = {"metadata": {"labels": {"app": "shown"}}, "spec": POD}
SELECTOR = {"matchLabels": {"app": "shown"}, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
SUBJECTS = [
    {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"},
    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team"},
    {"kind": "ServiceAccount", "namespace": "default", "name": "robot"},
]
WEBHOOK = {
    "name": "shown.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "failurePolicy": "Ignore",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
}
DEVICE = {"name": "d0"}
BACKEND = {"service": {"name": "shown", "port": {"number": 80}}}
PATHS = {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "shown"}}]}}


def shown_objects(namespace: str) -> Iterator[tuple[str, Object]]:
    """Give objects, each with the path of its collection; those outside namespaces are called after the namespace."""
    for kind, suffix, body in _namespaced():
        group, _, plural = kind.rpartition("/")
        root = f"apis/{group}" if "/" in group else f"api/{group}"
        yield f"/{root}/namespaces/{namespace}/{plural}", _named(f"shown{suffix}", body)
    for kind, body in _wide():
        group, _, plural = kind.rpartition("/")
        root = f"apis/{group}" if "/" in group else f"api/{group}"
        yield f"/{root}/{plural}", _named(body.pop("called", namespace), body)


def _named(name: str, body: Object) -> Object:
    return {**body, "metadata": {"name": name, **body.get("metadata", {})}}


def _namespaced() -> Iterator[tuple[str, str, Object]]:
    yield "v1/configmaps", "", {"data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}}
    yield "v1/configmaps", "-empty", {}
    yield (
        "v1/endpoints",
        "-own",
        {"subsets": [{"addresses": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.2"}], "ports": [{"name": "http", "port": 80}]}]},
    )
    yield "v1/limitranges", "", {"spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}}
    yield (
        "v1/persistentvolumeclaims",
        "",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "absent",
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
    )
    yield "v1/pods", "", {"spec": {"schedulerName": "nobody", "containers": CONTAINERS}}
    gated = {"schedulerName": "nobody", "containers": CONTAINERS, "schedulingGates": [{"name": "example.com/held"}]}
    yield "v1/pods", "-gated", {"spec": gated}
    yield "v1/podtemplates", "", {"template": TEMPLATE}
    yield "v1/replicationcontrollers", "", {"spec": {"replicas": 0, "selector": {"app": "shown"}, "template": TEMPLATE}}
    yield "v1/secrets", "", {"data": {"a": "AA=="}}
    yield "v1/secrets", "-typed", {"type": "example.com/kind", "stringData": {"a": "b", "c": "d"}}
    yield "v1/serviceaccounts", "", {}
    yield "v1/services", "", {"spec": {"clusterIP": "None", "selector": {"app": "shown", "also": "this"}}}
    http, dns = {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}
    yield "v1/services", "-ports", {"spec": {"clusterIP": "None", "ports": [http, dns]}}
    yield "v1/services", "-inside", {"spec": {"ports": [{"port": 443}], "selector": {"app": "shown"}}}
    yield (
        "v1/services",
        "-node",
        {"spec": {"type": "NodePort", "ports": [{**http, "nodePort": 30999}], "externalIPs": ["192.0.2.1"]}},
    )
    yield "v1/services", "-outside", {"spec": {"type": "ExternalName", "externalName": "example.com"}}
    yield "v1/services", "-balanced", {"spec": {"type": "LoadBalancer", "ports": [{"port": 81, "nodePort": 30998}]}}
    yield "apps/v1/controllerrevisions", "", {"revision": 3, "data": {"any": "thing"}}
    yield "apps/v1/daemonsets", "", {"spec": {"selector": SELECTOR, "template": _for_nobody()}}
    yield (
        "apps/v1/deployments",
        "",
        {"spec": {"replicas": 0, "paused": True, "selector": SELECTOR, "template": TEMPLATE}},
    )
    yield "apps/v1/replicasets", "", {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}}
    yield (
        "apps/v1/statefulsets",
        "",
        {"spec": {"replicas": 0, "serviceName": "shown", "selector": SELECTOR, "template": TEMPLATE}},
    )
    job = {"template": {"spec": {**POD, "restartPolicy": "Never"}}, "suspend": True}
    yield "batch/v1/jobs", "", {"spec": {**job, "completions": 3, "managedBy": "example.com/nobody"}}
    yield "batch/v1/jobs", "-many", {"spec": {**job, "parallelism": 4, "managedBy": "example.com/nobody"}}
    yield "batch/v1/cronjobs", "", {"spec": {"schedule": "@yearly", "suspend": True, "jobTemplate": {"spec": job}}}
    yield (
        "batch/v1/cronjobs",
        "-zone",
        {"spec": {"schedule": "0 0 1 1 *", "suspend": True, "timeZone": "Europe/Berlin", "jobTemplate": {"spec": job}}},
    )
    yield "coordination.k8s.io/v1/leases", "", {"spec": {"holderIdentity": "me"}}
    yield "coordination.k8s.io/v1/leases", "-free", {}
    yield (
        "policy/v1/poddisruptionbudgets",
        "",
        {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {"x": "y"}}}},
    )
    yield (
        "policy/v1/poddisruptionbudgets",
        "-most",
        {"spec": {"maxUnavailable": 2, "selector": {"matchLabels": {"x": "z"}}}},
    )
    yield "storage.k8s.io/v1/csistoragecapacities", "", {"storageClassName": "absent"}
    yield "resource.k8s.io/v1/resourceclaims", "", {"spec": REQUESTS}
    yield "resource.k8s.io/v1/resourceclaimtemplates", "", {"spec": {"spec": REQUESTS}}
    yield "rbac.authorization.k8s.io/v1/roles", "", {"rules": []}
    yield "rbac.authorization.k8s.io/v1/rolebindings", "", {"roleRef": ROLE, "subjects": SUBJECTS}
    yield "rbac.authorization.k8s.io/v1/rolebindings", "-empty", {"roleRef": ROLE}
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    endpoints = [{"addresses": [f"10.1.1.{number}"]} for number in range(5)]
    yield (
        "discovery.k8s.io/v1/endpointslices",
        "",
        {"addressType": "IPv4", "ports": ports, "endpoints": endpoints},
    )
    yield "discovery.k8s.io/v1/endpointslices", "-empty", {"addressType": "IPv4", "endpoints": []}
    yield "networking.k8s.io/v1/ingresses", "", {"spec": {"rules": [{"host": "a.example.com"}, {"http": PATHS}]}}
    yield "networking.k8s.io/v1/ingresses", "-bare", {"spec": {"defaultBackend": BACKEND}}
    hosts = [{"host": f"{letter}.example.com"} for letter in "abcd"]
    spec = {"ingressClassName": "shown", "tls": [{"hosts": ["a.example.com"]}], "rules": [{"http": PATHS}, *hosts]}
    yield "networking.k8s.io/v1/ingresses", "-many", {"spec": spec}
    yield "networking.k8s.io/v1/networkpolicies", "", {"spec": {"podSelector": SELECTOR, "policyTypes": ["Ingress"]}}
    yield "networking.k8s.io/v1/networkpolicies", "-all", {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}


def _for_nobody() -> Object:
    return {"metadata": TEMPLATE["metadata"], "spec": {**POD, "nodeSelector": {"example.com/nowhere": "true"}}}


def _wide() -> Iterator[tuple[str, Object]]:
    yield (
        "v1/persistentvolumes",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "storageClassName": "absent",
                "hostPath": {"path": "/x"},
            }
        },
    )
    yield "scheduling.k8s.io/v1/priorityclasses", {"value": 7}
    yield "storage.k8s.io/v1/csidrivers", {"spec": {}}
    yield "storage.k8s.io/v1/csinodes", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}
    yield "storage.k8s.io/v1/storageclasses", {"provisioner": "example.com/none"}
    yield (
        "storage.k8s.io/v1/volumeattachments",
        {"spec": {"attacher": "none.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
    )
    yield "resource.k8s.io/v1/deviceclasses", {"spec": {}}
    yield (
        "resource.k8s.io/v1/resourceslices",
        {
            "spec": {
                "driver": "example.com",
                "nodeName": "nowhere",
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
                "devices": [DEVICE],
            }
        },
    )
    yield "rbac.authorization.k8s.io/v1/clusterroles", {"rules": []}
    yield "rbac.authorization.k8s.io/v1/clusterrolebindings", {"roleRef": ROLE, "subjects": SUBJECTS}
    yield "node.k8s.io/v1/runtimeclasses", {"handler": "none"}
    parameters = {"apiGroup": "example.com", "kind": "Balancer", "name": "b", "scope": "Cluster"}
    yield "networking.k8s.io/v1/ingressclasses", {"spec": {"controller": "example.com/c", "parameters": parameters}}
    yield "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {"webhooks": [WEBHOOK]}
    yield "admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {}
    yield (
        "apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "called": "showns.example.com",
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "showns", "kind": "Shown"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
                ],
            },
        },
    )
