"""Alert rules, read by Prometheus' own tool."""

import subprocess

from tests.chart.helm import CHART, chart_tool


def test_prometheus_takes_the_rules() -> None:
    """`promtool check rules` finds nothing wrong."""
    done = subprocess.run(
        [chart_tool("promtool"), "check", "rules", CHART / "files" / "alerts.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout
