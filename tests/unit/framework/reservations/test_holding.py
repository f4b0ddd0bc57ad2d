"""Held room: what was promised to a beneficiary, from the eviction to the binding."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pyroclast import Plan, Plugin, Session
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.held import HeldCapacity, job_holder
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS: tuple[Any, ...] = (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder"))
BASE = Scenario().node("n1", cpu=4).running("old", on=["n1", "n1", "n1"], min_available=1)


class ByHand(Plugin):
    """Evicts by hand in some cycles, as the tail of an evicting action does; serves no point."""

    watches_clock = False

    def __init__(self, plan: Mapping[str, str], victims: Sequence[str], *, cycles: Sequence[int] = (1,)) -> None:
        self.name = "evict"
        self.plan = plan
        """Node by pod of the beneficiary."""
        self.victims = victims
        self.cycles = cycles

    def on_session_open(self, session: Session) -> None:
        """Nothing to register."""

    def on_session_close(self, session: Session) -> None:
        """Evict last, so that the places are made known but not yet used."""
        if session.cycle not in self.cycles:
            return
        session.action = "preempt"
        tasks = {task.name: (job, task) for job in session.jobs.all() for task in job.tasks.values()}
        statement = session.statement()
        for name in self.victims:
            job, task = tasks[name]
            assert statement.evict(job, task, "preempt") is None
        for name, node in self.plan.items():
            job, task = tasks[name]
            column = session.nodes.table.column[NodeName(node)]
            assert statement.pipeline(job, [task], [column], evicts_for=True) is None
        statement.commit()
        session.action = ""


def run(scenario: Scenario, evict: ByHand, cycles: int = 3, **more: Any) -> Outcome:
    """Run the default configuration, and the evictions."""
    return scenario.run(*ACTIONS, plugins=(*PLUGINS, [evict]), cycles=cycles, recreate_evicted=True, **more)


def test_the_beneficiary_gets_the_room_and_the_victim_does_not_take_it_back() -> None:
    """The victim, made anew, is older in rank, and is looked at after the held room."""
    scenario = BASE.job("new", cpu=2)
    outcome = run(scenario, ByHand({"new-0": "n1"}, ["old-2"]), cycles=4)

    assert outcome.bindings == {"new-0": "n1"}
    assert outcome.evictions == ["old-2"]
    assert outcome.is_at_rest


def promised(scenario: Scenario, places: Mapping[str, str], **fields: Any) -> tuple[Any, Memory]:
    """Decide once with a record in memory; returns the report and what is left."""
    parsed, registry = configured(ACTIONS, PLUGINS, {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    snapshot = cluster.snapshot()
    tasks = {task.name: task for job in snapshot.jobs.values() for task in job.tasks.values()}
    now = fields.pop("now", moment_after(scenario.objects))
    job = next((tasks[name].job for name in places if name in tasks), None) or JobId("default/gone")
    record = msgspec.convert(
        {
            "holder": {"kind": "job", "name": job},
            "action": "preempt",
            "cycle": 1,
            "begins": now - fields.pop("age", 1.0),
            "places": {tasks[name].id if name in tasks else name: node for name, node in places.items()},
            **fields,
        },
        type=HeldCapacity,
    )
    return run_cycle(snapshot, parsed.configuration, registry=registry, now=now, memory=Memory(cycle=1, held=(record,)))


def binds(plans: Sequence[Plan]) -> dict[str, str]:
    """Return node by pod bound."""
    return {each.name: each.node for plan in plans for each in plan.binds}


def leaving(name: str, node: str, cpu: int, *, at: str = "2026-01-01T09:00:00Z") -> dict[str, Any]:
    """Return a pod on its way out."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "deletionTimestamp": at},
        "spec": {
            "schedulerName": "volcano",
            "nodeName": node,
            "containers": [{"name": "main", "image": "a", "resources": {"requests": {"cpu": str(cpu)}}}],
        },
        "status": {"phase": "Running"},
    }


TWO = Scenario().node("n1", cpu=2).node("n2", cpu=2)
URGENT = TWO.priority_class("high", 9).job("urgent", tasks=2, min_available=1, cpu=2, priority_class="high")


def test_promised_idle_room_is_not_given_to_more_urgent_work() -> None:
    """One node of the gang is free, the other is being released: both are held, and urgent work waits."""
    scenario = URGENT.job("gang", tasks=2, cpu=2).add(leaving("old", "n2", 2))
    report, left = promised(scenario, {"gang-0": "n1", "gang-1": "n2"})

    assert report.plans == ()
    assert sorted(report.pipelined["default/gang"].values()) == ["n1", "n2"]
    assert left.held is not None
    assert [len(each.places) for each in left.held] == [2]


def test_a_gang_is_bound_whole_when_its_room_is_free() -> None:
    """Before any other job is served."""
    report, left = promised(URGENT.job("gang", tasks=2, cpu=2), {"gang-0": "n1", "gang-1": "n2"})

    assert binds(report.plans) == {"gang-0": "n1", "gang-1": "n2"}
    assert left.held is not None


def test_free_places_of_a_waiting_gang_do_not_let_others_of_it_start() -> None:
    """A gang of three of four: one promised place waits, the fourth task finds room; nothing is bound yet."""
    nodes = TWO.node("n3", cpu=2).node("n4", cpu=2)
    scenario = nodes.job("gang", tasks=4, min_available=3, cpu=2).add(leaving("old", "n3", 2))
    report, _ = promised(scenario, {"gang-0": "n1", "gang-1": "n2", "gang-2": "n3"})

    assert binds(report.plans) == {}
    assert len(report.pipelined["default/gang"]) == 3


def test_a_node_that_is_gone_ends_the_promise() -> None:
    """The job has the reason, and is placed like any other."""
    report, left = promised(TWO.job("a", cpu=1), {"a-0": "n9"})

    assert binds(report.plans) == {"a-0": "n1"}
    assert report.refusals["default/a"][0].reason == "HeldCapacityReleased"
    assert "node n9 is gone" in report.refusals["default/a"][0].message
    assert left.held == ()


def test_a_node_that_permits_no_longer_ends_the_promise_at_once() -> None:
    """Also while pods leave it: nothing they do would change it."""
    scenario = (
        Scenario().node("n1", cpu=2, unschedulable=True).node("n2", cpu=2).job("a", cpu=2).add(leaving("old", "n1", 2))
    )
    report, left = promised(scenario, {"a-0": "n1"})

    assert binds(report.plans) == {"a-0": "n2"}
    assert left.held == ()


def test_room_that_something_else_took_ends_the_promise() -> None:
    """The victims have gone and the room does not suffice."""
    scenario = TWO.running("other", on=["n1"], cpu=1).job("a", cpu=2)
    report, left = promised(scenario, {"a-0": "n1"})

    assert binds(report.plans) == {"a-0": "n2"}
    assert "Insufficient cpu" in report.refusals["default/a"][0].message
    assert left.held == ()


def test_a_gang_that_lost_too_many_places_gives_up_the_others() -> None:
    """What is left would never make its minimum; it is free for others in the same cycle."""
    scenario = TWO.running("other", on=["n2"], cpu=1).job("gang", tasks=2, cpu=2).job("single", cpu=2)
    report, left = promised(scenario, {"gang-0": "n1", "gang-1": "n2"})

    assert binds(report.plans) == {"single-0": "n1"}
    assert left.held == ()


LOSERS = {"queue/a": "0/1//// 0/1////"}


def test_room_that_was_given_up_is_won_all_the_same_by_who_gets_it() -> None:
    """A gang gives its places up, as one node is gone, and is placed anew: on the node where pods left for it, too."""
    scenario = TWO.job("gang", tasks=2, cpu=2)
    report, left = promised(scenario, {"gang-0": "n1", "gang-1": "n9"}, losers=LOSERS)

    assert binds(report.plans) == {"gang-0": "n1", "gang-1": "n2"}
    assert left.held is not None
    (record,) = left.held
    assert set(record.places.values()) == {"n1", "n9"}
    assert set(record.loose) == set(record.places)
    assert record.losers == LOSERS


def test_room_that_was_given_up_is_not_held() -> None:
    """Afterwards the job waits like any other: more urgent work gets the node, and nothing is reported again."""
    scenario = URGENT.job("gang", tasks=2, cpu=2)
    tasks = {"gang-0": "n1", "gang-1": "n2"}
    _, left = promised(scenario, {"gang-0": "n1", "gang-1": "n9"}, losers=LOSERS)
    assert left.held is not None
    loose = left.held[0].loose
    report, left = promised(scenario, tasks, losers=LOSERS, loose=loose)

    assert binds(report.plans) == {"urgent-0": "n1", "urgent-1": "n2"}
    assert "default/gang" not in report.pipelined
    assert left.held is not None
    assert [each.loose for each in left.held] == [loose]


def test_pods_on_other_nodes_gain_nothing() -> None:
    """It was placed on another node than it was promised."""
    _, left = promised(TWO.running("a", on=["n2"]), {"a-0": "n1"}, losers=LOSERS)
    assert left.held == ()
    _, left = promised(TWO.running("a", on=["n1"]), {"a-0": "n1"}, losers=LOSERS)
    assert left.held is not None
    assert [each.losers for each in left.held] == [LOSERS]


def test_no_job_counts_as_loser_if_all_victims_stayed() -> None:
    """The server refused and the plan was dropped: the place is held as long as it can be, the losers are forgotten."""
    scenario = Scenario().node("n1", cpu=4).running("old", on=["n1"]).job("a", cpu=2)
    snapshot = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[]).snapshot()
    victims = dict.fromkeys(snapshot.jobs[JobId("default/old")].tasks, "default/old")
    report, left = promised(scenario, {"a-0": "n1"}, losers=LOSERS, victims=victims)

    assert binds(report.plans) == {"a-0": "n1"}
    assert left.held is not None
    assert [each.losers for each in left.held] == [{}]
    _, left = promised(scenario, {"a-0": "n1"}, losers=LOSERS, victims={**victims, "gone": "default/old"})
    assert left.held is not None
    assert [each.losers for each in left.held] == [LOSERS]


def test_the_queues_limit_is_asked_again() -> None:
    """A queue that may not take the task any longer does not get the held capacity."""
    scenario = TWO.queue("small", capability={"cpu": 1}).job("a", queue="small", cpu=2)
    report, left = promised(scenario, {"a-0": "n1"})

    assert binds(report.plans) == {}
    assert "queue small" in report.refusals["default/a"][0].message
    assert left.held == ()


def test_patience_ends() -> None:
    """Five minutes after the last pod should have been gone; until then the place is held."""
    scenario = TWO.job("a", cpu=2).add(leaving("old", "n1", 2, at="2027-01-01T00:00:00Z"))
    last = 1798761600.0 + 300.0  # 2027-01-01, and patience

    report, left = promised(scenario, {"a-0": "n1"}, now=last - 1, age=9999.0)
    assert list(report.pipelined["default/a"].values()) == ["n1"]
    report, left = promised(scenario, {"a-0": "n1"}, now=last, age=9999.0)
    assert binds(report.plans) == {"a-0": "n2"}
    assert left.held == ()


def test_without_memory_nominated_nodes_count() -> None:
    """A new leader holds what the pods say; nothing is said when such a nomination is stale."""
    scenario = URGENT.job("gang", tasks=2, cpu=2, phase="Inqueue").add(leaving("old", "n2", 2))
    nominated = {"gang-0": "n1", "gang-1": "n2"}
    objects = tuple(
        {**each, "status": {**each["status"], "nominatedNodeName": nominated[each["metadata"]["name"]]}}
        if each["metadata"]["name"] in nominated
        else each
        for each in scenario.objects
    )
    outcome = Scenario(objects=objects).run(*ACTIONS, plugins=PLUGINS)

    assert outcome.bindings == {}
    assert outcome.pipelined == nominated


def test_a_stale_nomination_is_taken_back() -> None:
    """A pod whose node is too small for it, or gone, has the reason that it waits for none."""
    scenario = Scenario().node("n1", cpu=1).job("a", cpu=2, phase="Inqueue")
    objects = tuple(
        {**each, "status": {**each["status"], "nominatedNodeName": "n1"}} if each["kind"] == "Pod" else each
        for each in scenario.objects
    )
    report = Scenario(objects=objects).run(*ACTIONS, plugins=PLUGINS).report

    assert [told.nominated_node for told in report.pod_conditions] == [""]


def test_a_cycle_that_only_waits_is_quiet_until_patience_ends() -> None:
    """The same snapshot is not decided again, the held capacity stays, and the clock wakes it."""
    scenario = TWO.job("a", cpu=2, phase="Inqueue").add(leaving("old", "n1", 2))
    parsed, registry = configured(ACTIONS, (("gang",), ("predicates",)), {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    task = next(iter(cluster.snapshot().jobs[JobId("default/a")].tasks))
    record = HeldCapacity(
        holder=job_holder(JobId("default/a")),
        action="preempt",
        cycle=1,
        begins=1000.0,
        places={TaskId(task): NodeName("n1")},
    )
    memory = Memory(cycle=1, held=(record,))
    now = 1001.0
    for _ in range(2):
        report, memory = run_cycle(cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory)
        cluster.settle(report.plans, report, now=now, recreate_evicted=False)
    report, memory = run_cycle(cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory)
    generation = cluster.snapshot().generation

    assert memory.is_quiet(generation, parsed.configuration.generation, now + 1)
    assert not memory.is_quiet(generation, parsed.configuration.generation, 1e12)
    _, quiet = run_cycle(cluster.snapshot(), parsed.configuration, registry=registry, now=now + 1, memory=memory)
    assert quiet.held == (record,)


def test_memory_survives_a_record() -> None:
    """As JSON and back it is the same."""
    _, left = promised(
        URGENT.job("gang", tasks=2, cpu=2), {"gang-0": "n1", "gang-1": "n2"}, losers={"queue/a": "0/1 0/2"}
    )

    assert left.held
    assert msgspec.json.decode(msgspec.json.encode(left), type=Memory) == left
