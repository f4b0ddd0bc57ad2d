"""The code in docs/plugins/writing.md works as it stands."""

import re
import subprocess
import sys
from pathlib import Path

from pyroclast.testing import Scenario

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "plugins" / "writing.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PLUGIN, TEST, ARRAYS, VIEWS, *_ = BLOCKS
"""The others take part in binding: `tests/e2e/test_external_binder.py` has a daemon load them."""


def test_the_first_plugin_passes_its_own_test(tmp_path: Path) -> None:
    """Both blocks are files that an author can copy side by side."""
    (tmp_path / "myplugin.py").write_text(PLUGIN)
    (tmp_path / "test_myplugin.py").write_text(TEST)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_array_form_scores() -> None:
    """The node with more free CPU wins, against the order of names."""
    names: dict[str, type] = {}
    exec(compile(ARRAYS, "writing.md", "exec"), names)

    cluster = Scenario().node("a", cpu=8).node("b", cpu=8).running("old", on=["a"], cpu=4).job("new", cpu=1)

    assert cluster.run("allocate", plugins=("gang", names["ByFreeCpu"])).bindings == {"new-0": "b"}


def test_a_view_selects_the_nodes_of_an_annotation() -> None:
    """Pods of one template are seen in two ways, and the pods that are bound have their own selectors."""
    names: dict[str, type] = {}
    exec(compile(VIEWS, "writing.md", "exec"), names)

    cluster = Scenario().node("a", cpu=8).node("b", cpu=8, labels={"disk": "ssd"}).job("new", tasks=0, min_available=2)
    cluster = cluster.pod("new-0", job="new", annotations={"example.com/disk": "ssd"}).pod("new-1", job="new")

    outcome = cluster.run("allocate", plugins=("gang", "predicates", names["DiskByAnnotation"]))

    assert outcome.bindings == {"new-0": "b", "new-1": "a"}
