"""Replicas that answer admission behind one address, as behind a Service: certificates in common, one dies, one renews.

All along `kubectl create` sends a Job that our webhook alone refuses. Since an answer that does not come is a yes, a
Job that passes is a moment in which no replica was reached or trusted.
"""

import base64
import json
import signal
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import trustme
import yaml

from pyroclast.controllers.admission.certificates.pairs import certificates_of, make_authority
from pyroclast.controllers.admission.options import AdmissionOptions
from pyroclast.controllers.admission.webhooks import WebhookOptions, configurations
from tests.e2e.cluster import Cluster, KubectlError
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.controlplane import ControlPlane
from tests.e2e.ports import free_ports
from tests.e2e.wire import Wire
from tests.unit.controllers.admission.objects import Json, job, task

pytestmark = pytest.mark.realserver

NAME = "pyroclast-admission"
HOST = "127.0.0.1"
KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
LEASE = ("--leader-elect-resource-namespace=default",)


@dataclass(frozen=True)
class Plane:
    """A control plane, and the one address at which it asks."""

    cluster: Cluster
    wire: Wire
    numbers: Iterator[int]

    def create(self, manifest: Json) -> str:
        """Create an object; return why it was refused, empty where it was not."""
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}}
        try:
            self.cluster.kubectl("create", "-f", "-", input=json.dumps(manifest))
        except KubectlError as error:
            return str(error)
        return ""

    def is_judged(self) -> bool:
        """Return whether a Job that asks for three of its two pods is refused, by us."""
        return "is greater than 'replicas'" in self.create(job(task(minAvailable=3), name=f"bad-{next(self.numbers)}"))

    def read(self, *words: str) -> Json:
        """Read an object."""
        found: Json = json.loads(self.cluster.kubectl("get", *words, "-o", "json"))
        return found

    def bundles(self) -> list[bytes]:
        """Return the CA bundle of each webhook."""
        hooks = [hook for kind in KINDS for hook in self.read(kind, NAME)["webhooks"]]
        return [base64.b64decode(hook["clientConfig"].get("caBundle", "")) for hook in hooks]

    def secret(self, key: str) -> bytes:
        """Return a part of the Secret that replicas share."""
        return base64.b64decode(self.read("secret", NAME)["data"][key])

    def put(self, **parts: bytes) -> None:
        """Write parts of that Secret."""
        data = {key.replace("_", "."): base64.b64encode(value).decode() for key, value in parts.items()}
        self.cluster.kubectl("patch", "secret", NAME, "--type=merge", "-p", json.dumps({"data": data}))

    def trust(self, authorities: bytes) -> None:
        """Write the CA bundle into all webhooks, as cert-manager's injector does."""
        bundle = base64.b64encode(authorities).decode()
        for kind in KINDS:
            hooks = range(len(self.read(kind, NAME)["webhooks"]))
            patch = [{"op": "add", "path": f"/webhooks/{at}/clientConfig/caBundle", "value": bundle} for at in hooks]
            self.cluster.kubectl("patch", kind, NAME, "--type=json", "-p", json.dumps(patch))


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A control plane with webhook configurations and the first queues; no webhook process runs yet."""
    folder = tmp_path_factory.mktemp("replicas")
    with ControlPlane(folder, assets=assets) as running, Wire().open() as wire:
        cluster = running.cluster()
        cluster.serve_custom_resources()
        options = WebhookOptions(url=f"https://{HOST}:{wire.port}", paths=AdmissionOptions().paths)
        cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(configurations(options)))
        kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
        queues = [{**kind, "metadata": {"name": name}, "spec": {}} for name in ("root", "default")]
        cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all(queues))
        yield Plane(cluster, wire, count())


@dataclass(frozen=True)
class Replica:
    """One process that answers."""

    process: Controllers
    port: int

    def shows(self) -> str:
        """Return the certificate that it shows."""
        return ssl.get_server_certificate((HOST, self.port))


def started(plane: Plane, stack: ExitStack, folder: Path, *flags: str) -> Replica:
    """Start a replica, and send it what comes in turn."""
    (port,) = free_ports(1)
    mine = (f"--admission-address={HOST}:{port}", "--webhook-namespace=default", f"--webhook-url={HOST}")
    running = controllers(plane.cluster, folder, *LEASE, "--enable-admission", *mine, *flags)
    replica = Replica(stack.enter_context(running), port)
    plane.wire.targets.append((HOST, port))
    stack.callback(partial(left_out, plane, replica))
    return replica


def left_out(plane: Plane, replica: Replica) -> None:
    """Send a replica nothing new, as when its pod is not ready."""
    if (HOST, replica.port) in plane.wire.targets:
        plane.wire.targets.remove((HOST, replica.port))


def judged_until(plane: Plane, replica: Replica, condition: Callable[[], bool]) -> None:
    """Wait for something, and see every Job judged meanwhile."""

    def holds() -> bool:
        assert plane.is_judged()
        return condition()

    replica.process.wait_for(holds)


def test_replicas_share_certificates_and_take_over_an_authority_together(plane: Plane, tmp_path: Path) -> None:
    """Both show what the Secret has; an authority that was trusted in time signs from one moment on, for both."""
    with ExitStack() as stack:
        replicas = [started(plane, stack, tmp_path) for _ in range(2)]
        replicas[0].process.wait_for(lambda: all(plane.bundles()))
        first = plane.secret("tls.crt").decode()
        assert [each.shows() for each in replicas] == [first, first]
        assert plane.is_judged()

        following = make_authority(datetime.now(UTC) - timedelta(days=2), timedelta(days=300))
        plane.put(ca_crt=plane.secret("ca.crt") + following.certificate)
        judged_until(
            plane, replicas[0], lambda: all(following.certificate in certificates_of(each) for each in plane.bundles())
        )
        plane.put(next_crt=following.certificate, next_key=following.key)
        judged_until(plane, replicas[0], lambda: plane.secret("signer.crt") == following.certificate)
        second = plane.secret("tls.crt").decode()
        assert second != first
        judged_until(plane, replicas[0], lambda: [each.shows() for each in replicas] == [second, second])


def test_a_killed_replica_does_not_stop_the_others(plane: Plane, tmp_path: Path) -> None:
    """Until the address leaves it out, objects pass; from then on the other judges all, whichever was killed."""
    with ExitStack() as stack:
        replicas = [started(plane, stack, tmp_path) for _ in range(2)]
        replicas[0].process.wait_for(lambda: all(plane.bundles()))
        assert plane.is_judged()
        for number in (signal.SIGKILL, signal.SIGTERM):
            gone = replicas.pop(0)
            gone.process.signal(number)
            gone.process.process.exit_status()
            assert plane.create(job(task(), name=f"amid-{number.name.lower()}")) == ""
            left_out(plane, gone)
            assert all(plane.is_judged() for _ in range(5))
            replicas.append(started(plane, stack, tmp_path))


def test_certificates_of_a_mount_change_without_a_restart(plane: Plane, tmp_path: Path) -> None:
    """The kubelet swaps the whole folder; what was trusted is trusted, and the new one is shown within moments."""
    authority = trustme.CA()
    mount = tmp_path / "mount"
    mount.mkdir()

    def write() -> str:
        """Issue a certificate and swap it in; return it."""
        issued = authority.issue_cert(HOST)
        chain = b"".join(each.bytes() for each in issued.cert_chain_pems)
        fresh = mount / f"..{next(plane.numbers)}"
        fresh.mkdir()
        (fresh / "tls.crt").write_bytes(chain)
        (fresh / "tls.key").write_bytes(issued.private_key_pem.bytes())
        (mount / "..new").symlink_to(fresh.name)
        (mount / "..new").replace(mount / "..data")
        return chain.decode()

    first = write()
    for name in ("tls.crt", "tls.key"):
        (mount / name).symlink_to(f"..data/{name}")
    plane.trust(authority.cert_pem.bytes())
    files = (f"--admission-tls-cert-file={mount}/tls.crt", f"--admission-tls-private-key-file={mount}/tls.key")
    with ExitStack() as stack:
        replica = started(plane, stack, tmp_path, *files, "--admission-configuration=")
        assert replica.shows().strip() == first.strip()
        judged_until(plane, replica, lambda: True)

        second = write()
        judged_until(plane, replica, lambda: replica.shows().strip() == second.strip())
        assert set(plane.bundles()) == {authority.cert_pem.bytes()}
