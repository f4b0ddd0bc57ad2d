"""Flags that are accepted without effect stand in docs/compatibility.md, and no other is said to be one."""

import re
from pathlib import Path

from pyroclast.scheduler.cli.options import WITHOUT_EFFECT

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


def test_flags_without_effect_are_listed() -> None:
    """Who moves from Volcano finds what his deployment's flags no longer do."""
    part = PAGE.read_text().split("<!-- flags: begin -->", 1)[1].split("<!-- flags: end -->", 1)[0]

    assert re.findall(r"`--([a-z-]+)`", part) == list(WITHOUT_EFFECT)
