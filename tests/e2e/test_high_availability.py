"""Two schedulers and what may befall them, with work arriving all the time: nothing is lost, nothing bound twice."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pyroclast.emulator.hollow.kubelets import DURATION
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.e2e.probes import answers_ok
from tests.e2e.wallclock import WallClock
from tests.e2e.wire import wire_to

NAME = "available"
LEASE_SECONDS = 6.0
"""A machine that builds beside the tests stands still for a second or two; a leader must outlast that."""
LEASE = (
    f"--leader-elect-lease-duration={LEASE_SECONDS}s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=300ms",
    f"--leader-elect-resource-namespace={NAME}",
)
LONG_LEASE = (
    "--leader-elect-lease-duration=60s",
    "--leader-elect-renew-deadline=40s",
    "--leader-elect-retry-period=300ms",
    f"--leader-elect-resource-namespace={NAME}",
)
"""For tests that do not wait for it to run out."""
LEASES = ("volcano", "vc-controller-manager")
AWAY_SECONDS = 40.0
"""Longer than a lease lasts, and than a request waits for its answer, which is thirty seconds."""
JOB_API = "/apis/batch.volcano.sh/v1alpha1"
MEMBERS = 4
BEAT_SECONDS = 0.4

BOUND = 'pyroclast_binds_total{result="succeeded"}'

turns = count(1)


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Twelve nodes of eight CPUs."""
    with standing_on(cluster_with_crds, NAME, folder=tmp_path_factory.mktemp(NAME), nodes=12) as ground:
        yield ground


@dataclass
class Arrivals:
    """Gangs that arrive one after the other, as users send them, until stopped."""

    ground: Ground
    names: list[str] = field(default_factory=list)
    _stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Send a gang at each beat."""
        turn = next(turns)
        while not self._stopping.wait(BEAT_SECONDS) and len(self.names) < 20:
            name = f"turn{turn}-gang{len(self.names)}"
            self.ground.gang(name, MEMBERS, "1")
            self.names.append(name)

    def stop(self) -> None:
        """Send no more."""
        self._stopping.set()


@contextmanager
def arriving(ground: Ground) -> Iterator[Arrivals]:
    """Let gangs arrive for the length of a block."""
    arrivals = Arrivals(ground)
    thread = threading.Thread(target=arrivals.run)
    thread.start()
    try:
        yield arrivals
    finally:
        arrivals.stop()
        thread.join()


@contextmanager
def daemon_on(
    ground: Ground, cluster: Cluster, folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Daemon]:
    """Run one of the two, on the cluster as it sees it."""
    with replace(ground, cluster=cluster).daemon(folder, *LEASE, environment=environment, is_alone=False) as daemon:
        yield daemon


def lease(ground: Ground, name: str = "volcano") -> dict[str, Any]:
    """Return what a lease says."""
    found: dict[str, Any] = json.loads(ground.kubectl("get", "lease", name, "-o", "json"))["spec"]
    return found


def is_dated(ground: Ground, ahead_seconds: float) -> bool:
    """Return whether the lease was renewed by a holder whose clock is so far ahead."""
    renewed = datetime.fromisoformat(lease(ground)["renewTime"]).timestamp()
    return abs(renewed - time.time() - ahead_seconds) < 60.0


def has_passed_on(ground: Ground, transitions: int) -> bool:
    """Return whether the lease has passed on once."""
    passed: int = lease(ground)["leaseTransitions"]
    return passed == transitions + 1


def is_past(moment: float) -> bool:
    """Return whether a moment of the monotonic clock is over."""
    return time.monotonic() > moment


def all_run(ground: Ground, names: list[str]) -> bool:
    """Return whether each gang is there as a whole."""
    return all(ground.phases_of(name) == ["Running"] * MEMBERS for name in names)


def assert_bound_once(ground: Ground, names: list[str], phase: str = "Running") -> None:
    """No pod was said to be bound twice, or refused by its node."""
    for name in names:
        for pod in ground.pods(name):
            scheduled = [reason for reason, _ in ground.events_of(pod["metadata"]["name"]) if reason == "Scheduled"]
            assert len(scheduled) <= 1, pod["metadata"]["name"]
            assert pod["status"]["phase"] == phase


def test_a_frozen_leader_that_wakes_does_no_harm(ground: Ground, tmp_path: Path) -> None:
    """It sleeps past its lease and another leads; for a moment both believe to, then the sleeper ends by itself."""
    with ExitStack() as stack:
        leader = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path))
        leader.wait_for(lambda: leader.metric("pyroclast_leader") == 1)
        standby = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path))
        with arriving(ground) as arrivals:
            standby.wait_for(lambda: len(arrivals.names) >= 2)
            with leader.process.stopped():
                standby.wait_for(lambda: standby.metric("pyroclast_leader") == 1)
                standby.wait_for(lambda: len(arrivals.names) >= 4)
            assert leader.process.exit_status() == 1

        standby.wait_for(lambda: all_run(ground, arrivals.names))
        assert_bound_once(ground, arrivals.names)
        assert standby.get_json("/debug/audit") == {"differences": []}


def test_a_leader_behind_a_cut_wire_stops_before_another_begins(ground: Ground, tmp_path: Path) -> None:
    """It cannot renew, so it ends in time; the other leads by the end of the lease, and nothing is bound twice."""
    with ExitStack() as stack:
        wire, beyond = stack.enter_context(wire_to(ground.cluster, tmp_path))
        leader = stack.enter_context(daemon_on(ground, beyond, tmp_path))
        leader.wait_for(lambda: leader.metric("pyroclast_leader") == 1)
        standby = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path))
        with arriving(ground) as arrivals:
            standby.wait_for(lambda: len(arrivals.names) >= 2)
            with wire.cut():
                assert leader.process.exit_status() == 1
                standby.wait_for(lambda: standby.metric("pyroclast_leader") == 1)

        standby.wait_for(lambda: all_run(ground, arrivals.names))
        assert_bound_once(ground, arrivals.names)
        assert standby.get_json("/debug/audit") == {"differences": []}


def test_a_server_that_is_away_for_longer_than_a_lease_finds_fresh_processes(ground: Ground, tmp_path: Path) -> None:
    """Leaders end, and are restarted as a Deployment would do; when the server is back, work goes on."""
    with ExitStack() as stack:
        first = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path))
        first.wait_for(lambda: first.metric("pyroclast_leader") == 1)
        ground.gang("before", MEMBERS, "1")
        with ground.cluster.away():
            assert first.process.exit_status() == 1
            second = Daemon(
                ground.cluster,
                tmp_path,
                f"--scheduler-name={NAME}",
                f"--node-selector=pyroclast.test/ground:{NAME}",
                *LEASE,
            )
            stack.callback(second.process.stop)
            second.wait_for(lambda: answers_ok(f"http://127.0.0.1:{second.health_port}/healthz"))
        ground.gang("after", MEMBERS, "1")

        second.wait_for(lambda: all_run(ground, ["before", "after"]))
        assert_bound_once(ground, ["before", "after"])
        assert second.get_json("/debug/audit") == {"differences": []}


class Copy:
    """One process of a Deployment: whenever it has ended another is started, as a kubelet does."""

    def __init__(self, start: Callable[[], Daemon | Controllers]) -> None:
        self._start, self.now = start, start()
        self.ends: list[int] = []
        """Exit statuses of those before."""

    def look(self) -> None:
        """See whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.ends.append(self.now.process.exit_status(0.0))
            self.now = self._start()

    def stop(self) -> None:
        """End it for good."""
        self.now.process.stop()


def keep(copies: list[Copy], seconds: float) -> None:
    """See to copies for a while."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for copy in copies:
            copy.look()
        time.sleep(0.2)


def make_job(ground: Ground, name: str, seconds: int, **spec: Any) -> None:
    """Create a Job whose pods take some time."""
    ground.create(
        f"{JOB_API}/namespaces/{NAME}/jobs",
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {**job_spec(name, seconds), **spec},
        },
    )


def job_spec(name: str, seconds: int) -> dict[str, Any]:
    """Describe a Job whose pods take some time."""
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
    }
    template = {"metadata": {"annotations": {DURATION: f"{seconds}s"}, "labels": {"gang": name}}, "spec": pod}
    return {
        "schedulerName": NAME,
        "queue": NAME,
        "minAvailable": MEMBERS,
        "tasks": [{"name": "worker", "replicas": MEMBERS, "template": template}],
    }


def job_status(ground: Ground, name: str) -> dict[str, Any]:
    """Return the status of a Job; empty where it has none yet."""
    found: dict[str, Any] = ground.client.send("GET", f"{JOB_API}/namespaces/{NAME}/jobs/{name}").body.get("status", {})
    return found


def is_completed(ground: Ground, name: str) -> bool:
    """Return whether a Job has come to its end."""
    return bool(job_status(ground, name).get("state", {}).get("phase") == "Completed")


def test_a_server_that_is_away_for_long_is_met_again_with_nothing_lost(ground: Ground, tmp_path: Path) -> None:
    """Silent at first, then gone: pods end and gangs wait meanwhile; each pod was made once, and bound once."""
    mine = (f"--scheduler-name={NAME}", *LEASE)
    nodes = f"--node-selector=pyroclast.test/ground:{NAME}"
    controlling = (*mine, "--controllers=job-controller")
    with ExitStack() as stack:
        scheduler = Copy(lambda: Daemon(ground.cluster, tmp_path, nodes, *mine))
        stack.callback(scheduler.stop)
        controllers = Copy(lambda: Controllers(ground.cluster, tmp_path, *controlling))
        stack.callback(controllers.stop)
        ground.gang("settled", MEMBERS, "1")
        make_job(ground, "ending", seconds=20)
        scheduler.now.wait_for(lambda: all_run(ground, ["settled", "ending"]))
        before = {name: lease(ground, name) for name in LEASES}
        ground.gang("amid", MEMBERS, "1")
        make_job(ground, "late", seconds=1)
        with ground.cluster.away():
            keep([scheduler, controllers], AWAY_SECONDS / 2)
            with ground.cluster.gone():
                keep([scheduler, controllers], AWAY_SECONDS / 2)

        scheduler.now.wait_for(lambda: all_run(ground, ["settled", "amid"]))
        controllers.now.wait_for(lambda: is_completed(ground, "ending") and is_completed(ground, "late"))
        assert (scheduler.ends, controllers.ends) == ([1], [1])
        for name in LEASES:
            assert lease(ground, name)["holderIdentity"] != before[name]["holderIdentity"]
            assert lease(ground, name)["leaseTransitions"] == before[name]["leaseTransitions"] + 1
        assert_bound_once(ground, ["settled", "amid"])
        for name in ("ending", "late"):
            assert_bound_once(ground, [name], phase="Succeeded")
            assert [pod["metadata"]["name"] for pod in ground.pods(name)] == [
                f"{name}-worker-{n}" for n in range(MEMBERS)
            ]
            assert job_status(ground, name).get("retryCount", 0) == 0
        assert isinstance(scheduler.now, Daemon)
        assert scheduler.now.get_json("/debug/audit") == {"differences": []}
        ground.kubectl("delete", "vcjob", "--all")


def test_a_leader_whose_wall_clock_jumps_leads_on_and_hands_over(ground: Ground, tmp_path: Path) -> None:
    """An hour ahead, then one behind: no other takes the lease, for longer than it lasts; it passes on as ever."""
    clock = WallClock(tmp_path / "clock")
    with ExitStack() as stack:
        leader = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path, clock.environment))
        leader.wait_for(lambda: leader.metric("pyroclast_leader") == 1)
        standby = stack.enter_context(daemon_on(ground, ground.cluster, tmp_path))
        before = lease(ground)
        with arriving(ground) as arrivals:
            standby.wait_for(lambda: len(arrivals.names) >= 2)
            for ahead in (3600.0, -3600.0):
                clock.jump_to(ahead)
                jumped = time.monotonic()
                leader.wait_for(partial(is_dated, ground, ahead))
                leader.wait_for(partial(is_past, jumped + LEASE_SECONDS + 2.0))
                leader.wait_for(partial(all_run, ground, list(arrivals.names)))
                assert standby.metric("pyroclast_leader") == 0
                assert lease(ground)["leaseTransitions"] == before["leaseTransitions"]
                assert leader.get_json("/debug/audit") == {"differences": []}

            leader.signal(signal.SIGTERM)
            assert leader.process.exit_status() == 0
            standby.wait_for(lambda: standby.metric("pyroclast_leader") == 1)

        standby.wait_for(lambda: all_run(ground, arrivals.names))
        assert_bound_once(ground, arrivals.names)
        assert standby.get_json("/debug/audit") == {"differences": []}


def make_cron_job(ground: Ground) -> None:
    """Create a CronJob that is due once an hour, half an hour from now."""
    minute = (int(time.time()) // 60 + 30) % 60
    ground.create(
        f"{JOB_API}/namespaces/{NAME}/cronjobs",
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "CronJob",
            "metadata": {"name": "hourly"},
            "spec": {"schedule": f"{minute} * * * *", "jobTemplate": {"spec": job_spec("hourly", 1)}},
        },
    )


def job_names(ground: Ground) -> list[str]:
    """Name the Jobs that are not being deleted."""
    found = [job["metadata"] for job in ground.items(f"{JOB_API}/namespaces/{NAME}/jobs")]
    return [metadata["name"] for metadata in found if "deletionTimestamp" not in metadata]


def is_gone(ground: Ground, job: str) -> bool:
    """Return whether a Job was deleted."""
    return job not in job_names(ground)


def look_again(ground: Ground, controlling: Controllers) -> None:
    """Have the CronJob and all Jobs looked at anew, and wait until they were."""
    seen = {name: reconciles(controlling, name) for name in ("cronjob", "garbage")}
    ground.kubectl("label", "cronvcjob,vcjob", "--all", "--overwrite", f"looked=at-{next(turns)}")
    controlling.wait_for(lambda: all(reconciles(controlling, name) > before for name, before in seen.items()))


@contextmanager
def leading(ground: Ground, folder: Path, *flags: str, environment: Mapping[str, str]) -> Iterator[Controllers]:
    """Run controllers that lead, for the length of a block."""
    with controllers(ground.cluster, folder, *flags, environment=environment) as leader:
        leader.wait_for(lambda: leader.said("reconciling"))
        yield leader


def reconciles(controlling: Controllers, name: str) -> float:
    """Return how often a controller has looked at something."""
    series = f'pyroclast_reconciles_total{{name="{name}",result="done"}} '
    (line,) = [line for line in controlling.metrics().splitlines() if line.startswith(series)]
    return float(line.rpartition(" ")[2])


def test_controllers_whose_wall_clock_jumps_lose_and_repeat_nothing(ground: Ground, tmp_path: Path) -> None:
    """An hour forwards, back, and back once more: one Job of the hour, lives as long as before, and one leader."""
    clock = WallClock(tmp_path / "clock")
    mine = (f"--scheduler-name={NAME}", "--controllers=job-controller,cronjob-controller,gc-controller", *LONG_LEASE)
    with (
        ground.daemon(tmp_path),
        leading(ground, tmp_path, *mine, environment=clock.environment) as controlling,
        controllers(ground.cluster, tmp_path, *mine) as standby,
    ):
        make_cron_job(ground)
        make_job(ground, "kept", 1, ttlSecondsAfterFinished=1800)
        controlling.wait_for(lambda: is_completed(ground, "kept"))
        before = lease(ground, "vc-controller-manager")
        for turn, ahead in enumerate((3600.0, 0.0, -3600.0)):
            clock.jump_to(ahead)
            look_again(ground, controlling)
            if ahead > 0:
                controlling.wait_for(lambda: len(job_names(ground)) == 2)
            make_job(ground, name := f"after-{turn}", 1, ttlSecondsAfterFinished=2)
            controlling.wait_for(partial(is_gone, ground, name))
            look_again(ground, controlling)
            hourly, kept = job_names(ground)
            assert (hourly.startswith("hourly-"), kept) == (True, "kept")
        assert lease(ground, "vc-controller-manager")["holderIdentity"] == before["holderIdentity"]
        assert not standby.said("reconciling")
        controlling.signal(signal.SIGTERM)
        assert controlling.process.exit_status() == 0
        standby.wait_for(lambda: standby.said("reconciling"))
        ground.kubectl("delete", "cronvcjob,vcjob", "--all")


def test_kills_one_after_the_other_lose_nothing(ground: Ground, tmp_path: Path) -> None:
    """Leaders are killed (-9) or stopped amid arrivals, and restarted; each gang runs as a whole in the end.

    Until then a standby is ready and binds nothing.
    """
    with ExitStack() as stack:
        alive = [stack.enter_context(daemon_on(ground, ground.cluster, tmp_path)) for _ in range(2)]
        with arriving(ground) as arrivals:
            for number in (signal.SIGKILL, signal.SIGTERM):
                alive[-1].wait_for(lambda: any(each.metric("pyroclast_leader") == 1 for each in alive))
                leader = next(each for each in alive if each.metric("pyroclast_leader") == 1)
                (standby,) = (each for each in alive if each is not leader)
                leader.wait_for(lambda leader=leader: bool(leader.metric(BOUND)))  # type: ignore[misc]
                assert standby.metric("pyroclast_leader") == 0
                assert not standby.metric(BOUND)
                before = lease(ground)["leaseTransitions"]
                leader.signal(number)
                leader.process.exit_status()
                alive.remove(leader)
                alive.append(stack.enter_context(daemon_on(ground, ground.cluster, tmp_path)))
                standby.wait_for(partial(has_passed_on, ground, before))

        alive[0].wait_for(lambda: all_run(ground, arrivals.names))
        assert_bound_once(ground, arrivals.names)
        assert alive[0].get_json("/debug/audit") == {"differences": []}
