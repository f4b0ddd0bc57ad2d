"""What is measured can be written as a case, and `pyroclast simulate` decides there what the benchmark decides."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.catalogue import BENCHMARKS, INPUTS
from benchmarks.cycles import Bench
from benchmarks.inputs import Input, drawn
from pyroclast.cache.files.objects import state_from_objects
from pyroclast.model.report import CycleReport
from pyroclast.scheduler.cli import main as cli

PLACED = {
    "b1": 400,
    "b1+": 400,
    "b2-hard": 400,
    "b2-soft": 400,
    "b5": 400,
    "b5-alone": 400,
    "b8": 400,
    "b9": 300,
    "b16": 40,
}
"""How many pods of the small inputs find a place; no other input places any but by evictions."""


def written(folder: Path, name: str, *flags: str) -> list[dict[str, Any]]:
    """Write a benchmark's small inputs; return the cases."""
    path = folder / "cases.jsonl"
    main([name, "--small", "--write-case", str(path), *flags])
    return [json.loads(line) for line in path.read_text().splitlines()]


def decided_here(case: Input, seed: int) -> dict[str, Any]:
    """Decide as the benchmark does."""
    report = Bench(state_from_objects(case.objects(seed, is_small=True)), case.config).cycle().report
    return {
        "binds": {f"{each.namespace}/{each.name}": each.node for plan in report.plans for each in plan.binds},
        "evictions": sorted(f"{each.namespace}/{each.name}" for plan in report.plans for each in plan.evictions),
        "refused": refused(report),
    }


def refused(report: CycleReport) -> Counter[str]:
    """Count what is said of tasks that wait."""
    return Counter(why[0].text for why in report.task_refusals.values())


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", sorted({name.partition("-")[0] for name in INPUTS}))
def test_a_written_case_is_decided_alike(
    name: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same binds, evictions and reasons, by the command that a user types."""
    cases = written(tmp_path, name, "--seed", str(seed))
    assert cli.main(["simulate", "--batch", str(tmp_path / "cases.jsonl")]) == 0
    answers = {each["id"]: each for each in map(json.loads, capsys.readouterr().out.splitlines())}

    assert list(answers) == [each["id"] for each in cases]
    for part, answer in answers.items():
        about_objects = [each for each in answer.get("warnings", ()) if "tiers[" not in each]
        assert about_objects == []
        (told,) = answer["rounds"]
        messages = Counter(why[0]["message"] for why in told["podRefusals"].values())
        simulated = {"binds": told["binds"], "evictions": told["evictions"], "refused": messages}
        assert simulated == decided_here(INPUTS[part], seed)
        assert part not in PLACED or len(told["binds"]) == PLACED[part]


def test_every_benchmark_has_its_cluster() -> None:
    """Each input belongs to a benchmark, and each benchmark of decisions has an input."""
    assert {name.partition("-")[0] for name in INPUTS} <= set(BENCHMARKS)
    assert {f"b{number}" for number in range(1, 10)} <= {name.partition("-")[0] for name in INPUTS}


@pytest.mark.parametrize("name", INPUTS)
def test_a_seed_changes_order_and_no_size(name: str) -> None:
    """As many objects of each kind, the same names and the same ages, one order a seed; seed 0 is as generated."""
    case = INPUTS[name]
    plain, one, again, other = (list(case.objects(seed, is_small=True)) for seed in (0, 1, 1, 2))

    assert plain == list(case.make(**case.small))
    assert one == again
    assert one != other
    assert plain not in (one, other)
    assert names(plain) == names(one) == names(other)
    assert ages(plain) == ages(one) == ages(other)


def names(objects: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count objects by kind and name."""
    return Counter((each["kind"], each["metadata"]["name"]) for each in objects)


def ages(objects: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count groups by phase and age."""
    groups = [each for each in objects if each["kind"] == "PodGroup"]
    return Counter((each["status"]["phase"], each["metadata"]["creationTimestamp"]) for each in groups)


def test_pods_follow_a_renamed_node() -> None:
    """Pods and domains follow the node: each node has as much on it as before, and domains their nodes."""
    case = INPUTS["b2-hard"]
    plain = list(case.objects(0, is_small=True))
    renamed = list(drawn(case.make(**case.small), 3))

    assert sorted(load(plain).values()) == sorted(load(renamed).values())
    assert load(plain) != load(renamed)
    assert domain_loads(plain) == domain_loads(renamed)


def load(objects: list[dict[str, Any]]) -> Counter[str]:
    """Count pods by node."""
    return Counter(each["spec"]["nodeName"] for each in objects if "nodeName" in each.get("spec", {}))


def domain_loads(objects: list[dict[str, Any]]) -> dict[str, int]:
    """Count pods by the domain of their node."""
    loads = load(objects)
    return {
        each["metadata"]["name"]: sum(
            loads[member["selector"]["exactMatch"]["name"]] for member in each["spec"]["members"]
        )
        for each in objects
        if each["kind"] == "HyperNode"
    }
