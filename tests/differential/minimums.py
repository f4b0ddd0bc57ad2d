"""The pods that make a job ready, chosen one look at the whole job after the other: nothing is kept but the choice."""

from collections.abc import Callable, Iterator, Sequence

from tests.differential.cluster import READY, Group, Pod
from tests.differential.parts import Part

Step = tuple[Part, list[Pod]]


class Choosing:
    """One choice of pods for a job."""

    def __init__(self, group: Group, parts: Sequence[Part], pods: Sequence[Pod]) -> None:
        self.group = group
        self.parts = parts
        self.pods = [pod for pod in pods if not group.counts(pod)]
        self.chosen: list[Pod] = []

    def steps(self) -> Iterator[Step]:
        """Choose: sub-groups that their policy lacks, then for roles, then for the whole."""
        yield from self.whole_parts(lambda part: self.parts_lack(part.policy) > 0)
        yield from self.singly(lambda pod: self.role_lacks(pod.role) > 0)
        for part in self.parts:
            yield from self.whole_parts(lambda each, part=part: each is part and self.has_lacking_role(each))  # type: ignore[misc]
            yield from self.singly(lambda pod: self.role_lacks(pod.role) > 0)
        yield from self.whole_parts(lambda part: self.part_lacks(part) <= self.whole_lacks())
        yield from self.singly(lambda _: self.whole_lacks() > 0)
        yield from self.whole_parts(lambda _: self.whole_lacks() > 0)

    def whole_parts(self, wanted: Callable[[Part], bool]) -> Iterator[Step]:
        """Sub-groups that can be completed, for a later turn."""
        for part in self.parts:
            lacks = self.part_lacks(part)
            if 0 < lacks <= len(self.candidates(part)) and wanted(part):
                first = len(self.chosen)
                for _ in range(lacks):
                    self.chosen.append(min(self.candidates(part), key=lambda pod: self.worth(part, pod)))
                yield part, self.chosen[first:]

    def singly(self, wanted: Callable[[Pod], bool]) -> Iterator[Step]:
        """Pods of sub-groups that are completed, for a later turn."""
        for part in self.parts:
            for pod in self.candidates(part) if self.part_lacks(part) <= 0 else ():
                if wanted(pod):
                    self.chosen.append(pod)
                    yield part, [pod]

    def worth(self, part: Part, pod: Pod) -> tuple[bool, bool]:
        """Members of a role that lacks them come first, and of these the ones that cannot be replaced."""
        lacks = self.role_lacks(pod.role)
        elsewhere = sum(
            each.role == pod.role for other in self.parts if other is not part for each in self.candidates(other)
        )
        return lacks <= elsewhere, lacks <= 0

    def candidates(self, part: Part) -> list[Pod]:
        """The pods of a part that can still be chosen."""
        return [pod for pod in self.pods if pod in part.members and pod not in self.chosen]

    def counted(self, pods: Sequence[Pod]) -> int:
        """How many of some pods have a place, or are chosen."""
        placed = (*READY, "Pipelined")
        return sum(pod.status in placed or self.group.counts(pod) or pod in self.chosen for pod in pods)

    def whole_lacks(self) -> int:
        """How many pods the job lacks."""
        return self.group.minimum - self.counted(self.group.pods)

    def role_lacks(self, role: str) -> int:
        """How many pods a role lacks."""
        if self.group.minimum < sum(self.group.by_role.values()):
            return 0
        return self.group.by_role.get(role, 0) - self.counted([pod for pod in self.group.pods if pod.role == role])

    def has_lacking_role(self, part: Part) -> bool:
        """Whether a part has pods that a role lacks."""
        return any(self.role_lacks(pod.role) > 0 for pod in self.candidates(part))

    def part_lacks(self, part: Part) -> int:
        """How many pods a sub-group lacks; none where nothing divides the job."""
        return part.minimum - self.counted(part.members) if self.group.policies else 0

    def parts_lack(self, policy: str) -> int:
        """How many sub-groups a policy lacks."""
        least = next((each.get("minSubGroups", 0) for each in self.group.policies if each["name"] == policy), 0)
        return least - sum(self.part_lacks(part) <= 0 for part in self.parts if part.policy == policy)
