"""The example of docs/plugins/overcommit.md."""

from pyroclast.framework.configuration.arguments import decode
from pyroclast.model import wire
from pyroclast.plugins.overcommit import OvercommitArgs
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import acted, group, node, opened


def waiting(name: str, cpu: int, phase: str = "Pending") -> wire.PodGroup:
    """A group that needs so much CPU."""
    return group(name, phase=phase, min_resources={"cpu": str(cpu)})


def test_the_page() -> None:
    """Two jobs pass beside one that was admitted, a large one does not."""
    jobs = waiting("held", 2, "Inqueue"), waiting("a", 2), waiting("b", 2), waiting("c", 20)
    there = acted(opened(node("n1", cpu="2"), node("n2", cpu="4"), *jobs, plugins=["overcommit"], actions="enqueue"))
    assert {name: str(there.job(name).phase) for name in "abc"} == {"a": "Inqueue", "b": "Inqueue", "c": "Pending"}
    (told,) = [event.message.partition(". ")[0].partition(": ")[2] for event in there.session.report.events]
    args, _ = decode(OvercommitArgs, {"overcommit-factor": 0.8}, "arguments")

    assert_tells(
        "plugins/overcommit",
        f"Nodes of 2 and 4 CPU: {float(args.factor * 6):g} CPU may be reserved.",
        f"With 2 CPU admitted, a job of 2 CPU passes ({2 + 2}), the next one too ({2 + 2 + 2}), "
        f"one of 20 is refused with `{told}`.",
        f"A factor of 0.8 is read as {float(args.factor):g}.",
    )
