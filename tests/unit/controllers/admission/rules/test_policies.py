"""Lifecycle policies: events, exit codes, actions."""

import msgspec
import pytest

from pyroclast.controllers.admission.rules.policies import policy_faults
from pyroclast.model.api.batch import LifecyclePolicy
from tests.unit.controllers.admission.objects import Json


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ([{"event": "PodFailed", "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}], []),
        ([{"event": "*", "action": "RestartJob"}], []),
        ([{"events": ["PodFailed", "PodEvicted"], "event": "PodFailed", "action": "RestartPod"}], []),
        (
            [{"event": "PodFailed", "exitCode": 1, "action": "RestartJob"}],
            ["must not specify event and exitCode simultaneously"],
        ),
        ([{"action": "RestartJob"}], ["either event and exitCode should be specified"]),
        ([{"event": "PodRunning", "action": "RestartJob"}], ["invalid policy event"]),
        ([{"event": "PodFailed", "action": "SyncJob"}], ["invalid policy action"]),
        ([{"exitCode": 1, "action": "Whatever"}], []),
        (
            [{"event": "PodFailed", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}],
            ["duplicate event PodFailed  across different policy"],
        ),
        ([{"exitCode": 0, "action": "RestartJob"}], ["0 is not a valid error code"]),
        (
            [{"exitCode": 3, "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}],
            ["duplicate exitCode 3"],
        ),
        (
            [{"event": "*", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}],
            ["if there's * here, no other policy should be here"],
        ),
    ],
)
def test_policies(policies: list[Json], words: list[str]) -> None:
    """Each rule in Volcano's words."""
    faults = list(policy_faults(msgspec.convert(policies, tuple[LifecyclePolicy, ...]), "spec.policies"))

    assert len(faults) == len(words)
    assert all(each in fault.rule for fault, each in zip(faults, words, strict=True))


def test_a_wrong_event_names_all_that_there_are() -> None:
    """The defaults need no lookup."""
    (fault,) = policy_faults([LifecyclePolicy(event="Boom", action="AbortJob")], "spec.policies")

    assert str(fault) == (
        'spec.policies[0].event: invalid policy event (got "Boom", expected valid events are *, JobUpdated, '
        "PodEvicted, PodFailed, PodPending, TaskCompleted, TaskFailed, Unknown)"
    )
