"""Values of the chart that pages for operators name are values of the chart."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "pyroclast"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
DOCS = ROOT / "docs"
PAGES = [
    *(DOCS / name for name in ("install.md", "admission.md", "security.md")),
    *sorted((DOCS / "guides").glob("*.md")),
    *sorted((DOCS / "runbook").glob("*.md")),
    CHART / "README.md",
    CHART / "templates" / "NOTES.txt",
]
NAMED = re.compile(rf"(?<![\w./-])(?:{'|'.join(VALUES)})(?:\.[a-zA-Z_]+)+(?![\w/(])")
"""A value with its parents, as `--set` takes it."""


def is_value(path: str) -> bool:
    """Return whether the chart has a value; what stands below an empty one is the operator's to choose."""
    found: Any = VALUES
    for name in path.split("."):
        if found == {}:
            return True
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_values_that_there_are(page: Path) -> None:
    """Helm refuses what its schema does not know; a page that promises it would lead nowhere."""
    code = re.findall(r"`([^`\n]+)`", page.read_text())

    assert [path for words in code for path in NAMED.findall(words) if not is_value(path)] == []


def test_pages_name_values_at_all() -> None:
    """Or the pattern finds nothing, whatever they say."""
    named = {path for page in PAGES for path in NAMED.findall(page.read_text())}

    assert {"scheduler.config", "admission.failurePolicy", "metrics.serviceMonitor.enabled"} <= named
    assert not is_value("admission.failPolicy")
