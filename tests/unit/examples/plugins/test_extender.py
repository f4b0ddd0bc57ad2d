"""The example of docs/plugins/extender.md."""

import msgspec

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.extending import Service, decided

VERDICTS = {"verdicts": {"n1": {"status": "rack drained", "code": 3}}}
SCORES = {"nodeScore": {"n2": 1, "n3": 2.5}}
THREE = Scenario().node("n1").node("n2").node("n3").job("a")


def test_the_page() -> None:
    """What is asked, what is answered, and where the pod goes."""
    service = Service(batchPredicate=VERDICTS, prioritize=SCORES)
    (place,) = decided(THREE, service).bindings.values()
    asked = [(body["task"]["Name"], body["nodes"][0]["Name"]) for _, body in service.asked]
    verdict = VERDICTS["verdicts"]["n1"]
    drained = Service(batchPredicate={"verdicts": dict.fromkeys(("n1", "n2", "n3"), verdict)})
    why = decided(THREE, drained).why("a")
    message = "0/3 nodes are unavailable: 3 rack drained."
    assert message in why

    assert_tells(
        "plugins/extender",
        "A pod fits on `n1`, `n2` and `n3`:",
        *(f'{{"task": {{"Name": "{task}", …}}, "nodes": [{{"Name": "{node}", …}}, …]}}' for task, node in asked),
        f"→ {msgspec.json.encode(VERDICTS).decode()}",
        f"→ {msgspec.json.encode(SCORES).decode()}",
        f"The pod is placed on `{place}`.",
        f"it waits: `{message}`",
    )
