"""Pod template: metadata, containers, volumes, names and placement."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    LABEL_VALUE,
    QUALIFIED_NAME,
    is_dns_label,
    is_dns_subdomain,
    is_qualified_name,
)
from pyroclast.controllers.admission.rules.shape import read
from pyroclast.controllers.admission.rules.templates.containers import container_faults, host_port_faults
from pyroclast.controllers.admission.rules.templates.placement import placement_faults
from pyroclast.controllers.admission.rules.templates.structs import Template, TemplateSpec
from pyroclast.controllers.admission.rules.templates.volumes import volume_faults
from pyroclast.model.label_keys import is_label_value
from pyroclast.model.wire import TemplateMeta

__all__ = ["label_faults", "template_faults", "unreadable"]

_ANNOTATION_BYTES: Final = 256 * 1024
_LONGEST_DEADLINE: Final = 2**31 - 1
_MOST_NAMESERVERS: Final = 3
_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")


def template_faults(template: Mapping[str, Any], field: str) -> Iterator[Fault]:
    """Find the faults for which the API server would refuse a pod.

    Args:
        template: Plain JSON, with or without the defaults of Kubernetes.
        field: Path of the template in its object.
    """
    read_template = read(Template, template, field)
    if isinstance(read_template, Fault):
        yield read_template
        return
    yield from _metadata_faults(read_template.metadata, f"{field}.metadata")
    yield from _spec_faults(read_template.spec, f"{field}.spec")


def unreadable(template: Mapping[str, Any], field: str) -> Fault | None:
    """Return the fault of a template that cannot be decoded, otherwise None. The schema of Jobs accepts any template.

    Args:
        template: As for `template_faults`.
        field: As for `template_faults`.
    """
    found = read(Template, template, field)
    return found if isinstance(found, Fault) else None


def label_faults(labels: Mapping[str, str], field: str) -> Iterator[Fault]:
    """Find keys and values that cannot be labels."""
    for key, value in labels.items():
        if not is_qualified_name(key):
            yield Fault(field=field, value=key, expected=QUALIFIED_NAME, rule="the key is no name of a label")
        if not is_label_value(value):
            yield Fault(field=f"{field}[{key}]", value=value, expected=LABEL_VALUE, rule="this is no value of a label")


def _metadata_faults(metadata: TemplateMeta, field: str) -> Iterator[Fault]:
    yield from label_faults(metadata.labels, f"{field}.labels")
    for key in metadata.annotations:
        if not is_qualified_name(key.lower()):
            yield Fault(field=f"{field}.annotations", value=key, expected=QUALIFIED_NAME, rule="the key is no name")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.annotations.items())
    if size > _ANNOTATION_BYTES:
        yield Fault(
            field=f"{field}.annotations",
            value=f"{size} bytes",
            expected=f"at most {_ANNOTATION_BYTES} bytes",
            rule="the annotations are too long",
        )


def _spec_faults(spec: TemplateSpec, field: str) -> Iterator[Fault]:
    if not spec.containers:
        yield Fault(field=f"{field}.containers", rule="Required value", expected="at least one container")
    if spec.ephemeral_containers:
        yield Fault(field=f"{field}.ephemeralContainers", rule="ephemeral containers are not allowed in templates")
    volumes = frozenset(_text(volume.get("name")) for volume in spec.volumes)
    names: set[str] = set()
    for where, group in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for number, container in enumerate(group):
            place = f"{field}.{where}[{number}]"
            yield from container_faults(container, place, volumes=volumes, is_init=where == "initContainers")
            if container.name and container.name in names:
                yield Fault(field=f"{place}.name", value=container.name, rule="Duplicate value")
            names.add(container.name)
    yield from host_port_faults(spec, field)
    yield from volume_faults(spec.volumes, f"{field}.volumes")
    yield from label_faults(spec.node_selector, f"{field}.nodeSelector")
    yield from _name_faults(spec, field)
    yield from _choice_faults(spec, field)
    yield from placement_faults(spec, field)


def _name_faults(spec: TemplateSpec, field: str) -> Iterator[Fault]:
    for name, label in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        if label and not is_dns_label(label):
            yield Fault(field=f"{field}.{name}", value=label, expected=DNS_LABEL, rule="this is no DNS label")
    for name, subdomain in (
        ("serviceAccountName", spec.service_account_name),
        ("priorityClassName", spec.priority_class_name),
        ("runtimeClassName", spec.runtime_class_name),
    ):
        if subdomain and not is_dns_subdomain(subdomain):
            yield Fault(
                field=f"{field}.{name}", value=subdomain, expected=DNS_SUBDOMAIN, rule="this is no name of an object"
            )


def _choice_faults(spec: TemplateSpec, field: str) -> Iterator[Fault]:
    yield from _unsupported(spec.restart_policy, _RESTART_POLICIES, f"{field}.restartPolicy")
    yield from _unsupported(spec.dns_policy, _DNS_POLICIES, f"{field}.dnsPolicy")
    servers = spec.dns_config.nameservers
    if spec.dns_policy == "None" and not servers:
        yield Fault(
            field=f"{field}.dnsConfig.nameservers",
            expected="at least one",
            rule="a name server is required where `dnsPolicy` is None",
        )
    if len(servers) > _MOST_NAMESERVERS:
        yield Fault(
            field=f"{field}.dnsConfig.nameservers",
            value=list(servers),
            expected=f"at most {_MOST_NAMESERVERS}",
            rule="there are too many name servers",
        )
    deadline = spec.active_deadline_seconds
    if deadline is not None and not 1 <= deadline <= _LONGEST_DEADLINE:
        yield Fault(
            field=f"{field}.activeDeadlineSeconds",
            value=deadline,
            expected=f"1 to {_LONGEST_DEADLINE}",
            rule="this is no deadline",
        )


def _unsupported(value: str, choices: Collection[str], field: str) -> Iterator[Fault]:
    if value and value not in choices:
        yield Fault(field=field, value=value, expected=f"one of {', '.join(choices)}", rule="Unsupported value")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
