"""Annotations about CPUs and NUMA nodes: policies of pods, the decision, amplification."""

import json
from fractions import Fraction
from typing import Any

import pytest

from pyroclast.model.cpusets import read_cpu_set
from pyroclast.model.nodenuma.amplified import amplified, read_ratios
from pyroclast.model.nodenuma.specs import (
    NO_NUMA_SPEC,
    NO_SPEC,
    NumaSpec,
    ResourceSpec,
    numa_spec,
    resource_spec,
    write_resource_spec,
)
from pyroclast.model.nodenuma.status import NOTHING, ResourceStatus, read_status, write_status
from tests.nodenuma import NUMA, SPEC, STATUS

GIB = 2**30 * 1000


def test_policies_of_a_pod() -> None:
    """Absent and empty ones are the same."""
    text = '{"requiredCPUBindPolicy":"FullPCPUs","preferredCPUExclusivePolicy":"PCPULevel"}'

    assert resource_spec({SPEC: text}) == ResourceSpec("FullPCPUs", "", "PCPULevel")
    assert write_resource_spec(resource_spec({SPEC: text})) == text
    assert resource_spec({}) == resource_spec({SPEC: "{}"}) == NO_SPEC
    assert numa_spec({NUMA: '{"numaTopologyPolicy":"Restricted"}'}) == NumaSpec("Restricted", "")
    assert numa_spec({}) == NO_NUMA_SPEC


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        (SPEC, "[]", "Expected `object`"),
        (SPEC, '{"requiredCPUBindPolicy":"Whole"}', "requiredCPUBindPolicy"),
        (NUMA, '{"numaTopologyPolicy":"Near"}', "numaTopologyPolicy"),
        (NUMA, "{", "truncated"),
        (NUMA, "[" * 33 + "]" * 33, "nested too deeply"),
        (SPEC, '{"a":' * 900 + "1" + "}" * 900, "nested too deeply"),
    ],
)
def test_policies_that_cannot_be_parsed(key: str, value: str, fault: str) -> None:
    """The message names the annotation and the path."""
    with pytest.raises(ValueError, match=f"{key}: .*{fault}"):
        (resource_spec if key == SPEC else numa_spec)({key: value})


def test_the_decision_is_written_and_read() -> None:
    """CPUs as Linux lists them, amounts as quantities."""
    amounts = ((0, (("cpu", 4000), ("example.com/x", 2000), ("memory", 8 * GIB))), (1, (("cpu", 500),)))
    status = ResourceStatus(read_cpu_set("0-3,8"), amounts)
    written = write_status(status)

    assert json.loads(written) == {
        "cpuset": "0-3,8",
        "numaNodeResources": [
            {"node": 0, "resources": {"cpu": "4", "memory": "8Gi", "example.com/x": "2"}},
            {"node": 1, "resources": {"cpu": "500m"}},
        ],
    }
    assert read_status({STATUS: written}) == status
    assert write_status(ResourceStatus(1)) == '{"cpuset":"0"}'
    assert read_status({}) == NOTHING


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"cpuset": "0-"}, "'0-' is neither a CPU"),
        ({"cpuset": "0-99999999999"}, "beyond 8191"),
        ({"numaNodeResources": [{"node": -1}]}, r"numaNodeResources\[0\]"),
        ({"numaNodeResources": [{"node": 0}, {"node": 0}]}, r"numaNodeResources\[1\]"),
        ({"numaNodeResources": [{"node": n} for n in range(65)]}, "65 are more than 64"),
        ({"numaNodeResources": [{"node": 0, "resources": {"cpu": "x"}}]}, "resources.cpu: 'x' is not a quantity"),
        ({"numaNodeResources": [{"node": 64}]}, r"numaNodeResources\[0\].node: expected a number from 0 to 63"),
        ({"numaNodeResources": [{"node": 0, "resources": {str(n): 1 for n in range(65)}}]}, "65 are more than 64"),
        ([], "Expected `object`"),
    ],
)
def test_a_decision_that_cannot_be_parsed(value: Any, fault: str) -> None:
    """It is bounded, too."""
    with pytest.raises(ValueError, match=fault):
        read_status({STATUS: json.dumps(value)})


@pytest.mark.parametrize(
    ("amount", "ratio", "name", "expected"),
    [
        (4000, Fraction(3, 2), "cpu", 6000),
        (1001, Fraction(3, 2), "cpu", 1502),
        (1000, Fraction(11, 10), "cpu", 1100),
        (3000, Fraction(3, 2), "memory", 5000),
        (4000, None, "cpu", 4000),
    ],
)
def test_amplified_amounts(amount: int, ratio: Fraction | None, name: str, expected: int) -> None:
    """CPU is rounded up in thousandths, other resources in units."""
    assert amplified(amount, ratio, name) == expected


@pytest.mark.parametrize("text", ["", "[]", '{"cpu": "1.5"}', '{"cpu": true}', '{"cpu": 1001}', "{" * 5000])
def test_ratios_that_cannot_be_parsed(text: str) -> None:
    """They are numbers of at most 1000."""
    with pytest.raises(ValueError, match=r"\w"):
        read_ratios(text)


def test_ratios() -> None:
    """Decimal numbers are exact."""
    assert read_ratios('{"cpu": 1.1, "memory": 0.5, "x": 1}') == {"cpu": Fraction(11, 10)}
