"""The page about `pyroclast.testing` shows code that runs."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "testing.md"


def test_the_example_runs() -> None:
    """As it stands on the page."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, str(PAGE), "exec"), names)  # the page's own code

    names["test_pods_go_to_zone_b"]()
