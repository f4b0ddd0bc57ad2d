"""Every metric stands in docs/metrics.md, and nothing else does."""

import re
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import Counter

import pyroclast.controllers.admission.metrics
import pyroclast.controllers.jobflows.metrics
import pyroclast.controllers.jobs.metrics
import pyroclast.controllers.queues.metrics
import pyroclast.controllers.runtime.metrics
import pyroclast.controllers.runtime.operator_metrics
import pyroclast.controllers.sharding.metrics
import pyroclast.kube.api.metrics
from pyroclast.scheduler.monitoring.catalogue import OURS, VOLCANO, VOLCANO_PREFIX

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
MODULES = (
    pyroclast.kube.api.metrics,
    pyroclast.controllers.admission.metrics,
    pyroclast.controllers.jobflows.metrics,
    pyroclast.controllers.jobs.metrics,
    pyroclast.controllers.runtime.metrics,
    pyroclast.controllers.runtime.operator_metrics,
    pyroclast.controllers.sharding.metrics,
    pyroclast.controllers.queues.metrics,
)
ROW = re.compile(r"^\| `([a-zA-Z_0-9]+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)


def documented() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Read the page's tables: kind and labels by name."""
    return {
        name: (kind, tuple(re.findall(r"`([^`]+)`", labels))) for name, kind, labels in ROW.findall(PAGE.read_text())
    }


def registered() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Read the same from the code."""
    shapes = {VOLCANO_PREFIX + name: shape for name, shape in VOLCANO.items()} | dict(OURS)
    found: dict[str, tuple[str, tuple[str, ...]]] = {name: (shape.kind, shape.labels) for name, shape in shapes.items()}
    for module in MODULES:
        for attribute in module.__all__:
            named = getattr(module, attribute)
            for metric in named.values() if isinstance(named, Mapping) else (named,):
                name = metric._name + ("_total" if isinstance(metric, Counter) else "")
                found[name] = (metric._type, tuple(metric._labelnames))
    return found


def test_page_and_code_name_the_same_metrics() -> None:
    """A metric is documented with its kind and labels, and what is documented is served."""
    assert documented() == registered()
