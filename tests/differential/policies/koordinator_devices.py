"""Koordinator's devices, one node after the other: what docs/plugins/deviceshare.md says of GPUs and RDMA cards."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.differential.cluster import Node, Pod
from tests.differential.policies.deviceshare import DeviceShare

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
GIB = 2**30
CORE, MEMORY, RATIO, RDMA = (
    f"koordinator.sh/{each}" for each in ("gpu-core", "gpu-memory", "gpu-memory-ratio", "rdma")
)
NVIDIA = "nvidia.com/gpu"
SCORED = (RATIO, MEMORY, RDMA)

Part = Mapping[str, int]
Devices = dict[tuple[str, int], list[Part]]
"""Amounts of each pod, by type and number."""


def number(text: str) -> int:
    """Read a quantity, whole units."""
    return int(text.removesuffix("Gi")) * (GIB if text.endswith("Gi") else 1)


class KoordinatorDevices(DeviceShare):
    """Whole GPUs and shares of one, and shares of cards."""

    def wish(self, pod: Pod) -> dict[str, int]:
        """What a pod asks of devices, whole units."""
        found: dict[str, int] = {}
        for each in pod.spec["containers"]:
            for name, text in each["resources"]["requests"].items():
                if name in (CORE, MEMORY, RATIO, RDMA, NVIDIA):
                    found[name] = found.get(name, 0) + number(str(text))
        return {name: count for name, count in found.items() if count}

    def told(self, node: Node) -> list[Mapping[str, Any]] | None:
        """The devices of a node; None where nothing tells of them."""
        return next(
            (
                each["spec"]["devices"]
                for each in self.cluster.of_kind("Device")
                if each["metadata"]["name"] == node.name
            ),
            None,
        )

    def total(self, told: Mapping[str, Any]) -> Part:
        """What a device offers; nothing of one that is ill."""
        listed = told["resources"] if told["health"] else {}
        return {name: number(text) for name, text in listed.items()}

    def is_served(self, node: Node) -> bool:
        """Whether something tells of devices."""
        return self.told(node) is not None

    def empty(self, node: Node) -> Devices:
        """All devices, before any is allocated."""
        return {(each["type"], each["minor"]): [] for each in self.told(node) or ()}

    def asked(self, node: Node, pod: Pod) -> dict[str, tuple[int, Part]]:
        """How many devices of each type a pod asks for, and what of each."""
        wish, found = self.wish(pod), dict[str, tuple[int, Part]]()
        whole = wish.get(NVIDIA, 0)
        shared = {name: wish[name] for name in (CORE, MEMORY, RATIO) if name in wish}
        if whole or shared:
            found["gpu"] = whole or 1, self.both_ways(node, {CORE: 100, RATIO: 100} if whole else shared)
        if RDMA in wish:
            count = wish[RDMA] // 100 if wish[RDMA] > 100 and not wish[RDMA] % 100 else 1
            found["rdma"] = count, {RDMA: wish[RDMA] // count}
        return found

    def named(self, node: Node, taken: Devices, pod: Pod) -> list[tuple[Any, Any]]:
        """The devices that a pod names, no more than it asks for, and what it asks of each."""
        asked, found, seen = self.asked(node, pod), list[tuple[Any, Any]](), set[tuple[str, int]]()
        for kind, held in json.loads(pod.object["metadata"]["annotations"].get(ALLOCATED, "{}")).items():
            count, part = asked.get(kind, (0, {}))
            for each in held:
                device = kind, each["minor"]
                if device in taken and (device in seen or sum(other == kind for other, _ in seen) < count):
                    found.append((device, {} if device in seen else part))
                    seen.add(device)
        return found

    def has_room(self, node: Node, device: Any, parts: Sequence[Part], part: Part) -> bool:
        """Whether a device has so much left; ill ones refuse nothing."""
        kind, minor = device
        told = next(each for each in self.told(node) or () if (each["type"], each["minor"]) == (kind, minor))
        used = {name: sum(each.get(name, 0) for each in parts) + part.get(name, 0) for name in self.total(told)}
        return all(used[name] <= there for name, there in self.total(told).items())

    def unnamed(self, node: Node, taken: Devices, pod: Pod, named: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        """The first devices with so much left, of each type of which too few are named."""
        have, found = {device for device, _ in named}, list[tuple[Any, Any]]()
        for kind, (count, part) in self.asked(node, pod).items():
            able = sorted(device for device in self.by_score(node, taken, kind, part) if device not in have)
            missing = max(count - sum(other == kind for other, _ in have), 0)
            found += [(device, part) for device in able[:missing]]
        return found

    def devices_of(self, node: Node) -> Devices:
        """What pods have of the devices of a node as things are now."""
        devices = self.empty(node)
        for pod in self.there:
            if pod.node == node.name and pod.status != "Releasing":
                for device, part in self.held.get(pod.key, ()):
                    devices[device].append(part)
        for device, part in self.given_on(node):
            devices[device].append(part)
        return devices

    def gets(self, node: Node, pod: Pod) -> list[tuple[Any, Any]]:
        """The devices that a pod gets on its node."""
        return [*(self.choices(node, self.devices_of(node), pod) or ())]

    def both_ways(self, node: Node, part: dict[str, int]) -> dict[str, int]:
        """Memory and percent of it follow from each other, by the first GPU that is well."""
        totals = (self.total(each) for each in self.told(node) or () if each["type"] == "gpu")
        memory = next((total[MEMORY] for total in totals if total), 0)
        if memory and RATIO in part and MEMORY not in part:
            part[MEMORY] = part[RATIO] * memory // 100
        if memory and MEMORY in part and RATIO not in part:
            part[RATIO] = part[MEMORY] * 100 // memory
        return part

    def choices(self, node: Node, devices: Devices, pod: Pod) -> list[tuple[tuple[str, int], Part]] | None:
        """The devices of a pod, and what it has of each; None where too few do."""
        wish, found = self.wish(pod), list[tuple[tuple[str, int], Part]]()
        whole = wish.get(NVIDIA, 0)
        shared = {name: wish[name] for name in (CORE, MEMORY, RATIO) if name in wish}
        of_gpus = {CORE: 100, RATIO: 100} if whole else shared
        if of_gpus:
            part = self.both_ways(node, dict(of_gpus))
            chosen = self.gpus(node, devices, part, whole)
            if chosen is None:
                return None
            found += [(device, part) for device in chosen]
        if RDMA in wish:
            able = list(self.by_score(node, devices, "rdma", {RDMA: wish[RDMA]}))
            if not able:
                return None
            found.append((able[0], {RDMA: wish[RDMA]}))
        return found

    def gpus(self, node: Node, devices: Devices, part: Part, whole: int) -> Sequence[tuple[str, int]] | None:
        """GPUs of a pod: within the narrowest scope, there where others are."""
        told = {("gpu", each["minor"]): each for each in self.told(node) or () if each["type"] == "gpu"}
        able, count = list(self.by_score(node, devices, "gpu", part)), whole or 1
        if len(able) < count:
            return None
        if any("topology" not in each for each in told.values()):
            return able[:count]
        scores = {device: self.score(self.total(told[device]), devices[device], part) for device in able}
        best: tuple[tuple[int, ...], Sequence[tuple[str, int]]] | None = None
        for depth, around in self.scopes(told):
            inside = sorted(each for each in able if each in around[-1])
            if len(inside) < count:
                continue
            if not whole:
                inside.sort(key=lambda each: (-scores[each], each))
            touched = sum(any(devices[each] for each in scope) for scope in around)
            rank = (depth, touched, 0 if whole else scores[inside[0]])
            if best is None or rank > best[0]:
                best = (rank, inside[:count])
        return None if best is None else best[1]

    def scopes(
        self, told: Mapping[tuple[str, int], Mapping[str, Any]]
    ) -> Iterator[tuple[int, list[set[tuple[str, int]]]]]:
        """The node, its NUMA nodes and switches, each with those around it."""
        node = set(told)
        yield 1, [node]
        place = {device: (each["topology"]["nodeID"], each["topology"]["pcieID"]) for device, each in told.items()}
        for numa in sorted({of for of, _ in place.values()}):
            inside = {device for device in node if place[device][0] == numa}
            yield 2, [node, inside]
            for pcie in sorted({place[device][1] for device in inside}):
                yield 3, [node, inside, {device for device in inside if place[device][1] == pcie}]

    def by_score(self, node: Node, devices: Devices, kind: str, part: Part) -> Iterator[tuple[str, int]]:
        """Devices of a type with so much left, the emptiest first."""
        totals = {(kind, each["minor"]): self.total(each) for each in self.told(node) or () if each["type"] == kind}
        able = [
            device
            for device, total in totals.items()
            if any(self.left(total, devices[device]).values())
            and all(self.left(total, devices[device])[name] >= asked for name, asked in part.items())
        ]
        yield from sorted(able, key=lambda each: (-self.score(totals[each], devices[each], part), each))

    def left(self, total: Part, parts: Sequence[Part]) -> dict[str, int]:
        """What is left of a device."""
        return {name: max(there - sum(part.get(name, 0) for part in parts), 0) for name, there in total.items()}

    def score(self, total: Part, parts: Sequence[Part], part: Part) -> int:
        """How empty a device would be."""
        left = self.left(total, parts)
        scores = [max(left[name] - part.get(name, 0), 0) * 100 // total[name] for name in SCORED if total.get(name)]
        return sum(scores) // len(scores)

    def could_permit(self, pod: Pod, node: Node) -> bool:
        """The devices would do, were they all free."""
        served = self.told(node) is not None
        return not (self.wish(pod) and served) or self.choices(node, self.empty(node), pod) is not None

    def permits(self, pod: Pod, node: Node) -> bool:
        """They do as they are."""
        told = self.told(node)
        return not self.wish(pod) or told is None or self.choices(node, self.devices_of(node), pod) is not None
