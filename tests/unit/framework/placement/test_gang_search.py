"""Searches for the members of a gang: what they place, what they say, and what they do not repeat."""

import numpy as np

from pyroclast.framework.placement.gangs.members import members_of, room_of
from pyroclast.framework.placement.gangs.regions import regions_of
from pyroclast.framework.placement.gangs.search import GangSearch
from pyroclast.framework.session.session import Session
from pyroclast.testing import Scenario, open_session
from tests.gangs import annotated
from tests.network_layers import gathered, network_topology

PLUGINS = (("priority", "gang"), ("predicates", "proportion", "nodeorder"))
TWO_NODES = Scenario().node("na", cpu=53).node("nb", cpu=31)


def opened(*cpus: int, minimum: int | None = None) -> Session:
    """Open a session with one gang of pods that ask for so much CPU."""
    scenario = TWO_NODES.job("g", tasks=0, min_available=len(cpus) if minimum is None else minimum)
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"g-{number}", job="g", cpu=cpu)
    return open_session(scenario, plugins=PLUGINS)


def search_in(session: Session) -> GangSearch:
    """Begin a search for the gang."""
    (job,) = session.jobs.all()
    return GangSearch(session, job, session.jobs.pending_tasks(job), root=session.topology.domains.topology.root)


def test_what_is_found_is_not_placed_yet() -> None:
    """The caller places it."""
    session = opened(30, 50)
    before = session.nodes.state.copy()

    found = search_in(session).run(on_idle=True)

    names = session.nodes.table.names
    assert {place.task.name: names[place.column] for place in found} == {"g-0": "nb", "g-1": "na"}
    assert (session.nodes.state == before).all()


def test_a_search_that_failed_counts_its_steps_again() -> None:
    """So that what is remembered changes nothing for the jobs that come after in the same cycle."""
    session = opened(27, 27, 26, 10)
    first = search_in(session)
    assert first.run(on_idle=True) == []
    steps = session.search_steps
    assert search_in(session).run(on_idle=True) == []
    assert session.search_steps == 2 * steps


def test_surplus_members_are_spared() -> None:
    """Three of four are needed; with the first of them no two others have places."""
    session = opened(40, 30, 23, 20, minimum=3)
    found = search_in(session).run(on_idle=True)
    assert sorted(place.task.name for place in found) == ["g-1", "g-2", "g-3"]


def test_domains_without_capacity_are_no_regions() -> None:
    """One of three nodes holds both members, and so do all nodes together; the others cost the search nothing."""
    scenario = Scenario().queue("default").add(network_topology()).node("n0", cpu=1).node("n1", cpu=2).node("n2", cpu=1)
    for number in range(2):
        scenario = scenario.pod(f"g-{number}", annotations=annotated("g", 2, more=gathered()), cpu=1)
    plugins, arguments = (("coscheduling", "gang"), ("predicates",)), {"coscheduling": {"awareNetworkTopology": True}}
    session = open_session(scenario, plugins=plugins, arguments=arguments)
    (job,) = session.jobs.all()
    tasks = session.jobs.pending_tasks(job)
    members, room = members_of(session, job, tasks), room_of(session, tasks, on_idle=True)
    root = session.topology.domains_of(job).topology.root
    regions = regions_of(session, job, members, room, root=root, phase="", count=lambda _: True)
    names = session.nodes.table.names

    assert [[names[column] for column in np.flatnonzero(mask)] for region in regions for mask in region.values()] == [
        ["n1"],
        ["n0", "n1", "n2"],
    ]
