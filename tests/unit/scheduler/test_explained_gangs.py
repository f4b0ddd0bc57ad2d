"""What is explained of a job of gangs: what each says, as it was read, by Koordinator's names."""

from pyroclast.model.gangs.names import TOTAL_NUMBER, WAITING_TIME
from pyroclast.scheduler.monitoring.explain import explain_job
from pyroclast.testing import Scenario
from tests.gangs import annotated


def test_gangs_of_a_job_are_explained() -> None:
    """Total number and waiting time among it, which decide little or nothing."""
    more = {TOTAL_NUMBER: "4", WAITING_TIME: "1m"}
    annotations = annotated("a", 2, mode="NonStrict", policy="only-waiting", more=more)
    scenario = Scenario().queue("default").node("n").pod("p", annotations=annotations).job("plain")
    (done,) = scenario.run("allocate", plugins=("coscheduling", "gang")).rounds

    explained = explain_job("default/gang:a", done.snapshot, done.report)
    assert explained is not None
    (gang,) = explained["gangs"]
    assert gang.pop("createTime")
    assert gang == {
        "name": "default/a",
        "gangGroup": ["default/a"],
        "minRequiredNumber": 2,
        "totalChildrenNum": 4,
        "mode": "NonStrict",
        "gangMatchPolicy": "only-waiting",
        "waitTime": 60.0,
    }
    assert [each["plugin"] for each in explained["refusals"]][:1] == ["coscheduling"]
    plain = explain_job("default/plain", done.snapshot, done.report)
    assert plain is not None
    assert plain["gangs"] == []
