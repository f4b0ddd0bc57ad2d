"""Definitions that Helm made when the chart was installed are renewed by the command that notes and pages have."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import CHART, chart_tool, helm
from tests.e2e.cluster import CRD_FOLDER, Cluster

DOCS = CHART.parents[2] / "docs"
PAGES = (CHART / "templates" / "NOTES.txt", DOCS / "install.md", DOCS / "runbook" / "no-reconciler.md")
COMMAND = re.compile(r"kubectl (apply --server-side[^`\n]*) -f deploy/helm/pyroclast/crds/")
GROUP = "upgraded.pyroclast.test"


def definition(about: str) -> str:
    """Return the definition of queues under a group of the test's own, since other tests use the real one."""
    found = yaml.safe_load((CRD_FOLDER / "scheduling.volcano.sh_queues.yaml").read_text())
    found["metadata"]["name"] = f"queues.{GROUP}"
    found["spec"]["group"] = GROUP
    del found["spec"]["names"]["shortNames"]
    for version in found["spec"]["versions"]:
        version["schema"]["openAPIV3Schema"]["description"] = about
    return json.dumps(found)


def test_definitions_that_helm_made_are_renewed_as_the_notes_say(cluster: Cluster, tmp_path: Path) -> None:
    """Helm owns what it created, so the server refuses other field managers unless they force."""
    chart_tool("helm")
    if cluster.kind == "emulator":
        pytest.skip("only the real API server keeps who owns a field of a definition")
    file = tmp_path / "chart" / "crds" / "queues.json"
    file.parent.mkdir(parents=True)
    file.write_text(definition("as installed"))
    (file.parents[1] / "Chart.yaml").write_text("{apiVersion: v2, name: definitions, version: 0.1.0}")
    helm("install", "definitions", str(file.parents[1]), kubeconfig=cluster.kubeconfig)
    file.write_text(definition("as upgraded"))

    (command,) = {command for page in PAGES for command in COMMAND.findall(page.read_text()) or ["none"]}
    cluster.kubectl(*command.split(), "-f", str(file.parent))

    about = "jsonpath={.spec.versions[*].schema.openAPIV3Schema.description}"
    assert cluster.kubectl("get", "crd", f"queues.{GROUP}", "-o", about) == "as upgraded"
    helm("uninstall", "definitions", kubeconfig=cluster.kubeconfig)
    cluster.kubectl("delete", "crd", f"queues.{GROUP}")
