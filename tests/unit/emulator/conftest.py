"""An emulator in the test's own loop, and a client for it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from pyroclast.emulator.run import Emulator
from tests.unit.emulator.wire import Client


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """A running server, empty but for its namespaces."""
    async with Emulator(bookmark_seconds=0.05) as running:
        yield running


@pytest.fixture
async def client(emulator: Emulator) -> AsyncIterator[Client]:
    """A client of it."""
    async with aiohttp.ClientSession() as session:
        yield Client(emulator.url, session)
