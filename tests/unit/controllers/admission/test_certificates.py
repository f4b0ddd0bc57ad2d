"""Certificates: made, renewed in time, taken over without a gap, shared by replicas."""

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from pyroclast.controllers.admission.certificates.clients import ClientAuthority
from pyroclast.controllers.admission.certificates.files import CertificateFiles
from pyroclast.controllers.admission.certificates.pairs import Pair, certificates_of, issue, make_authority, pair_of
from pyroclast.controllers.admission.certificates.rotation import Lives, Material, renewed
from pyroclast.controllers.admission.certificates.secret import SharedSecret
from pyroclast.controllers.admission.certificates.watcher import (
    CertificateWatcher,
    new_context,
    show,
    update_ca_bundles,
)
from pyroclast.controllers.admission.webhooks import WebhookOptions, configurations
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.model.errors import ConfigError
from tests.unit.controllers.moving import MovedClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("admission.batch.svc", "127.0.0.1")
LIVES = Lives(authority=timedelta(days=300), serving=timedelta(days=90), notice=timedelta(days=1))


def handshake(
    material: Material,
    trusted: bytes,
    *,
    name: str = NAMES[0],
    context: ssl.SSLContext | None = None,
    shown: Pair | None = None,
) -> None:
    """Shake hands in memory, as the API server would with what it trusts.

    Raises:
        ssl.SSLError: They do not come together.
    """
    context = context or new_context()
    assert material.serving is not None
    show(context, material.serving)
    client = ssl.create_default_context(cadata=trusted.decode())
    if shown is not None:
        show(client, shown)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(down, up, server_hostname=name), context.wrap_bio(up, down, server_side=True)]
    done = [False, False]
    for _ in range(10):
        for number, end in enumerate(ends):
            try:
                end.do_handshake()
                done[number] = True
            except ssl.SSLWantReadError:
                continue
        if all(done):
            return
    raise AssertionError("the handshake does not end")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_made_from_nothing_is_trusted(name: str) -> None:
    """Certificates by name and by address."""
    now = datetime.now(UTC)
    material = renewed(Material(), NAMES, now, LIVES)

    handshake(material, material.trusted, name=name)
    assert renewed(material, NAMES, now, LIVES) == material


def test_another_authority_is_not_trusted() -> None:
    """And another name neither."""
    material = renewed(Material(), NAMES, datetime.now(UTC), LIVES)

    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(material, make_authority(datetime.now(UTC), timedelta(days=1)).certificate)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(material, material.trusted, name="elsewhere.svc")


def test_clients_show_a_certificate_of_the_authority_that_is_asked_for(tmp_path: Path) -> None:
    """None, and one of another authority, are refused; after a rotation those of both are let in."""
    now = datetime.now(UTC)
    material = renewed(Material(), NAMES, now, LIVES)
    first, second = (make_authority(now + timedelta(seconds=each), timedelta(days=1)) for each in range(2))
    file = tmp_path / "ca.crt"
    file.write_bytes(first.certificate)
    context, authority = new_context(), ClientAuthority(str(file))
    authority.demand(context)

    handshake(material, material.trusted, context=context, shown=client_of(first))
    for wrong in (None, client_of(second)):
        with pytest.raises(ssl.SSLError):
            handshake(material, material.trusted, context=context, shown=wrong)
    file.write_bytes(second.certificate)
    authority.demand(context)
    for each in (first, second):
        handshake(material, material.trusted, context=context, shown=client_of(each))


def client_of(authority: Pair) -> Pair:
    """Issue a certificate for a client."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kube-apiserver")]))
        .issuer_name(authority.parsed.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(serialization.Encoding.PEM, *form)
    )


@pytest.mark.parametrize("text", [None, b"", b"no certificate"])
def test_a_file_without_an_authority_is_a_fault(tmp_path: Path, text: bytes | None) -> None:
    """Not a server that is open to all."""
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_bytes(text)

    with pytest.raises(ConfigError, match=re.escape(str(file))):
        ClientAuthority(str(file)).demand(new_context())


def test_a_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    """Not before; the authority stays."""
    first = renewed(Material(), NAMES, NOW, LIVES)

    assert renewed(first, NAMES, NOW + timedelta(days=59), LIVES) == first
    second = renewed(first, NAMES, NOW + timedelta(days=60), LIVES)
    assert second.serving != first.serving
    assert (second.authority, second.trusted) == (first.authority, first.trusted)


def test_names_that_are_missing_are_added_at_once() -> None:
    """Replicas that go by different names, as during an upgrade, do not take turns; the next renewal forgets."""
    first = renewed(Material(), NAMES, NOW, LIVES)

    second = renewed(first, ("other.svc",), NOW, LIVES)
    again = renewed(second, NAMES, NOW, LIVES)
    later = renewed(second, ("other.svc",), NOW + timedelta(days=60), LIVES)

    assert second.serving is not None
    assert second.serving.names() == {"other.svc", *NAMES}
    assert again == second
    assert later.serving is not None
    assert later.serving.names() == {"other.svc"}


def test_an_authority_takes_over_without_a_gap() -> None:
    """It is trusted a day before it signs, and the old one as long as it holds."""
    first = renewed(Material(), NAMES, NOW, LIVES)
    at = NOW + timedelta(days=200)
    announced = renewed(first, NAMES, at, LIVES)
    waiting = renewed(announced, NAMES, at + timedelta(hours=23), LIVES)
    signing = renewed(waiting, NAMES, at + timedelta(days=1), LIVES)
    later = renewed(signing, NAMES, NOW + timedelta(days=301), LIVES)

    assert announced.authority == first.authority
    assert len(certificates_of(announced.trusted)) == 2
    assert waiting == announced
    assert signing.authority == announced.next_authority
    assert signing.next_authority is None
    assert set(certificates_of(signing.trusted)) == set(certificates_of(announced.trusted))
    assert signing.serving is not None
    assert signing.authority is not None
    assert signing.serving.is_signed_by(signing.authority)
    assert len(certificates_of(later.trusted)) == 1


def test_certificates_made_while_a_clock_was_ahead_are_made_anew() -> None:
    """Clients refuse them until the time that they begin at; a skew of some minutes is allowed for."""
    first = renewed(Material(), NAMES, NOW + timedelta(hours=1), LIVES)
    second = renewed(first, NAMES, NOW, LIVES)

    assert second.authority != first.authority
    assert second.serving is not None
    assert second.authority is not None
    assert second.serving.is_signed_by(second.authority)
    assert not second.serving.is_premature(NOW)
    assert not second.authority.is_premature(NOW)
    assert renewed(second, NAMES, NOW - timedelta(minutes=4), LIVES) == second


def test_a_next_authority_made_while_a_clock_was_ahead_is_made_anew() -> None:
    """It would sign certificates that clients refuse."""
    first = renewed(Material(), NAMES, NOW, LIVES)
    announced = renewed(first, NAMES, NOW + timedelta(days=200, hours=1), LIVES)
    second = renewed(announced, NAMES, NOW + timedelta(days=200), LIVES)

    assert second.authority == first.authority
    assert second.next_authority not in (None, announced.next_authority)


def test_a_certificate_does_not_outlive_its_authority() -> None:
    """It would be refused from then on."""
    material = renewed(Material(), NAMES, NOW, Lives(authority=timedelta(days=30), serving=timedelta(days=90)))

    assert material.serving is not None
    assert material.authority is not None
    assert material.serving.expires_at == material.authority.expires_at


@pytest.mark.parametrize("at", [timedelta(days=301), timedelta(days=5000)])
def test_what_is_long_over_is_made_anew(at: timedelta) -> None:
    """A cluster that slept for a year wakes with certificates that hold."""
    first = renewed(Material(), NAMES, NOW, LIVES)

    second = renewed(first, NAMES, NOW + at, LIVES)

    assert second.authority is not None
    assert second.authority.expires_at > NOW + at
    assert len(certificates_of(second.trusted)) == 1


def test_parts_that_do_not_belong_together_are_no_pair() -> None:
    """Nor is what cannot be read."""
    one, other = (make_authority(NOW, timedelta(days=1)) for _ in range(2))

    assert pair_of(one.certificate, one.key) == one
    assert pair_of(one.certificate, other.key) is None
    assert pair_of(b"x", one.key) is None
    assert pair_of(one.certificate, b"x") is None
    assert pair_of(None, one.key) is None
    assert certificates_of(b"nonsense") == []


def test_a_key_is_never_written_to_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is handed over in memory, and nothing stays open."""
    monkeypatch.chdir(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))

    show(new_context(), issue(make_authority(NOW, timedelta(days=2)), NAMES, NOW, timedelta(days=1)))

    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@dataclass
class World:
    """A server in memory, two clients, one clock."""

    clients: tuple[Client, Client]
    clock: MovedClock

    def secret(self, number: int = 0, names: tuple[str, ...] = NAMES) -> SharedSecret:
        """The Secret as a replica sees it."""
        client = self.clients[number]
        return SharedSecret(client, namespace="default", name="shared", names=names, clock=self.clock, lives=LIVES)

    async def stored(self) -> dict[str, Any]:
        """The Secret as it is stored."""
        found: dict[str, Any] = await self.clients[0].request_json("GET", PATH)
        return found


PATH = "/api/v1/namespaces/default/secrets/shared"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """An emulator and who speaks to it."""
    async with Emulator(port=0) as emulator:
        cluster = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(tmp_path / "kubeconfig"))))
        async with Client(cluster, component="a") as first, Client(cluster, component="b") as second:
            yield World((first, second), MovedClock())


async def test_replicas_agree_on_certificates(world: World) -> None:
    """Both begin at once: who is second takes what the first wrote."""
    one, other = await asyncio.gather(world.secret(0).current(), world.secret(1).current())

    assert one == other
    assert (await world.stored())["type"] == "kubernetes.io/tls"


async def test_the_secret_is_written_only_when_something_is_due(world: World) -> None:
    """A look changes nothing; two thirds of a life later it does."""
    await world.secret().current()
    version = (await world.stored())["metadata"]["resourceVersion"]

    await world.secret(1).current()
    assert (await world.stored())["metadata"]["resourceVersion"] == version
    await world.clock.move(61 * 86400)
    await world.secret(1).current()
    assert (await world.stored())["metadata"]["resourceVersion"] != version


async def test_a_spoilt_secret_is_mended(world: World) -> None:
    """Keys that are not ours stay."""
    await world.secret().current()
    stored = await world.stored()
    stored["data"] |= {"tls.key": base64.b64encode(b"x").decode(), "ca.key": "!", "mine": "eA=="}
    await world.clients[0].request_json("PUT", PATH, body=stored)

    material = await world.secret().current()

    assert material.serving is not None
    assert (await world.stored())["data"]["mine"] == "eA=="
    assert await world.secret(1).current() == material


CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


async def test_trust_is_kept(world: World) -> None:
    """Every webhook gets the CA bundle; if all have it, nothing is written."""
    client = world.clients[0]
    _, validating = configurations(WebhookOptions(name="ours"))
    await client.request_json("POST", CONFIGURATION, body=validating)

    await update_ca_bundles(client, "ours", b"ca")
    first = await client.request_json("GET", f"{CONFIGURATION}/ours")
    await update_ca_bundles(client, "ours", b"ca")
    second = await client.request_json("GET", f"{CONFIGURATION}/ours")

    assert {webhook["clientConfig"]["caBundle"] for webhook in first["webhooks"]} == {"Y2E="}
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def written(folder: Path, pair: Pair) -> CertificateFiles:
    """Files as cert-manager mounts them."""
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    return CertificateFiles(str(folder / "tls.crt"), str(folder / "tls.key"))


async def test_files_that_change_are_shown_without_a_restart(world: World, tmp_path: Path) -> None:
    """A pair that does not belong together leaves the last good one."""
    now = datetime.now(UTC)
    authority = make_authority(now, timedelta(days=2))
    pairs = [issue(authority, NAMES, now, timedelta(days=1)) for _ in range(2)]
    watcher = CertificateWatcher(world.clients[0], written(tmp_path, pairs[0]), configuration="", clock=world.clock)
    await watcher.update()
    running = asyncio.create_task(watcher.run())

    (tmp_path / "tls.crt").write_bytes(pairs[1].certificate)
    await moved(world.clock)
    assert watcher._shown == pairs[0]
    written(tmp_path, pairs[1])
    await moved(world.clock)

    assert watcher._shown == pairs[1]
    running.cancel()


async def moved(clock: MovedClock) -> None:
    """Move to the next look, and let it read files."""
    await clock.move(10.0)
    async with asyncio.timeout(30):
        while not clock._sleepers:  # noqa: ASYNC110 - who goes to sleep tells nobody
            await asyncio.sleep(0.005)


async def test_files_that_are_no_pair_are_a_fault_at_the_start(tmp_path: Path) -> None:
    """Each in words."""
    pair = make_authority(NOW, timedelta(days=1))

    with pytest.raises(ConfigError, match="No such file"):
        await CertificateFiles(str(tmp_path / "none"), str(tmp_path / "none")).current()
    with pytest.raises(ConfigError, match="no certificate in PEM, or not the one of"):
        await written(tmp_path, replace(pair, key=b"x")).current()
