"""Points about jobs, queues and victims: each is asked, and its answers combine as `points.py` says."""

from typing import Any

import pytest

from pyroclast import Queue, Refusal, Session, SessionJob, Task, Vote, contract
from pyroclast.testing import Outcome, Scenario
from tests.unit.framework.asking import Saying, always, failing, job_of, session_of, tasks_of

TWO_JOBS = Scenario().node("n1", cpu=1).job("a").job("b")
REFUSAL = Refusal(plugin="test", reason="NotNow", message="not now")


def saying(point: Any, function: Any, name: str = "test", **options: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying(name, {point: (function, options)})


def bound(outcome: Outcome) -> list[str]:
    """Return the pods bound."""
    return sorted(outcome.bindings)


# Orders ---------------------------------------------------------------------------------------------------------------


def test_job_order_puts_the_smaller_key_first() -> None:
    """Without it the older job goes first."""
    last_first = saying(contract.JOB_ORDER, lambda job: -ord(job.job.name))

    assert bound(TWO_JOBS.run("allocate")) == ["a-0"]
    assert bound(TWO_JOBS.run("allocate", plugins=(last_first,))) == ["b-0"]


def test_keys_of_earlier_tiers_come_first() -> None:
    """A later plugin decides only among those that the earlier ones do not tell apart."""
    alike = saying(contract.JOB_ORDER, always(0), name="alike")
    first = saying(contract.JOB_ORDER, lambda job: job.job.name == "a", name="first")
    second = saying(contract.JOB_ORDER, lambda job: job.job.name == "b", name="second")

    assert bound(TWO_JOBS.run("allocate", plugins=((alike,), (first,), (second,)))) == ["b-0"]
    assert bound(TWO_JOBS.run("allocate", plugins=((alike,), (second,), (first,)))) == ["a-0"]


def test_task_order() -> None:
    """Without it the index in the name counts."""
    one_place = Scenario().node("n1", cpu=1).job("a", tasks=3, min_available=1)
    last_first = saying(contract.TASK_ORDER, lambda task: -int(task.name[-1]))

    assert bound(one_place.run("allocate", plugins=("gang",))) == ["a-0"]
    assert bound(one_place.run("allocate", plugins=("gang", last_first))) == ["a-2"]


def test_queue_order() -> None:
    """Without it the older queue is served first."""
    queues = Scenario().queue("red").queue("blue").node("n1", cpu=1).job("a", queue="blue").job("b", queue="red")
    blue_first = saying(contract.QUEUE_ORDER, lambda queue: queue.name)

    assert bound(queues.run("allocate")) == ["b-0"]
    assert bound(queues.run("allocate", plugins=(blue_first,))) == ["a-0"]


def test_sub_job_order() -> None:
    """Sub-groups of a job are served by its key."""
    policy = [{"name": "p", "subGroupSize": 1, "matchLabelKeys": ["part"]}]
    scenario = (
        Scenario()
        .node("n1", cpu=1)
        .job("a", tasks=0, min_available=1, group={"subGroupPolicy": policy})
        .pod("a-0", job="a", labels={"part": "x"})
        .pod("a-1", job="a", labels={"part": "y"})
    )
    seen: list[str] = []

    def key(part: Any) -> str:
        seen.append(part.id)
        return "".join(chr(255 - ord(letter)) for letter in part.id)

    first = bound(scenario.run("allocate", plugins=("gang",)))
    other = bound(scenario.run("allocate", plugins=("gang", saying(contract.SUB_JOB_ORDER, key))))

    assert seen
    assert sorted([*first, *other]) == ["a-0", "a-1"]


RICH = (
    Scenario()
    .queue("red")
    .queue("blue")
    .queue("mine")
    .node("n1", cpu=4)
    .running("r", on=["n1"] * 2, queue="red")
    .running("b", on=["n1"] * 2, queue="blue")
    .job("a", queue="mine", phase="Inqueue")
)
"""Two queues fill a node, a third one waits."""


@pytest.mark.parametrize(("first", "evicted"), [("red", ["r-1"]), ("blue", ["b-1"])])
def test_victim_queue_order(first: str, evicted: list[str]) -> None:
    """The first of two queues by its order gives way; it receives the preemptor."""
    told: set[str] = set()

    def compare(left: Queue, right: Queue, preemptor: Queue) -> int:
        told.add(preemptor.name)
        return (right.name == first) - (left.name == first)

    giving = Saying("giving", {contract.RECLAIMABLE: lambda _, candidates: candidates})
    plugins = ("gang", giving, saying(contract.VICTIM_QUEUE_ORDER, compare))

    assert RICH.run("reclaim", plugins=plugins).evictions == evicted
    assert told == {"mine"}


def test_victim_queue_order_the_first_difference_decides() -> None:
    """Zero passes the question on."""
    giving = Saying("giving", {contract.RECLAIMABLE: lambda _, candidates: candidates})
    alike = saying(contract.VICTIM_QUEUE_ORDER, always(0), name="alike")

    def before(name: str) -> Saying:
        return saying(
            contract.VICTIM_QUEUE_ORDER,
            lambda left, right, _: (right.name == name) - (left.name == name),
            name=f"{name}-first",
        )

    for names, evicted in ((("red", "blue"), ["r-1"]), (("blue", "red"), ["b-1"])):
        outcome = RICH.run("reclaim", plugins=("gang", giving, alike, *map(before, names)))
        assert outcome.evictions == evicted


@pytest.mark.parametrize("point", [contract.CLUSTER_ORDER, contract.TARGET_JOB, contract.RESERVED_NODES])
def test_reserved_points_are_never_asked(point: Any) -> None:
    """They can be registered, as Volcano's can, and a function that fails is not missed."""
    outcome = TWO_JOBS.run("allocate", plugins=(saying(point, failing),))

    assert bound(outcome) == ["a-0"]
    assert outcome.failed_plugins == []


# Gates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [False, REFUSAL])
def test_job_valid_keeps_a_job_out(answer: Any) -> None:
    """With the plugin's reason; the other job is served."""
    plugin = saying(contract.JOB_VALID, lambda job: answer if job.job.name == "a" else None)
    outcome = TWO_JOBS.run("allocate", plugins=(plugin,))

    assert bound(outcome) == ["b-0"]
    assert outcome.why("a") in {"test: not now", "test: refused by test"}


def test_job_ready_holds_a_job_back() -> None:
    """All plugins must agree; what is neither ready nor worth holding is undone."""
    yes = saying(contract.JOB_READY, always(True), name="yes")
    no = Saying(
        "no", {contract.JOB_READY: lambda job: job.job.name != "a", contract.JOB_PIPELINED: always(Vote.REJECT)}
    )

    assert bound(TWO_JOBS.run("allocate", plugins=(yes, no))) == ["b-0"]
    assert bound(TWO_JOBS.run("allocate", plugins=(yes, {"name": no, "enableJobReady": False}))) == ["a-0"]


def test_job_pipelined_holds_the_room_of_a_job_that_is_not_ready() -> None:
    """Nothing of it is bound, and no other job gets the capacity."""
    no = saying(contract.JOB_READY, lambda job: job.job.name != "a", name="no")
    outcome = TWO_JOBS.run("allocate", plugins=(no, saying(contract.JOB_PIPELINED, always(Vote.PERMIT))))

    assert bound(outcome) == []


def test_job_ready_that_fails_is_a_no() -> None:
    """And the plugin is named."""
    outcome = TWO_JOBS.run("allocate", plugins=(saying(contract.JOB_READY, failing),))

    assert bound(outcome) == []
    assert outcome.failed_plugins == ["test"]


def test_sub_job_ready_of_a_job_without_parts_is_job_ready() -> None:
    """The job is its only part."""
    session = session_of(TWO_JOBS, (saying(contract.JOB_READY, always(False)),))
    (part,) = job_of(session).sub_jobs.values()

    assert not session.jobs.sub_job_ready(part)


@pytest.mark.parametrize(
    ("tiers", "outcome"),
    [
        ([], True),
        ([[Vote.ABSTAIN]], True),
        ([[Vote.PERMIT], [Vote.REJECT]], True),
        ([[Vote.PERMIT, Vote.REJECT]], False),
        ([[Vote.ABSTAIN], [Vote.REJECT], [Vote.PERMIT]], False),
        ([[Vote.ABSTAIN, Vote.PERMIT], [Vote.REJECT]], True),
        ([[REFUSAL]], False),
        ([[None]], True),
    ],
)
def test_votes(tiers: list[list[Any]], outcome: bool) -> None:
    """A reject ends with no; a permit ends its tier with yes; where all abstain the answer is yes."""
    for point, ask in (
        (contract.JOB_PIPELINED, lambda session: session.jobs.job_pipelined(job_of(session))),
        (contract.JOB_ENQUEUEABLE, lambda session: not session.jobs.job_enqueueable(job_of(session))),
    ):
        plugins = [
            tuple(saying(point, always(vote), name=f"p{tier}{place}") for place, vote in enumerate(votes))
            for tier, votes in enumerate(tiers)
        ]
        assert ask(session_of(TWO_JOBS, *plugins)) is outcome


def test_a_failing_vote_is_a_refusal_in_the_plugins_name() -> None:
    """As every exception of a plugin."""
    (refusal,) = session_of(TWO_JOBS, (saying(contract.JOB_ENQUEUEABLE, failing),)).jobs.job_enqueueable(job_of_first())

    assert (refusal.plugin, refusal.reason) == ("test", "PluginError")


def job_of_first() -> SessionJob:
    """Return a job of another session; enough to be asked about."""
    return job_of(session_of(TWO_JOBS))


def test_the_gate_of_a_queue() -> None:
    """`job_enqueueable` refuses with a reason; `job_enqueued` is called for admitted jobs."""
    passed: list[str] = []
    plugin = Saying(
        "test",
        {
            contract.JOB_ENQUEUEABLE: lambda job: REFUSAL if job.job.name == "a" else Vote.PERMIT,
            contract.JOB_ENQUEUED: lambda job: passed.append(job.job.name),
        },
    )
    gated = Scenario().node("n1").job("a", min_resources={"cpu": 1}).job("b", min_resources={"cpu": 1})
    outcome = gated.run("enqueue", "allocate", plugins=(plugin,))

    assert outcome.phases == {"a": "Pending", "b": "Inqueue"}
    assert outcome.why("a") == "test: not now"
    assert passed == ["b"]


def test_job_starving_is_decided_by_the_first_tier() -> None:
    """All of its functions must agree; without functions no job starves."""
    yes, no = (saying(contract.JOB_STARVING, always(answer), name=str(answer)) for answer in (True, False))
    cases: list[tuple[tuple[Any, ...], bool]] = [
        ((), False),
        (((yes,), (no,)), True),
        (((yes, no),), False),
        (((no,), (yes,)), False),
    ]

    for tiers, starving in cases:
        session = session_of(TWO_JOBS, *tiers)
        assert session.jobs.job_starving(job_of(session)) is starving


@pytest.mark.parametrize("answer", [True, REFUSAL])
def test_overused_stops_a_queue(answer: Any) -> None:
    """The other queue is served; the jobs have the reason."""
    queues = Scenario().queue("red").queue("blue").node("n1").job("a", queue="red").job("b", queue="blue")
    plugin = saying(contract.OVERUSED, lambda queue: answer if queue.name == "red" else False)
    outcome = queues.run("allocate", plugins=(plugin,))

    assert bound(outcome) == ["b-0"]
    assert outcome.why("a") in {"test: not now", "test: refused by test"}


def test_overused_that_fails_stops_the_queue() -> None:
    """In the plugin's name."""
    session = session_of(TWO_JOBS, (saying(contract.OVERUSED, failing),))
    refusal = session.queues.overused(session.queues.by_name[next(iter(session.queues.by_name))])

    assert refusal is not None
    assert refusal.reason == "PluginError"


def test_allocatable_is_asked_for_each_task() -> None:
    """The refusal stands at the task; tasks before it are placed."""
    given: list[str] = []

    def one_each(_: Queue, task: Task) -> Any:
        if given:
            return Refusal(plugin="test", reason="Enough", message="one is enough")
        given.append(task.name)
        return True

    outcome = (
        Scenario()
        .node("n1")
        .job("a", tasks=2, min_available=1)
        .run("allocate", plugins=("gang", saying(contract.ALLOCATABLE, one_each)))
    )

    assert bound(outcome) == ["a-0"]
    assert outcome.why_pod("a-1") == "test: one is enough"


def test_allocatable_with_headroom_is_asked_for_runs() -> None:
    """The number bounds a run; the answer is the same as one by one."""
    plugin = saying(contract.ALLOCATABLE, always(True), headroom=always(2))
    session = session_of(TWO_JOBS, (plugin,))
    task = tasks_of(session)[0]

    assert session.queues.headroom(session.queues.by_name[job_of(session).queue], task, 10) == 2
    assert session_of(TWO_JOBS).queues.headroom(session.queues.by_name[job_of(session).queue], task, 10) == 10
    alone = session_of(TWO_JOBS, (saying(contract.ALLOCATABLE, always(True)),))
    assert alone.queues.headroom(session.queues.by_name[job_of(session).queue], task, 10) == 1


def test_preemptive() -> None:
    """All must permit."""
    yes = saying(contract.PREEMPTIVE, always(True), name="yes")
    no = saying(contract.PREEMPTIVE, always(REFUSAL), name="no")

    def asked(*plugins: Any) -> Refusal | None:
        session = session_of(TWO_JOBS, plugins)
        return session.queues.preemptive(session.queues.by_name[job_of(session).queue], tasks_of(session))

    assert asked() is None
    assert asked(yes) is None
    assert asked(yes, no) == REFUSAL


# Victims --------------------------------------------------------------------------------------------------------------

VICTIMS = Scenario().node("n1").running("old", on=["n1"] * 3).job("a")


def chosen(*tiers: Any, point: Any = contract.PREEMPTABLE) -> tuple[list[str], Session]:
    """Return the victims that tiers of answers agree on; an answer is a text of indices, with a vote or alone."""

    def plugin(answer: Any, name: str) -> Saying:
        def choose(_: Task, candidates: list[Task]) -> Any:
            text, vote = answer if isinstance(answer, tuple) else (answer, None)
            victims = [task for index in text for task in candidates if task.name.endswith(index)]
            return victims if vote is None else (victims, vote)

        return saying(point, failing if answer is failing else choose, name=name)

    plugins = [
        tuple(plugin(answer, f"p{tier}{place}") for place, answer in enumerate(answers))
        for tier, answers in enumerate(tiers)
    ]
    session = session_of(VICTIMS, *plugins)
    ask = session.evictions.preemptable if point is contract.PREEMPTABLE else session.evictions.reclaimable
    return [task.name for task in ask(tasks_of(session)[0], tasks_of(session, "old"))], session


@pytest.mark.parametrize("point", [contract.PREEMPTABLE, contract.RECLAIMABLE])
@pytest.mark.parametrize(
    ("tiers", "victims"),
    [
        ([], []),
        ([["012"]], ["old-0", "old-1", "old-2"]),
        ([["012", "10"]], ["old-0", "old-1"]),
        ([["10", "012"]], ["old-1", "old-0"]),
        ([[("", Vote.ABSTAIN), "1"]], ["old-1"]),
        ([["", "1"], ["2"]], ["old-2"]),
        ([["0", "1", "2"], ["2"]], ["old-2"]),
        ([["0"], ["1"]], ["old-0"]),
        ([[failing, "0"], ["1"]], []),
        ([["1"], [failing]], ["old-1"]),
    ],
)
def test_victims(tiers: Any, victims: list[str], point: Any) -> None:
    """Intersected inside a tier; the first tier with victims decides; an empty answer ends its tier, a failure all."""
    assert chosen(*tiers, point=point)[0] == victims


def test_vetoes_name_plugin_and_pod() -> None:
    """With the beneficiary."""
    _, session = chosen(["012", "0"])
    beneficiary = tasks_of(session)[0].id
    spared = {task.name: list(session.evictions.vetoes.get(task.id, {}).values()) for task in tasks_of(session, "old")}

    assert spared["old-0"] == []
    assert spared["old-1"] == [(beneficiary, Refusal(plugin="p01", reason="Spared", message="protected by p01"))]


# Opening and closing --------------------------------------------------------------------------------------------------


def test_close_hooks_run_in_the_order_of_the_configuration() -> None:
    """Each plugin's `on_session_close`, and hooks it registered."""
    heard: list[str] = []

    class Closing(Saying):
        def on_session_close(self, session: Session) -> None:
            heard.append(f"{self.name} in cycle {session.cycle}")

    TWO_JOBS.run("allocate", plugins=((Closing("one", {}), Closing("two", {})), (Closing("three", {}),)))

    assert heard == ["one in cycle 1", "two in cycle 1", "three in cycle 1"]


def test_an_instance_name_stands_for_its_plugin() -> None:
    """Two of a kind in one tier, each under its own name."""
    plugin = saying(contract.JOB_VALID, always(False))
    outcome = TWO_JOBS.run("allocate", plugins=({"name": plugin, "instance": "strict"},))

    assert outcome.why("a").startswith("strict: ")


def test_a_plugin_that_cannot_be_opened_is_left_out() -> None:
    """The session goes on and names it."""

    class Broken(Saying):
        def on_session_open(self, session: Session) -> None:
            raise RuntimeError(session.uid)

    session = session_of(TWO_JOBS, (Broken("broken", {}), saying(contract.JOB_ORDER, always(0))))

    assert list(session.extensions.failures) == ["broken"]
    assert [each.plugin for each in session.extensions.functions(contract.JOB_ORDER)] == ["test"]


def test_annotations_and_preparations_travel_with_the_bind() -> None:
    """Those of all plugins together."""
    from pyroclast import Preparation  # noqa: PLC0415  # beside the plugin that makes it

    class Notes(Saying):
        def on_session_open(self, session: Session) -> None:
            session.extensions.register_annotations(self.name, lambda task, _: {"note": task.name, "size": "?"})
            session.extensions.register_plan_annotations(
                self.name, lambda tasks: {task.id: {"size": str(len(tasks))} for task in tasks[:1]}
            )
            session.extensions.register_preparations(
                self.name, lambda task, _: [Preparation(kind="none", namespace=task.namespace, name=task.name)]
            )

    plugins = ("gang", Notes("notes", {}))
    outcome = Scenario().node("n1").job("a", tasks=2).run("allocate", plugins=plugins, cycles=2)
    (bind, other) = outcome.rounds[0].plans[0].binds
    (job,) = outcome.rounds[1].snapshot.jobs.values()
    (task, _) = job.tasks.values()

    assert bind.annotations == {"note": "a-0", "size": "2"}
    assert other.annotations == {"note": "a-1", "size": "?"}
    assert [each.kind for each in bind.preparations] == ["none"]
    assert task.pod.metadata.annotations["note"] == "a-0"


def test_labels_of_all_plugins_are_one_patch_before_the_bind() -> None:
    """With the annotations, and with the values before; the next cycle sees them on the pod."""

    class Labels(Saying):
        def on_session_open(self, session: Session) -> None:
            session.extensions.register_labels(self.name, lambda task, _: {"pool": self.name, self.name: task.name})
            session.extensions.register_annotations(self.name, lambda *_: {"note": self.name})

    plugins = ("gang", Labels("one", {}), Labels("two", {}))
    scenario = Scenario().node("n1").job("a", tasks=1, labels={"pool": "old"})
    outcome = scenario.run("allocate", plugins=plugins, cycles=2)
    (bind,) = outcome.rounds[0].plans[0].binds
    (job,) = outcome.rounds[1].snapshot.jobs.values()
    (task,) = job.tasks.values()

    assert bind.labels == {"pool": "two", "one": "a-0", "two": "a-0"}
    assert bind.annotations == {"note": "two"}
    assert [(each.kind, each.name, each.details) for each in bind.preparations] == [
        ("patch-pod", "a-0", {"labels:pool": "old"})
    ]
    assert task.pod.metadata.labels.items() >= bind.labels.items()


def test_a_bind_without_labels_is_one_request() -> None:
    """No plugin adds any, or none for this pod."""

    class Labels(Saying):
        def on_session_open(self, session: Session) -> None:
            session.extensions.register_labels(self.name, lambda *_: {})

    outcome = Scenario().node("n1").job("a").run("allocate", plugins=("gang", Labels("none", {})))
    (bind,) = outcome.rounds[0].plans[0].binds

    assert not bind.labels
    assert bind.preparations == ()


@pytest.mark.parametrize("labels", [{"a": "b c"}, {"a b": "c"}, {"a": "x" * 64}, {f"k{n}": "" for n in range(65)}])
def test_labels_that_the_server_would_refuse_are_wrong_answers(labels: dict[str, str]) -> None:
    """The plugin is named, and nothing is bound."""

    class Labels(Saying):
        def on_session_open(self, session: Session) -> None:
            session.extensions.register_labels(self.name, lambda *_: labels)

    outcome = Scenario().node("n1").job("a").run("allocate", plugins=("gang", Labels("wrong", {})))

    assert outcome.bindings == {}
    assert outcome.failed_plugins == ["wrong"]


@pytest.mark.parametrize(
    "point",
    [each for each in contract.ALL_POINTS if each.flag is not None],
    ids=lambda point: point.name,
)
def test_every_flag_switches_its_point_off(point: Any) -> None:
    """Per plugin; points without a flag cannot be switched off."""
    on, off = saying(point, always(None), name="on"), saying(point, always(None), name="off")
    flagged = [{"name": on, point.flag: True}, {"name": off, point.flag: False}]
    session = session_of(TWO_JOBS, tuple(flagged))

    assert [each.plugin for each in session.extensions.functions(point)] == ["on"]
