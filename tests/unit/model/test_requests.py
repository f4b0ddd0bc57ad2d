"""What pods ask for, by worked numbers."""

from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.requests import LARGEST_REQUEST, amounts, is_best_effort, is_counted, pod_request, resource_list


def container(name: str = "c", *, sidecar: bool = False, **requests: Any) -> wire.Container:
    """A container that asks for something; `gpu` is short for its full name."""
    named = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in requests.items()}
    return wire.Container(
        name=name,
        resources=wire.ResourceRequirements(requests=named),
        restart_policy="Always" if sidecar else "",
    )


def pod(*containers: wire.Container, init: tuple[wire.Container, ...] = (), **spec: Any) -> wire.Pod:
    """A pod of these containers."""
    status = spec.pop("status", wire.PodStatus())
    return wire.Pod(
        metadata=wire.ObjectMeta(name="p", namespace="ns"),
        spec=wire.PodSpec(containers=containers, init_containers=init, **spec),
        status=status,
    )


def resized(name: str, *, given: dict[str, str], allocated: dict[str, str]) -> wire.ContainerStatus:
    """Status of a container that is resized in place."""
    return wire.ContainerStatus(
        name=name, resources=wire.ResourceRequirements(requests=given), allocated_resources=allocated
    )


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("cpu", True),
        ("memory", True),
        ("pods", True),
        ("ephemeral-storage", True),
        ("nvidia.com/gpu", True),
        ("hugepages-2Mi", True),
        ("attachable-volumes-csi-disk.example.com", True),
        ("kubernetes.io/batch-cpu", True),
        ("storage", False),
        ("count/pods", False),
        ("count/jobs.batch", False),
        ("requests.cpu", False),
        ("requests.nvidia.com/gpu", False),
        ("Nvidia.com/gpu", False),
        ("nvidia.com/", False),
    ],
)
def test_which_names_count(name: str, counts: bool) -> None:
    """Native, extended, huge page and attachable volume names count; quota names and plain `storage` do not."""
    assert is_counted(name) is counts


def test_amounts_are_thousandths_rounded_up() -> None:
    """CPU and devices go by thousandths, memory and its kin by whole units, each rounded up."""
    read = amounts(
        {
            "cpu": "0.1m",
            "memory": "1500m",
            "ephemeral-storage": "1Ki",
            "pods": 110,
            "nvidia.com/gpu": "1",
            "storage": "1",
        }
    )

    assert read == {
        "cpu": 1,
        "memory": 2000,
        "ephemeral-storage": 1_024_000,
        "pods": 110_000,
        "nvidia.com/gpu": 1000,
    }


def test_amounts_are_written_as_they_are_read() -> None:
    """Bytes with binary suffixes, all else with decimal ones, thousandths where there are some."""
    written = {
        "cpu": "1500m",
        "ephemeral-storage": "10Gi",
        "example.com/link": "2k",
        "hugepages-2Mi": "4Mi",
        "memory": "1Gi",
        "pods": "110",
    }

    assert resource_list(amounts(written)) == written


def test_containers_add_up_and_the_pod_counts_as_one() -> None:
    """500m and 250m are 750m; `pods` is always there."""
    asked = pod_request(pod(container(cpu="500m", memory="1Gi"), container(cpu="250m", gpu=1)))

    assert asked.amounts == {"cpu": 750, "memory": 2**30 * 1000, "nvidia.com/gpu": 1000, "pods": 1000}


def test_sums_are_exact_before_they_are_rounded() -> None:
    """Two containers of half a thousandth are one thousandth, not two."""
    assert pod_request(pod(container(cpu="500u"), container(cpu="500u"))).amounts["cpu"] == 1


def test_an_init_container_counts_where_it_needs_more_than_running_does() -> None:
    """Per resource: 2 CPU to initialise against 1 to run, 1Gi against 2Gi."""
    asked = pod_request(pod(container(cpu=1, memory="2Gi"), init=(container(cpu=2, memory="1Gi"),)))

    assert asked.amounts == {"cpu": 2000, "memory": 2 * 2**30 * 1000, "pods": 1000}


def test_sidecars_run_beside_the_init_containers_after_them() -> None:
    """Initialising needs 100m of the sidecar and 1 CPU; an init container before the sidecar stands alone."""
    sidecar = container("s", sidecar=True, cpu="100m")

    after = pod_request(pod(container(cpu="750m"), init=(sidecar, container(cpu=1))))
    before = pod_request(pod(container(cpu="750m"), init=(container(cpu=1), sidecar)))

    assert after.amounts["cpu"] == 1100
    assert before.amounts["cpu"] == 1000


def test_a_sidecar_adds_to_running() -> None:
    """500m, 250m and a sidecar of 100m are 850m."""
    asked = pod_request(pod(container(cpu="500m"), container(cpu="250m"), init=(container(sidecar=True, cpu="100m"),)))

    assert asked.amounts["cpu"] == 850


def test_pod_level_requests_replace_the_sum() -> None:
    """Only what the pod level supports and names is replaced; overhead comes on top."""
    asked = pod_request(
        pod(
            container(cpu=1, memory="1Gi", gpu=1),
            resources=wire.ResourceRequirements(requests={"cpu": "4", "nvidia.com/gpu": "9"}),
            overhead={"cpu": "250m"},
        )
    )

    assert asked.amounts == {"cpu": 4250, "memory": 2**30 * 1000, "nvidia.com/gpu": 1000, "pods": 1000}


def test_a_resize_counts_the_larger_of_wish_and_reality() -> None:
    """While a container shrinks from 2 CPU to 1 it holds 2; while memory grows the wish counts."""
    status = wire.PodStatus(
        container_statuses=(resized("c", given={"cpu": "2", "memory": "1Gi"}, allocated={"cpu": "1500m"}),)
    )

    asked = pod_request(pod(container(cpu=1, memory="2Gi"), status=status))

    assert asked.amounts["cpu"] == 2000
    assert asked.amounts["memory"] == 2 * 2**30 * 1000


def test_an_infeasible_resize_counts_reality_alone() -> None:
    """The node refused to give 8 CPU: what it gave counts."""
    status = wire.PodStatus(
        conditions=(wire.Condition(type="PodResizePending", status="True", reason="Infeasible"),),
        container_statuses=(resized("c", given={"cpu": "2"}, allocated={"cpu": "2"}),),
    )

    assert pod_request(pod(container(cpu=8), status=status)).amounts["cpu"] == 2000


def test_a_resize_of_the_whole_pod_counts_the_largest_amount() -> None:
    """CPU shrinks from 3 to 1 and 3 are still allocated; memory grows and the wish counts."""
    status = wire.PodStatus(
        resources=wire.ResourceRequirements(requests={"cpu": "2", "memory": "1Gi"}),
        allocated_resources={"cpu": "3", "memory": "1Gi"},
    )
    whole = wire.ResourceRequirements(requests={"cpu": "1", "memory": "2Gi"})

    asked = pod_request(pod(container(cpu="500m"), resources=whole, status=status))

    assert asked.amounts["cpu"] == 3000
    assert asked.amounts["memory"] == 2 * 2**30 * 1000


def test_an_infeasible_resize_of_the_whole_pod_counts_reality_alone() -> None:
    """The node refused 8 CPU: the 2 that it gave count."""
    status = wire.PodStatus(
        conditions=(wire.Condition(type="PodResizePending", status="True", reason="Infeasible"),),
        resources=wire.ResourceRequirements(requests={"cpu": "2"}),
        allocated_resources={"cpu": "2"},
    )

    asked = pod_request(pod(container(), resources=wire.ResourceRequirements(requests={"cpu": "8"}), status=status))

    assert asked.amounts["cpu"] == 2000


def test_volumes_join_the_request() -> None:
    """A pod whose only need is an attached volume is not best-effort."""
    asked = pod_request(pod(container()), {"attachable-volumes-csi-d": 1000})

    assert asked.amounts == {"pods": 1000, "attachable-volumes-csi-d": 1000}
    assert not is_best_effort(asked.amounts)


def test_best_effort_means_nothing_but_a_place() -> None:
    """Zero amounts are nothing."""
    assert is_best_effort(pod_request(pod(container(cpu="0"))).amounts)


@pytest.mark.parametrize(
    ("containers", "cpu", "memory"),
    [
        ((container(),), 100, 200 * 2**20),
        ((container(), container(cpu="1")), 1100, 400 * 2**20),
        ((container(cpu="0", memory="0"),), 0, 0),
    ],
)
def test_scores_see_a_little_where_nothing_is_asked(
    containers: tuple[wire.Container, ...], cpu: int, memory: int
) -> None:
    """100m and 200Mi for each container without a request; an explicit zero stays zero."""
    asked = pod_request(pod(*containers))

    assert (asked.scored_cpu_millis, asked.scored_memory_bytes) == (cpu, memory)


def test_scores_do_not_fill_in_what_the_pod_level_covers() -> None:
    """With pod-level CPU set, only unrequested memory is filled in."""
    asked = pod_request(pod(container(), container(), resources=wire.ResourceRequirements(requests={"cpu": "1"})))

    assert (asked.scored_cpu_millis, asked.scored_memory_bytes) == (1000, 400 * 2**20)


@pytest.mark.parametrize(("text", "message"), [("much", "not a quantity"), ("-1", "negative")])
def test_a_broken_amount_names_pod_and_path(text: str, message: str) -> None:
    """The fault says where to look."""
    with pytest.raises(ObjectError, match=message) as caught:
        pod_request(pod(container(), container(cpu=text)))

    assert (caught.value.name, caught.value.path) == ("ns/p", "spec.containers[1].resources.requests.cpu")


def test_absurd_amounts_saturate() -> None:
    """Sums over thousands of pods that ask for everything stay inside 63 bits."""
    asked = pod_request(pod(container(cpu="9E", memory="9E")))

    assert asked.amounts["cpu"] == LARGEST_REQUEST
    assert asked.amounts["memory"] == LARGEST_REQUEST * 1000
