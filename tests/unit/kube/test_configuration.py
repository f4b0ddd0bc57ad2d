"""Addresses and credentials come from kubeconfig files, service accounts and plugins."""

import asyncio
import base64
import json
import ssl
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme
from structlog.testing import capture_logs

from pyroclast.kube.api.configuration import ClusterAccess, ClusterOptions, connect
from pyroclast.model.errors import ConfigError
from tests.unit.kube.world import FakeClock


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a pod's service account nor a user's own kubeconfig."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))


def kubeconfig(tmp_path: Path, user: dict[str, Any], server: str = "http://one:8080/") -> str:
    """Write a kubeconfig with two contexts."""
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "first",
                "clusters": [
                    {"name": "one", "cluster": {"server": server}},
                    {"name": "two", "cluster": {"server": "https://two:6443", "insecure-skip-tls-verify": True}},
                ],
                "users": [{"name": "me", "user": user}],
                "contexts": [
                    {"name": "first", "context": {"cluster": "one", "user": "me"}},
                    {"name": "second", "context": {"cluster": "two", "user": "me"}},
                ],
            }
        ),
        encoding="utf-8",
    )
    return str(path)


async def test_the_current_context_is_used(tmp_path: Path) -> None:
    """Server without its slash, token with its scheme."""
    cluster = await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"token": "t"})))

    assert cluster.server == "http://one:8080"
    assert await cluster.authorization() == "Bearer t"


async def test_a_cluster_describes_its_source(tmp_path: Path) -> None:
    """Address, file and context, for messages about a server that does not answer."""
    path = kubeconfig(tmp_path, {})
    second = await connect(ClusterOptions(kubeconfig=path, context="second"))
    moved = await connect(ClusterOptions(kubeconfig=path, master="http://three:1"))
    bare = await connect(ClusterOptions(master="http://three:1"))

    assert second.described == f"https://two:6443 (kubeconfig {path}, context second)"
    assert moved.described == f"http://three:1 (kubeconfig {path}, context first, address from --master)"
    assert bare.described == "http://three:1 (--master)"


async def test_another_context_and_another_address_may_be_asked_for(tmp_path: Path) -> None:
    """The address overrides the context's; TLS is the context's."""
    path = kubeconfig(tmp_path, {})

    second = await connect(ClusterOptions(kubeconfig=path, context="second"))
    other = await connect(ClusterOptions(kubeconfig=path, master="http://three:1/"))

    assert second.server == "https://two:6443"
    assert isinstance(second.tls, ssl.SSLContext)
    assert second.tls.verify_mode == ssl.CERT_NONE
    assert other.server == "http://three:1"
    assert await second.authorization() is None


async def test_an_address_alone_is_enough() -> None:
    """As `kubectl proxy` serves it."""
    assert (await connect(ClusterOptions(master="http://localhost:8001"))).server == "http://localhost:8001"


async def test_exec_plugins_give_tokens_that_are_renewed(tmp_path: Path) -> None:
    """The plugin is asked again when its token has expired."""
    count = tmp_path / "count"
    script = tmp_path / "plugin.py"
    script.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(count)!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',\n"
        "  'status': {'token': f'token-{number}', 'expirationTimestamp': '2020-01-01T00:00:00Z'}}))\n",
        encoding="utf-8",
    )
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(script)],
        "interactiveMode": "Never",
    }
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"exec": plugin})), clock=clock)
    assert await cluster.authorization() == "Bearer token-1"

    clock.now += 61

    assert await cluster.authorization() == "Bearer token-2"


async def test_white_space_around_a_token_is_left_out(tmp_path: Path) -> None:
    """Files end with a newline, which no header can carry."""
    token = tmp_path / "token"
    token.write_text("first\n", encoding="utf-8")
    cluster = await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"tokenFile": str(token)})))

    assert await cluster.authorization() == "Bearer first"


@pytest.mark.parametrize("text", ["sec\nret", "sec\x00ret", "secr\u00e9t"])
async def test_a_token_that_no_header_can_carry_is_a_fault(tmp_path: Path, text: str) -> None:
    """The message names the source and does not repeat the token."""
    token = tmp_path / "token"
    token.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="no HTTP header can carry") as caught:
        await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"tokenFile": str(token)})))

    assert "sec" not in str(caught.value).replace(str(tmp_path), "")


async def test_credentials_outlive_a_source_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that waits for what never comes holds no request for long."""
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    clock = FakeClock()
    options = ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"tokenFile": str(token)}))
    cluster = ClusterAccess(options, clock=clock, source_seconds=0.05)
    await cluster.load()
    monkeypatch.setattr(cluster, "load", asyncio.Event().wait)
    clock.now += 61

    async with asyncio.timeout(30):
        asked = await asyncio.gather(*(cluster.authorization() for _ in range(3)))

    assert asked == ["Bearer first"] * 3


async def test_credentials_outlive_a_source_that_fails_for_a_while(tmp_path: Path) -> None:
    """The last token stays, however many ask; the source is asked again seconds later."""
    token = tmp_path / "token"
    token.write_text("first", encoding="utf-8")
    clock = FakeClock()
    cluster = await connect(
        ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"tokenFile": str(token)})),
        clock=clock,
    )
    path = tmp_path / "config"
    good = path.read_text(encoding="utf-8")
    path.write_text("{", encoding="utf-8")

    clock.now += 61
    asked = await asyncio.gather(*(cluster.authorization() for _ in range(3)))
    assert asked == ["Bearer first"] * 3
    assert await cluster.authorization(renew=True) == "Bearer first"

    path.write_text(good, encoding="utf-8")
    token.write_text("second", encoding="utf-8")
    assert await cluster.authorization() == "Bearer first"
    clock.now += 6
    assert await cluster.authorization() == "Bearer second"


async def test_many_requests_renew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exec plugin may cost seconds: it is not run for each of them."""
    token = tmp_path / "token"
    token.write_text("t", encoding="utf-8")
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"tokenFile": str(token)})), clock=clock)
    loads = 0
    load = cluster.load

    async def counted() -> None:
        nonlocal loads
        loads += 1
        await asyncio.sleep(0)
        await load()

    monkeypatch.setattr(cluster, "load", counted)
    clock.now += 61

    await asyncio.gather(*(cluster.authorization() for _ in range(5)))

    assert loads == 1


@pytest.mark.parametrize("master", ["nonsense", "10.0.0.1:6443", "ftp://one"])
async def test_an_address_without_its_scheme_is_a_fault(master: str) -> None:
    """Reported at the start, by the flag's name, and not at each request."""
    with pytest.raises(ConfigError, match="--master: got the server address"):
        await connect(ClusterOptions(master=master))


async def test_an_exec_plugin_that_fails_is_a_fault(tmp_path: Path) -> None:
    """Never anonymous by accident."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nonexistent/plugin"}

    with pytest.raises(ConfigError, match="exec plugin"):
        await connect(ClusterOptions(kubeconfig=kubeconfig(tmp_path, {"exec": plugin})))


@pytest.mark.parametrize("text", ["", "[]", "{}", "a: [", "current-context: none\ncontexts: []\nclusters: []\n"])
async def test_a_broken_file_is_a_fault_with_its_path(tmp_path: Path, text: str) -> None:
    """Whatever is wrong with it."""
    path = tmp_path / "broken"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match="broken"):
        await connect(ClusterOptions(kubeconfig=str(path)))


async def test_an_absent_file_is_a_fault(tmp_path: Path) -> None:
    """It is named, and what to do."""
    with pytest.raises(ConfigError, match="nowhere: no such kubeconfig file; name one by --kubeconfig"):
        await connect(ClusterOptions(kubeconfig=str(tmp_path / "nowhere")))


def inside_a_pod(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Let a process find itself in a pod; return the files of its token and of the authority."""
    token, authority = folder / "token", folder / "ca.crt"
    token.write_text("first", encoding="utf-8")
    trustme.CA().cert_pem.write_to_path(str(authority))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    module = "kubernetes.aio.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(authority))
    return token, authority


async def test_a_service_account_is_used_inside_a_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its token is read again each minute."""
    token, _ = inside_a_pod(tmp_path, monkeypatch)
    clock = FakeClock()

    cluster = await connect(ClusterOptions(), clock=clock)
    assert cluster.server == "https://10.0.0.1:443"
    assert (await cluster.authorization() or "").lower() == "bearer first"
    token.write_text("second", encoding="utf-8")
    clock.now += 61

    assert (await cluster.authorization() or "").lower() == "bearer second"


async def test_a_renewed_authority_of_a_service_account_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubelets put it under the name of the old one; one that stays the same keeps its connections."""
    _, authority = inside_a_pod(tmp_path, monkeypatch)
    clock = FakeClock()
    cluster = await connect(ClusterOptions(), clock=clock)
    first = cluster.tls
    clock.now += 61
    await cluster.authorization()
    assert cluster.tls is first

    renewed = trustme.CA()
    renewed.cert_pem.write_to_path(str(authority))
    clock.now += 61
    await cluster.authorization()

    assert isinstance(cluster.tls, ssl.SSLContext)
    assert cluster.tls.get_ca_certs(binary_form=True) == [ssl.PEM_cert_to_DER_cert(renewed.cert_pem.bytes().decode())]


@pytest.mark.parametrize("is_inline", [True, False])
async def test_a_renewed_authority_of_a_kubeconfig_is_trusted(tmp_path: Path, is_inline: bool) -> None:
    """In a file of its own or in the kubeconfig: a server whose certificate is renewed under it is spoken to again."""
    path = tmp_path / "config"

    def write(authority: trustme.CA) -> None:
        pem = authority.cert_pem.bytes()
        (tmp_path / "ca.crt").write_bytes(pem)
        data = {"certificate-authority-data": base64.b64encode(pem).decode()}
        cluster = {"server": "https://one:6443", **(data if is_inline else {"certificate-authority": "ca.crt"})}
        kubeconfig(tmp_path, {"token": "t"})
        text = json.loads(path.read_text(encoding="utf-8"))
        text["clusters"][0]["cluster"] = cluster
        path.write_text(json.dumps(text), encoding="utf-8")

    first, second = trustme.CA(), trustme.CA()
    write(first)
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=str(path)), clock=clock)
    before = cluster.tls
    write(second)
    clock.now += 61
    await cluster.authorization()

    assert cluster.tls is not before
    assert isinstance(cluster.tls, ssl.SSLContext)
    assert cluster.tls.get_ca_certs(binary_form=True)[-1] == ssl.PEM_cert_to_DER_cert(second.cert_pem.bytes().decode())


async def test_another_current_context_is_not_followed(tmp_path: Path) -> None:
    """A change of the current context for another cluster does not move the process there."""
    path = tmp_path / "config"
    kubeconfig(tmp_path, {"token": "t"})
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=str(path)), clock=clock)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"current-context": "first"', '"current-context": "second"'), encoding="utf-8")
    clock.now += 61
    await cluster.authorization()

    assert cluster.server == "http://one:8080"


async def test_a_kubeconfig_that_goes_away_leaves_what_was_read(tmp_path: Path) -> None:
    """It is reported once; a pipe, which can be read once, is not read again."""
    path = tmp_path / "config"
    kubeconfig(tmp_path, {"token": "t"})
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=str(path)), clock=clock)
    path.unlink()
    with capture_logs() as lines:
        for _ in range(3):
            clock.now += 61
            assert (await cluster.authorization() or "").lower() == "bearer t"

    assert [line["log_level"] for line in lines if line["event"] == "credentials_not_renewed"] == [
        "warning",
        "debug",
        "debug",
    ]


async def test_a_service_account_s_token_is_read_again_when_it_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only after a minute; while the file is away, the last token stays."""
    token, _ = inside_a_pod(tmp_path, monkeypatch)
    cluster = await connect(ClusterOptions(), clock=FakeClock())
    token.unlink()
    assert (await cluster.authorization(renew=True) or "").lower() == "bearer first"
    token.write_text("second\n", encoding="utf-8")

    assert (await cluster.authorization(renew=True) or "").lower() == "bearer second"


async def test_a_renewed_client_certificate_is_shown(tmp_path: Path) -> None:
    """Read again from its files; half of a new pair leaves the last good one until the other half is there."""
    authority = trustme.CA()
    files = {name: tmp_path / name for name in ("client-certificate", "client-key")}

    def write(issued: trustme.LeafCert, *names: str) -> None:
        parts = {"client-certificate": issued.cert_chain_pems[0], "client-key": issued.private_key_pem}
        for name in names:
            parts[name].write_to_path(str(files[name]))

    write(authority.issue_cert("me"), *files)
    path = kubeconfig(tmp_path, {name: str(file) for name, file in files.items()}, server="https://one:6443")
    clock = FakeClock()
    cluster = await connect(ClusterOptions(kubeconfig=path), clock=clock)
    first, renewed = cluster.tls, authority.issue_cert("me")

    write(renewed, "client-certificate")
    clock.now += 61
    await cluster.authorization()
    assert cluster.tls is first

    write(renewed, "client-key")
    clock.now += 61
    await cluster.authorization()
    assert cluster.tls is not first
