"""The ground that tests of controllers stand on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.controllers import ground as grounds


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[grounds.Ground]:
    """A server in memory that knows the custom resources."""
    async with grounds.ground(tmp_path) as made:
        yield made
