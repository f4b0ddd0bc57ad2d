"""docs/compatibility/configuration.md lists exactly the flags that are accepted without effect."""

import re
from pathlib import Path

from pyroclast.scheduler.cli.options import WITHOUT_EFFECT

PAGE = Path(__file__).parents[2] / "docs" / "compatibility" / "configuration.md"


def test_flags_without_effect_are_listed() -> None:
    """A user who moves from Volcano finds the flags of the deployment that do nothing."""
    part = PAGE.read_text().split("<!-- flags: begin -->", 1)[1].split("<!-- flags: end -->", 1)[0]

    assert re.findall(r"`--([a-z-]+)`", part) == list(WITHOUT_EFFECT)
