"""What pods count for in quotas, and so in the minimum of their group."""

from typing import Any

import pytest

from pyroclast.model.errors import ObjectError
from pyroclast.model.quota_usage import add_usages, quota_usage, read_pod_spec, usage_text


def usage(spec: dict[str, Any], times: int = 1) -> dict[str, str]:
    """What so many pods of a spec count for."""
    return usage_text(add_usages((quota_usage(read_pod_spec(spec)), times)))


def container(**requests: str) -> dict[str, Any]:
    """A container that requests amounts."""
    return {"name": "c", "resources": {"requests": requests}}


def test_a_pod_without_requests_counts_as_a_pod() -> None:
    """Twice: as what runs, and as an object."""
    assert usage({"containers": [container()]}) == {"pods": "1", "count/pods": "1"}


def test_requests_count_under_both_their_names() -> None:
    """The worked example: three pods of 1 CPU."""
    assert usage({"containers": [container(cpu="1")]}, times=3) == {
        "cpu": "3",
        "requests.cpu": "3",
        "pods": "3",
        "count/pods": "3",
    }


def test_amounts_keep_their_usual_spelling() -> None:
    """CPU in thousandths where it is not whole, memory by powers of two."""
    spec = {"containers": [container(cpu="250m", memory="512Mi"), container(cpu="0.25", memory="1536Mi")]}

    assert usage(spec) == {
        "cpu": "500m",
        "requests.cpu": "500m",
        "memory": "2Gi",
        "requests.memory": "2Gi",
        "pods": "1",
        "count/pods": "1",
    }


def test_limits_count_under_their_own_name() -> None:
    """Limits of devices do not count at all."""
    spec = {"containers": [{"name": "c", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}}]}

    assert usage(spec) == {"limits.cpu": "2", "pods": "1", "count/pods": "1"}


def test_devices_count_with_and_without_the_prefix() -> None:
    """Quotas know the one, queues the other."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "4"}}}]}

    assert usage(spec, times=2) == {
        "nvidia.com/gpu": "8",
        "requests.nvidia.com/gpu": "8",
        "pods": "2",
        "count/pods": "2",
    }


def test_huge_pages_count_like_memory() -> None:
    """Under their name and with the prefix."""
    spec = {"containers": [{"name": "c", "resources": {"requests": {"hugepages-2Mi": "4Mi"}}}]}

    assert usage(spec) == {
        "hugepages-2Mi": "4Mi",
        "requests.hugepages-2Mi": "4Mi",
        "pods": "1",
        "count/pods": "1",
    }


def test_the_most_that_any_moment_needs_counts() -> None:
    """An init container needs its place before, a sidecar beside the others."""
    spec = {
        "containers": [container(cpu="1")],
        "initContainers": [{**container(cpu="500m"), "restartPolicy": "Always"}, container(cpu="3")],
    }

    assert usage(spec)["cpu"] == "3500m"


def test_overhead_counts() -> None:
    """It adds to what is requested, and to what is limited anyway."""
    spec = {"containers": [container(cpu="1")], "overhead": {"cpu": "100m", "memory": "64Mi"}}

    assert usage(spec) == {
        "cpu": "1100m",
        "requests.cpu": "1100m",
        "memory": "64Mi",
        "requests.memory": "64Mi",
        "pods": "1",
        "count/pods": "1",
    }


def test_requests_of_the_whole_pod_outrank_those_of_its_containers() -> None:
    """For the resources that can be requested so."""
    spec = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "4"}}}

    assert usage(spec)["requests.cpu"] == "4"


def test_no_pods_count_for_nothing() -> None:
    """A group that needs no member has an empty minimum, not one of zeros."""
    assert usage({"containers": [container(cpu="1")]}, times=0) == {}


def test_what_is_no_quantity_is_named() -> None:
    """The field, not merely the fact."""
    with pytest.raises(ObjectError, match=r"containers\[0\].resources.cpu: 'much' is not a quantity"):
        usage({"containers": [container(cpu="much")]})
