"""Features that docs/scope.md lists as missing are missing: each line has a check, and each check has a line."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs

ROOT = Path(__file__).parents[2]


def lines() -> list[str]:
    """Return the titles of the lines on the page."""
    section = (ROOT / "docs" / "scope.md").read_text().partition("## Not there yet\n")[2].partition("\n## ")[0]
    return re.findall(r"^- \*\*(.+?)\*\*", section, re.MULTILINE)


def sources(*folders: str) -> str:
    """Return the text of all modules of some packages."""
    return "\n".join(file.read_text() for folder in folders for file in sorted((ROOT / folder).rglob("*.py")))


def is_unserved(rule: str) -> bool:
    """Return whether no plugin says that it keeps pods to a required rule."""
    return not re.search(rf"register_rule\([^)]*\b{rule}\b", sources("plugins"))


def refuses_mind_cluster() -> bool:
    """Return whether a configuration with Ascend devices of MindCluster is refused."""
    with pytest.raises(ConfigError):
        decode(DeviceShareArgs, {"deviceshare.AscendMindClusterVNPUEnable": True}, "arguments")
    return True


MISSING: Final[dict[str, Callable[[], bool]]] = {
    "Devices that several resource claims share": lambda: (
        "not (device.binding_conditions or device.allow_multiple_allocations)" in sources("plugins")
    ),
    "Ascend devices of MindCluster": refuses_mind_cluster,
}


@pytest.mark.parametrize("title", sorted(MISSING))
def test_what_is_missing_is_missing(title: str) -> None:
    """Delete the line, and its check, when the thing has come."""
    assert MISSING[title]()


def test_each_line_has_a_check() -> None:
    """The bold words of each line name its check."""
    assert sorted(lines()) == sorted(MISSING)
