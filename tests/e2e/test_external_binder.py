"""A preparer and a binder from outside, as docs/plugins/writing.md has them, in a daemon that loads them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

PAGE = (Path(__file__).parents[2] / "docs" / "plugins" / "writing.md").read_text()
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
SETTINGS = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: data}]\n"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "outside", folder=tmp_path_factory.mktemp("outside")) as ground:
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that loads both files, and has one of them in its configuration."""
    folder = tmp_path_factory.mktemp("plugins")
    for name in ("data.py", "stamp.py"):
        (folder / name).write_text(FILES[name])
    settings = folder / "scheduler.yaml"
    settings.write_text(SETTINGS)
    with ground.daemon(ground.folder, f"--plugins-dir={folder}", f"--scheduler-conf={settings}") as daemon:
        yield daemon


def gang(ground: Ground, name: str, *data_sets: str) -> None:
    """Make a gang whose pods want data sets."""
    ground.group(name, len(data_sets))
    for number, data_set in enumerate(data_sets):
        ground.pod(f"{name}-{number}", group=name, annotations={"example.com/data-set": data_set})


def test_what_is_prepared_is_bound_by_the_binder_from_outside(ground: Ground, daemon: Daemon) -> None:
    """Every pod carries the stamp of its plan: one plan for the gang."""
    gang(ground, "known", "pictures", "texts")
    daemon.wait_for(lambda: ground.is_placed("known"))

    stamps = {pod["metadata"]["annotations"]["example.com/plan"] for pod in ground.pods("known")}
    assert len(stamps) == 1
    assert re.fullmatch(r"\d+\.\d+", stamps.pop())


def test_a_failed_preparation_binds_no_pod_and_has_a_reason(ground: Ground, daemon: Daemon) -> None:
    """Not even the pod whose data are there: the plan is the gang's."""
    gang(ground, "unknown", "pictures", "smells")
    why = "binding to node .* failed: copy-data outside/smells: there is no data set smells"
    for pod in ("unknown-0", "unknown-1"):
        daemon.wait_for(lambda pod=pod: bool(re.fullmatch(why, ground.condition_of(pod).get("message", ""))))  # type: ignore[misc]  # the default binds the loop's name

    assert ground.nodes_of("unknown") == ["", ""]
