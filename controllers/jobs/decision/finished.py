"""Finished work: the treatment of pods that have ended, even after their deletion.

A pod that has succeeded is done. After its deletion it is not created again, and it still counts as succeeded. A pod
that has failed is created again after its deletion, because users delete failed pods by hand to retry them. Neither
deletion is an eviction.

A pod was evicted if its node or the cluster ended it, and not its containers. Only the deletion of such a pod counts as
an eviction.
"""

from typing import Final

from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import ENDED, Observed, PodPlace, is_given_up, is_leaving
from pyroclast.controllers.jobs.decision.targets import ALL, covers
from pyroclast.model.api.batch import JobPhase
from pyroclast.model.wire import Pod

__all__ = ["done_places", "is_missed_when_gone"]

_OWN_REASONS: Final = frozenset({"", "DeadlineExceeded"})
"""Reasons of pods whose containers ended. Other reasons come from nodes: `Evicted`, `OutOfcpu`, `Shutdown`."""
_DISRUPTED: Final = "DisruptionTarget"


def done_places(seen: Observed, memory: JobMemory) -> frozenset[PodPlace]:
    """Return the places whose pods have succeeded, even if the pods are deleted."""
    if seen.reruns_succeeded or _is_whole_rerun(seen, memory):
        return frozenset()
    vanished = {place for place in memory.known if seen.name_of(place) in seen.vanished}
    there = {place for place, pod in seen.members.items() if _has_succeeded(pod)}
    before = {place for place in memory.done | vanished if _is_still_done(seen, place)}
    return frozenset(
        place for place in there | before if not any(covers(seen, target, place) for target in memory.restarting)
    )


def is_missed_when_gone(seen: Observed, pod: Pod, *, was_known: bool) -> bool:
    """Return whether a pod counts as evicted after its deletion.

    Args:
        seen: Its Job.
        pod: Current pod.
        was_known: Whether the previous decision recorded the pod as not ended.
    """
    if seen.reruns_succeeded or pod.status.phase not in ENDED:
        return True
    if is_leaving(pod):
        return was_known  # the deletion ends it, unless it had ended before
    return pod.status.phase == "Failed" and _is_disrupted(pod)


def _is_whole_rerun(seen: Observed, memory: JobMemory) -> bool:
    """Return whether all pods are being restarted, including ended pods."""
    is_restarting = seen.job.status.state.phase == JobPhase.RESTARTING
    return is_restarting and ALL in (memory.restarting or (ALL,))


def _has_succeeded(pod: Pod) -> bool:
    return pod.status.phase == "Succeeded" and not is_leaving(pod) and not is_given_up(pod)


def _is_still_done(seen: Observed, place: PodPlace) -> bool:
    name = seen.name_of(place)
    if name is None:
        return False  # the Job was scaled down
    pod = seen.pods.get(name)
    return pod is None or pod.status.phase == "Succeeded"


def _is_disrupted(pod: Pod) -> bool:
    is_target = any(each.type == _DISRUPTED and each.status == "True" for each in pod.status.conditions)
    return is_target or pod.status.reason not in _OWN_REASONS
