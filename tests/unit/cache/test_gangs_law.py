"""Law of the cluster state for gangs: after any changes it equals a rebuild from its objects."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.gangs import GangRules
from pyroclast.model.gangs.names import GROUPS, LABEL_POD_GROUP, MATCH_POLICIES, MATCH_POLICY, MIN_AVAILABLE, MODE, NAME
from tests.unit.cache.test_cluster_state_law import NODES, START, VERSIONS, binds

GANGS = ("a", "b", "c")
LISTS = ("", '["ns/a","ns/b"]', '["ns/b","ns/a"]', '["ns/a","ns/b","ns/c"]', '["ns/a","other/z"]', "broken")
RULES = (GangRules(), GangRules(match_policy="only-waiting"), None)


def annotations_of_gang(draw: st.DrawFn) -> dict[str, str]:
    """Annotations that pods and pod groups have in common."""
    each = {
        GROUPS: draw(st.sampled_from(LISTS)),
        MATCH_POLICY: draw(st.sampled_from(("", *MATCH_POLICIES, "foo"))),
        MODE: draw(st.sampled_from(("", "NonStrict"))),
    }
    return {key: value for key, value in each.items() if value}


@st.composite
def pods(draw: st.DrawFn) -> wire.Pod:
    """Any pod of a small cluster, member of a gang by label or annotation, in any state."""
    name, gang = draw(st.sampled_from(("p1", "p2", "p3", "p4"))), draw(st.sampled_from(GANGS))
    by_label, of_group = draw(st.booleans()), draw(st.sampled_from((False, False, False, True)))
    annotations = {
        **({} if by_label else {NAME: gang}),
        **({"scheduling.k8s.io/group-name": "a"} if of_group else {}),
        MIN_AVAILABLE: draw(st.sampled_from(("0", "1", "2", "x"))),
        **annotations_of_gang(draw),
    }
    request = draw(st.sampled_from(({"cpu": "1"}, {"cpu": "1"}, {"cpu": "broken"})))
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=name,
            namespace="ns",
            uid=name + draw(st.sampled_from(("", "-again"))),
            resource_version=str(next(VERSIONS)),
            creation_timestamp=f"2026-01-01T00:00:0{draw(st.integers(0, 2))}Z",
            deletion_timestamp=draw(st.sampled_from(("", "", "", "2026-01-01T00:00:00Z"))),
            annotations=annotations,
            labels={LABEL_POD_GROUP: gang} if by_label else {},
        ),
        spec=wire.PodSpec(
            scheduler_name=draw(st.sampled_from(("volcano", "volcano", "volcano", "other"))),
            node_name=draw(st.sampled_from((NODES[0], "", ""))),
            priority=draw(st.sampled_from((None, 1, 2))),
            containers=(wire.Container(name="c", resources=wire.ResourceRequirements(requests=request)),),
        ),
        status=wire.PodStatus(phase=draw(st.sampled_from(("Pending", "Pending", "Running", "Succeeded", "Failed")))),
    )


@st.composite
def pod_groups(draw: st.DrawFn) -> wire.GangPodGroup:
    """A pod group, sometimes with an invalid minimum."""
    return wire.GangPodGroup(
        metadata=wire.ObjectMeta(
            name=draw(st.sampled_from(GANGS)),
            namespace="ns",
            uid="g",
            resource_version=str(next(VERSIONS)),
            annotations=annotations_of_gang(draw),
        ),
        spec=wire.GangPodGroupSpec(min_member=draw(st.integers(-1, 2))),
    )


def step(state: ClusterState, data: st.DataObject, now: float) -> None:
    """Make one random change."""
    match data.draw(st.integers(0, 7)):
        case 0 | 1 | 2:
            state.apply("Pod", data.draw(pods()))
        case 3:
            state.apply("GangPodGroup", data.draw(pod_groups()))
        case 4:
            kind, each = data.draw(
                st.one_of(st.tuples(st.just("Pod"), pods()), st.tuples(st.just("GangPodGroup"), pod_groups()))
            )
            state.remove(kind, each)
        case 5:
            state.assume(data.draw(binds(state)), now)
        case 6:
            state.follow_gangs(data.draw(st.sampled_from(RULES)))
        case _:
            for task in state.overdue(now)[:1]:
                state.forget(task, state.assumed()[task].node, failed=data.draw(st.booleans()))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_running_state_equals_a_rebuild_after_any_events(data: st.DataObject) -> None:
    """Members, pod groups, plans and rules change in any order, with snapshots in between."""
    state = ClusterState()
    state.follow_gangs(data.draw(st.sampled_from(RULES)))
    for kind, each in START:
        state.apply(kind, each)
    for now in range(data.draw(st.integers(1, 25))):
        step(state, data, 100.0 * now)
        if data.draw(st.booleans()):
            state.snapshot()

    running = state.snapshot()

    assert differences(running, state.rebuild().snapshot()) == []
    assert state.snapshot() is running
    assert set(running.gangs) <= set(running.jobs)


@settings(max_examples=75, deadline=None)
@given(objects=st.lists(st.one_of(pods(), pod_groups()), max_size=12), order=st.randoms(use_true_random=False))
def test_the_order_of_events_does_not_matter(objects: list[Any], order: Any) -> None:
    """Equal last versions of all objects give equal snapshots."""
    latest = {(type(each).__name__, each.metadata.key): each for each in objects}
    everything = [("Pod" if kind == "Pod" else "GangPodGroup", each) for (kind, _), each in latest.items()]
    shuffled = everything.copy()
    order.shuffle(shuffled)

    one, other = ClusterState(), ClusterState()
    for state, events in ((one, everything), (other, shuffled)):
        state.follow_gangs(RULES[0])
        for kind, each in (*START, *events):
            state.apply(kind, each)

    assert differences(one.snapshot(), other.snapshot()) == []
