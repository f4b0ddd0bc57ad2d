"""The example of docs/plugins/conformance.md."""

from pyroclast.framework.extension import contract
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import group, node, opened, pod


def test_the_page() -> None:
    """Two critical pods and one that is not."""
    there = opened(
        node("n"),
        group("job", namespace="kube-system"),
        group("job", namespace="ns"),
        pod("a", namespace="kube-system", on="n"),
        pod("b", on="n", spec={"priority_class_name": "system-node-critical"}),
        pod("c", on="n"),
        plugins=["conformance"],
    )
    candidates = there.tasks("a", "b", "c")
    chosen, _ = there.function(contract.PREEMPTABLE).function(candidates[2], candidates)
    (left,) = chosen

    assert_tells(
        "plugins/conformance",
        "The candidates are `kube-system/a`, `ns/b` with the class `system-node-critical`, and `ns/c`: "
        f"only `{left.key}` may be evicted.",
    )
