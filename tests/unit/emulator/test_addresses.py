"""The emulator listens on the configured address, and writes it into its kubeconfig."""

import socket
from pathlib import Path

import pytest

from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect


def has_ipv6() -> bool:
    """Return whether this machine has an IPv6 loopback."""
    try:
        with socket.socket(socket.AF_INET6) as listener:
            listener.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6 loopback"))]
)
async def test_a_client_finds_it_by_its_kubeconfig(tmp_path: Path, host: str) -> None:
    """An IPv6 address stands in brackets."""
    async with Emulator(host=host) as emulator:
        kubeconfig = str(emulator.kubeconfig(tmp_path / "config"))
        async with Client(await connect(ClusterOptions(kubeconfig=kubeconfig)), component="tests") as client:
            await client.request("GET", "/api/v1/namespaces")
            await client.request("POST", "/api/v1/namespaces", body=b'{"metadata":{"name":"n"}}')
