"""Containers: names, images, ports, variables, mounts, probes."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import DNS_LABEL, is_dns_label
from pyroclast.controllers.admission.rules.templates.resources import resource_faults
from pyroclast.controllers.admission.rules.templates.structs import (
    EnvVar,
    TemplateContainer,
    TemplatePort,
    TemplateProbe,
    TemplateSpec,
    VolumeMount,
)

__all__ = ["container_faults", "host_port_faults"]

_PORTS: Final = range(1, 65536)
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_VARIABLE = re.compile(r"[ -<>-~]+")
"""Printable ASCII without '='."""


def container_faults(
    container: TemplateContainer, field: str, *, volumes: Collection[str], is_init: bool
) -> Iterator[Fault]:
    """Find the faults of a container.

    Args:
        container: The container.
        field: Path of the object.
        volumes: Names of the pod's volumes.
        is_init: Whether it is an init container.
    """
    if not container.name:
        yield Fault(field=f"{field}.name", rule="Required value", expected=DNS_LABEL)
    elif not is_dns_label(container.name):
        yield Fault(field=f"{field}.name", value=container.name, expected=DNS_LABEL, rule="this is no DNS label")
    if not container.image:
        yield Fault(field=f"{field}.image", rule="Required value", expected="the name of an image")
    elif container.image != container.image.strip():
        yield Fault(field=f"{field}.image", value=container.image, rule="must not have leading or trailing whitespace")
    for name, value, choices in (
        ("imagePullPolicy", container.image_pull_policy, _PULL_POLICIES),
        ("terminationMessagePolicy", container.termination_message_policy, _MESSAGE_POLICIES),
    ):
        if value and value not in choices:
            yield Fault(
                field=f"{field}.{name}", value=value, expected=f"one of {', '.join(choices)}", rule="Unsupported value"
            )
    yield from _port_faults(container.ports, f"{field}.ports")
    for number, variable in enumerate(container.env):
        yield from _variable_faults(variable, f"{field}.env[{number}]")
    yield from _mount_faults(container.volume_mounts, f"{field}.volumeMounts", volumes)
    yield from resource_faults(container.resources, f"{field}.resources")
    yield from _probes_faults(container, field, may_be_probed=not is_init or container.restart_policy == "Always")


def host_port_faults(spec: TemplateSpec, field: str) -> Iterator[Fault]:
    """Find duplicate host ports, and host ports that differ from container ports with `hostNetwork`."""
    taken: set[tuple[int, str, str]] = set()
    for number, container in enumerate(spec.containers):
        for place, port in enumerate(container.ports):
            where = f"{field}.containers[{number}].ports[{place}].hostPort"
            on_host = port.host_port, port.host_ip, port.protocol
            if port.host_port and on_host in taken and not spec.host_network:
                yield Fault(field=where, value=port.host_port, rule="Duplicate value")
            taken.add(on_host)
            if spec.host_network and port.host_port and port.host_port != port.container_port:
                yield Fault(
                    field=where,
                    value=port.host_port,
                    expected=f"{port.container_port}, as `containerPort`",
                    rule="must match `containerPort` where `hostNetwork` is true",
                )


def _port_faults(ports: tuple[TemplatePort, ...], field: str) -> Iterator[Fault]:
    names: set[str] = set()
    for number, port in enumerate(ports):
        place = f"{field}[{number}]"
        if port.name and not _PORT_NAME.fullmatch(port.name):
            yield Fault(
                field=f"{place}.name",
                value=port.name,
                expected="at most 15 lower case letters, digits and single '-', with a letter among them",
                rule="this is no name of a port",
            )
        if port.name and port.name in names:
            yield Fault(field=f"{place}.name", value=port.name, rule="Duplicate value")
        names.add(port.name)
        if port.container_port not in _PORTS:
            yield _no_port(f"{place}.containerPort", port.container_port)
        if port.host_port and port.host_port not in _PORTS:
            yield _no_port(f"{place}.hostPort", port.host_port)
        if port.protocol not in _PROTOCOLS:
            yield Fault(
                field=f"{place}.protocol",
                value=port.protocol,
                expected=f"one of {', '.join(_PROTOCOLS)}",
                rule="Unsupported value",
            )


def _no_port(field: str, value: int) -> Fault:
    return Fault(field=field, value=value, expected="1 to 65535", rule="this is no port")


def _variable_faults(variable: EnvVar, field: str) -> Iterator[Fault]:
    if not variable.name:
        yield Fault(field=f"{field}.name", rule="Required value", expected="the name of a variable")
    elif not _VARIABLE.fullmatch(variable.name):
        yield Fault(
            field=f"{field}.name", value=variable.name, expected="printable ASCII without '='", rule="this is no name"
        )
    if variable.value_from is None:
        return
    if variable.value:
        yield Fault(field=f"{field}.valueFrom", rule="may not be specified when `value` is not empty")
    if len(variable.value_from) != 1:
        yield Fault(field=f"{field}.valueFrom", value=sorted(variable.value_from), rule="must name exactly one source")


def _mount_faults(mounts: tuple[VolumeMount, ...], field: str, volumes: Collection[str]) -> Iterator[Fault]:
    paths: set[str] = set()
    for number, mount in enumerate(mounts):
        place = f"{field}[{number}]"
        if mount.name not in volumes:
            yield Fault(
                field=f"{place}.name",
                value=mount.name,
                expected="a volume of the template",
                rule="there is no such volume",
            )
        if not mount.mount_path:
            yield Fault(field=f"{place}.mountPath", rule="Required value", expected="a path in the container")
        elif mount.mount_path in paths:
            yield Fault(field=f"{place}.mountPath", value=mount.mount_path, rule="must be unique")
        paths.add(mount.mount_path)
        if mount.sub_path and mount.sub_path_expr:
            yield Fault(field=f"{place}.subPathExpr", rule="subPathExpr and subPath are mutually exclusive")
        for name, path in (("subPath", mount.sub_path), ("subPathExpr", mount.sub_path_expr)):
            if path.startswith("/") or ".." in path.split("/"):
                yield Fault(
                    field=f"{place}.{name}", value=path, expected="a relative path without '..'", rule="leads outside"
                )


def _probes_faults(container: TemplateContainer, field: str, *, may_be_probed: bool) -> Iterator[Fault]:
    for name, probe, is_ready in (
        ("livenessProbe", container.liveness_probe, False),
        ("readinessProbe", container.readiness_probe, True),
        ("startupProbe", container.startup_probe, False),
    ):
        if probe is None:
            continue
        if not may_be_probed:
            yield Fault(field=f"{field}.{name}", rule="may not be set for init containers without restartPolicy=Always")
        yield from _probe_faults(probe, f"{field}.{name}")
        if not is_ready and probe.success_threshold not in {0, 1}:
            yield Fault(
                field=f"{field}.{name}.successThreshold", value=probe.success_threshold, expected="1", rule="must be 1"
            )


def _probe_faults(probe: TemplateProbe, field: str) -> Iterator[Fault]:
    handlers = [probe.exec_, probe.http_get, probe.tcp_socket, probe.grpc]
    if sum(handler is not None for handler in handlers) != 1:
        yield Fault(field=field, expected="one of exec, httpGet, tcpSocket, grpc", rule="must ask in exactly one way")
    for name, value in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        if value < 0:
            yield Fault(field=f"{field}.{name}", value=value, expected="at least 0", rule="must not be negative")
