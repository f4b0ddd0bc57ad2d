"""elastic-quota in a session: admissions, refusals with reasons, and exact accounts."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast import Session, Task
from pyroclast.framework.extension import contract
from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.resources import CPU
from pyroclast.plugins.elastic_quota.accounts import Accounts
from pyroclast.testing import Scenario, open_session
from tests.elastic_quotas import elastic_quota, uses

BIG = Scenario().node("n1", cpu=100, memory="100Gi", gpu=16)


def opened(scenario: Scenario, **arguments: Any) -> Session:
    """A session with the plugin alone."""
    session = open_session(scenario, plugins=("elastic-quota",), arguments={"elastic-quota": arguments})
    assert session.extensions.failures == {}
    return session


def task_of(session: Session, name: str = "j-0") -> Task:
    """A task by its name."""
    return next(task for job in session.jobs.all() for task in job.tasks.values() if task.name == name)


def why(session: Session, name: str = "j-0") -> str | None:
    """What keeps a task from its place, in words; None where it is admitted."""
    task = task_of(session, name)
    job = session.jobs.of(task)
    assert job is not None
    refusal = session.queues.allocatable(session.queues.by_name[job.queue], task)
    return None if refusal is None else refusal.message


def room(session: Session, name: str = "j-0") -> int:
    """For how many tasks like one there is room."""
    task = task_of(session, name)
    job = session.jobs.of(task)
    assert job is not None
    return session.queues.headroom(session.queues.by_name[job.queue], task, 1000)


def accounts(session: Session) -> Accounts:
    """The plugin's ledger."""
    (found,) = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, Accounts)]
    return found


def used(session: Session, quota: str) -> Mapping[str, int]:
    """What a quota has, thousandths."""
    account = accounts(session).tree.accounts[quota]
    return {
        name: amount * 1000 // scale
        for name, amount, scale in zip(session.resources.names, account.used, session.resources.scales, strict=True)
        if amount
    }


def test_a_cluster_without_quotas_is_not_touched() -> None:
    """Nothing is registered, and nothing is counted."""
    session = opened(BIG.job("j"))
    assert session.snapshot.quota_uses is None
    assert not session.extensions.functions(contract.ALLOCATABLE)
    assert not session.extensions.all_ledgers()


def over(quota: str, names: str, limit: str = "runtime") -> str:
    """Return the message of a quota whose limit is reached."""
    rest = ": its guarantee and the unused part of other quotas" if limit == "runtime" else ""
    return f"Insufficient quotas: quota {quota} would exceed its {limit} of {names}{rest}"


@pytest.mark.parametrize(
    ("running", "asked", "refused"),
    [
        pytest.param({"cpu": 6}, {"cpu": 2}, over("q", "cpu", "maximum"), id="over in cpu"),
        pytest.param({"cpu": 5}, {"cpu": 2}, None, id="just enough"),
        pytest.param({"cpu": 1}, {"cpu": 1, "gpu": 8}, None, id="what it does not speak of is not limited"),
        pytest.param(
            {"cpu": 1, "memory": "12Gi"},
            {"cpu": 1, "memory": None},
            over("q", "memory", "maximum"),
            id="over already in what is not asked for",
        ),
    ],
)
def test_a_quota_has_room_up_to_what_it_may(
    running: Mapping[str, Any], asked: Mapping[str, Any], refused: str | None
) -> None:
    """All that it has counts, not only what is asked for; rows of the table of admissions."""
    scenario = (
        BIG.add(elastic_quota("q", most={"cpu": 7, "memory": "10Gi"}))
        .running("old", on=["n1"], labels=uses("q"), **running)
        .job("j", labels=uses("q"), **asked)
    )
    session = opened(scenario)
    assert why(session) == refused
    assert room(session) == (0 if refused else 1)


def test_gpus_that_it_forbids_are_refused() -> None:
    """A maximum of zero is one, an absent one is none."""
    scenario = BIG.add(elastic_quota("q", most={"cpu": 7, "nvidia.com/gpu": 0})).job("j", gpu=1, labels=uses("q"))
    assert why(opened(scenario)) == over("q", "nvidia.com/gpu", "maximum")


def test_pods_that_may_not_be_evicted_stay_within_the_guarantee() -> None:
    """Four are there of five that are guaranteed: two more are too many, and one is not."""
    scenario = (
        BIG.add(elastic_quota("q", least={"cpu": 5, "memory": "5Gi"}, most={"cpu": 10, "memory": "8Gi"}))
        .running("old", on=["n1"], cpu=4, labels=uses("q", preemptible=False))
        .job("j", cpu=2, labels=uses("q", preemptible=False))
        .job("small", cpu=1, labels=uses("q", preemptible=False))
        .job("free", cpu=2, labels=uses("q"))
    )
    session = opened(scenario)
    assert why(session) == ("Insufficient quotas: non-preemptible pods of quota q would exceed its guarantee of cpu")
    assert room(session) == 0
    assert why(session, "small-0") is None
    assert room(session, "small-0") == 1
    assert why(session, "free-0") is None


PARENT = {"cpu": 10, "memory": "10Gi"}


def below_a_full_parent(**asked: Any) -> Scenario:
    """A child with room, below a parent that has 2 CPU of 10 and 12 GiB of 10."""
    return (
        BIG.add(
            elastic_quota("org", most=PARENT, is_parent=True),
            elastic_quota("team", most={"cpu": 50, "memory": "50Gi"}, parent="org"),
            elastic_quota("other", most={"cpu": 50, "memory": "50Gi"}, parent="org"),
        )
        .running("old", on=["n1"], cpu=2, memory="12Gi", labels=uses("other"))
        .job("j", labels=uses("team"), **asked)
    )


def test_quotas_above_must_have_room_for_what_is_asked_for() -> None:
    """What they have too much of does not matter to who asks for none of it."""
    session = opened(below_a_full_parent(cpu=1))
    assert why(session) is None
    assert room(session) == 1
    refused = opened(below_a_full_parent(cpu=1, memory="1Gi"))
    assert why(refused) == "Insufficient quotas: quota org, an ancestor of team, would exceed its maximum of memory"
    assert room(refused) == 0
    unchecked = opened(below_a_full_parent(cpu=1, memory="1Gi"), enableCheckParentQuota=False)
    assert why(unchecked) is None
    assert room(unchecked) == 1


def test_a_quota_may_have_its_maximum_where_nothing_is_lent() -> None:
    """Guarantees of others do not count then."""
    quotas = [elastic_quota("a", most={"cpu": 90}), elastic_quota("b", least={"cpu": 60}, most={"cpu": 90})]
    scenario = BIG.add(*quotas).job("j", tasks=95, labels=uses("a")).job("k", tasks=60, labels=uses("b"))
    assert room(opened(scenario)) == 40
    assert room(opened(scenario, enableRuntimeQuota=False)) == 90


def test_what_others_do_not_ask_for_is_lent() -> None:
    """Each is guaranteed half of 100 CPU; while the other requests ten, ninety are available."""
    quotas = [elastic_quota(name, least={"cpu": 50}, most={"cpu": 100}) for name in ("a", "b")]
    scenario = BIG.add(*quotas).job("j", tasks=95, cpu=1, labels=uses("a")).job("k", tasks=10, labels=uses("b"))
    session = opened(scenario)
    assert room(session) == 90
    assert room(session, "k-0") == 10


def test_a_pod_uses_the_quota_that_it_names_else_that_of_its_namespace() -> None:
    """Quota by label, by name of the namespace, by a list of namespaces, else the default, also if unknown."""
    scenario = (
        BIG.add(
            elastic_quota("named", most={"cpu": 9}),
            elastic_quota("ns1", most={"cpu": 9}, namespace="ns1"),
            elastic_quota("ns2", most={"cpu": 9}, namespace="elsewhere"),
            elastic_quota(
                "listed", most={"cpu": 9}, annotations={"quota.scheduling.koordinator.sh/namespaces": '["ns2","ns1"]'}
            ),
        )
        .job("a", namespace="ns1", labels=uses("named"))
        .job("b", namespace="ns1")
        .job("c", namespace="ns2")
        .job("d", namespace="ns3")
        .job("e", namespace="ns1", labels=uses("gone"))
    )
    session = opened(scenario)
    found = {name: accounts(session).quota_of(task_of(session, f"{name}-0")) for name in "abcde"}
    assert found == {"a": "named", "b": "ns1", "c": "listed", "d": DEFAULT_QUOTA, "e": DEFAULT_QUOTA}


def test_the_default_quota_can_be_limited() -> None:
    """Limited by its object, else by an argument; otherwise pods without a quota take what is free."""
    scenario = BIG.add(elastic_quota("q", most={"cpu": 9})).job("j", cpu=3)
    assert why(opened(scenario)) is None
    limited = opened(scenario, defaultQuotaGroupMax={"cpu": "2"})
    assert why(limited) == over(DEFAULT_QUOTA, "cpu", "maximum")
    by_object = scenario.add(elastic_quota(DEFAULT_QUOTA, most={"cpu": 2}))
    assert why(opened(by_object, defaultQuotaGroupMax={"cpu": "20"})) == over(DEFAULT_QUOTA, "cpu", "maximum")


def test_the_default_quota_is_limited_without_any_quota() -> None:
    """An argument limits also while the cluster has no ElasticQuota; pods of the system quota count apart."""
    scenario = (
        BIG.running("old", on=["n1"], cpu=1)
        .pod("system", node="n1", cpu=5, scheduler="default-scheduler", labels=uses(SYSTEM_QUOTA))
        .job("j", tasks=9, cpu=1)
    )

    assert room(opened(scenario, defaultQuotaGroupMax={"cpu": "4"})) == 3
    assert why(opened(scenario, defaultQuotaGroupMax={"cpu": "1"})) == over(DEFAULT_QUOTA, "cpu", "maximum")
    assert why(opened(scenario)) is None


def test_the_system_quota_can_be_limited() -> None:
    """Pods that name it stay within the maximum of its argument, and the default quota is not limited by it."""
    scenario = BIG.running("old", on=["n1"], cpu=3, labels=uses(SYSTEM_QUOTA))
    scenario = scenario.job("j", cpu=2, labels=uses(SYSTEM_QUOTA)).job("free", cpu=9)

    assert why(opened(scenario, systemQuotaGroupMax={"cpu": "5"})) is None
    limited = opened(scenario, systemQuotaGroupMax={"cpu": "4"})
    assert why(limited) == over(SYSTEM_QUOTA, "cpu", "maximum")
    assert why(limited, "free-0") is None


def test_what_the_default_quota_has_is_not_there_for_others() -> None:
    """Also of resources that its maximum does not speak of, and of pods that other schedulers placed."""
    scenario = (
        BIG.add(elastic_quota("q", most={"cpu": 100, "nvidia.com/gpu": 100}))
        .running("old", on=["n1"], cpu=30, gpu=4)
        .pod("foreign", node="n1", cpu=10, scheduler="default-scheduler")
        .pod("system", node="n1", cpu=5, scheduler="default-scheduler", labels=uses(SYSTEM_QUOTA))
        .job("j", tasks=100, cpu=1, labels=uses("q"))
        .job("k", tasks=20, cpu=None, gpu=1, labels=uses("q"))
    )
    session = opened(scenario)
    assert room(session) == 55
    assert room(session, "k-0") == 12


@pytest.mark.parametrize(
    ("quotas", "fault"),
    [
        ([elastic_quota("q", most={"cpu": "many"})], "spec.max.cpu: 'many' is not a quantity"),
        ([elastic_quota("q", least={"cpu": 2}, most={"cpu": 1})], "spec.min.cpu: is more than spec.max has of it"),
        (
            [
                elastic_quota("q", most={"cpu": 1}, parent="above"),
                elastic_quota("above", least={"cpu": 1}, is_parent=True),
            ],
            "quota above above q is broken: spec.min.cpu: has no maximum in spec.max",
        ),
        ([elastic_quota("q", most={"cpu": 1}, parent="gone")], "there is no quota gone above q"),
    ],
)
def test_pods_of_a_broken_quota_wait_and_others_do_not(quotas: list[dict[str, Any]], fault: str) -> None:
    """The quota is named, with what is wrong with it."""
    scenario = BIG.add(*quotas, elastic_quota("sound", most={"cpu": 5})).job("j", labels=uses("q"))
    scenario = scenario.job("k", labels=uses("sound"))
    session = opened(scenario)
    assert why(session) == f"quota q is out of service: {fault}"
    assert room(session) == 0
    assert why(session, "k-0") is None


def test_a_broken_quota_of_a_namespace_keeps_its_pods_too() -> None:
    """They are not counted elsewhere because their quota cannot be parsed, and its owner gets an event."""
    broken = elastic_quota("ns1", most={"cpu": "many"}, namespace="ns1", uid="u1")
    session = opened(BIG.add(broken, elastic_quota("sound", most={"cpu": 5})).job("j", namespace="ns1"))
    assert why(session) == "quota ns1 is out of service: spec.max.cpu: 'many' is not a quantity"
    (event,) = [event for event in session.report.events if event.kind == "ElasticQuota"]
    assert (event.uid, event.message) == ("u1", "out of service: spec.max.cpu: 'many' is not a quantity")


def test_of_two_quotas_of_one_name_the_older_counts() -> None:
    """The name is unique in the cluster, though the object is in a namespace."""
    old = elastic_quota("q", most={"cpu": 1}, namespace="b", creationTimestamp="2026-01-01T00:00:00Z")
    new = elastic_quota("q", most={"cpu": 9}, namespace="a", creationTimestamp="2026-01-02T00:00:00Z")
    session = opened(BIG.add(new, old).job("j", cpu=2, labels=uses("q")))
    assert why(session) == over("q", "cpu", "maximum")


def test_a_job_that_could_never_fit_waits_at_the_gate() -> None:
    """Its minimum is compared with maximums, not with what is there now."""
    quotas = [elastic_quota("org", most={"cpu": 5}, is_parent=True), elastic_quota("q", most={"cpu": 9}, parent="org")]
    scenario = BIG.add(*quotas)
    for name, cpu in (("large", 6), ("small", 5)):
        scenario = scenario.job(name, min_resources={"cpu": cpu}, labels=uses("q"))
    session = opened(scenario)
    refused = {job.job.name: session.jobs.job_enqueueable(job) for job in session.jobs.all()}
    (large,) = refused["large"]
    assert large.message == "the minimum of the job exceeds the maximum of quota org: cpu"
    assert large.amounts == {"cpu": (6000, 5000)}
    assert refused["small"] == []


def test_placements_are_counted_and_taken_back_exactly() -> None:
    """Each task by its own quota, up to the root; what a statement undoes leaves no trace."""
    quotas = [
        elastic_quota("org", most={"cpu": 50}, is_parent=True),
        elastic_quota("a", least={"cpu": 9}, most={"cpu": 50}, parent="org"),
        elastic_quota("b", most={"cpu": 50}, parent="org"),
    ]
    scenario = BIG.add(*quotas).running("old", on=["n1"], cpu=4, labels=uses("b"))
    scenario = scenario.job("j", cpu=3, labels=uses("a", preemptible=False))
    session = opened(scenario)
    task, old = task_of(session), task_of(session, "old-0")
    own, other = session.jobs.of(task), session.jobs.of(old)
    assert own is not None
    assert other is not None
    before = {name: (list(account.used), list(account.unpreemptible_used)) for name, account in _books(session)}
    with session.statement() as statement:
        assert statement.allocate(own, [task], [0]) is None
        statement.evict(other, old, "test", "")
        assert {name: used(session, name).get(CPU, 0) for name in ("org", "a", "b")} == {
            "org": 3000,
            "a": 3000,
            "b": 0,
        }
        assert accounts(session).tree.accounts["a"].unpreemptible_used[0] == 3000
    assert {name: (list(account.used), list(account.unpreemptible_used)) for name, account in _books(session)} == before


def _books(session: Session) -> list[tuple[str, Any]]:
    tree = accounts(session).tree
    return [*tree.accounts.items(), ("root", tree.root)]


def test_figures_of_quotas_leave_the_session() -> None:
    """Only quotas that are in service; a broken one has an event."""
    scenario = (
        BIG.add(
            elastic_quota("q", least={"cpu": 5}, most={"cpu": 9}, uid="u1"),
            elastic_quota("odd", most={"cpu": 9}, parent="gone", uid="u2"),
        )
        .running("old", on=["n1"], cpu=2, labels=uses("q", preemptible=False))
        .job("j", cpu=10, labels=uses("q"))
    )
    session = opened(scenario)
    (figures,) = session.report.quotas
    assert (figures.name, figures.uid) == ("q", "u1")
    assert (figures.used, figures.runtime) == ({"cpu": 2000}, {"cpu": 9000})
    assert (figures.request, figures.child_request) == ({"cpu": 12000}, {"cpu": 12000})
    assert figures.guaranteed == {"cpu": 5000}
    assert figures.non_preemptible_used == figures.non_preemptible_request == {"cpu": 2000}
    (event,) = [event for event in session.report.events if event.kind == "ElasticQuota"]
    assert (event.name, event.reason) == ("odd", "QuotaBroken")
    assert event.message == "out of service: there is no quota gone above odd"


def test_a_default_quota_that_makes_no_sense_counts_as_absent() -> None:
    """Its maximum is that of the arguments, and the object gets an event."""
    quotas = [elastic_quota("other", most={"cpu": 1}), elastic_quota(DEFAULT_QUOTA, most={"cpu": "many"})]
    session = opened(BIG.add(*quotas).job("j", cpu=2), defaultQuotaGroupMax={"cpu": 1})
    assert why(session) == over(DEFAULT_QUOTA, "cpu", "maximum")
    (event,) = [event for event in session.report.events if event.kind == "ElasticQuota"]
    assert event.message == "counts as absent: spec.max.cpu: 'many' is not a quantity"


def test_built_in_quotas_with_objects_have_figures() -> None:
    """The root has what the cluster can divide, and all that is requested and used below it."""
    objects = [elastic_quota(name, is_parent=name == ROOT_QUOTA, uid=name) for name in (ROOT_QUOTA, DEFAULT_QUOTA)]
    scenario = BIG.add(*objects, elastic_quota("q", least={"cpu": 5}, most={"cpu": 9}, uid="q"))
    scenario = scenario.running("own", on=["n1"], cpu=3, labels=uses("q")).running("other", on=["n1"], cpu=2, gpu=1)
    session = opened(scenario, defaultQuotaGroupMax={"cpu": 4})
    figures = {each.name: each for each in session.report.quotas}
    assert figures[ROOT_QUOTA].runtime[CPU] == 98_000
    assert figures[ROOT_QUOTA].request[CPU] == figures[ROOT_QUOTA].used[CPU] == 3000
    default = figures[DEFAULT_QUOTA]
    assert (default.used, default.runtime) == ({"cpu": 2000, "nvidia.com/gpu": 1000}, {"cpu": 4000})


def test_the_object_of_the_default_quota_overrides_arguments_by_resource() -> None:
    """Its own maximum counts for CPUs, that of the arguments for GPUs."""
    scenario = BIG.add(elastic_quota(DEFAULT_QUOTA, most={"cpu": 3})).job("j", cpu=3, gpu=1).job("k", cpu=3, gpu=3)
    session = opened(scenario.job("l", cpu=4), defaultQuotaGroupMax={"cpu": 1, "nvidia.com/gpu": 2})
    assert why(session) is None
    assert why(session, "k-0") == over(DEFAULT_QUOTA, "nvidia.com/gpu", "maximum")
    assert why(session, "l-0") == over(DEFAULT_QUOTA, "cpu", "maximum")


def test_use_is_guaranteed_if_configured() -> None:
    """enableGuaranteeUsage: what is in use is guaranteed and shown as allocated, and not lent."""
    scenario = BIG.add(
        elastic_quota("q", least={"cpu": 5}, most={"cpu": 90}, uid="q"),
        elastic_quota("idle", least={"cpu": 40}, most={"cpu": 90}, uid="i"),
    )
    scenario = scenario.running("own", on=["n1"], cpu=30, labels=uses("q")).job("j", cpu=31, labels=uses("q"))
    for guarantees_use, expected in ((True, (30_000, 30_000, 60_000)), (False, (None, 5000, 61_000))):
        session = opened(scenario, enableGuaranteeUsage=guarantees_use)
        figures = next(each for each in session.report.quotas if each.name == "q")
        assert (figures.allocated.get(CPU), figures.guaranteed[CPU], figures.runtime[CPU]) == expected
        assert (why(session) is None) is not guarantees_use
