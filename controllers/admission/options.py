"""Options: settings of admission. Each one names its flag of Volcano's webhook manager."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from pyroclast.controllers.admission.handlers import SERVICES
from pyroclast.controllers.admission.rules.names import is_dns_subdomain
from pyroclast.controllers.admission.rules.queues import QueueLimits
from pyroclast.model.api.names import DEFAULT_SCHEDULER, SYSTEM_NAMESPACE
from pyroclast.model.errors import ConfigError

__all__ = ["DEFAULT_PATHS", "AdmissionOptions"]

DEFAULT_PATHS: Final = (
    "/jobs/mutate",
    "/jobs/validate",
    "/podgroups/mutate",
    "/podgroups/validate",
    "/queues/mutate",
    "/queues/validate",
    "/pods/mutate",
    "/pods/validate",
    "/hypernodes/validate",
    "/cronjobs/validate",
    "/jobflows/validate",
    "/elasticquotas/validate",
)
"""Paths that are served: all, since which of them the API server asks is said by its configurations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """Options of the server."""

    address: str = ":8443"
    """Address to listen on, `host:port` (`--listen-address`, `--port`)."""
    paths: tuple[str, ...] = DEFAULT_PATHS
    """Paths to serve (`--enabled-admission`)."""
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """Our schedulers; the first is given to Jobs that name none (`--scheduler-name`)."""
    namespace: str = SYSTEM_NAMESPACE
    """Namespace of the service and of the Secret (`--webhook-namespace`)."""
    service: str = "pyroclast-admission"
    """Service by which the API server reaches us (`--webhook-service-name`)."""
    extra_names: tuple[str, ...] = ()
    """More DNS names, addresses or URLs that certificates stand for, where webhooks go by URL (`--webhook-url`)."""
    secret: str = "pyroclast-admission"  # noqa: S105  its name
    """Secret that the replicas share their certificates in."""
    configuration: str = "pyroclast-admission"
    """Webhook configurations whose `caBundle` is kept true; empty leaves them to others, such as cert-manager."""
    tls_cert_file: str = ""
    """Certificate in PEM, read again when it changes; empty: certificates are made here (`--tls-cert-file`)."""
    tls_private_key_file: str = ""
    """Its key (`--tls-private-key-file`)."""
    ca_cert_file: str = ""
    """The authority to be trusted, written into the configurations (`--ca-cert-file`)."""
    client_ca_file: str = ""
    """Authority of clients, read again when it changes; empty: any client may ask (`--admission-client-ca-file`)."""
    client_names: tuple[str, ...] = ()
    """Names of which a client's certificate must have one; empty: any (`--admission-client-names`)."""
    resource_groups_file: str = ""
    """Which pods go to which nodes, read again when it changes; empty: none (`--admission-conf`)."""
    max_queue_depth: int = 5
    """Most queues from one below the root down to the deepest (`--max-queue-depth`)."""
    protects_root_queue: bool = True
    """The amounts of the root queue may not be changed (`--enable-root-queue-protection`)."""
    keeps_queues_in_use: bool = False
    """A queue with allocated pods may not be deleted (`--enable-queue-allocated-pods-check`)."""
    gates_pods: bool = False
    """Pods that ask for it wait behind a gate until their queue admits them (gate SchedulingGatesQueueAdmission)."""
    allows_node_name: bool = False
    """New pods of our schedulers may name their node (`--admission-allow-node-name`)."""
    checks_quota_labels: bool = False
    """New pods name elastic quotas alone that serve their namespace (`--admission-check-quota-labels`)."""

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            ConfigError: With every fault.
        """
        faults = [f"admission path: got {path!r}, expected one of {', '.join(SERVICES)}" for path in self.unknown]
        if bool(self.tls_cert_file) != bool(self.tls_private_key_file):
            faults.append("tls-cert-file and tls-private-key-file: expected both or none")
        if self.client_names and not self.client_ca_file:
            faults.append("admission-client-names: expected admission-client-ca-file too: without it no name is proven")
        if not self.address.rpartition(":")[2].isdecimal():
            faults.append(f"admission address: got {self.address!r}, expected host:port or :port")
        if self.max_queue_depth < 1:
            faults.append(f"max-queue-depth: got {self.max_queue_depth}, expected at least 1")
        faults += [
            f"webhook-url: got {name!r}, expected a DNS name, an address, or a URL"
            for name, host in zip(self.extra_names, map(_host_of, self.extra_names), strict=True)
            if not is_dns_subdomain(host) and not _is_address(host)
        ]
        if not self.scheduler_names:
            faults.append("scheduler-name: expected at least one")
        if faults:
            raise ConfigError(*faults)

    @property
    def unknown(self) -> list[str]:
        """Paths that nothing answers."""
        return [path for path in self.paths if path not in SERVICES]

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The address in parts; no host means all."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def names(self) -> tuple[str, ...]:
        """DNS names and addresses by which the API server reaches us."""
        host = f"{self.service}.{self.namespace}.svc"
        return (host, f"{host}.cluster.local", f"{self.service}.{self.namespace}", *map(_host_of, self.extra_names))

    @property
    def queue_limits(self) -> QueueLimits:
        """Settings of the rules of queues."""
        return QueueLimits(
            max_depth=self.max_queue_depth,
            protects_root=self.protects_root_queue,
            keeps_queues_in_use=self.keeps_queues_in_use,
        )


def _host_of(text: str) -> str:
    """Take the host out of a URL, and write an address in the one way that certificates have it; else as it is."""
    host = text
    if "://" in text:
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            return ""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
