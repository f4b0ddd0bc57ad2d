"""Helm, as tests call it: the one of `make helm`, or one on the PATH."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

__all__ = ["CHART", "by_kind", "chart_tool", "helm", "rendered"]

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "pyroclast"
BUILD = ROOT / "tools" / "helm" / "build.mk"
SECONDS = 120.0

Object = dict[str, Any]


def chart_tool(name: str) -> str:
    """Return the path of `helm` or `promtool`; a test that needs one which is not there is skipped.

    PYROCLAST_REQUIRE_CHART_TOOLS=1 makes that a failure, so that a machine which must prove it cannot forget to.
    """
    cache = Path(os.environ.get("PYROCLAST_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache if os.environ.get("PYROCLAST_CACHE") else cache / "pyroclast"
    version = re.search(rf"^{name.upper()}_VERSION := (\S+)", BUILD.read_text(), re.MULTILINE)
    assert version is not None, name
    built = folder / name / version[1] / name
    if built.exists():
        return str(built)
    if found := shutil.which(name):
        return found
    if os.environ.get("PYROCLAST_REQUIRE_CHART_TOOLS") == "1":
        pytest.fail(f"no {name}: run `make {name}`", pytrace=False)
    pytest.skip(f"no {name}: run `make {name}`")


def helm(*arguments: str, kubeconfig: Path | None = None, is_good: bool = True) -> str:
    """Run Helm and return what it printed, both outputs together where it is expected to fail."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/")}
    if kubeconfig is not None:
        environment |= {"KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
    done = subprocess.run(
        [chart_tool("helm"), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=environment,
    )
    assert (done.returncode == 0) == is_good, done.stdout + done.stderr
    return done.stdout if is_good else done.stdout + done.stderr


def rendered(*sets: str, name: str = "pyro", namespace: str = "batch") -> list[Object]:
    """Render the chart's templates with some values, each as `--set` takes it."""
    flags = [word for each in sets for word in ("--set", each)]
    text = helm("template", name, str(CHART), "--namespace", namespace, "--kube-version", "1.36.1", *flags)
    return [each for each in yaml.safe_load_all(text) if each]


def by_kind(objects: list[Object], kind: str, ending: str = "") -> Object:
    """Return the one object of a kind whose name ends so."""
    (found,) = [each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(ending)]
    return found
