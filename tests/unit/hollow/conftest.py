"""The world of clients, for hollow nodes."""

from tests.unit.kube.conftest import world

__all__ = ["world"]
