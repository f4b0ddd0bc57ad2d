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
    "/elasticquotas/mutate",
    "/elasticquotas/validate",
)
"""Paths to serve: all. The webhook configurations determine the paths that the API server calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionOptions:
    """Options of the server."""

    address: str = ":8443"
    """Address to listen on, `host:port` (`--listen-address`, `--port`)."""
    paths: tuple[str, ...] = DEFAULT_PATHS
    """Paths to serve (`--enabled-admission`)."""
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    """Names of our schedulers. Jobs without a scheduler get the first (`--scheduler-name`)."""
    namespace: str = SYSTEM_NAMESPACE
    """Namespace of the service and of the Secret (`--webhook-namespace`)."""
    service: str = "pyroclast-admission"
    """Service through which the API server calls admission (`--webhook-service-name`)."""
    extra_names: tuple[str, ...] = ()
    """Additional DNS names, addresses or URLs of certificates, for webhooks with a URL (`--webhook-url`)."""
    secret: str = "pyroclast-admission"  # noqa: S105  its name
    """Secret with the certificates of all replicas."""
    configuration: str = "pyroclast-admission"
    """Webhook configurations whose `caBundle` is updated. Empty if another program, such as cert-manager, does so."""
    tls_cert_file: str = ""
    """PEM file with the certificate, read again when it changes. Empty: issue certificates (`--tls-cert-file`)."""
    tls_private_key_file: str = ""
    """PEM file with its key (`--tls-private-key-file`)."""
    ca_cert_file: str = ""
    """PEM file with the authority that is written to the configurations (`--ca-cert-file`)."""
    client_ca_file: str = ""
    """PEM file with the authorities of clients. Empty: accept every client (`--admission-client-ca-file`)."""
    client_names: tuple[str, ...] = ()
    """A client's certificate must have one of these names. Empty: any name (`--admission-client-names`)."""
    resource_groups_file: str = ""
    """File with resource groups, read again when it changes. Empty: none (`--admission-conf`)."""
    max_queue_depth: int = 5
    """Maximum depth of the queue tree below the root (`--max-queue-depth`)."""
    protects_root_queue: bool = True
    """The amounts of the root queue may not be changed (`--enable-root-queue-protection`)."""
    keeps_queues_in_use: bool = False
    """A queue with allocated pods may not be deleted (`--enable-queue-allocated-pods-check`)."""
    gates_pods: bool = False
    """Add a scheduling gate to pods that request it (feature gate SchedulingGatesQueueAdmission)."""
    allows_node_name: bool = False
    """New pods of our schedulers may have `nodeName` (`--admission-allow-node-name`)."""
    checks_quota_labels: bool = False
    """New pods may only name elastic quotas that serve their namespace (`--admission-check-quota-labels`)."""
    guarantees_use: bool = False
    """Guarantees of elastic quotas must be covered by those above (feature gate ElasticQuotaGuaranteeUsage)."""
    counts_quota_requests: bool = False
    """New pods are counted in their elastic quotas, and refused beyond them (gate EnableQuotaAdmission)."""

    def __post_init__(self) -> None:
        """Validate the options.

        Raises:
            ConfigError: The options are invalid. The message lists all faults.
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
        """Paths without a webhook service."""
        return [path for path in self.paths if path not in SERVICES]

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Host and port of the address. An empty host means all addresses."""
        host, _, port = self.address.rpartition(":")
        return host.strip("[]"), int(port)

    @property
    def names(self) -> tuple[str, ...]:
        """DNS names and addresses at which the API server calls admission."""
        host = f"{self.service}.{self.namespace}.svc"
        return (host, f"{host}.cluster.local", f"{self.service}.{self.namespace}", *map(_host_of, self.extra_names))

    @property
    def queue_limits(self) -> QueueLimits:
        """Settings of the rules for queues."""
        return QueueLimits(
            max_depth=self.max_queue_depth,
            protects_root=self.protects_root_queue,
            keeps_queues_in_use=self.keeps_queues_in_use,
        )


def _host_of(text: str) -> str:
    """Return the host of a URL, and an IP address in canonical form. Other names are unchanged."""
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
