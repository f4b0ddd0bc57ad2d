"""The table of costs: what a cycle places, and a row for each action and each plugin that can stand there."""

import re

from benchmarks.costs import table
from benchmarks.cycles import built_in


def test_every_action_and_plugin_has_a_row() -> None:
    """All pods that may find a place do, so that what is measured is work."""
    head, _, *rows = table(1, nodes=250, pods=200)

    assert "places 200 pods" in head
    named = [re.match(r"\| (default configuration|(?:action|plugin) \S+) \|", row) for row in rows]
    registry = built_in()
    plugins = [name for name in registry.names() if name != "extender"]  # it asks a server
    expected = [f"action {name}" for name in registry.action_names()] + [f"plugin {name}" for name in plugins]
    assert sorted(found.group(1) for found in named if found) == sorted(["default configuration", *expected])
