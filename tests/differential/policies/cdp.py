"""Cooldown, pod by pod: what docs/plugins/cdp.md says."""

import re
from datetime import datetime
from typing import ClassVar

from tests.differential.cluster import Pod
from tests.differential.policy import Policy, Rule

KEY = "volcano.sh/cooldown-time"
SECONDS = {"s": 1, "m": 60}


class Cdp(Policy):
    """Jobs that were not scheduled a short while ago."""

    name = "cdp"
    guards: ClassVar[bool] = True

    def rules(self, _point: str) -> Rule | None:
        """For all who ask alike."""
        return lambda _, candidates: [pod for pod in candidates if not self.cools_down(pod)]

    def cools_down(self, pod: Pod) -> bool:
        """Whether a pod is spared."""
        annotations = pod.object["metadata"]["annotations"]
        read = re.fullmatch(r"(\d+)([sm])", pod.labels.get(KEY, annotations.get(KEY, "")))
        status = pod.object["status"]
        scheduled = [
            each["lastTransitionTime"]
            for each in status.get("conditions", [])
            if each["type"] == "PodScheduled" and each["status"] == "True"
        ]
        if read is None or not scheduled or status["phase"] != "Running":
            return False
        until = datetime.fromisoformat(scheduled[0]).timestamp() + int(read[1]) * SECONDS[read[2]]
        return until > self.now
