"""What is explained of a job of gangs: what each says, as it was read, by Koordinator's names."""

from pyroclast.model.gangs.names import TOTAL_NUMBER, WAITING_TIME
from pyroclast.scheduler.monitoring.explain import explain_job
from pyroclast.testing import Scenario
from tests.gangs import annotated
from tests.native import ALL, native_group, of_native


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


def test_a_native_group_is_explained() -> None:
    """With the template that it was made of, and its conditions as the server has them."""
    reference = {"workloadName": "w", "templateName": "workers"}
    workload = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"podGroupTemplates": [{"name": "workers"}]},
    }
    group = native_group("a", 2, key="rack", disruptionMode=ALL, workloadRef=reference)
    scenario = Scenario().queue("default").node("n").pod("p", spec=of_native("a")).job("plain").add(group, workload)
    (done,) = scenario.run("allocate", plugins=("gang",)).rounds

    explained = explain_job("default/podgroup:a", done.snapshot, done.report)
    assert explained is not None
    assert explained["nativeGroup"] == {
        "name": "default/a",
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "minCount": 2,
        "disruptionMode": "All",
        "topologyKey": "rack",
        "preempts": True,
        "workload": "default/w",
        "template": "workers",
        "workloadExists": True,
        "conditions": [],
    }
    plain = explain_job("default/plain", done.snapshot, done.report)
    assert plain is not None
    assert plain["nativeGroup"] is None
