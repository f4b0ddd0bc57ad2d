"""A daemon with an extender: it vetoes, scores, changes its mind, dies, comes back, binds, and is slow at the end."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.cli.main import main
from tests.e2e.cluster import Cluster
from tests.e2e.extending import Extender
from tests.e2e.ground import Ground, standing_on

ENDS_WITHIN_SECONDS = 20.0
"""Time to end by itself; far below the timeout of the question that it waits for."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Three nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "extended", folder=tmp_path_factory.mktemp("extended"), nodes=3) as ground:
        yield ground


@pytest.fixture(autouse=True)
def cleared(ground: Ground) -> Iterator[None]:
    """Leave nothing behind for the next test."""
    yield
    ground.clear_workload()


def settings(folder: Path, extender: Extender, *verbs: str, **more: Any) -> str:
    """Write a configuration that asks an extender; return the flag."""
    given = {
        "extender.urlPrefix": extender.url,
        "extender.httpTimeout": "2s",
        **{f"extender.{verb}Verb": verb for verb in verbs},
        **{f"extender.{key}": value for key, value in more.items()},
    }
    plugins = [{"name": "gang"}, {"name": "predicates"}, {"name": "extender", "arguments": given}]
    file = folder / "scheduler.yaml"
    file.write_text(json.dumps({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def names(ground: Ground) -> list[str]:
    """Return the names of the nodes."""
    return sorted(node["metadata"]["name"] for node in ground.nodes())


def test_it_vetoes_and_scores_and_its_record_is_decided_again(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed answer takes effect though the cluster does not change; the record needs no extender."""
    first, second, third = names(ground)
    vetoed = {first}
    extender = Extender(
        batchPredicate=lambda _: {"verdicts": {name: {"status": "drained for repair", "code": 3} for name in vetoed}},
        prioritize=lambda _: {"nodeScore": {second: 1, third: 50}},
    )
    record = tmp_path / "record"
    flag = settings(tmp_path, extender, "batchPredicate", "prioritize")
    with extender, ground.daemon(tmp_path, flag, f"--record={record}") as daemon:
        ground.gang("scored", 2)
        daemon.wait_for(lambda: ground.is_placed("scored"))
        assert set(ground.nodes_of("scored")) == {third}

        vetoed.update({second, third})
        ground.gang("vetoed", 1)
        daemon.wait_for(lambda: "3 drained for repair" in ground.condition_of("vetoed-worker-0").get("message", ""))
        vetoed.discard(second)
        daemon.wait_for(lambda: ground.is_placed("vetoed"))
        assert set(ground.nodes_of("vetoed")) == {second}

        (pod,) = {body["task"]["Pod"]["metadata"]["name"] for _, body in extender.asked if "vetoed" in str(body)} - {
            f"scored-worker-{number}" for number in range(2)
        }
        assert pod == "vetoed-worker-0"
        counted = daemon.metric(
            'pyroclast_extender_requests_total{plugin="extender",result="answered",verb="batchPredicate"}'
        )
        assert counted is not None
        assert counted >= 3

    assert main(["replay", str(record)]) == 0
    assert "byte for byte" in capsys.readouterr().out


@pytest.mark.parametrize("ignorable", [False, True])
def test_it_dies_and_comes_back(ground: Ground, tmp_path: Path, ignorable: bool) -> None:
    """If it may not be ignored, no pod is placed until it is back, and pods have the reason; else they are placed."""
    first, *_ = names(ground)
    extender = Extender(predicate=lambda body: {"status": "drained"} if body["node"]["Name"] == first else {})
    with extender, ground.daemon(tmp_path, settings(tmp_path, extender, "predicate", ignorable=ignorable)) as daemon:
        ground.gang("before", 1)
        daemon.wait_for(lambda: ground.is_placed("before"))
        assert first not in ground.nodes_of("before")

        extender.die()
        ground.gang("amid", 1)
        if ignorable:
            daemon.wait_for(lambda: ground.is_placed("amid"))
            assert ground.nodes_of("amid") == [first]
        else:
            why = f"failed predicate with extender at URL {extender.url}/predicate: no answer"
            daemon.wait_for(lambda: why in ground.condition_of("amid-worker-0").get("message", ""))
            assert ground.nodes_of("amid") == [""]
        daemon.wait_logged("plugin_failed")

        extender.start()
        ground.gang("after", 1)
        daemon.wait_for(lambda: ground.is_placed("after") and ground.is_placed("amid"))
        assert first not in ground.nodes_of("after")


def test_the_opening_that_fails_stops_all_work_until_it_is_back(ground: Ground, tmp_path: Path) -> None:
    """Jobs say what failed."""
    extender = Extender(onSessionOpen=lambda _: {}, onSessionClose=lambda _: {})
    with ground.daemon(tmp_path, settings(tmp_path, extender, "onSessionOpen", "onSessionClose")) as daemon:
        ground.gang("closed", 1)
        why = f"failed onSessionOpen with extender at URL {extender.url}/onSessionOpen"
        daemon.wait_for(lambda: why in ground.condition_of("closed-worker-0").get("message", ""))
        with extender:
            daemon.wait_for(lambda: ground.is_placed("closed"))
            daemon.wait_for(lambda: extender.count("onSessionClose") > 0)
    (_, cluster) = next(each for each in extender.asked if each[0] == "onSessionOpen")
    assert sorted(cluster["Nodes"]) == names(ground)
    assert f"{ground.name}/closed" in cluster["Jobs"]


def test_it_binds(ground: Ground, tmp_path: Path) -> None:
    """The scheduler leaves pods to it, and sees them bound."""

    def bind(body: Any) -> Any:
        if body["podName"].startswith("refused"):
            return {"error": "no licence left"}
        answer = ground.client.send(
            "POST",
            f"/api/v1/namespaces/{body['podNamespace']}/pods/{body['podName']}/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {
                    "name": body["podName"],
                    "uid": body["podUID"],
                    "annotations": {"example.com/bound-by": "extender"},
                },
                "target": {"kind": "Node", "name": body["node"]},
            },
        )
        return {"error": "" if answer.code == 201 else str(answer.body)}

    extender = Extender(bind=bind)
    with extender, ground.daemon(tmp_path, settings(tmp_path, extender, "bind")) as daemon:
        ground.gang("bound", 2)
        daemon.wait_for(lambda: ground.is_placed("bound"))
        annotations = [pod["metadata"]["annotations"] for pod in ground.pods("bound")]
        assert [each["example.com/bound-by"] for each in annotations] == ["extender"] * 2

        ground.gang("refused", 1)
        why = "extender did not bind: no licence left"
        daemon.wait_for(lambda: why in ground.condition_of("refused-worker-0").get("message", ""))
        assert ground.nodes_of("refused") == [""]


def test_a_slow_extender_does_not_keep_the_process_from_ending(ground: Ground, tmp_path: Path) -> None:
    """It gets SIGTERM while it waits for an answer that may take two minutes."""
    extender = Extender()
    extender.answers["predicate"] = extender.hang
    flag = settings(tmp_path, extender, "predicate", httpTimeout="2m")
    with extender, ground.daemon(tmp_path, flag) as daemon:
        ground.gang("slow", 1)
        daemon.wait_for(lambda: extender.count("predicate") > 0)
        daemon.signal(signal.SIGTERM)
        assert daemon.process.exit_status(ENDS_WITHIN_SECONDS) == 0
        assert "cycle_cut" in daemon.process.log.read_text()
        assert "cycle_failed" not in daemon.process.log.read_text()
    assert ground.nodes_of("slow") == [""]


def test_simulate_calls_extenders_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else it is left out, and that is warned of."""
    extender = Extender(predicate=lambda body: {"status": "drained"} if body["node"]["Name"] == "n1" else {})
    config = settings(tmp_path, extender, "predicate").partition("=")[2]
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    objects = [
        *(
            {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts, "capacity": amounts}}
            for name in ("n1", "n2")
        ),
        {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"schedulerName": "volcano", "containers": [{"name": "c"}]},
            "status": {"phase": "Pending"},
        },
    ]
    (tmp_path / "objects.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", **each} for each in objects]})
    )
    command = ["simulate", "-f", str(tmp_path / "objects.json"), "--config", config, "--ungrouped-pods=single"]

    def simulated(*flags: str) -> tuple[dict[str, str], str]:
        assert main([*command, "-o", "json", *flags]) == 0
        told = capsys.readouterr()
        return json.loads(told.out)["rounds"][0]["binds"], told.err

    with extender:
        binds, warnings = simulated()
        assert binds == {"default/p": "n1"}
        assert f"extenders are not called here, so {extender.url} is ignored" in warnings
        assert extender.asked == []

        binds, warnings = simulated("--ask-extenders")
        assert binds == {"default/p": "n2"}
        assert "left out" not in warnings
        assert extender.count("predicate") == 2
