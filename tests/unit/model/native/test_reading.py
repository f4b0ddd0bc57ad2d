"""Native groups are read in all versions, and refused by the rules of the API server."""

from typing import Any

import pytest

from pyroclast.kube.api.resources import NATIVE_POD_GROUPS, WORKLOADS
from pyroclast.model import wire
from pyroclast.model.native import Disruption, NativeGroup
from pyroclast.model.native.identity import is_native, job_of_native, key_of_native
from pyroclast.model.native.reading import NativeFault, group_name_fault, read_native, template_fault
from tests.native import ALL, native_group


def decoded(group: dict[str, Any]) -> wire.NativePodGroup:
    """Return the struct of a group."""
    return NATIVE_POD_GROUPS.decoder.convert(group)


def read(*given: Any, **spec: Any) -> NativeGroup:
    """Return a group, which must be valid."""
    found = read_native(decoded(native_group("a", *given, **spec)))
    assert isinstance(found, NativeGroup), found
    return found


def fault(group: dict[str, Any]) -> str:
    """Return the first fault of a group as text."""
    found = read_native(decoded(group))
    assert isinstance(found, NativeFault)
    return f"{found.path}: {found.message}"


def test_a_gang_has_its_minimum_and_a_basic_group_one_pod() -> None:
    """The basic policy schedules each pod for itself."""
    assert read(3).minimum == 3
    assert read().minimum == 1


@pytest.mark.parametrize(
    ("version", "mode", "expected"),
    [
        ("v1alpha2", "Pod", Disruption.SINGLE),
        ("v1alpha2", "PodGroup", Disruption.ALL),
        ("v1alpha3", {"single": {}}, Disruption.SINGLE),
        ("v1alpha3", ALL, Disruption.ALL),
        ("v1beta1", ALL, Disruption.ALL),
        ("v1beta1", None, Disruption.SINGLE),
    ],
)
def test_disruption_modes_of_all_versions(version: str, mode: Any, expected: Disruption) -> None:
    """A name in v1alpha2, an object later, and single where it is absent."""
    assert read(2, version=version, disruptionMode=mode).disruption is expected


def test_the_topology_is_the_key_of_a_label() -> None:
    """A group without a constraint has an empty key."""
    assert read(2, key="example.com/rack").topology_key == "example.com/rack"
    assert read(2).topology_key == ""


def test_only_the_policy_never_keeps_a_group_from_preempting() -> None:
    """A group preempts unless its policy is Never."""
    assert read(2).preempts
    assert not read(2, preemptionPolicy="Never").preempts


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        (native_group("a", 0), "spec.schedulingPolicy.gang.minCount: 0 is not a whole number from 1 to 2147483647"),
        (
            native_group("a", 2**40),
            "spec.schedulingPolicy.gang.minCount: 1099511627776 is not a whole number from 1 to 2147483647",
        ),
        (
            native_group("a", 1) | {"spec": {"schedulingPolicy": {}}},
            "spec.schedulingPolicy: exactly one of basic and gang must be set",
        ),
        (
            native_group("a", schedulingPolicy={"basic": {}, "gang": {"minCount": 1}}),
            "spec.schedulingPolicy: exactly one of basic and gang must be set",
        ),
        (
            native_group("a", 1, schedulingConstraints={"topology": [{"key": "a"}, {"key": "b"}]}),
            "spec.schedulingConstraints.topology: 2 constraints, of which Kubernetes permits 1",
        ),
        (
            native_group("a", 1, key="no/such/key"),
            "spec.schedulingConstraints.topology[0].key: 'no/such/key' is not a key of labels",
        ),
        (native_group("a", 1, disruptionMode="Some"), "spec.disruptionMode: 'Some' is none of Pod, PodGroup"),
        (
            native_group("a", 1, disruptionMode={"single": {}, "all": {}}),
            "spec.disruptionMode: exactly one of single and all must be set",
        ),
        (
            native_group("a", 1, priority=1_000_000_001),
            "spec.priority: 1000000001 is not a whole number from -2147483648 to 1000000000",
        ),
        (
            native_group("a", 1, preemptionPolicy="Now"),
            "spec.preemptionPolicy: 'Now' is none of PreemptLowerPriority, Never",
        ),
        (
            native_group("a", 1, parentCompositePodGroupName="b"),
            (
                "spec.parentCompositePodGroupName: it is part of the CompositePodGroup 'b', and groups of groups are "
                "not supported"
            ),
        ),
    ],
)
def test_faults_name_the_field_and_the_permitted_values(group: dict[str, Any], expected: str) -> None:
    """Each rule of the API server has a message."""
    assert fault(group) == expected


def test_long_values_are_cut_in_messages() -> None:
    """A key of a million characters makes a short message."""
    assert len(fault(native_group("a", 1, key="k" * 1_000_000))) < 200
    assert len(group_name_fault("n" * 1_000_000)) < 200


@pytest.mark.parametrize(("name", "is_valid"), [("train-1.a", True), ("", False), ("Train", False), ("a/b", False)])
def test_names_of_groups_are_dns_subdomains(name: str, is_valid: bool) -> None:
    """A pod with another name is refused by the API server."""
    assert (group_name_fault(name) == "") is is_valid


def test_a_job_of_a_native_group_has_a_name_of_its_own() -> None:
    """No PodGroup of another dialect can have this id."""
    job = job_of_native("ml", "train")

    assert job == "ml/podgroup:train"
    assert is_native(job)
    assert key_of_native(job) == "ml/train"


def test_the_template_must_exist_in_the_workload() -> None:
    """As admission checks it, in the references of all versions; groups of groups are not looked into."""
    spec = {"podGroupTemplates": [{"name": "workers"}]}
    workload = WORKLOADS.decoder.convert({"metadata": {"name": "w"}, "spec": spec})
    composite = WORKLOADS.decoder.convert(
        {"metadata": {"name": "w"}, "spec": {"compositePodGroupTemplates": [{"name": "top"}]}}
    )
    old: dict[str, Any] = {
        "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "workers"}}
    }
    new = decoded(native_group("a", 1, workloadRef={"workloadName": "w", "templateName": "drivers"}))

    assert template_fault(decoded(native_group("a", 1, version="v1alpha2", **old)), workload) == ""
    assert template_fault(new, workload) == "Workload 'w' has no template 'drivers'"
    assert template_fault(new, None) == "there is no Workload 'w'"
    assert template_fault(new, composite) == ""
    assert template_fault(decoded(native_group("a", 1)), None) == ""
