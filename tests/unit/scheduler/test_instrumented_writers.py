"""Counting hands, and the cache as flags want it."""

from pyroclast.kube.api import resources
from pyroclast.kube.writes.binding import BindOutcome, PlanOutcome
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan
from pyroclast.scheduler.cli.options import Options, parse_options
from pyroclast.scheduler.daemon.cluster import followed, state_options
from pyroclast.scheduler.daemon.instrumented_writers import CountingBinder, Rate
from pyroclast.scheduler.monitoring.metrics import Metrics


def bind(name: str) -> Bind:
    """Make a bind."""
    return Bind(task=TaskId(name), job=None, namespace="ns", name=name, node=NodeName("n1"))


class FakeBinder:
    """Binds one pod, fails one, and does not send one."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Return the outcomes."""
        bound, failed, unsent = plan.binds
        return PlanOutcome(
            plan=plan,
            binds=(
                BindOutcome(bind=bound, is_bound=True),
                BindOutcome(bind=failed, is_bound=False, reason="BoundElsewhere"),
                BindOutcome(bind=unsent, is_bound=False, reason="NotLeader"),
            ),
        )


async def test_each_outcome_of_a_bind_is_counted() -> None:
    """Succeeded, failed, and never sent; the pod that is bound tells how long it waited."""
    metrics, rate = Metrics(), Rate(seconds=10.0)
    binder = CountingBinder(FakeBinder(), metrics, rate, created=lambda _: 100.0, wall=lambda: 102.0)
    await binder.bind(
        Plan(
            number=0,
            cycle=1,
            configuration=1,
            action="allocate",
            job=None,
            queue=None,
            binds=(bind("a"), bind("b"), bind("c")),
        )
    )

    assert metrics.value("pyroclast_binds_total", "succeeded") == 1
    assert metrics.value("pyroclast_binds_total", "failed") == 1
    assert metrics.value("pyroclast_binds_total", "refused") == 1
    assert 'volcano_task_scheduling_latency_milliseconds_sum{stage="Bound"} 2000.0' in metrics.text().decode()
    assert rate.per_second() == 0.1


class PreparingBinder:
    """Binds everything after half a second of preparation, of which its answer tells."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Return the outcomes."""
        binds = tuple(BindOutcome(bind=each, is_bound=True) for each in plan.binds)
        return PlanOutcome(plan=plan, binds=binds, prepared_seconds=0.5)


async def test_preparation_and_bind_are_measured_apart() -> None:
    """Half a second of preparation is the stage PreBind, and each pod was PreBound before it was Bound."""
    metrics = Metrics()
    binder = CountingBinder(PreparingBinder(), metrics, Rate(), created=lambda _: 100.0, wall=lambda: 102.0)
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=None, queue=None, binds=(bind("a"),))

    await binder.bind(plan)

    text = metrics.text().decode()
    assert 'volcano_scheduling_stage_duration_milliseconds_sum{stage="PreBind"} 500.0' in text
    assert 'volcano_task_scheduling_latency_milliseconds_count{stage="PreBound"} 1.0' in text


def test_the_rate_ignores_old_events() -> None:
    """Only the last seconds count."""
    now = [0.0]
    rate = Rate(seconds=10.0, now=lambda: now[0])
    rate.add(100)
    assert rate.per_second() == 10.0
    now[0] = 11.0
    assert rate.per_second() == 0.0


def test_kinds_that_are_switched_off_are_not_followed() -> None:
    """Flags and feature gates leave kinds out."""
    options = parse_options(["--csi-storage=false", "--feature-gates=WorkLoadSupport=false"], {}).options
    everything, fewer = set(followed(Options())), set(followed(options))

    assert {kind.kind for kind in everything - fewer} == {
        "CSIDriver",
        "CSIStorageCapacity",
        "ReplicationController",
        "ReplicaSet",
        "StatefulSet",
    }
    assert resources.PODS in fewer


def test_native_groups_are_not_followed_without_their_feature() -> None:
    """PodGroups of other API groups are followed all the same, and pods that name a group are jobs of their own."""
    options = parse_options(["--feature-gates=GenericWorkload=false"], {}).options
    everything, fewer = set(followed(Options())), set(followed(options))

    assert everything - fewer == {resources.NATIVE_POD_GROUPS, resources.WORKLOADS}
    assert {resources.POD_GROUPS, resources.GANG_POD_GROUPS} <= fewer
    assert (state_options(options).forms_native_groups, state_options(Options()).forms_native_groups) == (False, True)


def test_flags_decide_how_the_cluster_is_read() -> None:
    """Names, queue, selector, ring and shard reach the books."""
    read = state_options(
        parse_options(
            [
                "--scheduler-name=a",
                "--scheduler-name=b",
                "--default-queue=q",
                "--node-selector=pool:batch",
                "--ungrouped-pods=single",
                "--scheduler-sharding-mode=soft",
                "--scheduler-sharding-name=mine",
            ],
            {"MULTI_SCHEDULER_ENABLE": "true", "SCHEDULER_POD_NAME": "s-1", "SCHEDULER_NUM": "2"},
        ).options
    )

    assert read.scheduler_names == {"a", "b"}
    assert (read.default_queue, read.ungrouped_pods) == ("q", "single")
    assert read.node_selector.selects({"pool": "batch"})
    assert not read.node_selector.selects({"pool": "other"})
    assert (read.shard_mode, read.shard_name) == ("soft", "mine")
    assert read.ownership is not None
    assert read.ownership.member == "s-1"
