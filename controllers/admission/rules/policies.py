"""Rules of lifecycle policies, of a Job or of one of its tasks."""

from collections.abc import Iterator, Sequence
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model.api.batch import LifecyclePolicy

__all__ = ["ACTIONS", "EVENTS", "policy_faults"]

ANY: Final = "*"

EVENTS: Final = (
    ANY,
    "JobUpdated",
    "PodEvicted",
    "PodFailed",
    "PodPending",
    "TaskCompleted",
    "TaskFailed",
    "Unknown",
)
"""Events that a policy may name. Other events are internal."""

ACTIONS: Final = (
    "AbortJob",
    "CompleteJob",
    "RestartJob",
    "RestartPartition",
    "RestartPod",
    "RestartTask",
    "ResumeJob",
    "TerminateJob",
)
"""Actions that a policy may name."""


def policy_faults(policies: Sequence[LifecyclePolicy], field: str) -> Iterator[Fault]:
    """Find missing, conflicting, invalid and duplicate events and exit codes of policies, and invalid actions."""
    events: set[str] = set()
    exit_codes: set[int] = set()
    for number, policy in enumerate(policies):
        place, named = f"{field}[{number}]", events_of(policy)
        if named and policy.exit_code is not None:
            yield Fault(
                field=place,
                value={"events": named, "exitCode": policy.exit_code},
                expected="one of the two",
                rule="must not specify event and exitCode simultaneously",
            )
        elif named:
            yield from _event_faults(policy, named, events, place)
        elif policy.exit_code is None:
            yield Fault(field=place, rule="either event and exitCode should be specified")
        else:
            yield from _exit_code_faults(policy.exit_code, exit_codes, f"{place}.exitCode")
            exit_codes.add(policy.exit_code)
        events.update(named)
    if ANY in events and len(events) > 1:
        yield Fault(
            field=field,
            value=sorted(events),
            expected=f"{ANY!r} alone, or events without it",
            rule="if there's * here, no other policy should be here",
        )


def events_of(policy: LifecyclePolicy) -> list[str]:
    """Return the events of a policy, each once."""
    return list(dict.fromkeys([*policy.events, *([policy.event] if policy.event else ())]))


def _event_faults(policy: LifecyclePolicy, named: Sequence[str], earlier: set[str], field: str) -> Iterator[Fault]:
    for event in named:
        if event not in EVENTS:
            yield Fault(
                field=f"{field}.event",
                value=event,
                expected=f"valid events are {', '.join(EVENTS)}",
                rule="invalid policy event",
            )
        elif event in earlier:
            yield Fault(field=f"{field}.event", value=event, rule=f"duplicate event {event}  across different policy")
    if policy.action not in ACTIONS:
        yield Fault(
            field=f"{field}.action",
            value=policy.action,
            expected=f"valid actions are {', '.join(ACTIONS)}",
            rule="invalid policy action",
        )


def _exit_code_faults(exit_code: int, earlier: set[int], field: str) -> Iterator[Fault]:
    if exit_code == 0:
        yield Fault(field=field, value=0, expected="any other code", rule="0 is not a valid error code")
    elif exit_code in earlier:
        yield Fault(field=field, value=exit_code, rule=f"duplicate exitCode {exit_code}")
