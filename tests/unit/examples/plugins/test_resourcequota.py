"""The example of docs/plugins/resourcequota.md."""

from pyroclast.model import wire
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import acted, group, node, opened

HARD = {"cpu": "1", "memory": "1G"}


def waiting(name: str, **more: str) -> wire.PodGroup:
    """A job that needs all of it."""
    return group(name, phase="Pending", min_resources={**HARD, **more})


def test_the_page() -> None:
    """The first is admitted, the second is not; where the first is refused by others the second is."""
    quota = wire.ResourceQuota(
        metadata=wire.ObjectMeta(name="q", namespace="ns", uid="q"), status=wire.ResourceQuotaStatus(hard=HARD)
    )
    plugins = ["overcommit", "resourcequota"]
    there = acted(opened(node("n"), quota, waiting("a"), waiting("b"), plugins=plugins))
    other = acted(opened(node("n"), quota, waiting("a", **{"example.com/foo": "1"}), waiting("b"), plugins=plugins))
    assert [there.job(name).phase for name in "ab"] == ["Inqueue", "Pending"]
    assert [other.job(name).phase for name in "ab"] == ["Pending", "Inqueue"]
    (event,) = there.session.report.events

    assert_tells(
        "plugins/resourcequota",
        "A quota of 1 CPU and 1G, nothing used; two jobs of 1 CPU and 1G each. "
        f"The first is admitted, the second is refused with `{event.message}`.",
    )
