"""Hook plugins of elastic-quota: they refuse pods of quotas, read quotas, and annotate them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Answer, Plugin, QuotaHook
from pyroclast.framework.session.session import Session
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.testing import Outcome, Scenario
from tests.elastic_quotas import elastic_quota, uses

CLUSTER = (
    Scenario()
    .node("n1", cpu=8)
    .add(
        elastic_quota("org", most={"cpu": 8}, is_parent=True, uid="o"),
        elastic_quota("team", least={"cpu": 2}, most={"cpu": 8}, parent="org", uid="t"),
    )
)


@dataclass(frozen=True)
class Limiter(Plugin):
    """Permits quotas a number of pods' CPUs, as `factoryArgs` says, and writes down what they use."""

    name = "limiter"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register both points."""
        session.extensions.register(contract.QUOTA_CHECK, self.name, self.check)
        session.extensions.register(contract.QUOTA_STATUS, self.name, self.annotations)

    def check(self, hook: QuotaHook, quota: str, task: Task) -> Answer:
        """Refuse what is too much, and pods with a label."""
        if task.pod.metadata.labels.get("forbidden"):
            return False
        facts = hook.quota(quota)
        if facts is None or facts.used.get("cpu", 0) < 1000 * int(hook.args):
            return None
        return Refusal(plugin=self.name, reason="Enough", message=f"{hook.key}: {quota} has {hook.args}")

    def annotations(self, hook: QuotaHook, quota: str) -> Mapping[str, str]:
        """What the quota uses; a reserved key and a long text are not written whole."""
        facts = hook.quota(quota)
        parent = "" if facts is None else facts.parent
        return {
            f"{hook.key}/parent": parent,
            f"{hook.key}/long": "x" * 5000,
            "quota.scheduling.koordinator.sh/used": "1",
        }


@dataclass(frozen=True)
class Broken(Limiter):
    """Fails."""

    name = "broken"

    def check(self, hook: QuotaHook, quota: str, task: Task) -> Answer:
        """Raise."""
        raise ValueError(hook.key + quota + task.name)


def run(scenario: Scenario, *hooks: Mapping[str, str], plugins: Any = (Limiter,)) -> Outcome:
    """Decide with hooks."""
    arguments = {"elastic-quota": {"hookPlugins": list(hooks)}}
    return scenario.run("allocate", plugins=(("gang", "elastic-quota", *plugins), ("predicates",)), arguments=arguments)


TWO = {"key": "two", "factoryKey": "limiter", "factoryArgs": "2"}


def reasons(outcome: Outcome) -> set[str]:
    """Why pods wait."""
    return {refusals[0].message for refusals in outcome.report.task_refusals.values()}


def test_a_hook_refuses_pods_beyond_its_own_limit() -> None:
    """Two of four are placed, one by one; the message is the hook's."""
    scenario = CLUSTER.job("j", tasks=4, min_available=1, labels=uses("team"))
    outcome = run(scenario, TWO)
    assert len(outcome.bindings) == 2
    assert reasons(outcome) == {"two: team has 2"}


def test_hooks_are_asked_in_turn_and_only_if_they_are_named() -> None:
    """The stricter one decides; a plugin that no entry names has no say."""
    scenario = CLUSTER.job("j", tasks=4, min_available=1, labels=uses("team"))
    assert len(run(scenario, TWO, {**TWO, "key": "one", "factoryArgs": "1"}).bindings) == 1
    assert len(run(scenario).bindings) == 4


def test_a_hook_decides_about_each_pod() -> None:
    """Equal pods but for a label: one of three is refused, by a plain False."""
    scenario = CLUSTER.job("j", tasks=0, min_available=1)
    for number in range(3):
        labels = {**uses("team"), **({"forbidden": "yes"} if number == 1 else {})}
        scenario = scenario.pod(f"j-{number}", job="j", labels=labels)
    outcome = run(scenario, {**TWO, "factoryArgs": "8"})
    assert sorted(outcome.bindings) == ["j-0", "j-2"]
    assert reasons(outcome) == {"hook plugin two does not permit the pod to use quota team"}


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("absent", "hook plugin two: plugin absent is not in the configuration, or registers no quota_check and no"),
        ("broken", "plugin broken failed: ValueError: twoteamj-0"),
    ],
)
def test_a_missing_or_broken_hook_refuses(factory: str, message: str) -> None:
    """What it would refuse is not known, so no pod is placed."""
    scenario = CLUSTER.job("j", labels=uses("team"))
    outcome = run(scenario, {**TWO, "factoryKey": factory}, plugins=(Limiter, Broken))
    assert outcome.bindings == {}
    assert [each.startswith(message) for each in reasons(outcome)] == [True]


def test_hooks_annotate_quotas() -> None:
    """Within bounds, and not in place of the status."""
    figures = {each.name: each for each in run(CLUSTER.job("j", labels=uses("team")), TWO).report.quotas}
    assert figures["team"].annotations == {"two/parent": "org", "two/long": "x" * 4096}
    assert figures["org"].annotations["two/parent"] == "koordinator-root-quota"
