"""Filters of predicates by facts of nodes, pod counts and host ports."""

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model import wire
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.predicates.arguments import PredicatesArgs
from pyroclast.plugins.predicates.node_facts import names_conflict
from pyroclast.plugins.predicates.ports import HostPort, requested_ports
from tests.unit.plugins.filtering import node, opened, pod

FULL = "node(s) pod number exceeded"
CORDONED = "node(s) were unschedulable"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINTED = "node(s) had untolerated taint(s)"
PORTS = "node(s) didn't have free ports for the requested pod ports"


def requirement(key: str, operator: str, *values: str) -> wire.SelectorRequirement:
    """Return one expression."""
    return wire.SelectorRequirement(key=key, operator=operator, values=values)


def required(*terms: wire.NodeSelectorTerm) -> wire.Affinity:
    """Return a required node affinity."""
    return wire.Affinity(node_affinity=wire.NodeAffinity(required=wire.NodeSelector(node_selector_terms=terms)))


def expressions(*requirements: wire.SelectorRequirement) -> wire.NodeSelectorTerm:
    """Return a term over labels."""
    return wire.NodeSelectorTerm(match_expressions=requirements)


def fields(*requirements: wire.SelectorRequirement) -> wire.NodeSelectorTerm:
    """Return a term over fields."""
    return wire.NodeSelectorTerm(match_fields=requirements)


def port(number: int, address: str = "", protocol: str = "TCP") -> wire.ContainerPort:
    """Return a host port."""
    return wire.ContainerPort(host_port=number, host_ip=address, protocol=protocol)


def test_node_with_as_many_pods_as_it_takes_is_full() -> None:
    """Terminating pods count, and a node with one place left is not full."""
    cluster = opened(
        node("n1", pods=1), node("n2", pods=2), pod("a", on="n1", terminating=True), pod("b", on="n2"), pod("p")
    )

    assert cluster.verdicts("p") == {"n1": FULL}


def test_first_reason_of_a_full_cordoned_node_with_a_port_conflict_is_the_pod_count() -> None:
    """The worked composite example: pod count goes before unschedulable, which goes before ports."""
    busy = [
        pod("a", on="n1", ports=[port(80)]),
        pod("b", on="n2", ports=[port(80)]),
        pod("c", on="n3", ports=[port(80)]),
    ]
    cluster = opened(
        node("n1", pods=1, cordoned=True), node("n2", cordoned=True), node("n3"), *busy, pod("p", ports=[port(80)])
    )

    assert cluster.verdicts("p") == {"n1": FULL, "n2": CORDONED, "n3": PORTS}


def test_cordoned_node_takes_pods_that_tolerate_its_taint() -> None:
    """The taint stands for `spec.unschedulable`, whether the node carries it or not."""
    toleration = wire.Toleration(key="node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule")
    cluster = opened(node("n1", cordoned=True), pod("p"), pod("q", tolerations=(toleration,)))

    assert cluster.fits("p") == []
    assert cluster.fits("q") == ["n1"]


def test_term_needs_all_of_its_expressions() -> None:
    """The worked example: [zone In (a, b), disk Exists] refuses {zone=b} and takes {zone=b, disk=ssd}."""
    term = expressions(requirement("zone", "In", "a", "b"), requirement("disk", "Exists"))
    cluster = opened(node("n1", zone="b"), node("n2", zone="b", disk="ssd"), pod("p", affinity=required(term)))

    assert cluster.verdicts("p") == {"n1": AFFINITY}


@pytest.mark.parametrize(
    ("term", "accepted"),
    [
        (expressions(requirement("size", "NotIn", "3")), ["bare", "five", "word"]),
        (expressions(requirement("size", "DoesNotExist")), ["bare"]),
        (expressions(requirement("size", "Gt", "3")), ["five"]),
        (expressions(requirement("size", "Lt", "5")), ["three"]),
        (expressions(requirement("size", "Gt", "3.5")), []),
        (expressions(requirement("size", "Near", "3")), []),
        (expressions(), []),
        (fields(requirement("metadata.name", "In", "five")), ["five"]),
        (fields(requirement("metadata.name", "NotIn", "five")), ["bare", "three", "word"]),
    ],
)
def test_operators_of_node_affinity(term: wire.NodeSelectorTerm, accepted: list[str]) -> None:
    """A missing label satisfies NotIn alone; Gt and Lt compare whole numbers; an empty term accepts nothing."""
    nodes = node("bare"), node("five", size="5"), node("three", size="3"), node("word", size="big")

    assert opened(*nodes, pod("p", affinity=required(term))).fits("p") == accepted


def test_one_term_of_several_is_enough_and_the_selector_counts_too() -> None:
    """Terms are alternatives; `nodeSelector` holds beside them."""
    terms = required(expressions(requirement("zone", "In", "a")), expressions(requirement("zone", "In", "b")))
    nodes = node("n1", zone="a"), node("n2", zone="b", disk="ssd"), node("n3", zone="c", disk="ssd")

    assert opened(*nodes, pod("p", affinity=terms, node_selector={"disk": "ssd"})).fits("p") == ["n2"]


def test_required_affinity_without_terms_accepts_nothing() -> None:
    """No terms is not the same as no affinity."""
    assert opened(node("n1"), pod("p", affinity=required())).fits("p") == []


def test_names_without_a_node_are_reported_before_nodes_are_filtered() -> None:
    """Every term names nodes, and the names of each contradict each other."""
    torn = fields(requirement("metadata.name", "In", "n1"), requirement("metadata.name", "In", "n2"))
    cluster = opened(node("n1"), pod("p", affinity=required(torn)))
    refusal = cluster.session.candidates.pre_predicate(cluster.task("p"))

    assert refusal is not None
    assert refusal.message == "plugin NodeAffinity pre-predicates failed pod affinity terms conflict"
    assert not refusal.resolvable
    assert not names_conflict(cluster.task("p").template.spec.__class__(affinity=required(torn, expressions())))


def test_taints_must_be_tolerated_unless_they_only_dissuade() -> None:
    """NoSchedule and NoExecute refuse, PreferNoSchedule does not."""
    nodes = [
        node(effect.lower(), taints=[wire.Taint(key="k", value="v", effect=effect)])
        for effect in ("NoSchedule", "NoExecute", "PreferNoSchedule")
    ]

    assert opened(*nodes, pod("p")).verdicts("p") == {"noschedule": TAINTED, "noexecute": TAINTED}


@pytest.mark.parametrize(
    ("toleration", "is_borne"),
    [
        (wire.Toleration(operator="Exists"), True),
        (wire.Toleration(key="k", operator="Exists"), True),
        (wire.Toleration(key="k", value="v"), True),
        (wire.Toleration(key="k", operator="Equal", value="v", effect="NoSchedule"), True),
        (wire.Toleration(key="k", operator="Equal", value="w"), False),
        (wire.Toleration(key="k", operator="Exists", effect="NoExecute"), False),
        (wire.Toleration(key="other", operator="Exists"), False),
        (wire.Toleration(), False),
    ],
)
def test_matching_of_tolerations(toleration: wire.Toleration, is_borne: bool) -> None:
    """Effect empty or equal; key empty with Exists, or equal; Exists, or an equal value."""
    tainted = node("n1", taints=[wire.Taint(key="k", value="v", effect="NoSchedule")])

    assert (opened(tainted, pod("p", tolerations=(toleration,))).fits("p") == ["n1"]) is is_borne


@pytest.mark.parametrize(
    ("used", "wanted", "conflict"),
    [
        (port(80, "127.0.0.1"), port(80, "0.0.0.0"), True),
        (port(80, "127.0.0.1"), port(80, "10.0.0.1"), False),
        (port(80, "127.0.0.1"), port(80, protocol="UDP"), False),
        (port(80), port(80, "10.0.0.1"), True),
        (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
        (port(80), port(81), False),
        (port(80), wire.ContainerPort(container_port=80), False),
    ],
)
def test_port_conflicts(used: wire.ContainerPort, wanted: wire.ContainerPort, conflict: bool) -> None:
    """Same protocol, same number, and equal addresses or one that is every address."""
    cluster = opened(node("n1"), pod("a", on="n1", ports=[used]), pod("p", ports=[wanted]))

    assert cluster.verdicts("p") == ({"n1": PORTS} if conflict else {})


def test_ports_of_sidecars_count_and_those_of_init_containers_do_not() -> None:
    """An init container is gone when the pod runs, one that restarts always is not."""
    spec = wire.PodSpec(
        init_containers=(
            wire.Container(ports=(port(80),), restart_policy="Always"),
            wire.Container(ports=(port(81),)),
        )
    )

    assert requested_ports(spec) == (HostPort("TCP", 80, "0.0.0.0"),)


def test_ports_follow_placements_and_evictions_and_undo() -> None:
    """A placed pod takes its port, an evicted one frees it, and undoing restores both, also in standing candidates."""
    cluster = opened(
        node("n1"),
        node("n2"),
        pod("a", on="n1", ports=[port(80)]),
        pod("p", ports=[port(80)]),
        pod("q", ports=[port(80)]),
    )
    running = cluster.task("a")
    job = cluster.session.jobs.of(running)
    assert job is not None
    assert cluster.fits("q") == ["n2"]
    with cluster.session.statement() as statement:
        assert cluster.place(statement, "p", "n2") is None
        assert cluster.fits("q") == []
        assert statement.evict(job, running, "preempt") is None
        assert cluster.fits("q") == ["n1"]

    assert cluster.fits("q") == ["n2"]


def test_ports_placed_before_the_first_question_count() -> None:
    """What is built at the first question catches up with what happened before it."""
    cluster = opened(node("n1"), pod("p", ports=[port(80)]), pod("q", ports=[port(80)]))
    statement = cluster.session.statement()

    assert cluster.place(statement, "p", "n1") is None
    assert cluster.verdicts("q") == {"n1": PORTS}


@pytest.mark.parametrize(
    ("switch", "objects"),
    [
        ("node_affinity", (node("n1"), pod("p", node_selector={"zone": "a"}))),
        ("taints", (node("n1", taints=[wire.Taint(key="k", effect="NoSchedule")]), pod("p"))),
        ("node_ports", (node("n1"), pod("a", on="n1", ports=[port(80)]), pod("p", ports=[port(80)]))),
    ],
)
def test_switches_drop_filters(switch: str, objects: tuple[object, ...]) -> None:
    """A filter that is switched off refuses nothing."""
    assert opened(*objects).fits("p") == []
    assert opened(*objects, **{switch: False}).fits("p") == ["n1"]


def test_arguments_are_spelled_as_in_volcano() -> None:
    """Booleans may be texts; nothing is unknown."""
    raw = {
        "predicate.NodeAffinityEnable": "false",
        "predicate.CacheEnable": True,
        "predicate.DynamicResourceAllocationEnable": True,
        "volumebinding.shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "dynamicresources.filterTimeoutSeconds": 3,
    }
    args, warnings = decode(PredicatesArgs, raw, "arguments")

    assert warnings == []
    assert (args.node_affinity, args.node_ports, args.bind_timeout_seconds, args.volume_weight) == (False, True, 600, 1)
    assert [(point.utilization, point.score) for point in args.volume_shape] == [(0, 0), (100, 10)]


@pytest.mark.parametrize(
    "raw",
    [
        {"volumebinding.bindTimeoutSeconds": -1},
        {"volumebinding.bindTimeoutSeconds": "soon"},
        {"volumebinding.shape": []},
        {"volumebinding.shape": [{"utilization": 50, "score": 1}, {"utilization": 50, "score": 2}]},
        {"volumebinding.shape": [{"utilization": 101, "score": 1}]},
        {"volumebinding.shape": [{"utilization": 1, "score": 11}]},
    ],
)
def test_wrong_volume_arguments_are_faults(raw: dict[str, object]) -> None:
    """What Volcano decodes strictly refuses the configuration."""
    with pytest.raises(ConfigError):
        decode(PredicatesArgs, raw, "arguments")
