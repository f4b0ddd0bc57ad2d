"""Rules about differences from Volcano. Each rule checks one kind of object."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from pyroclast.framework.diagnosis.lint import Finding, Severity, check
from pyroclast.framework.extension.registry import Registry
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.options import Options, parse_options
from pyroclast.scheduler.daemon.settings import read_configuration

__all__ = ["KINDS", "Note", "Weight", "check_objects"]

Object = Mapping[str, Any]

_SCHEDULER: Final = "vc-scheduler"
_ADMISSION: Final = ("volcano-admission", "vc-webhook-manager")
_CONFIGURATION: Final = "volcano-scheduler.conf"
_LATER_RESOURCES: Final = ("huawei.com/Ascend", "huawei.com/npu-core")
_GROUPS: Final = ".volcano.sh"
_PART_OF: Final = "app.kubernetes.io/part-of"
_KNOWN_DEFINITIONS: Final = frozenset(
    {
        *("podgroups.scheduling", "queues.scheduling", "jobs.batch", "cronjobs.batch", "commands.bus"),
        *("jobflows.flow", "jobtemplates.flow", "hypernodes.topology", "nodeshards.shard", "numatopologies.nodeinfo"),
    }
)


class Weight(StrEnum):
    """Severity of a note."""

    STOPS = "stops"
    """Something does not work until it is fixed."""
    DIFFERS = "differs"
    """It works, but decisions differ."""
    NOTE = "note"
    """Information."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One difference for the operator."""

    weight: Weight
    about: str
    """`Kind namespace/name`."""
    path: str = ""
    message: str


Rule = Callable[[Object], Iterable[Note]]


def check_objects(objects: Iterable[object], registry: Registry) -> list[Note]:
    """Return the notes about an installation, in the order of its objects."""
    known: list[Object] = [each for each in objects if isinstance(each, Mapping)]
    rules: Mapping[str, Rule] = {**_RULES, "ConfigMap": partial(_config_map, registry=registry)}
    notes = [note for each in known for note in _notes(each, rules.get(str(each.get("kind"))))]
    return list(dict.fromkeys([*notes, *_missing(known)]))


def _notes(each: Object, rule: Rule | None) -> list[Note]:
    try:
        return list(rule(each)) if rule is not None else []
    except (AttributeError, KeyError, TypeError, ValueError):  # a file may hold anything under the name of a kind
        return [Note(weight=Weight.STOPS, about=_name(each), message="the object does not have the form of its kind")]


def _missing(objects: Sequence[Object]) -> Iterator[Note]:
    if not any(_CONFIGURATION in (each.get("data") or {}) for each in objects if each.get("kind") == "ConfigMap"):
        yield Note(
            weight=Weight.NOTE,
            about="ConfigMap",
            message=f"none with the key {_CONFIGURATION} was found: the configuration itself was not checked",
        )


# Rules ----------------------------------------------------------------------------------------------------------------


def _config_map(each: Object, registry: Registry) -> Iterator[Note]:
    text = (each.get("data") or {}).get(_CONFIGURATION)
    if not isinstance(text, str):
        return
    for finding in check(text, partial(read_configuration, registry=registry, strict=False)):
        weight = {Severity.FAULT: Weight.STOPS, Severity.WARNING: Weight.DIFFERS}.get(finding.severity, Weight.NOTE)
        yield _of_finding(finding, each, weight)


def _of_finding(finding: Finding, each: Object, weight: Weight) -> Note:
    return Note(weight=weight, about=_name(each), path=finding.path, message=finding.message)


def _deployment(each: Object) -> Iterator[Note]:
    for container in _at(each, "spec", "template", "spec", "containers") or ():
        words = [*map(str, container.get("command") or ()), *map(str, container.get("args") or ())]
        if not any(_SCHEDULER in word for word in (str(container.get("image", "")), *words)):
            continue
        variables = {
            entry["name"]: str(entry.get("value", "")) for entry in container.get("env") or () if "name" in entry
        }
        try:
            parsed = parse_options(_flags_in(words), variables)
        except ConfigError as error:
            for fault in error.faults:
                yield Note(weight=Weight.STOPS, about=_name(each), path="args", message=fault)
        else:
            for warning in parsed.warnings:
                yield Note(weight=Weight.NOTE, about=_name(each), path="args", message=warning)
            yield from _period(parsed.options, each)
        replicas = _at(each, "spec", "replicas")
        if replicas != 0:
            yield Note(
                weight=Weight.STOPS,
                about=_name(each),
                path="spec.replicas",
                message="this scheduler must be scaled to 0 before Pyroclast takes over its pods; both wait for each "
                "other only if they use the same lease in one namespace",
            )


def _period(options: Options, each: Object) -> Iterator[Note]:
    if options.schedule_period != Options().schedule_period:
        message = (
            "--schedule-period: the longest pause between cycles; changes shorten it; --wake-on-change=false makes "
            "the pause as long as in Volcano (C9)"
        )
        yield Note(weight=Weight.DIFFERS, about=_name(each), path="args", message=message)


def _flags_in(words: Sequence[str]) -> list[str]:
    """Return the flags of a command line, also if a shell receives them as one text."""
    flat = [part for word in words for part in (word.split() if " " in word else [word])]
    first = next((index for index, word in enumerate(flat) if word.startswith("--")), len(flat))
    return [word for word in flat[first:] if word not in {"2>&1", "1>&2"} and word != "-c"]


def _webhooks(each: Object) -> Iterator[Note]:
    for number, webhook in enumerate(each.get("webhooks") or ()):
        service = str(_at(webhook, "clientConfig", "service", "name") or "")
        if not any(name in service for name in _ADMISSION):
            continue
        if webhook.get("failurePolicy", "Fail") == "Fail":
            yield Note(
                weight=Weight.STOPS,
                about=_name(each),
                path=f"webhooks[{number}]",
                message=f"{webhook.get('name')}: refuses every object once service {service} is deleted (failurePolicy "
                "Fail); delete this configuration together with Volcano's admission",
            )


def _definition(each: Object) -> Iterator[Note]:
    name = str(_at(each, "metadata", "name"))
    labels = _at(each, "metadata", "labels") or {}
    if not name.endswith(_GROUPS) or labels.get(_PART_OF) == "pyroclast":
        return
    if name.removesuffix(_GROUPS) not in _KNOWN_DEFINITIONS:
        yield Note(weight=Weight.DIFFERS, about=_name(each), message="objects of this kind are ignored")
    else:
        yield Note(weight=Weight.NOTE, about=_name(each), message="Volcano's definition may stay: it is supported")


def _pod_group(each: Object) -> Iterator[Note]:
    if not _at(each, "spec", "minMember"):
        yield Note(
            weight=Weight.DIFFERS,
            about=_name(each),
            path="spec.minMember",
            message="0: such a group is Inqueue, then Running, and Completed only when its pods have finished (D9)",
        )
    for path in _topologies(_at(each, "spec") or {}, "spec"):
        yield Note(
            weight=Weight.DIFFERS,
            about=_name(each),
            path=path,
            message="a hard topology needs the plugin network-topology-aware; without it the group waits with a reason "
            "(D8)",
        )


def _topologies(spec: Object, path: str) -> Iterator[str]:
    """Yield the paths of hard topologies in a spec."""
    if "networkTopology" in spec and (spec["networkTopology"] or {}).get("mode", "hard") == "hard":
        yield f"{path}.networkTopology"
    for number, policy in enumerate(spec.get("subGroupPolicy") or ()):
        yield from _topologies(policy, f"{path}.subGroupPolicy[{number}]")


def _queue(each: Object) -> Iterator[Note]:
    capability = _at(each, "spec", "capability") or {}
    for name in ("cpu", "memory"):
        if str(capability.get(name, "")) == "0":
            yield Note(
                weight=Weight.NOTE,
                about=_name(each),
                path=f"spec.capability.{name}",
                message="0 means no limit, here as in Volcano",
            )
    if not _at(each, "status", "state"):
        yield Note(weight=Weight.DIFFERS, about=_name(each), path="status.state", message="empty counts as Open (F1)")
    if _at(each, "spec", "extendClusters"):
        yield Note(
            weight=Weight.DIFFERS,
            about=_name(each),
            path="spec.extendClusters",
            message="work is marked for forwarding, but it is not forwarded to other clusters",
        )


def _pod(each: Object) -> Iterator[Note]:
    yield from _later(each, _at(each, "spec") or {}, "spec")


def _job(each: Object) -> Iterator[Note]:
    for number, task in enumerate(_at(each, "spec", "tasks") or ()):
        path = f"spec.tasks[{number}]"
        template = task.get("template") or {}
        yield from _later(each, template.get("spec") or {}, f"{path}.template.spec")


def _later(each: Object, spec: Object, path: str) -> Iterator[Note]:
    """Yield requests of a pod that this release does not support fully."""
    for number, container in enumerate(spec.get("containers") or ()):
        resources = container.get("resources") or {}
        for name in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}:
            if name.startswith(_LATER_RESOURCES):
                yield Note(
                    weight=Weight.DIFFERS,
                    about=_name(each),
                    path=f"{path}.containers[{number}].resources",
                    message=f"{name}: counted like any resource; this release does not choose the device",
                )


_RULES: Final[Mapping[str, Rule]] = {
    "Deployment": _deployment,
    "ValidatingWebhookConfiguration": _webhooks,
    "MutatingWebhookConfiguration": _webhooks,
    "CustomResourceDefinition": _definition,
    "PodGroup": _pod_group,
    "Queue": _queue,
    "Pod": _pod,
    "Job": _job,
}

KINDS: Final = {
    "ConfigMap": "/api/v1/configmaps",
    "Deployment": "/apis/apps/v1/deployments",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "MutatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "PodGroup": "/apis/scheduling.volcano.sh/v1beta1/podgroups",
    "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
    "Pod": "/api/v1/pods",
    "Job": "/apis/batch.volcano.sh/v1alpha1/jobs",
}
"""List paths of the objects that rules check, by kind."""


def _at(each: Object, *path: str) -> Any:
    """Return the value at a path of an object; None if a part is missing or has another form."""
    found: Any = each
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _name(each: Object) -> str:
    metadata = each.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{each.get('kind')} {place}{metadata.get('name', '')}"
