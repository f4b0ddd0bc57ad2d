"""Tables: columns and cells of every built-in kind, the same by the emulator and the real server.

What the real server shows stands in `tables.json`; both are held to it.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pyroclast.emulator.storage.resources import BUILT_IN, Resource
from tests.e2e.cluster import Cluster
from tests.e2e.rawhttp import CREATED, Client
from tests.e2e.shown import shown_objects

NAMESPACE = "shown"
SHOWN: dict[str, Any] = json.loads((Path(__file__).parent / "tables.json").read_text())
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ALLOCATED = re.compile(r"10(\.[0-9]{1,3}){3}")
LISTED = [resource for resource in BUILT_IN if "list" in resource.verbs]


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Client:
    """The administrator."""
    return Client(cluster)


def path_of(resource: Resource) -> str:
    """Where all objects of a kind are listed."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    return f"{root}/{resource.version}/{resource.plural}"


def settled(name: str, cell: Any) -> Any:
    """A cell without what is another one each time."""
    if name == "Age":
        return "<age>"
    if name == "Created At":
        return "<moment>"
    if name == "Cluster-IP" and ALLOCATED.fullmatch(cell):
        return "<address>"
    if name == "Status" and cell == "Available":
        return "Pending"  # a volume, once a controller has looked at it
    return UUID.sub("<uid>", cell) if isinstance(cell, str) else cell


@pytest.mark.parametrize("resource", LISTED, ids=path_of)
def test_columns(client: Client, resource: Resource) -> None:
    """Names, types, formats, and which are for `-o wide` alone."""
    answer = client.send("GET", f"{path_of(resource)}?limit=1", accept=AS_TABLE)

    columns = [
        [column["name"], column["type"], column["format"], column["priority"]]
        for column in answer.body["columnDefinitions"]
    ]
    assert columns == SHOWN["columns"][path_of(resource)]


def test_cells(client: Client) -> None:
    """Objects of every kind: also with the values that the server fills in."""
    client.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    cells = {}
    for path, body in shown_objects(NAMESPACE):
        made = client.send("POST", path, body)
        assert made.code == CREATED, made.body
        place = f"{path}/{body['metadata']['name']}"
        table = client.send("GET", place, accept=AS_TABLE).body
        names = [column["name"] for column in table["columnDefinitions"]]
        (row,) = table["rows"]
        cells[place] = {name: settled(name, cell) for name, cell in zip(names, row["cells"], strict=True)}

    assert cells == SHOWN["cells"]
