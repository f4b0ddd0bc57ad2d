"""Alert rules, evaluated by Prometheus' own tool: each fires for its trouble, and none for a healthy release."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, chart_tool

FILE = CHART / "files" / "alerts.yaml"
RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for rule in yaml.safe_load(FILE.read_text())["groups"][0]["rules"]
}
MINUTES = 120
CYCLES, LATENCY = "pyroclast_cycles_total", "volcano_e2e_scheduling_latency_milliseconds_bucket"
BINDS, RECONCILES = "pyroclast_binds_total", "pyroclast_reconciles_total"
REVIEWS, ENDS = "pyroclast_admission_reviews_total", "pyroclast_admission_certificate_expiry_seconds"

Series = dict[str, str]
"""Values by series, in promtool's words: a start, a step, and how often."""


def steady(value: int) -> str:
    """A gauge that stays."""
    return f"{value}x{MINUTES}"


def rising(step: int) -> str:
    """A counter that grows each minute."""
    return f"0+{step}x{MINUTES}"


WELL: Series = {
    'pyroclast_leader{pod="a"}': steady(1),
    'pyroclast_leader{pod="b"}': steady(0),
    # a second release, for pods of other names
    'pyroclast_leader{namespace="other",job="s",pod="a"}': steady(1),
    'pyroclast_controllers_leader{pod="c"}': steady(1),
    'pyroclast_controllers_leader{pod="d"}': steady(0),
    f'{CYCLES}{{pod="a",result="finished"}}': rising(60),
    f'{CYCLES}{{namespace="other",job="s",pod="a",result="finished"}}': rising(60),
    "pyroclast_configuration_reload_ok": steady(1),
    "pyroclast_cache_drift": steady(0),
    f'{BINDS}{{result="succeeded"}}': rising(100),
    f'{BINDS}{{result="failed"}}': rising(1),
    'pyroclast_watch_lag_seconds{resource="pods"}': steady(60),
    f'{LATENCY}{{le="5000"}}': rising(60),
    f'{LATENCY}{{le="20000"}}': rising(60),
    f'{LATENCY}{{le="+Inf"}}': rising(60),
    'pyroclast_plugin_failures_total{plugin="drf"}': steady(1),
    'pyroclast_broken_objects{resource="pods"}': steady(0),
    'pyroclast_usage_failures_total{source="prometheus"}': steady(3),
    'pyroclast_background_failures_total{work="follow-pods"}': steady(1),
    f'{RECONCILES}{{name="job",result="done"}}': rising(100),
    f'{RECONCILES}{{name="job",result="failed"}}': rising(10),
    'workqueue_depth{name="job"}': steady(10),
    f'{REVIEWS}{{path="/jobs/validate",answer="refused"}}': rising(100),
    f'{ENDS}{{pod="c"}}': steady(90 * 86400),
    # a process that does not answer admission
    f'{ENDS}{{pod="d"}}': steady(0),
}
ONE_OF_TWO: Series = {
    'pyroclast_leader{namespace="n",job="busy",pod="a"}': steady(1),
    'pyroclast_leader{namespace="n",job="idle",pod="a"}': steady(0),
}
"""One of two releases has no leader."""
ILL: list[tuple[str, Series, dict[str, str]]] = [
    ("PyroclastNoLeader", {'pyroclast_leader{pod="a"}': steady(0)}, {}),
    ("PyroclastNoLeader", ONE_OF_TWO, {"namespace": "n", "job": "idle"}),
    ("PyroclastNoLeader", {}, {}),
    ("PyroclastTwoLeaders", {f'pyroclast_leader{{pod="{pod}"}}': steady(1) for pod in "ab"}, {}),
    ("PyroclastNoReconciler", {'pyroclast_controllers_leader{pod="c"}': steady(0)}, {}),
    (
        "PyroclastNoReconciler",
        {series.replace("leader", "controllers_leader"): values for series, values in ONE_OF_TWO.items()},
        {"namespace": "n", "job": "idle"},
    ),
    ("PyroclastNoReconciler", {}, {}),
    ("PyroclastCyclesFail", {f'{CYCLES}{{result="failed"}}': rising(1)}, {"result": "failed"}),
    ("PyroclastStandsStill", {"pyroclast_leader": steady(1), f'{CYCLES}{{result="finished"}}': steady(9)}, {}),
    ("PyroclastStandsStill", {"pyroclast_leader": steady(1)}, {}),
    (
        "PyroclastStandsStill",
        {
            'pyroclast_leader{namespace="n",job="still"}': steady(1),
            'pyroclast_leader{namespace="n",job="busy"}': steady(1),
            f'{CYCLES}{{namespace="n",job="busy",result="finished"}}': rising(60),
        },
        {"namespace": "n", "job": "still"},
    ),
    ("PyroclastConfigurationRefused", {"pyroclast_configuration_reload_ok": steady(0)}, {}),
    ("PyroclastCacheDrift", {"pyroclast_cache_drift": steady(3)}, {}),
    ("PyroclastBindsFail", {f'{BINDS}{{result="{each}"}}': rising(1) for each in ("succeeded", "failed")}, {}),
    ("PyroclastWatchSilent", {'pyroclast_watch_lag_seconds{resource="pods"}': rising(60)}, {"resource": "pods"}),
    (
        "PyroclastSlowCycles",
        {
            f'{LATENCY}{{le="5000"}}': rising(0),
            f'{LATENCY}{{le="20000"}}': rising(1),
            f'{LATENCY}{{le="+Inf"}}': rising(1),
        },
        {},
    ),
    ("PyroclastPluginFails", {'pyroclast_plugin_failures_total{plugin="drf"}': rising(1)}, {"plugin": "drf"}),
    ("PyroclastBrokenObjects", {'pyroclast_broken_objects{resource="pods"}': steady(1)}, {"resource": "pods"}),
    ("PyroclastUsageStale", {'pyroclast_usage_failures_total{source="own"}': rising(1)}, {"source": "own"}),
    ("PyroclastBackgroundFails", {'pyroclast_background_failures_total{work="audit"}': rising(1)}, {"work": "audit"}),
    ("PyroclastReconcilesFail", {f'{RECONCILES}{{name="job",result="failed"}}': rising(1)}, {"name": "job"}),
    ("PyroclastReconcilesWait", {'workqueue_depth{name="job"}': steady(2000)}, {"name": "job"}),
    ("PyroclastAdmissionFails", {f'{REVIEWS}{{path="/j",answer="failed"}}': rising(1)}, {"path": "/j"}),
    ("PyroclastCertificateEnds", {ENDS: steady(86400)}, {}),
]  # fmt: skip


def promtool(*words: str | Path) -> str:
    """Run it and return what it said."""
    done = subprocess.run([chart_tool("promtool"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def case(series: Series, expected: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Describe a test: series for two hours, and which alerts stand at the end."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{MINUTES}m", "alertname": name, "exp_alerts": alerts} for name, alerts in expected.items()
        ],
    }


def told(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """Describe an alert that stands."""
    annotations = dict(RULES[name]["annotations"])
    for label, value in labels.items():
        annotations["summary"] = annotations["summary"].replace(f"{{{{ $labels.{label} }}}}", value)
    return {"exp_labels": {**RULES[name]["labels"], **labels}, "exp_annotations": annotations}


def test_prometheus_takes_the_rules() -> None:
    """`promtool check rules` finds nothing wrong."""
    assert "SUCCESS" in promtool("check", "rules", FILE)


def test_each_fault_is_reported_and_a_healthy_state_is_not(tmp_path: Path) -> None:
    """One case of trouble at least for each alert; all are silent where all is well."""
    assert {name for name, _, _ in ILL} == set(RULES)
    cases = [case(WELL, {name: [] for name in RULES})]
    cases += [case(series, {name: [told(name, labels)]}) for name, series, labels in ILL]
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": cases}))

    assert "SUCCESS" in promtool("test", "rules", file)


@pytest.mark.parametrize("name", RULES)
def test_health_is_said_of_every_metric_that_is_asked(name: str) -> None:
    """Silence would prove nothing of a rule that no healthy series meets."""
    metrics = {series.partition("{")[0] for series in WELL}

    assert any(metric in RULES[name]["expr"] for metric in metrics)
