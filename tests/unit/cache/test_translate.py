"""Translation of API objects."""

from typing import Any

import msgspec
import pytest

from pyroclast.cache.stores.volumes import VolumeLookup, driver_amounts
from pyroclast.cache.sync.node_selector import NodeFilter
from pyroclast.cache.translation.annotations import parse_bool, parse_int32, parse_seconds
from pyroclast.cache.translation.translate import Translator
from pyroclast.model import wire
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.errors import ObjectError
from pyroclast.model.resources import NO_AMOUNTS, Amounts
from pyroclast.model.tasks import Task, TaskStatus
from tests.unit.cache.builders import group, node, pod, queue

FAULTS: list[ObjectError] = []


@pytest.fixture
def translator() -> Translator:
    """A translator whose faults are in `FAULTS`."""
    FAULTS.clear()
    return Translator(report=FAULTS.append)


def no_volumes(_: wire.Pod) -> Amounts:
    """Return no volumes for any pod."""
    return NO_AMOUNTS


def made(translator: Translator, each: wire.Pod) -> Task:
    """Return the task of a pod."""
    return translator.task(each, translator.job_id(each), no_volumes)


@pytest.mark.parametrize(
    ("phase", "leaving", "on", "status"),
    [
        ("Pending", False, "", TaskStatus.PENDING),
        ("", False, "", TaskStatus.PENDING),
        ("Pending", False, "n1", TaskStatus.BOUND),
        ("Pending", True, "n1", TaskStatus.RELEASING),
        ("Pending", True, "", TaskStatus.RELEASING),
        ("Running", False, "n1", TaskStatus.RUNNING),
        ("Running", True, "n1", TaskStatus.RELEASING),
        ("Succeeded", True, "n1", TaskStatus.SUCCEEDED),
        ("Failed", True, "n1", TaskStatus.FAILED),
        ("Unknown", True, "n1", TaskStatus.UNKNOWN),
        ("Sleeping", False, "n1", TaskStatus.UNKNOWN),
    ],
)
def test_status_of_a_pod(translator: Translator, phase: str, leaving: bool, on: str, status: TaskStatus) -> None:
    """A deletion changes the status of pending and running pods, but not of finished ones."""
    assert made(translator, pod("p", phase=phase, leaving=leaving, node=on)).status is status


@pytest.mark.parametrize(
    ("annotations", "labels", "preemptable", "zone"),
    [
        ({}, {}, True, ""),
        ({"volcano.sh/preemptable": "false"}, {}, False, ""),
        ({"volcano.sh/preemptable": "T"}, {}, True, "*"),
        ({}, {"volcano.sh/preemptable": "0"}, False, ""),
        ({}, {"volcano.sh/preemptable": "true"}, True, ""),
        ({"volcano.sh/preemptable": "true"}, {"volcano.sh/preemptable": "false"}, True, "*"),
        ({"volcano.sh/preemptable": "yes"}, {}, False, ""),
        ({}, {"scheduling.koordinator.sh/disable-preemptible": "true"}, False, ""),
        ({}, {"scheduling.koordinator.sh/disable-preemptible": "false"}, True, ""),
        ({"volcano.sh/preemptable": "true"}, {"scheduling.koordinator.sh/disable-preemptible": "true"}, False, "*"),
        ({"volcano.sh/revocable-zone": "*"}, {}, True, "*"),
        ({"volcano.sh/revocable-zone": "rz1", "volcano.sh/preemptable": "true"}, {}, True, ""),
    ],
)
def test_preemptability_and_zone_of_a_task(
    translator: Translator, annotations: dict[str, str], labels: dict[str, str], preemptable: bool, zone: str
) -> None:
    """The annotation overrides the label. Only annotations set the zone. A pod without them is preemptable."""
    task = made(translator, pod("p", annotations=annotations, labels=labels))

    assert (task.preemptable, task.revocable_zone) == (preemptable, zone)
    assert len(FAULTS) == ("yes" in annotations.values())


@pytest.mark.parametrize(
    ("spec", "annotation", "priority"),
    [(None, None, 1), (7, None, 7), (7, "9", 9), (7, "-3", -3), (7, "2147483648", 7), (None, "high", 1)],
)
def test_priority_of_a_task(translator: Translator, spec: int | None, annotation: str | None, priority: int) -> None:
    """It is 1, or the priority of the spec, or the annotation if it is a 32-bit integer."""
    notes = {"volcano.sh/task-priority": annotation} if annotation else {}
    each = wire.Pod(
        metadata=wire.ObjectMeta(name="p", namespace="ns", uid="p", annotations=notes), spec=wire.PodSpec(priority=spec)
    )

    assert made(translator, each).priority == priority


def test_role_and_job_of_a_task(translator: Translator) -> None:
    """A role annotation that is not empty overrides the label. The job is the group in the namespace of the pod."""
    key = "volcano.sh/task-spec"
    both = made(translator, pod("p", group="g", annotations={key: "master"}, labels={key: "worker"}))
    label = made(translator, pod("p", labels={key: "worker"}))
    empty = made(translator, pod("p", annotations={key: ""}, labels={key: "worker"}))

    assert (both.role, both.job) == ("master", "ns/g")
    assert empty.role == "worker"
    assert (label.role, label.job) == ("worker", None)


def test_equal_pods_share_a_template(translator: Translator) -> None:
    """Names, labels, priorities, gates and claims do not affect the template. Requests and images do."""
    plain = made(translator, pod("a", cpu="1"))
    claim = wire.Volume(name="x", persistent_volume_claim=wire.PersistentVolumeClaimVolumeSource(claim_name="c"))

    assert (
        made(translator, pod("b", cpu="1", labels={"x": "y"}, gates="g", volumes=(claim,))).template is plain.template
    )
    assert made(translator, pod("c", cpu="2")).template is not plain.template


def test_inline_volumes_are_part_of_a_template(translator: Translator) -> None:
    """A disk that only one node can use at a time restricts placement."""

    def with_disk(name: str, disk: str) -> wire.Pod:
        source = wire.GcePersistentDisk(pd_name=disk)
        return pod(name, volumes=(wire.Volume(name=name, gce_persistent_disk=source),))

    one, same, other = (made(translator, with_disk(name, disk)) for name, disk in (("a", "d"), ("b", "d"), ("c", "e")))

    assert one.template is same.template
    assert one.template is not other.template
    assert one.template.spec.volumes[0].gce_persistent_disk is not None


def test_a_running_container_with_the_requested_amounts_shares_the_template(translator: Translator) -> None:
    """A status that repeats the request does not make a new template. A resize does."""
    pending = made(translator, pod("a", cpu="1"))

    def running(cpu: str) -> wire.Pod:
        given = wire.ContainerStatus(name="c", resources=wire.ResourceRequirements(requests={"cpu": cpu}))
        each = pod("b", cpu="1", node="n1", phase="Running")
        return wire.Pod(
            metadata=each.metadata,
            spec=each.spec,
            status=wire.PodStatus(phase="Running", container_statuses=(given,)),
        )

    assert made(translator, running("1")).template is pending.template
    assert made(translator, running("2")).template.request["cpu"] == 2000


def test_a_resize_of_pod_level_resources_makes_a_new_template(translator: Translator) -> None:
    """The amounts in the status differ from those in the spec."""

    def whole(given: str) -> wire.Pod:
        each = pod("b", cpu="1", node="n1", phase="Running")
        status = wire.PodStatus(
            phase="Running",
            resources=wire.ResourceRequirements(requests={"cpu": given}),
            allocated_resources={"cpu": given},
        )
        spec = msgspec.structs.replace(each.spec, resources=wire.ResourceRequirements(requests={"cpu": "1"}))
        return wire.Pod(metadata=each.metadata, spec=spec, status=status)

    one, same, other = (made(translator, whole(given)) for given in ("1", "1", "3"))

    assert one.template is same.template
    assert other.template.request["cpu"] == 3000


def test_templates_are_trimmed(translator: Translator) -> None:
    """A template does not contain the node or the priority of one pod."""
    spec = made(translator, pod("a", node="n1", phase="Running", gates="g")).template.spec

    assert (spec.node_name, spec.scheduler_name, spec.scheduling_gates) == ("", "", ())


def test_a_group_is_parsed(translator: Translator) -> None:
    """Queue, minimums, phase and waiting time are parsed. Absent fields stay absent."""
    facts = translator.group(
        group(
            "g",
            minimum=3,
            min_task_member={"worker": 2},
            min_resources={"cpu": "2", "storage": "1"},
            phase="Inqueue",
            annotations={"sla-waiting-time": "1h30m", "volcano.sh/preemptable": "true"},
        )
    )

    assert (facts.queue, facts.min_available, dict(facts.min_by_role)) == ("q", 3, {"worker": 2})
    assert facts.min_resources == {"cpu": 2000}
    assert (facts.phase, facts.waiting_seconds, facts.preemptable) == (PodGroupPhase.INQUEUE, 5400.0, True)
    assert facts.revocable_zone == "*"


def test_an_empty_group_has_defaults(translator: Translator) -> None:
    """It is Pending, in the default queue, without minimum resources and without preemptability."""
    facts = translator.group(group("g", queue=""))

    assert (facts.phase, facts.queue, facts.min_resources) == (PodGroupPhase.PENDING, "default", None)
    assert (facts.preemptable, facts.waiting_seconds) == (None, None)


@pytest.mark.parametrize(
    ("annotations", "seconds"),
    [
        ({"volcano.sh/sla-waiting-time": "90s", "sla-waiting-time": "1h"}, 90.0),
        ({"sla-waiting-time": "0s"}, None),
        ({"sla-waiting-time": "-5s"}, None),
        ({"sla-waiting-time": "soon"}, None),
    ],
)
def test_waiting_time(translator: Translator, annotations: dict[str, str], seconds: float | None) -> None:
    """The prefixed key has precedence. Zero, negative and unreadable values are ignored."""
    assert translator.group(group("g", annotations=annotations)).waiting_seconds == seconds


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"minimum": -1}, "spec.minMember"),
        ({"min_task_member": {"w": -2}}, "spec.minTaskMember.w"),
        ({"phase": "Dreaming"}, "status.phase"),
    ],
)
def test_broken_fields_of_groups_have_defaults_and_are_reported(
    translator: Translator, spec: dict[str, Any], path: str
) -> None:
    """A negative minimum counts as 0. An unknown phase counts as Pending."""
    facts = translator.group(group("g", **spec))

    assert (facts.min_available, sum(facts.min_by_role.values()), facts.phase) == (0, 0, PodGroupPhase.PENDING)
    assert [fault.path for fault in FAULTS] == [path]


@pytest.mark.parametrize(
    ("path", "weights", "whole"),
    [
        ("eng/prod", "2/8", ("root/eng/prod", "1/2/8")),
        ("rooted", "2", ("root/rooted", "1/2")),
        ("root/eng", "1/2", ("root/eng", "1/2")),
        ("root", "1", ("root", "1")),
        ("eng", "", ("eng", "")),
        ("", "", ("", "")),
    ],
)
def test_a_path_without_the_root_is_below_the_root(
    translator: Translator, path: str, weights: str, whole: tuple[str, str]
) -> None:
    """Admission writes the path like this, but the webhooks may not be installed."""
    annotations = {"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}
    queue = translator.queue(wire.Queue(metadata=wire.ObjectMeta(name="q", annotations=annotations)))

    assert (queue.hierarchy, queue.hierarchy_weights) == whole


def test_a_queue_is_parsed(translator: Translator) -> None:
    """Amounts, parent and hierarchy are parsed. An unset `reclaimable` means true."""
    made_queue = translator.queue(
        queue(
            weight=4,
            parent="root",
            capability={"cpu": "8", "nvidia.com/gpu": "0"},
            deserved={"memory": "1Gi"},
            guarantee=wire.Guarantee(resource={"cpu": "500m"}),
        )
    )

    assert (made_queue.weight, made_queue.parent, made_queue.reclaimable) == (4, "root", True)
    assert made_queue.capability == {"cpu": 8000, "nvidia.com/gpu": 0}
    assert (made_queue.deserved, made_queue.guarantee) == ({"memory": 2**30 * 1000}, {"cpu": 500})


def test_a_node_is_oversubscribed_while_it_has_the_annotations(translator: Translator) -> None:
    """CPU is in thousandths, memory in bytes, in addition to the reported amounts."""
    each = wire.Node(
        metadata=wire.ObjectMeta(
            name="n1",
            labels={"volcano.sh/revocable-zone": "rz1"},
            annotations={"volcano.sh/oversubscription-cpu": "2500", "volcano.sh/oversubscription-memory": "1024"},
        ),
        status=wire.NodeStatus(allocatable={"cpu": "4", "storage": "9"}),
    )
    one = translator.node(each)

    assert (one.allocatable, one.oversubscribed, one.revocable_zone) == (
        {"cpu": 4000},
        {"cpu": 2500, "memory": 1_024_000},
        "rz1",
    )
    assert translator.node(node()).oversubscribed == {}


def test_a_broken_amount_of_a_node_is_not_offered(translator: Translator) -> None:
    """The other amounts count, and the fault is reported."""
    assert translator.node(node(cpu="4", memory="lots", pods="-1")).allocatable == {"cpu": 4000}
    assert len(FAULTS) == 2


def test_unreadable_oversubscription_is_ignored(translator: Translator) -> None:
    """It is reported."""
    each = wire.Node(metadata=wire.ObjectMeta(name="n", annotations={"volcano.sh/oversubscription-cpu": "nan"}))

    assert translator.node(each).oversubscribed == {"cpu": 0}
    assert len(FAULTS) == 1


LOCAL_PATH = "rancher.io/local-path"


def lookup(driver: str = "disk.example.com", *, pv_driver: str | None = None, owner: str = "") -> VolumeLookup:
    """One claim `ns/c` of the class `fast`, bound to a volume if `pv_driver` is set."""
    owners = (wire.OwnerReference(uid=owner, controller=True),) if owner else ()
    claim = wire.PersistentVolumeClaim(
        metadata=wire.ObjectMeta(name="c", namespace="ns", owner_references=owners),
        spec=wire.PersistentVolumeClaimSpec(
            storage_class_name="fast", volume_name="v" if pv_driver is not None else ""
        ),
    )
    source = wire.CSIVolume(driver=pv_driver) if pv_driver else None
    volume = wire.PersistentVolume(metadata=wire.ObjectMeta(name="v"), spec=wire.PersistentVolumeSpec(csi=source))
    return VolumeLookup(
        claims={"ns/c": claim, "ns/p-scratch": claim},
        volumes={"v": volume},
        classes={"fast": wire.StorageClass(metadata=wire.ObjectMeta(name="fast"), provisioner=driver)},
        registered={"disk.example.com", "example.com/disk", "other.example.com", "ignored.example.com", LOCAL_PATH},
        ignored_provisioners=frozenset({"ignored.example.com"}),
    )


def claiming(name: str = "c") -> wire.Pod:
    """A pod with one claim."""
    source = wire.PersistentVolumeClaimVolumeSource(claim_name=name)
    return pod("p", volumes=(wire.Volume(name="data", persistent_volume_claim=source),))


@pytest.mark.parametrize(
    ("found", "amounts"),
    [
        (lookup(), {"attachable-volumes-csi-disk.example.com": 1000}),
        (lookup("example.com/disk"), {"attachable-volumes-csi-example.com-disk": 1000}),
        (lookup(pv_driver="other.example.com"), {"attachable-volumes-csi-other.example.com": 1000}),
        (lookup(pv_driver=""), {}),
        (lookup(LOCAL_PATH), {}),
        (lookup("ignored.example.com"), {}),
        (lookup("nfs.example.com/files"), {}),
    ],
)
def test_attached_volumes_of_a_pod(found: VolumeLookup, amounts: Amounts) -> None:
    """The driver of the bound volume counts, or that of the class. Ignored ones, and those of no node, do not count."""
    assert found.needed(claiming()) == amounts


def test_an_unknown_claim_counts_nothing() -> None:
    """The pod is translated again when the claim is known."""
    assert lookup().needed(claiming("later")) == {}


def test_an_ephemeral_claim_must_be_controlled_by_the_pod() -> None:
    """A claim with the same name and another owner is not a claim of this pod."""
    scratch = wire.Volume(name="scratch", ephemeral=wire.EphemeralVolumeSource())

    assert lookup(owner="p").needed(pod("p", volumes=(scratch,)))
    with pytest.raises(ObjectError, match="another owner"):
        lookup(owner="q").needed(pod("p", volumes=(scratch,)))


def test_the_drivers_of_a_node_are_amounts_that_no_number_of_pods_exceeds() -> None:
    """A limit counts volumes, which pods can share; the predicate NodeVolumeLimits enforces it."""
    drivers = (
        wire.CSINodeDriver(name="a/b", allocatable=wire.VolumeNodeResources(count=3)),
        wire.CSINodeDriver(name="c"),
    )
    amounts = driver_amounts(wire.CSINode(metadata=wire.ObjectMeta(name="n"), spec=wire.CSINodeSpec(drivers=drivers)))

    assert amounts == dict.fromkeys(("attachable-volumes-csi-a-b", "attachable-volumes-csi-c"), (2**31 - 1) * 1000)


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_true_values_of_go(text: str) -> None:
    """Go has six texts for true."""
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["", "yes", "on", "tRUE", " true"])
def test_invalid_booleans(text: str) -> None:
    """All other texts are invalid."""
    with pytest.raises(ValueError, match="boolean"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("300ms", 0.3), ("0", 0.0), ("-2m", -120.0), ("+1s", 1.0)],
)
def test_durations(text: str, seconds: float) -> None:
    """The format is that of Go."""
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "1 h", "h", "1d", "1h!", "9999999999h"])
def test_invalid_durations(text: str) -> None:
    """A number without a unit, unknown units, gaps, and values out of the range of Go."""
    with pytest.raises(ValueError, match="duration"):
        parse_seconds(text)


@pytest.mark.parametrize("text", ["", "1.0", "0x1", "2147483648", "1_000"])
def test_invalid_32_bit_integers(text: str) -> None:
    """Values out of range, or not in plain digits."""
    with pytest.raises(ValueError, match="integer"):
        parse_int32(text)


def test_the_node_selector_needs_one_matching_label() -> None:
    """Entries are split at the first colon and trimmed. Entries without a value are ignored."""
    selector = NodeFilter.parse(["pool: batch", "a:b:c", "nothing", "empty:"])

    assert selector.selects({"pool": "batch"})
    assert selector.selects({"a": "b:c"})
    assert not selector.selects({"pool": "web", "nothing": ""})


def test_no_valid_entry_selects_every_node() -> None:
    """The result is the same as without the flag."""
    assert NodeFilter.parse(["nonsense"]).selects({})
