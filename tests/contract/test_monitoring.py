"""Alerts and dashboard ask for metrics that there are, and each alert has its page in the runbook."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy" / "helm" / "pyroclast" / "files"
RUNBOOK = ROOT / "docs" / "runbook"
RULES: list[dict[str, Any]] = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"][0]["rules"]
DASHBOARD: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text())
EXPRESSIONS = {rule["alert"]: rule["expr"] for rule in RULES} | {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel.get("targets", ())
}
METRIC = re.compile(r"\b(?:pyroclast|volcano|rest_client|process|workqueue)_[a-z0-9_]+")
PROCESS = {"process_resident_memory_bytes"}
"""What the client library of Prometheus adds by itself."""


def documented() -> set[str]:
    """Return the metrics of the page, which is proven to name what is served; histograms with their series."""
    rows = re.findall(r"^\| `([a-z0-9_]+)` \| (\w+) \|", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    names = {name for name, _ in rows}
    return names | {f"{name}_{end}" for name, kind in rows if kind == "histogram" for end in ("bucket", "sum", "count")}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_name_metrics_that_there_are(name: str) -> None:
    """A panel or an alert on a metric that is not served would never show anything."""
    metrics = set(METRIC.findall(EXPRESSIONS[name]))

    assert metrics
    assert metrics <= documented() | PROCESS


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_has_its_page(rule: dict[str, Any]) -> None:
    """The page names the alert and its severity, and says cause, check and remedy."""
    page = (RUNBOOK / Path(rule["annotations"]["runbook_url"]).name).read_text()

    assert f"`{rule['alert']}`, {rule['labels']['severity']}." in page
    assert re.findall(r"^## (\w+)$", page, re.MULTILINE) == ["Cause", "Check", "Remedy"]
    assert f"`{rule['alert']}`" in (RUNBOOK / "README.md").read_text()


@pytest.mark.parametrize("page", sorted(RUNBOOK.glob("*.md")), ids=lambda page: page.stem)
def test_pages_ask_for_what_there_is(page: Path) -> None:
    """Metrics are served, lines are logged, pods have the label; no command takes either of two copies."""
    text = page.read_text()
    components = set(re.findall(r"app\.kubernetes\.io/component=(\w+)", text))
    events = set(re.findall(r"grep ([a-z]+_[a-z_]+)", text)) | set(re.findall(r"`([a-z]+_[a-z]+)`", text))

    assert set(METRIC.findall(text)) <= documented()
    assert components <= {"scheduler", "controllers"}
    assert events <= logged()
    assert "logs deploy/" not in text


@cache
def logged() -> frozenset[str]:
    """Return the events of all log lines."""
    files = (path for folder in ("cache", "controllers", "kube", "scheduler") for path in (ROOT / folder).rglob("*.py"))
    return frozenset(word for path in files for word in re.findall(r'"([a-z]+(?:_[a-z]+)+)"', path.read_text()))


def test_no_page_is_left_over() -> None:
    """Each page but the list belongs to an alert."""
    pages = {path.name for path in RUNBOOK.glob("*.md")} - {"README.md"}

    assert pages == {Path(rule["annotations"]["runbook_url"]).name for rule in RULES}
