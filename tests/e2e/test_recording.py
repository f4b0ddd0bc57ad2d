"""A busy emulator, recorded for two hundred cycles and more: decided again from the record alone, byte for byte."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyroclast.emulator.hollow.kubelets import DURATION
from tests.e2e.conftest import emulated
from tests.e2e.daemon import Daemon
from tests.e2e.ground import LABEL, Ground, standing_on

MOST_GANGS = 2000
CYCLES = 200
SEED = 7
FIRST = "actions: enqueue, allocate, backfill\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n"
SECOND = (
    f"{FIRST}- plugins: [{{name: overcommit}}, {{name: drf}}, {{name: predicates}}, {{name: proportion}}, "
    "{name: nodeorder}, {name: binpack}]\n"
)


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    """An emulator of its own with twelve nodes."""
    (tmp_path / "server").mkdir()
    with emulated(tmp_path / "server") as cluster:
        cluster.serve_custom_resources()
        with standing_on(cluster, "recorded", folder=tmp_path, nodes=12) as ground:
            yield ground


def test_a_record_of_two_hundred_cycles_is_decided_again(ground: Ground, tmp_path: Path) -> None:
    """Arrivals, completions, a lost node, refused pods and another configuration are all in it."""
    settings, record = tmp_path / "scheduler.yaml", tmp_path / "record.jsonl"
    settings.write_text(FIRST)
    flags = (f"--scheduler-conf={settings}", f"--record={record}", "--schedule-period=10ms")
    with ground.daemon(tmp_path, *flags) as daemon:
        keep_busy(ground, daemon, settings, record)
        daemon.process.stop()

    entries = [json.loads(line) for line in record.read_bytes().splitlines()]
    cycles = [entry for entry in entries if entry["do"] == "cycle"]
    assert sum(bool(cycle["report"]["plans"]) for cycle in cycles) > 20
    assert {cycle["configuration"] for cycle in cycles} == {1, 2}
    assert any(entry["do"] == "remove" and entry["kind"] == "Node" for entry in entries)
    assert any(entry["do"] == "remove" and entry["kind"] == "Pod" for entry in entries)
    told = replayed(record, hash_seed="1")
    assert told.returncode == 0, told.stdout + told.stderr
    assert int(told.stdout.split()[0]) == len(cycles)
    assert int(told.stdout.split()[2]) >= CYCLES

    tampered = tmp_path / "tampered.jsonl"
    tampered.write_bytes(record.read_bytes().replace(b'"cpu":"3"', b'"cpu":"2"'))
    told = replayed(tampered, hash_seed="2")
    assert told.returncode == 1
    assert "was decided in another way" in told.stdout


def replayed(record: Path, *, hash_seed: str) -> subprocess.CompletedProcess[str]:
    """Replay in a process whose sets have another order."""
    return subprocess.run(
        [sys.executable, "-m", "pyroclast.scheduler", "replay", str(record)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120.0,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def busy_cycles(record: Path) -> int:
    """Count the recorded cycles that had something to look at."""
    cycles = (json.loads(line) for line in record.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))
    return sum(
        (entry["memory"]["quiet_snapshot"], entry["memory"]["quiet_configuration"])
        != (entry["snapshot"], entry["configuration"])
        for entry in cycles
        if entry["do"] == "cycle"
    )


def keep_busy(ground: Ground, daemon: Daemon, settings: Path, record: Path) -> None:
    """Let gangs come and go until enough cycles have had something to look at, however slow the machine is."""
    chance = random.Random(SEED)
    number = 0
    while number < CYCLES or busy_cycles(record) < CYCLES:
        number += 1
        assert number < MOST_GANGS, "the daemon decides almost nothing"
        members, cpu = chance.randint(1, 6), str(chance.randint(1, 3))
        ends = {"metadata": {"annotations": {DURATION: f"{chance.uniform(0.2, 1.5):.1f}s"}}}
        ground.gang(f"busy-{number}", members, cpu, **({} if number % 7 else {"nodeSelector": {"none": "such"}}))
        for pod in ground.pods(f"busy-{number}"):
            path = f"/api/v1/namespaces/{ground.name}/pods/{pod['metadata']['name']}"
            ground.client.send("PATCH", path, ends, as_type="application/merge-patch+json")
        if number > 10 and chance.random() < 0.8:
            ground.remove(f"busy-{number - 10}")
        if number == CYCLES // 3:
            ground.client.send("DELETE", f"/api/v1/nodes/{ground.name}-3")
            ground.kubectl("label", "node", f"{ground.name}-5", f"{LABEL}=gone", "--overwrite")
        if number == CYCLES // 2:
            settings.write_text(SECOND)
            daemon.wait_metric("pyroclast_configuration_generation", 2)
