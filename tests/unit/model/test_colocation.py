"""Priority classes of pods as Koordinator tells them apart, and the resources that they ask for."""

from collections.abc import Mapping

import pytest

from pyroclast.cache.translation.templates import TemplateStore
from pyroclast.model import wire
from pyroclast.model.colocation import is_of_daemon_set, priority_class_of, resource_of

LABEL, QOS = "koordinator.sh/priority-class", "koordinator.sh/qosClass"
ONE = {"cpu": "1", "memory": "1Gi"}


def pod(
    labels: Mapping[str, str] | None = None,
    priority: int | None = None,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    *,
    owner: str = "",
    annotations: Mapping[str, str] | None = None,
) -> wire.Pod:
    """A pod of one container."""
    resources = wire.ResourceRequirements(requests=requests or {}, limits=limits or {})
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name="p",
            labels=labels or {},
            annotations=annotations or {},
            owner_references=(wire.OwnerReference(kind=owner),) if owner else (),
        ),
        spec=wire.PodSpec(priority=priority, containers=(wire.Container(name="c", resources=resources),)),
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pod({LABEL: "koord-mid"}, 9500), "koord-mid"),
        (pod({LABEL: "koord-other"}, 9500, ONE), "koord-prod"),
        (pod({LABEL: "koord-other"}, 9500), "koord-batch"),
        (pod(priority=9000), "koord-prod"),
        (pod(priority=9999), "koord-prod"),
        (pod(priority=7999), "koord-mid"),
        (pod(priority=5000, requests=ONE), "koord-batch"),
        (pod(priority=3999, requests=ONE), "koord-free"),
        (pod(priority=10_000), "koord-batch"),
        (pod(priority=8999, requests=ONE), "koord-prod"),
        (pod({QOS: "BE"}, requests=ONE, limits=ONE), "koord-batch"),
        (pod({QOS: "LSE"}), "koord-prod"),
        (pod({QOS: "SYSTEM"}), "koord-prod"),
        (pod({QOS: "odd"}, requests=ONE), "koord-prod"),
        (pod(requests=ONE, limits=ONE), "koord-prod"),
        (pod(requests={"cpu": "1"}), "koord-prod"),
        (pod(), "koord-batch"),
    ],
)
def test_classes(given: wire.Pod, expected: str) -> None:
    """The label decides, else the priority, else the quality of service; unknown values do not count."""
    assert priority_class_of(given) == expected


@pytest.mark.parametrize(
    ("of", "name", "expected"),
    [
        ("koord-prod", "cpu", "cpu"),
        ("koord-batch", "cpu", "kubernetes.io/batch-cpu"),
        ("koord-mid", "memory", "kubernetes.io/mid-memory"),
        ("koord-mid", "example.com/slots", None),
        ("koord-free", "cpu", None),
    ],
)
def test_resources(of: str, name: str, expected: str | None) -> None:
    """Those that colocated pods ask for are called otherwise; others of theirs are unknown."""
    assert resource_of(of, name) == expected


@pytest.mark.parametrize(
    "other",
    [
        pod(priority=9000),
        pod({LABEL: "koord-prod"}),
        pod({QOS: "LS"}),
        pod(owner="DaemonSet"),
        pod(annotations={"scheduling.koordinator.sh/load-estimated-scaling-factors": '{"cpu": 1}'}),
    ],
)
def test_pods_of_several_classes_share_no_template(other: wire.Pod) -> None:
    """Nor do those that are estimated otherwise, or that a DaemonSet made; priorities of no class do not matter."""
    store = TemplateStore()

    assert store.template(other) is not store.template(pod())
    assert store.fenced(other) is not store.fenced(pod())
    assert store.template(pod(priority=10)) is store.template(pod(priority=100))


def test_pods_of_daemon_sets() -> None:
    """Matched by any of their owners."""
    assert is_of_daemon_set(pod(owner="DaemonSet"))
    assert not is_of_daemon_set(pod(owner="ReplicaSet"))
    assert not is_of_daemon_set(pod())
