"""Filters of predicates by volumes: binding, zones, limits; what placements take and what binding must do."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.model import wire
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.predicates.arguments import ShapePoint
from pyroclast.plugins.predicates.static_volumes import NO_VOLUME, StaticVolumes
from pyroclast.plugins.predicates.volume_score import StorageUse, mean_scores, score_of, utilization
from pyroclast.plugins.predicates.volume_zone import zone_values
from tests.unit.plugins.filtering import GIB, Filtering, meta, node, opened, pod

HOST = "kubernetes.io/hostname"
UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
NO_MATCH = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
VANISHED = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
OTHER_ZONE = "node(s) had no available volume zone"
TOO_MANY = "node(s) exceed max volume count"
ZONE = "topology.kubernetes.io/zone"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}

NODES = node("n1"), node("n2"), node("n3")


def storage(
    name: str = "local", provisioner: str = "kubernetes.io/no-provisioner", *, waits: bool = True, **fields: Any
) -> wire.StorageClass:
    """Return a storage class."""
    return wire.StorageClass(
        metadata=wire.ObjectMeta(name=name, uid=name),
        provisioner=provisioner,
        volume_binding_mode="WaitForFirstConsumer" if waits else "Immediate",
        **fields,
    )


def claim(
    name: str,
    size: str = "1Gi",
    cls: str = "local",
    volume: str = "",
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> wire.PersistentVolumeClaim:
    """Return a claim; one with a volume is bound to it."""
    return wire.PersistentVolumeClaim(
        metadata=meta(name, annotations=annotations or (BOUND if volume else {}), **fields.pop("metadata", {})),
        spec=wire.PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",),
            resources=wire.VolumeResourceRequirements(requests={"storage": size}),
            storage_class_name=cls,
            volume_name=volume,
            **fields,
        ),
        status=wire.PersistentVolumeClaimStatus(phase="Bound" if volume else "Pending"),
    )


def volume(
    name: str, *on: str, size: str = "1Gi", cls: str = "local", labels: dict[str, str] | None = None, **fields: Any
) -> wire.PersistentVolume:
    """Return an available volume, reachable from the named nodes, or from all where none is named."""
    affinity = None
    if on:
        expression = wire.SelectorRequirement(key=HOST, operator="In", values=on)
        selector = wire.NodeSelector(node_selector_terms=(wire.NodeSelectorTerm(match_expressions=(expression,)),))
        affinity = wire.VolumeNodeAffinity(required=selector)
    return wire.PersistentVolume(
        metadata=wire.ObjectMeta(name=name, uid=name, labels=labels or {}),
        spec=wire.PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=("ReadWriteOnce",),
            storage_class_name=cls,
            node_affinity=affinity,
            **fields,
        ),
        status=wire.PersistentVolumeStatus(phase="Available"),
    )


def fault(cluster: Filtering, name: str) -> str:
    """Return what is said of a task before nodes are looked at."""
    refusal = cluster.session.candidates.pre_predicate(cluster.task(name))
    assert refusal is None or not refusal.resolvable
    return refusal.message if refusal else ""


def prepared(cluster: Filtering, statement: Statement) -> list[tuple[Preparation, ...]]:
    """Commit a statement; return the preparations of its binds."""
    statement.commit()
    return [bind.preparations for plan in cluster.plans for bind in plan.binds]


def step(name: str, **details: str) -> Preparation:
    """Return the preparation of a claim."""
    named = {key.replace("_", "-"): value for key, value in details.items()}
    everything = {"claim-uid": name, **named, "timeout-seconds": "600"}
    return Preparation(kind="bind-volume", namespace="ns", name=name, details=everything)


# Before nodes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ([], 'plugin NodeVolumeLimits pre-predicates failed looking up PVC ns/c: persistentvolumeclaim "c" not found'),
        ([claim("c")], ""),
        (
            [claim("c", cls="now")],
            (
                'plugin VolumeZone pre-predicates failed persistentvolumeclaim "c" is not bound yet, '
                'and its storage class "now" binds immediately'
            ),
        ),
        (
            [claim("c", cls="gone")],
            'plugin VolumeZone pre-predicates failed storageclass.storage.k8s.io "gone" not found',
        ),
        (
            [claim("c", metadata={"deletion_timestamp": "2026-01-01T00:00:00Z"})],
            'plugin VolumeBinding pre-predicates failed persistentvolumeclaim "c" is being deleted',
        ),
    ],
)
def test_claims_that_no_node_can_serve(claims: Sequence[Any], said: str) -> None:
    """A claim must be there, stay, and be bound or wait for its consumer."""
    cluster = opened(*NODES, storage(), storage("now", waits=False), *claims, pod("p", claims=["c"]))

    assert fault(cluster, "p") == said


def test_volume_binding_alone_says_its_own_words() -> None:
    """Without the other volume filters the claims are still looked at."""
    others = {"volume_limits": False, "volume_zone": False}
    prefix = "plugin VolumeBinding pre-predicates failed "
    missing = opened(*NODES, pod("p", claims=["c"]), **others)
    immediate = opened(*NODES, storage("now", waits=False), claim("c", cls="now"), pod("p", claims=["c"]), **others)
    prebound = opened(
        *NODES, storage(), claim("c", volume="v", annotations={"x": "y"}), pod("p", claims=["c"]), **others
    )

    assert fault(missing, "p") == prefix + 'persistentvolumeclaim "c" not found'
    assert fault(immediate, "p") == prefix + "pod has unbound immediate PersistentVolumeClaims: c"
    assert fault(prebound, "p") == ""  # its phase says that it is bound
    assert fault(opened(*NODES, pod("p", claims=["c"]), volume_binding=False, **others), "p") == ""


def test_claim_of_an_ephemeral_volume_must_belong_to_the_pod() -> None:
    """It is named after pod and volume; one from another creator is not used."""
    ephemeral = (wire.Volume(name="v", ephemeral=wire.EphemeralVolumeSource()),)
    owner = wire.OwnerReference(kind="Pod", name="p", uid="p", controller=True)
    prefix = "plugin VolumeBinding pre-predicates failed "
    mine = claim("p-v", metadata={"owner_references": (owner,)})

    assert fault(opened(*NODES, storage(), mine, pod("p", volumes=ephemeral)), "p") == ""
    assert prefix + "waiting for ephemeral" in fault(
        opened(*NODES, storage(), pod("p", volumes=ephemeral), volume_limits=False), "p"
    )


# Binding --------------------------------------------------------------------------------------------------------------


def test_bound_volume_holds_its_pod_to_nodes_that_reach_it() -> None:
    """Node affinity of the volume, else everywhere; nothing is left to prepare."""
    bound = claim("c", volume="v")
    cluster = opened(*NODES, storage(), bound, volume("v", "n2"), pod("p", claims=["c"]))
    statement = cluster.session.statement()

    assert cluster.verdicts("p") == {"n1": UNREACHABLE, "n3": UNREACHABLE}
    assert cluster.place(statement, "p", "n2") is None
    assert prepared(cluster, statement) == [()]
    assert opened(*NODES, storage(), bound, volume("v"), pod("p", claims=["c"])).fits("p") == ["n1", "n2", "n3"]


def test_volume_that_vanished_leaves_no_node() -> None:
    """Bound to a volume that is not there."""
    cluster = opened(*NODES, storage(), claim("c", volume="v"), pod("p", claims=["c"]), volume_zone=False)

    assert cluster.verdicts("p") == {"n1": VANISHED, "n2": VANISHED, "n3": VANISHED}


def test_waiting_claim_takes_the_smallest_volume_that_fits_then_the_lowest_name() -> None:
    """Too small, taken, of another class or mode, or not available: passed over."""
    unfit = [
        volume("a0", "n1", size="1Gi"),
        volume("a1", "n1", size="2Gi", cls="other"),
        volume("a2", "n1", size="2Gi", volume_mode="Block"),
        volume("a3", "n1", size="2Gi", claim_ref=wire.ObjectReference(namespace="ns", name="else")),
        volume("a4", "n2", size="2Gi"),
    ]
    fitting = volume("b3", "n1", size="4Gi"), volume("b2", "n1", size="3Gi"), volume("b1", "n1", size="3Gi")
    cluster = opened(*NODES, storage(), claim("c", "2Gi"), *unfit, *fitting, pod("p", claims=["c"]))
    statement = cluster.session.statement()

    assert cluster.verdicts("p") == {"n3": NO_MATCH}
    assert cluster.place(statement, "p", "n1") is None
    assert prepared(cluster, statement) == [(step("c", volume="b1"),)]


def test_selector_of_a_claim_selects_volumes_by_label() -> None:
    """Only volumes with the labels fit."""
    selecting = claim("c", selector=wire.LabelSelector(match_labels={"disk": "ssd"}))
    volumes = volume("v1", "n1"), volume("v2", "n2", labels={"disk": "ssd"})

    assert opened(*NODES, storage(), selecting, *volumes, pod("p", claims=["c"])).fits("p") == ["n2"]


def test_volume_reserved_for_a_claim_goes_before_all_others() -> None:
    """Where it does not reach, other volumes do not help."""
    reserved = volume("v9", "n3", size="9Gi", claim_ref=wire.ObjectReference(namespace="ns", name="c", uid="c"))
    stale = volume("v8", "n2", claim_ref=wire.ObjectReference(namespace="ns", name="c", uid="older"))
    objects = *NODES, storage(), claim("c"), volume("v1", "n1"), pod("p", claims=["c"])

    assert opened(*objects, reserved).fits("p") == ["n3"]
    assert opened(*objects, stale).fits("p") == ["n1"]


def test_taken_volume_is_taken_for_the_session_and_free_again_after_undo() -> None:
    """Two claims need the only volume: the second is refused, also by the ledger without an earlier question."""
    claims = claim("c"), claim("d")
    cluster = opened(*NODES, storage(), *claims, volume("v", "n1"), pod("p", claims=["c"]), pod("q", claims=["d"]))
    assert cluster.fits("q") == ["n1"]
    with cluster.session.statement() as statement:
        assert cluster.place(statement, "p", "n1") is None
        assert cluster.fits("q") == []
        assert cluster.verdicts("q") == dict.fromkeys(("n1", "n2", "n3"), NO_MATCH)
        refusal = cluster.place(statement, "q", "n1")
        assert refusal == Refusal(plugin="predicates", reason="VolumesNotReserved", message=NO_MATCH, resolvable=False)

    assert cluster.fits("q") == ["n1"]
    assert cluster.fits("p") == ["n1"]


def test_pipelined_pods_take_their_volumes_too() -> None:
    """A place that waits for room holds its volumes."""
    claims = claim("c"), claim("d")
    cluster = opened(*NODES, storage(), *claims, volume("v", "n1"), pod("p", claims=["c"]), pod("q", claims=["d"]))
    task = cluster.task("p")
    job = cluster.session.jobs.of(task)
    assert job is not None
    statement = cluster.session.statement()

    assert statement.pipeline(job, [task], [0]) is None
    assert statement.operations[0].change.verb is Verb.PIPELINE
    assert cluster.fits("q") == []


def test_claims_of_one_pod_get_different_volumes() -> None:
    """The smaller claim chooses first; a node with one fitting volume is not enough for two claims."""
    volumes = (
        volume("v1", "n1", size="1Gi"),
        volume("v2", "n1", size="5Gi"),
        volume("v3", "n2", size="5Gi"),
        volume("v4", "n3", size="1Gi"),
        volume("v5", "n3", size="2Gi"),
    )
    claims = claim("big", "2Gi"), claim("small", "1Gi")
    cluster = opened(*NODES, storage(), *claims, *volumes, pod("p", claims=["big", "small"]))
    statement = cluster.session.statement()

    assert cluster.fits("p") == ["n1", "n3"]
    assert cluster.place(statement, "p", "n1") is None
    assert prepared(cluster, statement) == [(step("big", volume="v2"), step("small", volume="v1"))]


def test_equal_tasks_with_claims_stand_not_alone() -> None:
    """Tasks of one template have claims of their own, so the framework asks about each, and each takes its volume."""
    claims = claim("c"), claim("d")
    volumes = volume("v", "n1"), volume("w", "n1")
    cluster = opened(*NODES, storage(), *claims, *volumes, pod("p", claims=["c"]), pod("q", claims=["d"]))
    statement = cluster.session.statement()

    assert cluster.session.candidates.answers.beyond(cluster.task("q")) is not None
    assert cluster.place(statement, "p", "n1") is None
    assert cluster.place(statement, "q", "n1") is None
    assert prepared(cluster, statement) == [(step("c", volume="v"),), (step("d", volume="w"),)]


def test_choices_mended_after_taking_equal_choices_made_anew() -> None:
    """Whatever is taken and given back, in any order, the standing choices equal those of a fresh search."""
    wide = [node(f"n{at:03d}") for at in range(70)]
    some = [volume(f"l{at:02d}", f"n{at % 5:03d}", f"n{at % 7:03d}", size=f"{1 + at % 3}Gi") for at in range(20)]
    everywhere = volume("x1", size="2Gi"), volume("x2", size="3Gi")
    many = volume("y1", *(f"n{at:03d}" for at in range(65)), size="1Gi")
    cluster = opened(*wide, storage(), *some, *everywhere, many)
    objects, facts = cluster.session.snapshot.objects, cluster.session.nodes.facts
    random = np.random.default_rng(7)
    standing, wanted = StaticVolumes(objects, facts), [claim("c", "2Gi"), claim("d", "1Gi")]
    taken: set[int] = set()
    for _ in range(60):
        standing.choose(wanted)
        number = int(random.integers(len(standing.names)))
        (standing.give_back if number in taken else standing.take)(number)
        taken ^= {number}
        fresh = StaticVolumes(objects, facts)
        for each in taken:
            fresh.take(each)
        for mine, other in zip(standing.choose(wanted), fresh.choose(wanted), strict=True):
            assert mine.tolist() == other.tolist()
    assert taken
    assert NO_VOLUME in standing.choose(wanted)[0] or len(taken) < len(standing.names)


# Making volumes -------------------------------------------------------------------------------------------------------


def test_class_with_a_provisioner_makes_volumes_where_it_may() -> None:
    """Allowed topologies bound it; the node is written down for the provisioner."""
    term = wire.TopologySelectorTerm(
        match_label_expressions=(wire.TopologySelectorLabelRequirement(key=HOST, values=("n1", "n3")),)
    )
    made = storage("made", "csi.example.com", allowed_topologies=(term,))
    cluster = opened(*NODES, made, claim("c", cls="made"), pod("p", claims=["c"]))
    statement = cluster.session.statement()

    assert cluster.verdicts("p") == {"n2": NO_MATCH}
    assert cluster.place(statement, "p", "n3") is None
    assert prepared(cluster, statement) == [(step("c", selected_node="n3"),)]


def test_existing_volume_is_taken_rather_than_made() -> None:
    """On a node without one, a volume is made."""
    cluster = opened(
        *NODES,
        storage("made", "csi.example.com"),
        claim("c", cls="made"),
        volume("v", "n1", cls="made"),
        pod("p", claims=["c"]),
    )
    statement = cluster.session.statement()

    assert cluster.fits("p") == ["n1", "n2", "n3"]
    assert cluster.place(statement, "p", "n1") is None
    assert prepared(cluster, statement) == [(step("c", volume="v"),)]


def test_storage_capacity_of_the_driver_counts_where_it_is_published() -> None:
    """A segment with enough left, by the largest volume where that is given; drivers that publish none are trusted."""

    def segment(host: str, capacity: str, largest: str = "") -> wire.CSIStorageCapacity:
        return wire.CSIStorageCapacity(
            metadata=meta(host),
            storage_class_name="made",
            node_topology=wire.LabelSelector(match_labels={HOST: host}),
            capacity=capacity,
            maximum_volume_size=largest,
        )

    def driver(*, publishes: bool) -> wire.CSIDriver:
        spec = wire.CSIDriverSpec(storage_capacity=publishes)
        return wire.CSIDriver(metadata=wire.ObjectMeta(name="csi.example.com", uid="d"), spec=spec)

    segments = segment("n1", "10Gi"), segment("n2", "10Gi", "4Gi")
    objects = *NODES, storage("made", "csi.example.com"), claim("c", "5Gi", "made"), *segments, pod("p", claims=["c"])

    assert opened(*objects, driver(publishes=True)).verdicts("p") == {"n2": NO_SPACE, "n3": NO_SPACE}
    assert opened(*objects, driver(publishes=False)).fits("p") == ["n1", "n2", "n3"]
    assert opened(*objects).fits("p") == ["n1", "n2", "n3"]


def test_claim_with_a_selected_node_goes_there() -> None:
    """The provisioner is at work for that node."""
    selected = claim("c", cls="made", annotations={"volume.kubernetes.io/selected-node": "n2"})
    cluster = opened(*NODES, storage("made", "csi.example.com"), selected, pod("p", claims=["c"]))

    assert cluster.verdicts("p") == {"n1": NO_MATCH, "n3": NO_MATCH}


@pytest.mark.parametrize(("size", "target"), [("1Gi", {"volume": "v"}), ("9Gi", {"selected_node": "n2"})])
def test_pods_that_share_a_claim_share_its_choice(size: str, target: dict[str, str]) -> None:
    """The second goes where the first one's volume is, and both wait for it; undoing the second leaves the first's."""
    objects = storage("made", "csi.example.com"), claim("c", size, cls="made"), volume("v", "n2", cls="made")
    cluster = opened(*NODES, *objects, pod("p", claims=["c"]), pod("q", claims=["c"]))
    statement = cluster.session.statement()
    assert cluster.place(statement, "p", "n2") is None
    with cluster.session.statement() as second:
        assert cluster.fits("q") == ["n2"]
        assert cluster.place(second, "q", "n2") is None
    assert cluster.fits("q") == ["n2"]
    assert cluster.place(statement, "q", "n2") is None

    assert prepared(cluster, statement) == [(step("c", **target),), (step("c", **target),)]


# Zones ----------------------------------------------------------------------------------------------------------------


def zoned(name: str, **labels: Any) -> wire.Node:
    """Return a node with labels, keys as given."""
    return node(name, **labels)


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        ({ZONE: "a"}, ["b", "region"]),
        ({ZONE: "a__b"}, ["region"]),
        ({BETA_ZONE: "b"}, ["a", "beta", "region"]),
        ({ZONE: "a__"}, []),
        ({"other": "a"}, []),
        ({ZONE: "a", "topology.kubernetes.io/region": "r"}, ["a", "b", "beta", "region"]),
    ],
)
def test_volume_zones(labels: dict[str, str], refused: list[str]) -> None:
    """Every zone label of the volume must be met, a beta one also by the stable label; unlabelled nodes pass."""
    nodes = [
        zoned("a", **{ZONE: "a"}),
        zoned("b", **{ZONE: "b"}),
        zoned("bare"),
        zoned("beta", **{BETA_ZONE: "a", ZONE: "a"}),
        zoned("region", **{"topology.kubernetes.io/region": "r"}),
    ]
    cluster = opened(*nodes, claim("c", volume="v"), volume("v", labels=labels), pod("p", claims=["c"]))

    assert cluster.verdicts("p") == dict.fromkeys(refused, OTHER_ZONE)
    assert zone_values("a__ b") == {"a", "b"}


# Limits ---------------------------------------------------------------------------------------------------------------


def attached(name: str) -> tuple[wire.PersistentVolumeClaim, wire.PersistentVolume]:
    """Return a claim bound to a CSI volume whose handle is its name."""
    csi = wire.CSIVolume(driver="csi.example.com", volume_handle=f"handle-{name}")
    return claim(name, volume=f"pv-{name}"), volume(f"pv-{name}", csi=csi)


def csi_node(name: str, count: int | None) -> wire.CSINode:
    """Return what a driver says of a node."""
    driver = wire.CSINodeDriver(name="csi.example.com", allocatable=wire.VolumeNodeResources(count=count))
    return wire.CSINode(metadata=wire.ObjectMeta(name=name, uid=name), spec=wire.CSINodeSpec(drivers=(driver,)))


def test_volumes_that_are_attached_already_do_not_count_twice() -> None:
    """The worked example: limit 2, in use {v1, v2}: a pod with v2 passes, one with v3 fails; no limit elsewhere."""
    known = [each for name in ("v1", "v2", "v3") for each in attached(name)]
    running = pod("a", on="n1", claims=["v1"]), pod("b", on="n1", claims=["v2"]), pod("c", on="n1", claims=["v2"])
    limits = csi_node("n1", 2), csi_node("n2", None)
    cluster = opened(*NODES, *known, *limits, *running, pod("p", claims=["v2"]), pod("q", claims=["v3"]))

    assert cluster.verdicts("p") == {}
    assert cluster.verdicts("q") == {"n1": TOO_MANY}
    assert opened(*NODES, *known, *limits, *running, pod("q", claims=["v3"]), volume_limits=False).fits("q") == [
        "n1",
        "n2",
        "n3",
    ]


def test_attachments_count_like_pods() -> None:
    """A volume that is attached without a pod takes its place, once."""
    attachment = wire.VolumeAttachment(
        metadata=wire.ObjectMeta(name="at", uid="at"),
        spec=wire.VolumeAttachmentSpec(
            node_name="n1", source=wire.VolumeAttachmentSource(persistent_volume_name="pv-v1")
        ),
    )
    known = [each for name in ("v1", "v2") for each in attached(name)]
    pods = pod("a", on="n1", claims=["v1"]), pod("p", claims=["v2"]), pod("q", claims=["v1"])
    one = opened(*NODES, *known, csi_node("n1", 1), attachment, *pods[1:])
    both = opened(*NODES, *known, csi_node("n1", 2), attachment, *pods)

    assert (one.verdicts("p"), one.verdicts("q")) == ({"n1": TOO_MANY}, {})
    assert both.verdicts("p") == {}


def test_unbound_claims_count_for_the_driver_of_their_class() -> None:
    """Each will be a volume of its own; a claim without class, and one with a volume of another kind, count nothing."""
    made = storage("made", "csi.example.com")
    claims = claim("c", cls="made"), claim("d", cls="made")
    cluster = opened(*NODES, made, *claims, csi_node("n1", 1), pod("a", on="n1", claims=["c"]), pod("p", claims=["d"]))
    plain = opened(*NODES, claim("e", volume="v"), volume("v"), csi_node("n1", 0), pod("p", claims=["e"]))

    assert cluster.verdicts("p") == {"n1": TOO_MANY}
    assert plain.verdicts("p") == {}


def test_inline_volumes_count_for_the_driver_that_took_over() -> None:
    """An EBS volume in a pod is one of ebs.csi.aws.com."""
    driver = wire.CSINodeDriver(name="ebs.csi.aws.com", allocatable=wire.VolumeNodeResources(count=1))
    limit = wire.CSINode(metadata=wire.ObjectMeta(name="n1", uid="n1"), spec=wire.CSINodeSpec(drivers=(driver,)))

    def ebs(volume_id: str) -> tuple[wire.Volume, ...]:
        return (wire.Volume(name="v", aws_elastic_block_store=wire.AwsElasticBlockStore(volume_id=volume_id)),)

    cluster = opened(
        *NODES, limit, pod("a", on="n1", volumes=ebs("x")), pod("p", volumes=ebs("y")), pod("q", volumes=ebs("x"))
    )

    assert (cluster.verdicts("p"), cluster.verdicts("q")) == ({"n1": TOO_MANY}, {})


def test_limits_follow_placements_and_undo() -> None:
    """A placed pod attaches its volumes, an evicted one detaches them."""
    known = [each for name in ("v1", "v2", "v3") for each in attached(name)]
    pods = pod("a", on="n1", claims=["v1"]), pod("p", claims=["v2"]), pod("q", claims=["v3"])
    cluster = opened(*NODES, *known, csi_node("n1", 2), *pods)
    victim = cluster.task("a")
    job = cluster.session.jobs.of(victim)
    assert job is not None
    assert cluster.verdicts("q") == {}
    with cluster.session.statement() as statement:
        assert cluster.place(statement, "p", "n1") is None
        assert cluster.verdicts("q") == {"n1": TOO_MANY}
        assert statement.evict(job, victim, "preempt") is None
        assert cluster.verdicts("q") == {}

    assert cluster.verdicts("q") == {}


# Claims for one pod ---------------------------------------------------------------------------------------------------

IN_USE = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


def claim_with(*modes: str) -> wire.PersistentVolumeClaim:
    """Return a bound claim with these access modes."""
    bound = claim("c", volume="v")
    return msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, access_modes=modes))


def test_a_claim_for_one_pod_refuses_all_nodes_while_it_is_in_use() -> None:
    """A placed pod uses it, an evicted one does not, and undo restores both."""
    pods = pod("a", on="n1", claims=["c"]), pod("p", claims=["c"]), pod("q", claims=["d"])
    cluster = opened(*NODES, volume("v"), claim_with("ReadWriteOncePod"), claim("d", volume="v"), *pods)
    victim = cluster.task("a")
    job = cluster.session.jobs.of(victim)
    assert job is not None
    in_use = dict.fromkeys(("n1", "n2", "n3"), IN_USE)
    assert cluster.verdicts("p") == in_use
    assert cluster.verdicts("q") == {}
    with cluster.session.statement() as statement:
        assert statement.evict(job, victim, "preempt") is None
        assert cluster.verdicts("p") == {}
        assert cluster.place(statement, "p", "n1") is None
        assert cluster.verdicts("p") == in_use

    assert cluster.verdicts("p") == in_use


@pytest.mark.parametrize(
    ("modes", "more"),
    [
        (("ReadWriteOnce",), {}),
        (("ReadWriteOnce", "ReadWriteOncePod"), {}),
        (("ReadWriteOncePod",), {"volume_restrictions": False}),
    ],
)
def test_other_claims_are_shared(modes: tuple[str, ...], more: dict[str, bool]) -> None:
    """Several modes leave open how the volume is mounted; the argument disables the filter."""
    pods = pod("a", on="n1", claims=["c"]), pod("p", claims=["c"])

    assert opened(*NODES, volume("v"), claim_with(*modes), *pods, **more).verdicts("p") == {}


# Score ----------------------------------------------------------------------------------------------------------------

DEFAULT = ShapePoint(utilization=0, score=10), ShapePoint(utilization=100, score=0)


def test_score_of_utilization() -> None:
    """The worked example: 50Gi of 200Gi is 25 %, which the default shape scores 75; points and ends are flat."""
    shape = (
        ShapePoint(utilization=20, score=2),
        ShapePoint(utilization=50, score=5),
        ShapePoint(utilization=80, score=10),
    )

    assert utilization(np.array([50 * GIB, 5, 3]), np.array([200 * GIB, 4, 0])).tolist() == [25, 100, 100]
    assert score_of(25, DEFAULT) == 75
    assert [score_of(percent, shape) for percent in (0, 20, 35, 50, 65, 80, 100)] == [20, 20, 35, 50, 75, 100, 100]


def test_mean_over_classes_is_rounded() -> None:
    """Classes without a use on a node do not count there."""
    uses = StorageUse(np.array([1, 1, 0]), np.array([4, 4, 9])), StorageUse(np.array([1, 0, 0]), np.array([2, 9, 9]))

    assert mean_scores(uses, DEFAULT, 3).tolist() == [63, 75, 0]


def test_volume_score_is_off_unless_asked_for() -> None:
    """With the switch, a node whose volume would be better used by the shape is worth more."""
    objects = *NODES, storage(), claim("c", "50Gi"), volume("v", "n1", size="200Gi"), volume("w", "n2", size="100Gi")
    on = opened(*objects, pod("p", claims=["c"]), volume_score=True, volume_weight=2)
    (registered,) = on.session.candidates.answers.functions.global_scores

    assert opened(*objects, pod("p", claims=["c"])).session.candidates.answers.functions.global_scores == ()
    assert registered.function(on.task("p"), on.session.nodes.columns()).tolist() == [150.0, 100.0, 0.0]
