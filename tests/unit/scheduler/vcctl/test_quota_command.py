"""`pyroclast quota` on the emulator."""

import json
from typing import Any

import msgspec

from pyroclast.model.api.quota import ElasticQuota
from pyroclast.model.elastic.names import GUARANTEED, REQUEST, ROOT_QUOTA, RUNTIME, SHARED_WEIGHT
from pyroclast.scheduler.cli.commands.vcctl.quotas import rows
from tests.elastic_quotas import elastic_quota
from tests.unit.scheduler.vcctl.conftest import Person

QUOTAS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/elasticquotas"


async def make(person: Person, name: str, *, namespace: str = "quotas", used: int | None = None, **terms: Any) -> None:
    """Create a quota, as the scheduler wrote how it stands."""
    quota = elastic_quota(name, namespace=namespace, **terms)
    status = {} if used is None else {"status": {"used": {"cpu": str(used)}}}
    await person.client.request_json("POST", QUOTAS.format(namespace), body={**quota, **status})


async def company(person: Person) -> None:
    """An organisation of two teams, and a quota of another namespace beside it."""
    for namespace in ("quotas", "others"):
        await person.makes("/api/v1/namespaces", "Namespace", namespace)
    stands = {RUNTIME: '{"cpu": "6"}', REQUEST: '{"cpu": "9"}', GUARANTEED: '{"cpu": "4"}', SHARED_WEIGHT: "nonsense"}
    await make(person, "org", least={"cpu": 8}, most={"cpu": 16}, is_parent=True, used=6)
    await make(
        person,
        "team-b",
        least={"cpu": 4},
        most={"cpu": 8, "memory": "1Gi"},
        parent="org",
        used=6,
        annotations=stands,
        lends=False,
    )
    await make(person, "team-a", most={"cpu": 8}, parent="org")
    await make(person, "lab", most={"cpu": 2}, namespace="others", tree="x")


async def test_quotas_are_listed_as_a_tree(person: Person) -> None:
    """All namespaces; a row for each resource; what is not known shows as such."""
    await company(person)

    said = await person.types("quota", "list")

    assert said.out.splitlines() == [
        "NAME       RESOURCE   USED     RUNTIME   REQUEST   MIN      MAX",
        "lab        cpu        <none>   <none>    <none>    <none>   2",
        "org        cpu        6        <none>    <none>    8        16",
        "  team-a   cpu        <none>   <none>    <none>    <none>   8",
        "  team-b   cpu        6        6         9         4        8",
        "  team-b   memory     <none>   <none>    <none>    <none>   1Gi",
    ]
    assert (said.status, said.err) == (0, "")


async def test_wide_tables_show_the_terms(person: Person) -> None:
    """What is guaranteed now, the weight, whether it lends, its tree and namespace."""
    await company(person)

    said = await person.types("quota", "get", "team-b", "lab", "-o", "wide", "--no-headers")

    assert [cells[7:] for cells in said.table] == [
        ["4", "<none>", "false", "<none>", "quotas"],
        ["<none>", "<none>", "false", "<none>", "quotas"],
        ["<none>", "<none>", "true", "x", "others"],
    ]


async def test_a_quota_is_shown_with_those_below_it(person: Person) -> None:
    """Selected by name; as JSON it is one object."""
    await company(person)

    shown = (await person.types("quota", "get", "org", "--no-headers")).table
    assert [cells[0] for cells in shown] == ["org", "team-a", "team-b", "team-b"]
    assert json.loads((await person.types("quota", "get", "org", "-o", "json")).out)["metadata"]["name"] == "org"
    names = (await person.types("quota", "list", "-o", "name")).out.splitlines()
    assert "elasticquota.scheduling.sigs.k8s.io/lab" in names


async def test_a_name_that_is_not_there_stops_no_other(person: Person) -> None:
    """It is reported in kubectl's words."""
    await company(person)

    said = await person.types("quota", "get", "nobody", "lab")

    assert [cells[0] for cells in said.table] == ["NAME", "lab"]
    assert said.err == 'Error from server (NotFound): elasticquotas.scheduling.sigs.k8s.io "nobody" not found'
    assert said.status == 1


async def test_quotas_in_a_cycle_and_without_a_parent_are_shown(person: Person) -> None:
    """Each once, whatever is wrong with them."""
    await person.makes("/api/v1/namespaces", "Namespace", "quotas")
    for name, parent in (("x", "y"), ("y", "x"), ("orphan", "gone")):
        await make(person, name, parent=parent, is_parent=True)

    said = await person.types("quota", "list", "--no-headers")

    assert said.out.splitlines() == [
        "orphan   <none>   <none>   <none>   <none>   <none>   <none>",
        "x        <none>   <none>   <none>   <none>   <none>   <none>",
        "  y      <none>   <none>   <none>   <none>   <none>   <none>",
    ]


def test_a_chain_of_quotas_may_be_long() -> None:
    """As long as its owners like."""
    chain = [elastic_quota(f"q{at}", parent=f"q{at - 1}" if at else "") for at in range(3000)]
    shown = list(rows(msgspec.convert(chain, list[ElasticQuota])))
    assert [(row.quota.metadata.name, row.depth) for row in shown] == [(f"q{at}", at) for at in range(3000)]


async def test_of_two_of_a_name_the_one_that_counts_is_shown(person: Person) -> None:
    """The first of two from the same second is the first by namespace, for the scheduler, too."""
    for namespace in ("b", "a"):
        await person.makes("/api/v1/namespaces", "Namespace", namespace)
        await make(person, "q", namespace=namespace)

    said = await person.types("quota", "list", "-o", "wide", "--no-headers")

    assert [cells[-1] for cells in said.table] == ["a"]


async def test_no_quotas(person: Person) -> None:
    """An empty cluster is reported beside the output."""
    said = await person.types("quota", "list")

    assert (said.status, said.out, said.err) == (0, "", "No resources found")


async def test_other_quotas_are_below_the_root(person: Person) -> None:
    """Where its object exists; it has a row for each resource in use."""
    await person.makes("/api/v1/namespaces", "Namespace", "quotas")
    await make(person, ROOT_QUOTA, is_parent=True, used=3)
    await make(person, "a-team", most={"cpu": 8}, used=3)

    said = await person.types("quota", "list", "--no-headers")

    assert said.out.splitlines() == [
        "koordinator-root-quota   cpu   3   <none>   <none>   <none>   <none>",
        "  a-team                 cpu   3   <none>   <none>   <none>   8",
    ]
