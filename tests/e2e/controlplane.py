"""A real control plane on the loopback: etcd and kube-apiserver, and the controller manager for tests that need it.

The binaries are those of `make kube-apiserver`, or of the folder that KUBEBUILDER_ASSETS names.
"""

import json
import os
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.e2e.certificates import Certificates, issue_certificates
from tests.e2e.cluster import Cluster
from tests.e2e.ports import free_ports
from tests.e2e.probes import answers_ok, trust_nobody_in_particular
from tests.e2e.processes import ServerProcess, wait_until

__all__ = ["NEEDED", "ControlPlane", "assets_folder", "missing_binaries"]

NEEDED = ("etcd", "kube-apiserver")
"""Binaries without which there is no control plane."""

READY_SECONDS = 120.0
"""Longest wait for a server; five seconds are usual, a machine that builds beside the tests takes many times that."""

BUILD_SCRIPT = Path(__file__).parents[2] / "tools" / "kube-apiserver" / "build.sh"

AUDIT = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ["system:serviceaccounts"]}
  - {level: None}
"""
"""What service accounts ask for is written down, so that a test can see which rights are used."""

CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "disruption-controller",
    "resourceclaim-controller",
)
"""What the emulator does too, but for resource claims. No other controller runs: a test has no surprises from one it
did not ask for."""


def assets_folder() -> Path:
    """Return the folder that the binaries are, or would be, in."""
    answer = subprocess.run([BUILD_SCRIPT, "--where"], check=True, capture_output=True, text=True)
    return Path(answer.stdout.strip())


def missing_binaries(folder: Path, names: Sequence[str] = NEEDED) -> list[str]:
    """Return which of the binaries are not there to be run."""
    return [name for name in names if not os.access(folder / name, os.X_OK)]


class ControlPlane:
    """etcd and kube-apiserver in a folder of their own, for the length of a `with` block.

    Nothing survives the block: etcd does not even write through to the disk. The administrator is the user of
    the kubeconfig; RBAC is on for all other users.
    """

    def __init__(
        self, folder: Path, *, assets: Path | None = None, flags: Sequence[str] = (), etcd_flags: Sequence[str] = ()
    ) -> None:
        """Describe the control plane; `with` starts it.

        Args:
            folder: Existing folder for data, certificates and logs.
            assets: Folder of the binaries; by default `assets_folder()`.
            flags: More flags for kube-apiserver, such as those that lift its limits in a benchmark.
            etcd_flags: More flags for etcd.
        """
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self._assets = assets or assets_folder()
        self._flags = flags
        self._etcd_flags = etcd_flags
        self._servers = ExitStack()
        self._etcd_port, self._etcd_peer_port, self._port = free_ports(3)

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://127.0.0.1:{self._port}"

    def cluster(self) -> Cluster:
        """Return the way to it, while it runs."""
        return Cluster(
            kind="realserver",
            url=self.url,
            kubeconfig=self.kubeconfig,
            start_controllers=cache(self.start_controller_manager),
            away=self._away,
            gone=self._gone,
            audit_log=self.folder / "audit.log",
        )

    def __enter__(self) -> Self:
        self.certificates = issue_certificates(self.folder)
        self.kubeconfig.write_text(yaml.safe_dump(kubeconfig(self.url, self.certificates)))
        try:
            self._start_etcd()
            self._start_api_server()
        except BaseException:
            self._servers.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._servers.close()

    def start(self, binary: str, *flags: str) -> ServerProcess:
        """Start one more of the binaries; it is stopped before those that were started earlier."""
        server = ServerProcess.of_program(self._assets / binary, *flags, log=self.folder / f"{binary}.log")
        self._servers.callback(server.stop)
        return server

    def start_controller_manager(self, controllers: Sequence[str] = CONTROLLERS) -> ServerProcess:
        """Start kube-controller-manager with some controllers, and wait until it is healthy."""
        (port,) = free_ports(1)
        manager = self.start(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig}",
            f"--controllers={','.join(controllers)}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder}",
            "--leader-elect=false",
        )
        tls = trust_nobody_in_particular()
        wait_until(lambda: answers_ok(f"https://127.0.0.1:{port}/healthz", tls), of=manager, seconds=READY_SECONDS)
        return manager

    def make_room(self) -> None:
        """Compact etcd, give its free pages back, and take its alarm off, as after a full disk."""
        known = self._ask_etcd("kv/range", {"key": "AA=="})["header"]
        self._ask_etcd("kv/compaction", {"revision": known["revision"], "physical": True})
        self._ask_etcd("maintenance/defragment", {})
        alarm = {"action": "DEACTIVATE", "memberID": known["member_id"], "alarm": "NOSPACE"}
        self._ask_etcd("maintenance/alarm", alarm)

    def _ask_etcd(self, call: str, body: dict[str, object]) -> Any:
        address = f"http://127.0.0.1:{self._etcd_port}/v3/{call}"
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(address, json.dumps(body).encode(), timeout=30.0) as answer:
            return json.load(answer)

    def _away(self) -> AbstractContextManager[None]:
        """Stop the API server that runs by then."""
        return self.api_server.stopped()

    @contextmanager
    def _gone(self) -> Iterator[None]:
        """End the API server as `kill -9` does, for the length of a block; etcd keeps what it had."""
        self.api_server.kill()
        try:
            yield
        finally:
            self._start_api_server()

    def _start_etcd(self) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self._etcd_port, self._etcd_peer_port))
        etcd = self.start(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
            *self._etcd_flags,
        )
        wait_until(lambda: answers_ok(f"{client}/health"), of=etcd, seconds=READY_SECONDS)

    def _start_api_server(self) -> None:
        files = self.certificates
        policy = self.folder / "audit.yaml"
        policy.write_text(AUDIT)
        self.api_server = server = self.start(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            f"--secure-port={self._port}",
            "--bind-address=127.0.0.1",
            f"--client-ca-file={files.authority}",
            f"--tls-cert-file={files.server}",
            f"--tls-private-key-file={files.server_key}",
            f"--service-account-key-file={files.service_accounts_key}",
            f"--service-account-signing-key-file={files.service_accounts_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/16",
            "--authorization-mode=RBAC",
            # Without a controller manager no service account is ever made, and no taint of a new node is taken off.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            # Some clusters have it on: who names an owner that must wait for its own needs a right on that owner.
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.folder / 'audit.log'}",
            *self._flags,
        )
        tls = ssl.create_default_context(cafile=files.authority)
        tls.load_cert_chain(files.admin, files.admin_key)
        # The namespaces are made after the server calls itself ready.
        for path in ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"):
            wait_until(partial(answers_ok, self.url + path, tls), of=server, seconds=READY_SECONDS)


def kubeconfig(url: str, certificates: Certificates) -> dict[str, object]:
    """Describe the administrator's way in."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "local", "cluster": {"server": url, "certificate-authority": str(certificates.authority)}}
        ],
        "users": [
            {
                "name": "admin",
                "user": {
                    "client-certificate": str(certificates.admin),
                    "client-key": str(certificates.admin_key),
                },
            }
        ],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}],
        "current-context": "local",
    }
