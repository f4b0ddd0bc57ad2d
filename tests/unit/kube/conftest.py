"""The world that tests of clients live in."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from tests.unit.kube.world import World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A running server with a client of it."""
    async with Emulator(port=0) as emulator:
        cluster = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(tmp_path / "kubeconfig"))))
        async with Client(cluster, component="tests", timeout=30.0) as client:
            made = World(emulator, client)
            yield made
            await made.stop()
