"""Webhook configurations: the requests that the API server sends to admission, and the policy for a missing answer.

A dead webhook never stops a cluster. By default a missing answer allows the object, because the controllers refuse the
same objects. For pods this is always so.

Only pods of our schedulers are reviewed. With resource groups, which may choose the scheduler, every pod is reviewed.
Pods in system namespaces are not reviewed. The timeout for pods is two seconds. docs/admission.md explains the reasons.

`python -m pyroclast.controllers.admission.webhooks <folder>` (`make webhooks`) writes them as YAML for the chart.
"""

import base64
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from pyroclast.controllers.admission.handlers import SERVICES, WebhookService
from pyroclast.model.api.names import DEFAULT_SCHEDULER, SYSTEM_NAMESPACE
from pyroclast.model.elastic.names import NAMESPACES, PREEMPTIBLE

__all__ = ["CHART_PATHS", "WebhookOptions", "configurations", "write"]

CHART_PATHS: Final = (
    "/jobs/mutate",
    "/jobs/validate",
    "/podgroups/mutate",
    "/podgroups/validate",
    "/queues/mutate",
    "/queues/validate",
    "/hypernodes/validate",
    "/cronjobs/validate",
    "/jobflows/validate",
    "/elasticquotas/mutate",
    "/elasticquotas/validate",
)
"""Paths in the chart's configurations: the custom resources. Pods are opt-in, as in Volcano's chart."""

_VERBS: Final = {"mutate": "Mutating", "validate": "Validating"}
_SINGULAR: Final = {
    "jobs": "job",
    "podgroups": "podgroup",
    "queues": "queue",
    "pods": "pod",
    "hypernodes": "hypernode",
    "cronjobs": "cronjob",
    "jobflows": "jobflow",
    "elasticquotas": "elasticquota",
}
_JUDGED_BY_SPEC: Final = frozenset({"jobs", "hypernodes", "cronjobs", "jobflows"})
"""Kinds for which only changes of the spec are reviewed."""
_SPEC_CHANGED: Final = (
    "request.operation != 'UPDATE' "
    "|| (has(object.spec) ? object.spec : {}) != (has(oldObject.spec) ? oldObject.spec : {})"
)
"""In CEL, access to an absent field is an error, which rejects the object with the policy `Fail`."""
_QUOTA_CHANGED: Final = f"""{_SPEC_CHANGED}
|| (has(object.metadata.labels) ? object.metadata.labels : {{}})
!= (has(oldObject.metadata.labels) ? oldObject.metadata.labels : {{}})
|| (has(object.metadata.annotations) && '{NAMESPACES}' in object.metadata.annotations
? object.metadata.annotations['{NAMESPACES}'] : '')
!= (has(oldObject.metadata.annotations) && '{NAMESPACES}' in oldObject.metadata.annotations
? oldObject.metadata.annotations['{NAMESPACES}'] : '')"""
"""The labels of an ElasticQuota define its place in the tree. Only one annotation is relevant; most contain status."""

_PREEMPTIBLE_CHANGED: Final = f"""request.operation != 'UPDATE'
|| (has(object.metadata.labels) && '{PREEMPTIBLE}' in object.metadata.labels
? object.metadata.labels['{PREEMPTIBLE}'] : '')
!= (has(oldObject.metadata.labels) && '{PREEMPTIBLE}' in oldObject.metadata.labels
? oldObject.metadata.labels['{PREEMPTIBLE}'] : '')"""
"""Pods change often, and this label alone is reviewed then."""

_HEAD: Final = "# Made by `make webhooks` from controllers/admission/webhooks.py; change it there.\n"

_SECONDS: Final = 5
_POD_SECONDS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Address of the webhook service, and the requests that the API server sends."""

    name: str = "pyroclast-admission"
    """Name of the configurations."""
    namespace: str = SYSTEM_NAMESPACE
    """Namespace of the service."""
    service: str = "pyroclast-admission"
    port: int = 443
    url: str = ""
    """Base address instead of the service, for a server outside the cluster."""
    authorities: bytes = b""
    """CA certificates, PEM. Empty: the admission server fills them in."""
    paths: Collection[str] = CHART_PATHS
    scheduler_names: Sequence[str] = (DEFAULT_SCHEDULER,)
    has_resource_groups: bool = False
    failure_policy: str = "Ignore"
    """Policy for custom resources without an answer: Ignore (allow) or Fail (refuse)."""
    excluded_namespaces: Sequence[str] = ("kube-system",)
    """Objects in these namespaces, and in that of the service, are not reviewed."""


def configurations(options: WebhookOptions) -> list[dict[str, Any]]:
    """Return both configurations, mutating and validating."""
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {
                "name": options.name,
                "labels": {"app.kubernetes.io/name": "pyroclast", "app.kubernetes.io/component": "admission"},
            },
            "webhooks": [
                _webhook(SERVICES[path], verb, options)
                for path in SERVICES
                if path in options.paths and path.endswith(f"/{verb}")
            ],
        }
        for verb, kind in _VERBS.items()
    ]


def _webhook(service: WebhookService, verb: str, options: WebhookOptions) -> dict[str, Any]:
    of_pods = service.resource == "pods"
    webhook: dict[str, Any] = {
        "name": f"{verb}{_SINGULAR[service.resource]}.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client_config(service.path, options),
        "rules": [
            {
                "apiGroups": [service.group],
                "apiVersions": [service.api_version.rpartition("/")[2]],
                "resources": [service.resource],
                "operations": list(service.operations),
                "scope": "*",
            }
        ],
        "failurePolicy": "Ignore" if of_pods else options.failure_policy,
        "matchPolicy": "Equivalent",
        "sideEffects": "NoneOnDryRun" if service.counts_pods else "None",
        "timeoutSeconds": _POD_SECONDS if of_pods else _SECONDS,
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": sorted({options.namespace, *options.excluded_namespaces}),
                }
            ]
        },
    }
    conditions = _conditions(service, options)
    if conditions:
        webhook["matchConditions"] = conditions
    if verb == "mutate":
        webhook["reinvocationPolicy"] = "Never"
    return webhook


def _client_config(path: str, options: WebhookOptions) -> dict[str, Any]:
    where: dict[str, Any] = (
        {"url": f"{options.url.rstrip('/')}{path}"}
        if options.url
        else {
            "service": {
                "name": options.service,
                "namespace": options.namespace,
                "path": path,
                "port": options.port,
            }
        }
    )
    trusted = {"caBundle": base64.b64encode(options.authorities).decode()} if options.authorities else {}
    return where | trusted


def _conditions(service: WebhookService, options: WebhookOptions) -> list[dict[str, str]]:
    """Return match conditions in CEL, which skip objects that need no review."""
    if service.resource == "pods" and not (service.path == "/pods/mutate" and options.has_resource_groups):
        names = ", ".join(f"'{name}'" for name in options.scheduler_names)
        ours = {"name": "our-schedulers", "expression": f"object.spec.schedulerName in [{names}]"}
        changed = {"name": "preemptible-changed", "expression": " ".join(_PREEMPTIBLE_CHANGED.split())}
        return [ours, changed] if "UPDATE" in service.operations else [ours]
    if service.resource in _JUDGED_BY_SPEC and "UPDATE" in service.operations:
        # The rules do not check finalizers, labels and annotations. Users must be able to remove them from invalid
        # objects.
        return [{"name": "spec-changed", "expression": _SPEC_CHANGED}]
    if service.resource == "elasticquotas" and "UPDATE" in service.operations:
        return [{"name": "quota-changed", "expression": " ".join(_QUOTA_CHANGED.split())}]
    return []


def write(folder: Path) -> None:
    """Write both configurations with all paths as files. The chart selects paths."""
    for configuration in configurations(WebhookOptions(paths=tuple(SERVICES))):
        name = configuration["kind"].removesuffix("WebhookConfiguration").lower()
        text = yaml.safe_dump(configuration, sort_keys=False)
        (folder / f"{name}.yaml").write_text(f"{_HEAD}{text}", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
