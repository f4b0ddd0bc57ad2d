"""An emulated cluster with our definitions, and the command line in front of it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.model.api.kinds import KINDS
from pyroclast.scheduler.cli.main import main
from tools.custom_resources.definitions import definition_of

GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
BATCH = "/apis/batch.volcano.sh/v1alpha1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def table(self) -> list[list[str]]:
        """Cells of the table printed."""
        return [line.split() for line in self.out.splitlines()]


class Person:
    """A user at a terminal."""

    def __init__(self, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
        self.client = client
        self._capsys = capsys

    async def types(self, *words: str) -> Said:
        """Run one command line."""
        self._capsys.readouterr()
        try:
            status = await asyncio.to_thread(main, words)
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        out, err = self._capsys.readouterr()
        return Said(status=status, out=out.rstrip("\n"), err=err.rstrip("\n"))

    async def makes(self, path: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
        """Create an object behind the command line's back."""
        (root, *words) = path.strip("/").split("/")
        api_version = words[0] if root == "api" else "/".join(words[:2])
        metadata = {"name": name, **parts.pop("metadata", {})}
        body = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}
        made: dict[str, Any] = await self.client.request_json("POST", path, body=body)
        return made

    async def sets_status(self, path: str, status: dict[str, Any]) -> None:
        """Write a status, as controllers do."""
        await self.client.request_json(
            "PATCH", f"{path}/status", body={"status": status}, media_type=MediaType.MERGE_PATCH
        )

    async def reads(self, path: str) -> dict[str, Any]:
        """Read what is there."""
        found: dict[str, Any] = await self.client.request_json("GET", path)
        return found


@pytest.fixture
async def person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Person]:
    """A user whose kubeconfig points to an emulator that serves our kinds."""
    async with Emulator(port=0) as emulator:
        path = str(emulator.kubeconfig(tmp_path / "kubeconfig"))
        monkeypatch.setenv("KUBECONFIG", path)
        monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
        async with Client(await connect(ClusterOptions(kubeconfig=path)), component="tests") as client:
            for kind in KINDS:
                await client.request_json(
                    "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=definition_of(kind)
                )
            yield Person(client, capsys)
