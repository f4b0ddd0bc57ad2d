"""The search for devices finds an assignment wherever there is one, and what it finds meets all requests."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model import wire
from pyroclast.plugins.predicates.devices.pools import Pools
from pyroclast.plugins.predicates.devices.requests import Requests
from pyroclast.plugins.predicates.devices.search import Chosen, Search
from pyroclast.plugins.predicates.devices.usage import DeviceUsage
from pyroclast.testing import Scenario
from tests.device_claims import DRIVER, claim, device, device_class, exactly, resource_slice

KINDS = ("a", "b")
TABLE = Scenario().node("n").run().rounds[0].snapshot.nodes


def selector(kind: str) -> list[str]:
    """The expression that selects a kind; none for all kinds."""
    return [f'device.attributes["{DRIVER}"].kind == "{kind}"'] if kind else []


Subrequest = tuple[str, int, bool]
"""The kind of devices, their number (0 for all), and whether in use ones will do."""

SUBREQUESTS = st.tuples(st.sampled_from(["", *KINDS]), st.integers(0, 2), st.booleans())
REQUESTS = st.lists(st.lists(SUBREQUESTS, min_size=1, max_size=2), min_size=1, max_size=2)
CLAIMS = st.lists(st.tuples(REQUESTS, st.sampled_from(["", "matchAttribute", "distinctAttribute"])), max_size=2)
DEVICES = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1), st.booleans(), st.integers(0, 2)), max_size=5)
"""Kind, NUMA node, whether a claim has the device, and how much it consumes of a counter."""
COUNTER = 4


def request(number: int, alternatives: list[Subrequest]) -> dict[str, Any]:
    """A request, with alternatives if there are several, which have no admin access."""
    made = []
    for each, (kind, count, shares) in enumerate(alternatives):
        more: dict[str, Any] = {"allocationMode": "All"} if not count else {"count": count}
        if shares and len(alternatives) == 1:
            more["adminAccess"] = True
        made.append(exactly(f"s{each}", *selector(kind), **more))
    if len(made) == 1:
        return {**made[0], "name": f"r{number}"}
    return {"name": f"r{number}", "firstAvailable": [{"name": each["name"], **each["exactly"]} for each in made]}


def found(devices: Any, claims: Any) -> list[list[Chosen]] | None:
    """What the search chooses."""
    offered = []
    for number, (kind, numa, _, consumed) in enumerate(devices):
        counters = [{"counterSet": "s", "counters": {"c": {"value": str(consumed)}}}] if consumed else []
        offered.append({**device(f"d{number}", kind=kind, numa=numa), "consumesCounters": counters})
    pool = {"name": "n", "resourceSliceCount": 2}
    shared = [{"name": "s", "counters": {"c": {"value": str(COUNTER)}}}]
    of_counters = resource_slice("s", nodeName="n", pool=pool, sharedCounters=shared)
    listed = {"n": resource_slice("n", *offered, pool=pool), "s": of_counters}
    pools = Pools({name: msgspec.convert(each, wire.ResourceSlice) for name, each in listed.items()}, TABLE)
    requests = Requests(pools, {"gpu": msgspec.convert(device_class(), wire.DeviceClass)})
    needs = []
    for number, (asked, rule) in enumerate(claims):
        constraints = [{rule: f"{DRIVER}/numa"}] if rule else []
        made = claim(f"c{number}", *(request(at, each) for at, each in enumerate(asked)), constraints=constraints)
        needs.append(requests.need(msgspec.convert(made, wire.ResourceClaim)))
    in_use = {number for number, (_, _, used, _) in enumerate(devices) if used}
    usage = DeviceUsage(pools, in_use)
    search = Search(pools, needs, np.arange(len(devices)), usage=usage, knows_all=True)
    chosen = search.run()
    assert not search.is_exhausted
    assert usage.devices == in_use
    return chosen


def choices(devices: Any, alternatives: list[Subrequest]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Each set of devices that one request could have by itself, and whether it shares them."""
    for kind, count, shares in alternatives:
        admin = shares and len(alternatives) == 1
        matching = [number for number, (own, *_) in enumerate(devices) if kind in {"", own}]
        free = [number for number in matching if admin or not devices[number][2]]
        if count:
            yield from ((picked, admin) for picked in combinations(free, count))
        elif matching and free == matching:
            yield tuple(matching), admin


def is_valid(devices: Any, claims: Any, picked: list[list[tuple[tuple[int, ...], bool]]]) -> bool:
    """Return whether sets of devices of all requests go together."""
    taken: list[tuple[int, int, bool]] = []
    for number, ((_, rule), sets) in enumerate(zip(claims, picked, strict=True)):
        own = [each for chosen, _ in sets for each in chosen]
        numa = [devices[each][1] for each in own]
        if len(set(own)) != len(own):
            return False
        if rule == "matchAttribute" and len(set(numa)) > 1:
            return False
        if rule == "distinctAttribute" and len(set(numa)) != len(numa):
            return False
        taken += [(each, number, admin) for chosen, admin in sets for each in chosen]
    exclusive = [each for each, _, admin in taken if not admin]
    if len(set(exclusive)) != len(exclusive):
        return False
    left = COUNTER - sum(consumed for _, _, used, consumed in devices if used)
    consumed = sum(devices[each][3] for each in exclusive)
    return not consumed or consumed <= left


@given(DEVICES, CLAIMS)
def test_an_assignment_is_found_where_there_is_one(devices: Any, claims: Any) -> None:
    """Compared with all combinations."""
    chosen = found(devices, claims)
    options = [[list(choices(devices, each)) for each in asked] for asked, _ in claims]
    every = product(*(product(*asked) for asked in options))
    is_possible = any(is_valid(devices, claims, [list(sets) for sets in picked]) for picked in every)

    if chosen is not None:
        picked = [[(each.devices, each.subrequest.spec.admin_access) for each in of_claim] for of_claim in chosen]
        assert is_valid(devices, claims, picked)
    assert (chosen is not None) == is_possible
