"""Filters of predicates that depend on other pods: affinity, anti-affinity, topology spread."""

from collections.abc import Callable, Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pyroclast.framework.extension import contract
from pyroclast.framework.session.pods import TermKind, session_pods
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.matching.pods import PodMatcher
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.predicates.topology_spread import excess
from tests.unit.plugins.filtering import Filtering, apart, beside, node, opened, pod, term

NOT_BESIDE = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"
SKEWED = "node(s) didn't match pod topology spread constraints"
UNLABELLED = "node(s) didn't match pod topology spread constraints (missing required label)"

HOST = "kubernetes.io/hostname"
ZONES = node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")
WEB = {"app": "web"}


def spread(
    app: str = "web", key: str = "zone", max_skew: int = 1, **fields: Any
) -> tuple[wire.TopologySpreadConstraint, ...]:
    """Return one constraint over pods with a label `app`."""
    selector = wire.LabelSelector(match_labels={"app": app})
    return (wire.TopologySpreadConstraint(max_skew=max_skew, topology_key=key, label_selector=selector, **fields),)


# Affinity -------------------------------------------------------------------------------------------------------------


def test_affinity_requires_a_domain_with_a_matching_pod() -> None:
    """The worked example: app=web on n1 of zone a; n1 and n2 pass, n3 fails for good."""
    cluster = opened(*ZONES, pod("a", on="n1", labels=WEB), pod("p", affinity=beside(term("web"))))

    assert cluster.verdicts("p") == {"n3": NOT_BESIDE}
    assert cluster.fits("p") == ["n1", "n2"]


def test_anti_affinity_shuns_a_domain_with_a_matching_pod() -> None:
    """The worked example: anti-affinity to app=web by hostname refuses n1 alone, and eviction may help."""
    cluster = opened(*ZONES, pod("a", on="n1", labels=WEB), pod("p", affinity=apart(term("web", HOST))))
    refusal = cluster.session.candidates.explain(cluster.task("p"))

    assert cluster.verdicts("p") == {"n1": NOT_APART}
    assert refusal.counts == {NOT_APART: 1}
    assert refusal.resolvable


def test_pods_on_nodes_keep_off_those_they_shun() -> None:
    """Required anti-affinity holds in both directions, also for a task without terms."""
    cluster = opened(*ZONES, pod("a", on="n1", affinity=apart(term("web"))), pod("p", labels=WEB), pod("q"))

    assert cluster.verdicts("p") == {"n1": UNWELCOME, "n2": UNWELCOME}
    assert cluster.verdicts("q") == {}


def test_affinity_goes_before_anti_affinity_goes_before_that_of_others() -> None:
    """A node that fails several checks fails by the first."""
    both = wire.Affinity(
        pod_affinity=wire.PodAffinity(required=(term("db"),)),
        pod_anti_affinity=wire.PodAffinity(required=(term("web"),)),
    )
    shunning = [pod(f"s{at}", on=f"n{at}", affinity=apart(term("mine", HOST))) for at in (1, 2, 3)]
    others = pod("w", on="n3", labels=WEB), pod("d", on="n3", labels={"app": "db"})
    cluster = opened(*ZONES, *shunning, *others, pod("p", labels={"app": "mine"}, affinity=both))
    without_db = opened(*ZONES, *shunning, pod("p", labels={"app": "mine"}))

    assert cluster.verdicts("p") == {"n1": NOT_BESIDE, "n2": NOT_BESIDE, "n3": NOT_APART}
    assert without_db.verdicts("p") == {"n1": UNWELCOME, "n2": UNWELCOME, "n3": UNWELCOME}


def test_the_first_pod_with_affinity_to_its_own_kind_fits_all_nodes_with_the_keys() -> None:
    """Without any match the self-match counts; a node without the key still fails."""
    cluster = opened(*ZONES, node("n4"), pod("p", labels=WEB, affinity=beside(term("web"))))

    assert cluster.verdicts("p") == {"n4": NOT_BESIDE}


def test_pod_with_affinity_to_others_waits_for_the_first() -> None:
    """The exception is for pods that match their own terms."""
    assert opened(*ZONES, pod("p", affinity=beside(term("web")))).fits("p") == []


def test_self_match_ends_when_any_match_is_in_a_domain() -> None:
    """One match anywhere binds the rest of the group to its zone, in the same session too."""
    members = [pod(name, labels=WEB, affinity=beside(term("web"))) for name in ("p", "q")]
    cluster = opened(*ZONES, *members)
    assert cluster.fits("q") == ["n1", "n2", "n3"]
    with cluster.session.statement() as statement:
        assert cluster.place(statement, "p", "n3") is None
        assert cluster.fits("q") == ["n3"]

    assert cluster.fits("q") == ["n1", "n2", "n3"]


def test_affinity_counts_pods_that_match_all_terms() -> None:
    """Two terms met by two different pods are not met."""
    two = beside(term("web"), wire.PodAffinityTerm(label_selector=tier(), topology_key="zone"))
    apart_pods = pod("a", on="n1", labels=WEB), pod("b", on="n1", labels={"tier": "x"})

    assert opened(*ZONES, *apart_pods, pod("p", affinity=two)).fits("p") == []
    assert opened(*ZONES, pod("a", on="n3", labels={**WEB, "tier": "x"}), pod("p", affinity=two)).fits("p") == ["n3"]


def tier() -> wire.LabelSelector:
    """Select pods with any value of `tier`."""
    return wire.LabelSelector(match_expressions=(wire.SelectorRequirement(key="tier", operator="Exists"),))


def test_terminating_pods_count_for_affinity() -> None:
    """A pod whose deletion has begun is still there."""
    cluster = opened(*ZONES, pod("a", on="n3", labels=WEB, terminating=True), pod("p", affinity=beside(term("web"))))

    assert cluster.fits("p") == ["n3"]


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        ({}, []),
        ({"namespaces": ("other",)}, ["n3"]),
        ({"namespace_selector": wire.LabelSelector()}, ["n3"]),
        ({"namespace_selector": wire.LabelSelector(match_labels={"team": "x"})}, ["n3"]),
        ({"namespace_selector": wire.LabelSelector(match_labels={"team": "y"})}, []),
        ({"namespaces": ("other",), "namespace_selector": wire.LabelSelector(match_labels={"team": "y"})}, ["n3"]),
    ],
)
def test_namespaces_of_terms(fields: dict[str, Any], fits: list[str]) -> None:
    """Own namespace by default; else the list and those selected; an empty selector means all."""
    other = wire.Namespace(metadata=wire.ObjectMeta(name="other", uid="other", labels={"team": "x"}))
    there = pod("a", on="n3", namespace="other", labels=WEB)

    assert opened(*ZONES, other, there, pod("p", affinity=beside(term("web", **fields)))).fits("p") == fits


def test_term_without_selector_matches_nothing_and_an_empty_selector_everything() -> None:
    """An absent selector is not an empty one."""
    absent = beside(wire.PodAffinityTerm(topology_key="zone"))
    empty = beside(wire.PodAffinityTerm(topology_key="zone", label_selector=wire.LabelSelector()))
    there = pod("a", on="n3", labels={"any": "thing"})

    assert opened(*ZONES, there, pod("p", affinity=absent)).fits("p") == []
    assert opened(*ZONES, there, pod("p", affinity=empty)).fits("p") == ["n3"]


def test_label_keys_of_terms_are_merged_once() -> None:
    """`matchLabelKeys` adds the pod's own value, unless the API server has put it into the selector already."""
    keyed = term("web", match_label_keys=("version",))
    old, new = {**WEB, "version": "1"}, {**WEB, "version": "2"}
    merged = wire.PodAffinityTerm(
        label_selector=wire.LabelSelector(
            match_labels=WEB,
            match_expressions=(wire.SelectorRequirement(key="version", operator="In", values=("1",)),),
        ),
        topology_key="zone",
        match_label_keys=("version",),
    )
    there = pod("a", on="n1", labels=old), pod("b", on="n3", labels=new)

    assert opened(*ZONES, *there, pod("p", labels=new, affinity=beside(keyed))).fits("p") == ["n3"]
    assert opened(*ZONES, *there, pod("p", labels=new, affinity=beside(merged))).fits("p") == ["n1", "n2"]


def test_anti_affinity_of_pods_placed_in_this_session_counts() -> None:
    """Volcano sees the first such pod only in its next session; here it is seen at once, and undoing forgets it."""
    cluster = opened(*ZONES, pod("p", affinity=apart(term("web"))), pod("q", labels=WEB))
    assert cluster.fits("q") == ["n1", "n2", "n3"]
    with cluster.session.statement() as statement:
        assert cluster.place(statement, "p", "n1") is None
        assert cluster.fits("q") == ["n3"]

    assert cluster.fits("q") == ["n1", "n2", "n3"]


def test_evicted_pods_are_gone() -> None:
    """An eviction takes a pod's terms and labels away at once, an undone one brings them back."""
    cluster = opened(
        *ZONES,
        pod("a", on="n1", labels=WEB, affinity=apart(term("web"))),
        pod("p", labels=WEB),
        pod("q", affinity=apart(term("web"))),
    )
    victim = cluster.task("a")
    job = cluster.session.jobs.of(victim)
    assert job is not None
    assert (cluster.fits("p"), cluster.fits("q")) == (["n3"], ["n3"])
    with cluster.session.statement() as statement:
        assert statement.evict(job, victim, "preempt") is None
        assert (cluster.fits("p"), cluster.fits("q")) == (["n1", "n2", "n3"], ["n1", "n2", "n3"])

    assert (cluster.fits("p"), cluster.fits("q")) == (["n3"], ["n3"])


def test_pod_affinity_can_be_switched_off() -> None:
    """Without the filter no term counts."""
    objects = *ZONES, pod("p", affinity=beside(term("web")))

    assert opened(*objects, pod_affinity=False).fits("p") == ["n1", "n2", "n3"]


# Topology spread ------------------------------------------------------------------------------------------------------

THREE = node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="c")


def test_domains_above_the_allowed_skew_are_refused() -> None:
    """The worked example: zones a=2, b=1, c=0, skew 1, self-match: a and b fail, c passes."""
    there = pod("x", on="n1", labels=WEB), pod("y", on="n1", labels=WEB), pod("z", on="n2", labels=WEB)
    cluster = opened(*THREE, *there, pod("p", labels=WEB, topology_spread_constraints=spread()))

    assert cluster.verdicts("p") == {"n1": SKEWED, "n2": SKEWED}


@pytest.mark.parametrize(
    ("counts", "eligible", "min_domains", "itself", "expected"),
    [
        ([2, 1, 0], [True, True, True], 1, 1, [True, True, False]),
        ([2, 1], [True, True], 3, 1, [True, True]),
        ([2, 1], [True, True], 1, 1, [True, False]),
        ([2, 1], [True, True], 1, 0, [False, False]),
        ([2, 0], [True, False], 1, 1, [False, False]),
        ([0, 0], [False, False], 1, 1, [False, False]),
    ],
)
def test_excess(counts: list[int], eligible: list[bool], min_domains: int, itself: int, expected: list[bool]) -> None:
    """`count + self - least > maxSkew` with skew 1; the least is 0 with too few domains, or of eligible ones alone."""
    mask = excess(np.array(counts), np.array(eligible), max_skew=1, min_domains=min_domains, itself=itself)

    assert mask.tolist() == expected


def test_too_few_domains_make_the_least_zero() -> None:
    """The worked example: zones a=2, b=1 and minDomains 3: both fail."""
    there = pod("x", on="n1", labels=WEB), pod("y", on="n1", labels=WEB), pod("z", on="n2", labels=WEB)
    cluster = opened(*THREE[:2], *there, pod("p", labels=WEB, topology_spread_constraints=spread(min_domains=3)))

    assert cluster.fits("p") == []


def test_node_without_the_label_fails_for_good() -> None:
    """It lies in no domain, and neither it nor its pods count."""
    there = [pod(f"x{at}", on="n4", labels=WEB) for at in range(3)]
    cluster = opened(*THREE, node("n4"), *there, pod("p", labels=WEB, topology_spread_constraints=spread()))

    assert cluster.verdicts("p") == {"n4": UNLABELLED}


def test_terminating_pods_and_other_namespaces_do_not_count() -> None:
    """Spreading looks at pods of the own namespace that stay."""
    there = (
        pod("x", on="n1", labels=WEB, terminating=True),
        pod("y", on="n1", labels=WEB, namespace="other"),
    )
    cluster = opened(*THREE, *there, pod("p", labels=WEB, topology_spread_constraints=spread()))

    assert cluster.verdicts("p") == {}


def test_inclusion_policies() -> None:
    """Nodes that affinity refuses are left out by default, those with taints only when the constraint says so."""
    tainted = node("n3", zone="c", taints=[wire.Taint(key="k", effect="NoSchedule")])
    nodes = node("n1", zone="a", use="yes"), node("n2", zone="b", use="yes"), tainted
    there = pod("x", on="n1", labels=WEB), pod("y", on="n2", labels=WEB)

    def fits(selector: dict[str, str], **policies: Any) -> list[str]:
        pending = pod("p", labels=WEB, node_selector=selector, topology_spread_constraints=spread(**policies))
        return opened(*nodes, *there, pending).fits("p")

    assert fits({}) == []  # the empty zone c counts, and its taint refuses the pod
    assert fits({}, node_taints_policy="Honor") == ["n1", "n2"]
    assert fits({"use": "yes"}) == ["n1", "n2"]
    assert fits({"use": "yes"}, node_affinity_policy="Ignore") == []


def test_schedule_anyway_filters_nothing() -> None:
    """Soft constraints are for scores."""
    there = [pod(f"x{at}", on="n1", labels=WEB) for at in range(5)]
    soft = spread(when_unsatisfiable="ScheduleAnyway")

    assert opened(*THREE, *there, pod("p", labels=WEB, topology_spread_constraints=soft)).fits("p") == [
        "n1",
        "n2",
        "n3",
    ]


def test_spread_follows_placements() -> None:
    """Each placement moves the next one to another zone; undoing takes all back."""
    members = [pod(f"p{at}", labels=WEB, topology_spread_constraints=spread()) for at in range(4)]
    cluster = opened(*THREE, *members)
    with cluster.session.statement() as statement:
        for name, host, rest in (("p0", "n1", ["n2", "n3"]), ("p1", "n3", ["n2"]), ("p2", "n2", ["n1", "n2", "n3"])):
            assert cluster.place(statement, name, host) is None
            assert cluster.fits("p3") == rest

    assert cluster.fits("p3") == ["n1", "n2", "n3"]


def test_label_keys_of_constraints_tell_versions_apart() -> None:
    """`matchLabelKeys` counts pods of the same version alone."""
    there = [pod(f"x{at}", on="n1", labels={**WEB, "version": "1"}) for at in range(3)]
    pending = pod(
        "p", labels={**WEB, "version": "2"}, topology_spread_constraints=spread(match_label_keys=("version",))
    )

    assert opened(*THREE, *there, pending).fits("p") == ["n1", "n2", "n3"]


@pytest.mark.parametrize("selector", [None, wire.LabelSelector()], ids=["absent", "empty"])
def test_a_constraint_without_requirements_counts_no_pod(selector: wire.LabelSelector | None) -> None:
    """As in kube-scheduler, where an empty selector selects everything elsewhere: only the label is asked for."""
    constraint = wire.TopologySpreadConstraint(max_skew=1, topology_key="zone", label_selector=selector)
    there = [pod(f"x{at}", on="n1", labels=WEB) for at in range(3)]
    cluster = opened(*THREE, node("n4"), *there, pod("p", labels=WEB, topology_spread_constraints=(constraint,)))

    assert cluster.verdicts("p") == {"n4": UNLABELLED}


@pytest.mark.parametrize("selector", [None, wire.LabelSelector()], ids=["absent", "empty"])
def test_label_keys_alone_select(selector: wire.LabelSelector | None) -> None:
    """What `matchLabelKeys` names is all that is counted then."""
    constraint = wire.TopologySpreadConstraint(
        max_skew=1, topology_key="zone", label_selector=selector, match_label_keys=("app",)
    )
    there = pod("x", on="n1", labels=WEB), pod("y", on="n2", labels={"app": "db"})
    cluster = opened(*THREE, *there, pod("p", labels=WEB, topology_spread_constraints=(constraint,)))

    assert cluster.verdicts("p") == {"n1": SKEWED}


# Against plain counting -----------------------------------------------------------------------------------------------

APPS = ("web", "db", "")
KEYS = ("zone", HOST, "rack")


def _affinities() -> st.SearchStrategy[wire.Affinity | None]:
    terms = st.builds(term, st.sampled_from(("web", "db")), st.sampled_from(KEYS))
    some = st.lists(terms, max_size=2).map(tuple)
    halves = st.builds(lambda required: wire.PodAffinity(required=required), some)
    return st.none() | st.builds(
        lambda near, far: wire.Affinity(pod_affinity=near, pod_anti_affinity=far), halves, halves
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[Any]:
    """A few nodes and pods with any labels and terms."""
    objects: list[Any] = []
    for at in range(draw(st.integers(1, 5))):
        labels: dict[str, Any] = {key: draw(st.sampled_from("ab")) for key in ("zone", "rack") if draw(st.booleans())}
        objects.append(node(f"n{at}", **labels))
    for at in range(draw(st.integers(2, 7))):
        app = draw(st.sampled_from(APPS))
        constraint = spread(draw(st.sampled_from(("web", "db"))), draw(st.sampled_from(KEYS)), draw(st.integers(1, 2)))
        objects.append(
            pod(
                f"p{at}",
                on=draw(st.sampled_from(("", "", "n0"))),
                labels={"app": app, "index": str(at)} if app else {},
                terminating=draw(st.booleans()) and draw(st.booleans()),
                affinity=draw(_affinities()),
                topology_spread_constraints=draw(st.sampled_from(((), constraint))),
            )
        )
    return objects


def _present(session: Session) -> list[tuple[Task, int]]:
    """List the pods that a filter sees, with their columns."""
    before = {task.id: task.status for tasks in session.nodes.table.tasks for task in tasks.values()}
    return [
        (task, column)
        for column in range(len(session.nodes))
        for task in session.nodes.tasks_on(column).values()
        if task.status is not TaskStatus.RELEASING or before.get(task.id) is TaskStatus.RELEASING
    ]


def _matches(each: wire.PodAffinityTerm, task: Task) -> bool:
    assert each.label_selector is not None
    return each.label_selector.match_labels.items() <= task.pod.metadata.labels.items()


def _terms(task: Task, kind: str) -> Sequence[wire.PodAffinityTerm]:
    affinity = task.template.spec.affinity
    half: wire.PodAffinity | None = getattr(affinity, kind) if affinity else None
    return half.required if half else ()


def _judge(session: Session, task: Task, column: int) -> bool:
    """Tell by plain counting whether a node passes pod affinity and topology spread."""
    present = _present(session)
    labels = [each.labels for each in session.nodes.facts.nodes]
    here = labels[column]

    def near(other: int, key: str) -> bool:
        return key in here and labels[other].get(key) == here[key]

    wanted = _terms(task, "pod_affinity")
    matching = [(other, at) for other, at in present if all(_matches(each, other) for each in wanted)]
    if wanted:
        if any(key.topology_key not in here for key in wanted):
            return False
        anywhere = any(each.topology_key in labels[at] for _, at in matching for each in wanted)
        founds = not anywhere and all(_matches(each, task) for each in wanted)
        if not founds and not all(any(near(at, each.topology_key) for _, at in matching) for each in wanted):
            return False
    for each in _terms(task, "pod_anti_affinity"):
        if any(_matches(each, other) and near(at, each.topology_key) for other, at in present):
            return False
    for other, at in present:
        if any(_matches(each, task) and near(at, each.topology_key) for each in _terms(other, "pod_anti_affinity")):
            return False
    return all(_spreads(each, task, present, labels, column) for each in task.template.spec.topology_spread_constraints)


def _spreads(
    constraint: wire.TopologySpreadConstraint, task: Task, present: list[tuple[Task, int]], labels: Any, column: int
) -> bool:
    key = constraint.topology_key
    assert constraint.label_selector is not None
    matches: Callable[[Task], bool] = lambda other: (  # noqa: E731 - short, and used twice right below
        constraint.label_selector is not None
        and constraint.label_selector.match_labels.items() <= other.pod.metadata.labels.items()
    )
    if key not in labels[column]:
        return False
    counts = {each[key]: 0 for each in labels if key in each}
    for other, at in present:
        leaves = other.status is TaskStatus.RELEASING
        if key in labels[at] and matches(other) and not leaves:
            counts[labels[at][key]] += 1
    return counts[labels[column][key]] + matches(task) - min(counts.values()) <= constraint.max_skew


def _fits_everywhere_as_counted(cluster: Filtering) -> None:
    for job in cluster.session.jobs.all():
        for task in job.in_status(TaskStatus.PENDING):
            names = cluster.session.nodes.table.names
            expected = [str(name) for at, name in enumerate(names) if _judge(cluster.session, task, at)]
            assert cluster.fits(task.name) == expected


@given(clusters(), st.data())
@settings(max_examples=60, deadline=None)
def test_filters_agree_with_plain_counting_while_pods_come_and_go(objects: list[Any], data: st.DataObject) -> None:
    """Placing, evicting and undoing keep every count true; undoing all restores the first answers."""
    cluster = opened(*objects)
    if data.draw(st.booleans()):
        _fits_everywhere_as_counted(cluster)
    with cluster.session.statement() as statement:
        for _ in range(data.draw(st.integers(0, 4))):
            tasks = [task for job in cluster.session.jobs.all() for task in job.tasks.values()]
            task = data.draw(st.sampled_from(tasks))
            job = cluster.session.jobs.of(task)
            assert job is not None
            if task.status is TaskStatus.PENDING:
                column = data.draw(st.integers(0, len(cluster.session.nodes) - 1))
                place = data.draw(st.sampled_from((statement.allocate, statement.pipeline)))
                assert place(job, [task], [column]) is None
            elif task.status is TaskStatus.RUNNING:
                assert statement.evict(job, task, "preempt") is None
            if data.draw(st.booleans()):
                _fits_everywhere_as_counted(cluster)
        _fits_everywhere_as_counted(cluster)
    _fits_everywhere_as_counted(cluster)


def test_counts_for_scores() -> None:
    """Held terms come with weight and holders by domain, and counts by domain read off at every node."""
    liked = wire.Affinity(
        pod_affinity=wire.PodAffinity(
            preferred=(wire.WeightedPodAffinityTerm(weight=5, pod_affinity_term=term("web")),)
        )
    )
    holders = pod("a", on="n1", affinity=liked), pod("b", on="n2", affinity=liked)
    cluster = opened(*ZONES, *holders, pod("p", labels=WEB), pod("q"))
    pods = session_pods(cluster.session)
    (held,) = pods.held_about(TermKind.PREFERRED_AFFINITY, cluster.task("p"))
    everybody = PodMatcher(None, Selector())
    counts = pods.domains((everybody,), "zone")

    assert pods.held_about(TermKind.PREFERRED_AFFINITY, cluster.task("q")) == ()
    assert (held.weight, held.holders.at_nodes().tolist()) == (5, [2, 2, 0])
    assert (counts.counts.tolist(), counts.total, counts.occupied.tolist()) == ([2, 0], 2, [True, True, False])
    assert pods.domains((everybody,), "zone") is counts


def test_unrequested_checks_cost_nothing() -> None:
    """Tasks without terms stay on the fast path while no pod on a node shuns them."""
    cluster = opened(*ZONES, pod("a", on="n1", affinity=apart(term("web"))), pod("p"), pod("q", labels=WEB))
    registered = cluster.session.extensions.functions(contract.PREDICATE)
    cares = {
        name: [each for each in registered if each.cares and each.cares(cluster.task(name))] for name in ("p", "q")
    }

    assert [len(each) for each in cares.values()] == [0, 1]
    assert cluster.session.candidates.answers.beyond(cluster.task("q")) is not None
