"""The dashboard, as Grafana reads it: panels that lie apart, a data source to choose, queries that find labels.

That each metric exists is held by `tests/contract/test_monitoring.py`, for alerts as well.
"""

import json
import re
import subprocess
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, by_kind, chart_tool, rendered

TEXT = (CHART / "files" / "dashboard.json").read_text()
DASHBOARD: dict[str, Any] = json.loads(TEXT)
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES: dict[str, dict[str, Any]] = {
    f"{panel['title']} {target['refId']}": target for panel in PANELS for target in panel.get("targets", ())
}
COLUMNS = 24
TYPES = {"row", "stat", "timeseries"}
"""Those that Grafana has by itself, since its version 8."""
OLDEST, NEWEST = 36, 42
"""Schema versions that Grafana 9 to 12 wrote; each brings an older one up to its own when it loads it."""
SCRAPED = {"job", "instance", "pod", "namespace"}
"""Labels that Prometheus adds to what it scrapes."""
METRICS = Path(__file__).parents[2] / "docs" / "metrics.md"


def labels_of() -> dict[str, set[str]]:
    """Return the labels of each series of the page, which is proven to say what is served."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", METRICS.read_text(), re.MULTILINE)
    found: dict[str, set[str]] = {"process_resident_memory_bytes": set()}
    for name, kind, text in rows:
        labels = set(re.findall(r"`([^`]+)`", text))
        if kind == "histogram":
            found |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
        else:
            found[name] = labels
    return found


def test_panels_have_their_own_numbers_and_queries_their_own_letters() -> None:
    """Grafana drops the second of two that are called alike."""
    numbers = [panel["id"] for panel in PANELS]

    assert len(numbers) == len(set(numbers))
    for panel in PANELS:
        letters = [target["refId"] for target in panel.get("targets", ())]
        assert len(letters) == len(set(letters)), panel["title"]


def test_panels_lie_apart_and_within_the_page() -> None:
    """None covers another, none sticks out."""
    places = {panel["title"]: panel["gridPos"] for panel in PANELS}

    assert all(at["x"] >= 0 and at["x"] + at["w"] <= COLUMNS and at["h"] > 0 for at in places.values())
    covered = [
        (one, other)
        for (one, first), (other, second) in combinations(places.items(), 2)
        if first["x"] < second["x"] + second["w"]
        and second["x"] < first["x"] + first["w"]
        and first["y"] < second["y"] + second["h"]
        and second["y"] < first["y"] + first["h"]
    ]
    assert covered == []


def test_a_plain_grafana_draws_it() -> None:
    """No panel needs a plugin, and the schema is one that versions in use read."""
    assert {panel["type"] for panel in PANELS} <= TYPES
    assert OLDEST <= DASHBOARD["schemaVersion"] <= NEWEST
    assert all(panel.get("targets") or panel["type"] == "row" for panel in PANELS)


def test_the_data_source_is_the_readers_choice() -> None:
    """Each panel and query asks the source that is chosen above; every variable in use is defined."""
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    chosen = {"type": "prometheus", "uid": "${datasource}"}

    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    assert set(re.findall(r"\$\{?(\w+)", TEXT)) <= set(variables)
    for panel in PANELS:
        if panel["type"] != "row":
            assert [panel["datasource"], *(target["datasource"] for target in panel["targets"])] == [chosen] * (
                1 + len(panel["targets"])
            ), panel["title"]


@pytest.mark.parametrize("name", QUERIES)
def test_queries_ask_for_labels_that_there_are(name: str) -> None:
    """A sum by a label that no series has is one line without a name; a legend shows what the query keeps."""
    query, legend = QUERIES[name]["expr"], QUERIES[name].get("legendFormat", "")
    known = labels_of()
    metrics = [word for word in re.findall(r"[a-zA-Z_]\w*", query) if word in known]
    kept = {label.strip() for group in re.findall(r"\bby\s*\(([^)]*)\)", query) for label in group.split(",")}
    matched = set(re.findall(r"[{,]\s*(\w+)\s*[=!]", query))

    assert metrics
    for metric in metrics:
        assert kept | matched <= known[metric] | SCRAPED
    assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= (kept or SCRAPED)


def test_prometheus_reads_the_queries(tmp_path: Path) -> None:
    """As rules that record them, `promtool` finds nothing wrong with any."""
    rules = [{"record": f"panel:{number}", "expr": each["expr"]} for number, each in enumerate(QUERIES.values())]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run([chart_tool("promtool"), "check", "rules", file], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(QUERIES)} rules found" in done.stdout


def test_the_chart_ships_it_unchanged() -> None:
    """Its legends look like templates of Helm's, which must leave them alone."""
    shipped = by_kind(rendered("metrics.dashboard.enabled=true"), "ConfigMap", "-dashboard")

    assert json.loads(shipped["data"]["pyroclast.json"]) == DASHBOARD
    assert shipped["metadata"]["labels"]["grafana_dashboard"] == "1"
