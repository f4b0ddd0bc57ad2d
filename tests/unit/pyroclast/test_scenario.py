"""Clusters in a few lines: what `pyroclast.testing` gives authors."""

from typing import Any

import pytest

from pyroclast import ConfigError, Locality, NodeColumns, NodeView, Plugin, Session, Task, contract
from pyroclast.testing import Scenario, open_session

ONE_NODE = Scenario().queue("research").node("n1", cpu=8, gpu=2)


class Prefer(Plugin):
    """Prefers the node that its argument names; as the plugin guide writes one."""

    name = "prefer"

    def __init__(self, arguments: dict[str, Any] | None = None) -> None:
        self.node = (arguments or {}).get("node", "n2")

    def on_session_open(self, session: Session) -> None:
        """Score one node higher."""
        session.extensions.register(contract.NODE_ORDER, self.name, self.score)

    def score(self, _: Task, node: NodeView) -> float:
        """Give 100 to the preferred node."""
        return 100.0 if node.name == self.node else 0.0


def test_gang_binds_nothing_while_one_member_lacks_room() -> None:
    """Two of three members would fit; none is bound and the reason says so."""
    outcome = ONE_NODE.job("train", queue="research", tasks=3, min_available=3, cpu=1, gpu=1).run(
        "allocate", plugins=("gang", "predicates")
    )

    assert outcome.bindings == {}
    assert outcome.why("train").startswith("gang: 1/3 tasks in gang unschedulable")
    assert outcome.why_pod("train-2") == "resources: 0/1 nodes are unavailable: 1 Insufficient nvidia.com/gpu."
    assert outcome.conditions("train")["Unschedulable"].reason == "NotEnoughResources"


def test_steps_leave_the_base_alone() -> None:
    """Each returns a new scenario, so bases can be shared."""
    ONE_NODE.job("one", cpu=8)

    assert ONE_NODE.job("two", cpu=8).run("allocate", plugins=("gang",)).bindings == {"two-0": "n1"}


def test_running_pods_hold_their_room() -> None:
    """`running` gives a job whose pods are on the named nodes."""
    outcome = ONE_NODE.running("old", on=["n1", "n1"], cpu=3).job("new", cpu=3).run("allocate", plugins=("gang",))

    assert outcome.bindings == {}
    assert outcome.phases == {"new": "Inqueue", "old": "Running"}


def test_queues_that_jobs_name_are_made() -> None:
    """A test that is not about queues need not speak of them."""
    outcome = Scenario().node("n1").job("a", queue="anything").run("allocate", plugins=("gang",))

    assert outcome.bindings == {"a-0": "n1"}


def test_cycles_come_to_rest() -> None:
    """The pods run from the second cycle on, and nothing more is decided."""
    outcome = ONE_NODE.job("a", tasks=2).run("allocate", plugins=("gang",), cycles=3)

    assert outcome.phases == {"a": "Running"}
    assert outcome.is_at_rest
    assert not ONE_NODE.job("a").run("allocate", plugins=("gang",)).is_at_rest


def test_other_namespaces_are_written_out() -> None:
    """`namespace/name`."""
    outcome = Scenario().node("n1").job("a", namespace="team").run("allocate", plugins=("gang",))

    assert outcome.bindings == {"team/a-0": "n1"}
    assert outcome.phases == {"team/a": "Inqueue"}
    assert outcome.why("team/a") == ""


def test_a_plugin_given_as_a_class() -> None:
    """It is made with its arguments, beside plugins given by name."""
    two = Scenario().node("n1").node("n2").job("a")

    assert two.run("allocate", plugins=("gang", Prefer())).bindings == {"a-0": "n2"}
    assert two.run("allocate", plugins=("gang",)).bindings == {"a-0": "n1"}


def test_a_builder_of_the_guides_kind() -> None:
    """A class that takes the raw mapping is given through a builder that carries its name."""

    class ThirdNode(Prefer):
        def __init__(self) -> None:
            super().__init__({"node": "n3"})

    three = Scenario().node("n1").node("n2").node("n3").job("a")

    assert three.run("allocate", plugins=(ThirdNode,)).bindings == {"a-0": "n3"}


def test_arguments_by_plugin() -> None:
    """As in the configuration file, and checked like there."""
    nodes = Scenario().node("n1", cpu=8).node("n2", cpu=8).running("old", on=["n2"], cpu=4).job("a")

    assert nodes.run("allocate", plugins=("gang", "binpack")).bindings == {"a-0": "n2"}
    muted = nodes.run("allocate", plugins=("gang", "binpack"), arguments={"binpack": {"binpack.weight": 0}})
    assert muted.bindings == {"a-0": "n1"}
    wrong = nodes.run("allocate", plugins=("binpack",), arguments={"binpack": {"binpack.weight": "heavy"}})
    assert "'heavy'" in wrong.warnings[0]


def test_tiers_and_flags() -> None:
    """A sequence among the plugins is a tier; an entry of the file switches flags."""
    off = {"name": "predicates", "enablePredicate": False}
    cordoned = Scenario().node("n1", unschedulable=True).job("a")

    assert cordoned.run("allocate", plugins=(("gang",), ("predicates",))).bindings == {}
    assert cordoned.run("allocate", plugins=(("gang",), (off,))).bindings == {"a-0": "n1"}


@pytest.mark.parametrize(("actions", "plugins"), [(("alocate",), ()), (("allocate",), ("gagn",)), ((), (3,))])
def test_unknown_names_are_errors(actions: tuple[str, ...], plugins: tuple[Any, ...]) -> None:
    """A test that misspells a name should not pass for the wrong reason."""
    with pytest.raises(ConfigError):
        ONE_NODE.run(*actions, plugins=plugins)


def test_a_plugin_that_fails_is_named() -> None:
    """The cycle goes on without it."""

    class Fails(Plugin):
        name = "fails"
        filters_nodes = False

        def on_session_open(self, session: Session) -> None:
            raise RuntimeError(session.uid)

    outcome = ONE_NODE.job("a").run("allocate", plugins=("gang", Fails))

    assert outcome.failed_plugins == ["fails"]
    assert outcome.bindings == {"a-0": "n1"}


def test_priority_class_orders_jobs() -> None:
    """The group's class counts."""
    outcome = (
        Scenario()
        .priority_class("high", 100)
        .node("n1", cpu=1)
        .job("first")
        .job("urgent", priority_class="high")
        .run("allocate", plugins=("priority", "gang"))
    )

    assert outcome.bindings == {"urgent-0": "n1"}


def test_sharded_nodes() -> None:
    """Hard: the shard's nodes alone."""
    outcome = Scenario().node("n1").node("n2").job("a").sharded("hard", "n2").run("allocate", plugins=("gang",))

    assert outcome.bindings == {"a-0": "n2"}


def test_invalid_objects_are_reported() -> None:
    """In `warnings`, by name and field."""
    outcome = ONE_NODE.pod("odd", spec={"containers": "none"}).run("allocate", plugins=("gang",))

    assert any("odd" in warning for warning in outcome.warnings)


def test_open_session_registers_plugins() -> None:
    """No action has run; functions can be asked."""

    class OnlyN2(Plugin):
        name = "only-n2"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register(contract.PREDICATE, self.name, self.permits)

        def permits(self, _: Task, node: NodeView) -> bool:
            return node.name == "n2"

    session = open_session(Scenario().node("n1").node("n2").job("a"), plugins=(OnlyN2,))
    job = session.jobs.get("default/a")  # type: ignore[arg-type]  # an id as text
    assert job is not None
    (task,) = job.tasks.values()

    assert [each.plugin for each in session.extensions.functions(contract.PREDICATE)] == ["only-n2"]
    assert session.candidates.of(task).nodes_for(task).tolist() == [False, True]


def test_open_session_has_every_flag_on() -> None:
    """So that no plugin passes its test because it was never asked."""

    class Asked(Plugin):
        name = "asked"

        def on_session_open(self, session: Session) -> None:
            for point in contract.ALL_POINTS:
                session.extensions.register(point, self.name, lambda *_: None)

    session = open_session(Scenario(), plugins=(Asked,))
    silent = [point.name for point in contract.ALL_POINTS if not session.extensions.functions(point)]

    assert silent == ["cluster_order"]


def test_array_functions_see_columns() -> None:
    """A score over arrays, with its locality."""

    class Emptiest(Plugin):
        name = "emptiest"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register(contract.NODE_ORDER, self.name, self.score, locality=Locality.AMOUNTS)

        def score(self, _: Task, nodes: NodeColumns) -> Any:
            return nodes.idle[0].astype(float)

    outcome = Scenario().node("n1", cpu=2).node("n2", cpu=4).job("a", tasks=3).run("allocate", plugins=(Emptiest,))

    assert outcome.bindings == {"a-0": "n2", "a-1": "n2", "a-2": "n1"}
