"""The plain scheduler looks for domains: a job, and each part of it, gets one before its nodes.

Every domain of a level is tried on its own, everything is put back, and the best of those that serve is filled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.differential.cluster import Amounts, Group, Node, Pod
from tests.differential.evicting import Draft, Evicting, Who
from tests.differential.parts import Part, parts_of
from tests.differential.policies.network_topology_aware import HELD, NetworkTopologyAware
from tests.differential.racks import ROOT
from tests.differential.scores import used

Topology = Mapping[str, Any] | None
MOST_DOMAINS = 8


class Topological(Evicting):
    """One cycle in which jobs may want to lie close."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.may_evict = True
        self.inside: set[str] | None = None
        """Nodes that may be used; all where None."""
        names = {name for node in self.cluster.nodes for name in node.offers} | set(self.shares.names)
        self.room_at_first = {
            (node.name, name, later): self.room(node, name, later=later)
            for node in self.cluster.nodes
            for name in names
            for later in (False, True)
        }

    @property
    def aware(self) -> NetworkTopologyAware | None:
        """The plugin, where it is configured."""
        policy = self.policies.get(NetworkTopologyAware.name)
        return policy if isinstance(policy, NetworkTopologyAware) else None

    def permits(self, pod: Pod, node: Node) -> bool:
        """Ask the filters, inside a domain."""
        return (self.inside is None or node.name in self.inside) and super().permits(pod, node)

    def helps(self, pod: Pod, node: Node) -> bool:
        """Whether evicting from a node can help."""
        return (self.inside is None or node.name in self.inside) and super().helps(pod, node)

    def usable(self) -> list[Node]:
        """The nodes of the domain."""
        return [node for node in self.cluster.nodes if self.inside is None or node.name in self.inside]

    def valid(self, group: Group) -> bool:
        """Whether a job can have its minimum, and a plugin serves its topology."""
        hard = [each for each in self.topologies(group) if each["mode"] != "soft"]
        if self.aware is None:
            served = not any("highestTierAllowed" in each or "highestTierName" in each for each in hard)
        else:
            named = [each["highestTierName"] for each in hard if "highestTierName" in each]
            served = all(name in self.tiers_by_name() for name in named)
        return served and super().valid(group)

    def where_it_may_lie(self, pod: Pod, nodes: Sequence[Node]) -> Sequence[Node]:
        """Those in domains of its job and its part, beside what is placed; at first in the domains with most places."""
        if self.aware is None:
            return nodes
        group = self.group_of(pod)
        part = next(each for each in self.parts(group) if pod in each.members)
        nodes = self.beside(self.limit_of_job(group), group.pods, nodes)
        return self.beside(self.limit_of_part(part), part.members, nodes)

    def beside(self, limit: int | None, members: Sequence[Pod], nodes: Sequence[Node]) -> Sequence[Node]:
        """Those of some nodes that an allowed domain holds beside what some pods have."""
        assert self.aware is not None
        held = [pod.node for pod in members if pod.status in HELD]
        site = self.aware.site
        sites = [site.inside(each) for level in self.levels(limit, held, ROOT, {}, evicting=False) for each in level]
        if not any(node in site.nodes for node in held):
            light = sum(self.group_of(pod).counts(pod) for pod in members)
            found = [min(sum(self.places(node) for node in nodes if node.name in inside), light) for inside in sites]
            sites = [inside for inside, count in zip(sites, found, strict=True) if count == max(found)]
        return [node for node in nodes if any(node.name in inside for inside in sites)]

    def places(self, node: Node) -> int:
        """How many pods a node takes more."""
        return node.offers["pods"] - used(self.filters, node, "pods", viewed=False)

    # What jobs ask for

    @staticmethod
    def topologies(group: Group) -> list[Mapping[str, Any]]:
        """All that a job asks for."""
        found = [group.topology, *(policy.get("networkTopology") for policy in group.policies)]
        return [each for each in found if each is not None]

    def tiers_by_name(self) -> dict[str, int]:
        """The tiers by their names."""
        hyper_nodes = self.cluster.of_kind("HyperNode")
        named = [(each["spec"]["tierName"], each["spec"]["tier"]) for each in hyper_nodes if "tierName" in each["spec"]]
        return dict(sorted(named, reverse=True))

    def limit(self, topology: Topology, widest: int) -> int | None:
        """The highest tier that may be spanned; None for any."""
        if topology is None:
            return None
        if topology["mode"] == "soft":
            return widest
        if "highestTierAllowed" in topology:
            return int(topology["highestTierAllowed"])
        return self.tiers_by_name().get(topology.get("highestTierName", ""))

    def limit_of_job(self, group: Group) -> int | None:
        """The same for a job."""
        assert self.aware is not None
        return self.limit(group.topology, self.aware.site.tiers()[-1])

    def limit_of_part(self, part: Part) -> int | None:
        """The same for a part: at most what the job may where it does not mind."""
        assert self.aware is not None
        of_job = self.limit_of_job(part.group)
        return self.limit(part.topology, self.aware.site.tiers()[-1] if of_job is None else of_job)

    # Levels

    def levels_of_job(self, group: Group, *, evicting: bool = False) -> list[list[str]]:
        """The domains to be tried for a job, lowest tier first."""
        held = [pod.node for pod in group.pods if pod.status in HELD]
        return self.levels(self.limit_of_job(group), held, ROOT, group.reserves or {}, evicting=evicting)

    def levels_of_part(self, part: Part, root: str, *, evicting: bool = False) -> list[list[str]]:
        """The domains to be tried for a part inside another."""
        held = [pod.node for pod in part.members if pod.status in HELD]
        wanted: Amounts = {}
        for pod in part.members:
            if pod.status == "Pending":
                for name, number in pod.request.items():
                    wanted[name] = wanted.get(name, 0) + number
        return self.levels(self.limit_of_part(part), held, root, wanted, evicting=evicting)

    def levels(
        self, limit: int | None, held: list[str], root: str, wanted: Amounts, *, evicting: bool
    ) -> list[list[str]]:
        """Domains by level; to make room in the widest come first, and there are only so many."""
        assert self.aware is not None
        site = self.aware.site
        if limit is None:
            return [[root]]
        known = [node for node in held if node in site.nodes]
        start: str | None = root
        if known:
            start = self.shared(self.highest(limit, known), root)
        if start is None:
            return []
        domains = [
            each
            for each in [*sorted(site.tier), ROOT]
            if start in site.around(each)
            and site.tier_of(each) <= limit
            and (known or self.could_hold(each, wanted, evicting=evicting))
        ]
        tiers = sorted({site.tier_of(each) for each in domains})
        levels = [[each for each in domains if site.tier_of(each) == tier] for tier in tiers]
        if not evicting:
            return levels
        most = self.aware.arguments.get("hypernode.gradient.evict.max-hypernodes", 8)
        kept = []
        for level in reversed(levels):
            taken = level[-most:] if most > 0 else []
            most -= len(taken)
            kept += [taken] if taken else []
        return kept

    def highest(self, limit: int, held: list[str]) -> str | None:
        """The highest domain around what runs, up to the first that exceeds a tier."""
        assert self.aware is not None
        highest = None
        for domain in self.aware.site.around(self.aware.site.innermost(held) or ROOT):
            if self.aware.site.tier_of(domain) > limit:
                break
            highest = domain
        return highest

    def shared(self, domain: str | None, root: str) -> str | None:
        """The inner one of two domains where one is inside the other."""
        assert self.aware is not None
        if domain is None:
            return None
        if root in self.aware.site.around(domain):
            return domain
        return root if domain in self.aware.site.around(root) else None

    def could_hold(self, domain: str, wanted: Amounts, *, evicting: bool) -> bool:
        """Whether a domain's capacity as the cycle began, free then or later, is enough for all requests together."""
        assert self.aware is not None
        nodes = [node for node in self.cluster.nodes if node.name in self.aware.site.inside(domain)]

        def holds(room: Callable[[Node, str], int]) -> bool:
            return all(
                number <= sum(room(node, name) for node in nodes) for name, number in wanted.items() if number > 0
            )

        if evicting:
            return holds(lambda node, name: node.offers.get(name, 0))
        return any(
            holds(lambda node, name, later=later: self.room_at_first[node.name, name, later])  # type: ignore[misc]
            for later in (False, True)
        )

    # Allocate

    def attempt(self, group: Group, parts: list[Part], placed: list[Pod]) -> None:
        """Place pods of a job, in the lowest level in which some domain serves it."""
        if self.aware is None or not self.goes_by_domains(group):
            super().attempt(group, parts, placed)
            return
        for level in self.levels_of_job(group):
            served: dict[str, float] = {}
            for domain in level:
                before = self.mark(parts)
                score = self.serve(group, parts, placed, domain)
                self.undo(placed, 0)
                self.return_to(before)
                if score is not None:
                    served[domain] = score
            if served:
                if not group.policies:
                    served = self.aware.score_domains(parts[0], list(served))
                best = max(served.values())
                self.serve(group, parts, placed, next(each for each in level if served.get(each) == best))
                return
        for part in parts:
            part.left = []

    def goes_by_domains(self, group: Group) -> bool:
        """Whether domains limit a job or a part of it."""
        if self.limit_of_job(group) is not None:
            return True
        return bool(group.policies) and any(self.limit_of_part(part) is not None for part in parts_of(group))

    @staticmethod
    def mark(parts: list[Part]) -> list[tuple[Part, list[Pod], set[str]]]:
        """Note what parts have to place."""
        return [(part, list(part.left), set(part.failed)) for part in parts]

    @staticmethod
    def return_to(marks: list[tuple[Part, list[Pod], set[str]]]) -> None:
        """Let parts have to place what they had."""
        for part, left, failed in marks:
            part.left, part.failed = list(left), set(failed)

    def serve(self, group: Group, parts: list[Part], placed: list[Pod], domain: str) -> float | None:
        """Place the parts inside a domain; the sum of their scores, or None where that does not serve the job."""
        total = 0.0

        def place(part: Part) -> bool:
            nonlocal total
            score = self.place_inside(part, placed, domain)
            total += score or 0.0
            return score is not None

        if group.policies:
            self.take_turns(group, parts, placed, place)
        else:
            place(parts[0])
        if placed and (self.ready(group) or self.pipelined(group)):
            return total
        self.undo(placed, 0)
        return None

    def place_inside(self, part: Part, placed: list[Pod], domain: str) -> float | None:
        """Place pods of a part in the best domain inside another, of the lowest level in which some serves it."""
        assert self.aware is not None
        begun = len(placed)
        levels = self.levels_of_part(part, domain)
        if not part.group.policies:  # the job is its own part and has one domain, which must do for both
            levels = [[each] for level in levels for each in level if each == domain]
        for level in levels:
            served = []
            for each in level:
                before = self.mark([part])
                if self.place_in(part, placed, each) and len(placed) > begun:
                    served.append(each)
                self.undo(placed, begun)
                self.return_to(before)
            if served:
                scores = self.aware.score_domains(part, served)
                best = next(each for each in served if scores[each] == max(scores.values()))
                self.place_in(part, placed, best)
                return scores[best]
        return None

    def place_in(self, part: Part, placed: list[Pod], domain: str) -> bool:
        """Place pods of a part on the nodes of a domain."""
        assert self.aware is not None
        self.inside = self.aware.site.inside(domain)
        part.failed.clear()
        kept = self.place(part, placed)
        self.inside = None
        return kept

    # Evictions

    def preempt(self, actions: Sequence[str]) -> None:
        """Jobs with a topology are left to the gang actions."""
        self.left_out = lambda group: bool(self.topologies(group))
        super().preempt(actions)
        self.left_out = lambda _: False

    def reclaim(self, actions: Sequence[str]) -> None:
        """Jobs of which parts have a topology are left to gangreclaim."""
        self.left_out = lambda group: any(policy.get("networkTopology") for policy in group.policies)
        super().reclaim(actions)
        self.left_out = lambda _: False

    left_out: Callable[[Group], bool] = staticmethod(lambda _: False)

    def waiting_groups(self) -> list[Group]:
        """Groups that wait, but for those that are left out."""
        return [group for group in super().waiting_groups() if not self.left_out(group)]

    def domains(self, group: Group, most: int) -> list[str]:
        """Where room may be made for a job, best first."""
        return [each for level in self.levels_of_job(group, evicting=True) for each in level][:most]

    def plan(self, group: Group, who: Who, **more: Any) -> bool:
        """Place pods one by one, inside one domain if the job has a topology."""
        if self.aware is None or who.action != "reclaim":
            return super().plan(group, who, **more)
        domains = self.domains(group, MOST_DOMAINS)
        tries = [(domain, False) for domain in domains if len(domains) > 1]  # nobody goes where some domain has room
        for domain, self.may_evict in [*tries, *((domain, True) for domain in domains)]:
            self.inside = self.aware.site.inside(domain)
            found = super().plan(group, who, **more)
            self.inside = None
            if found:
                return True
        return False

    def find_place(self, draft: Draft, pod: Pod) -> bool:
        """Place a pod where there is room, else, if so it may be, where evictions make some."""
        return super().find_place(draft, pod) if self.may_evict else self.place_free(draft, pod)

    def plan_for_gang(self, group: Group, who: Who) -> bool:
        """Evict for a gang in one domain after the other: no pod, then pods that can be spared, then whole gangs."""
        if self.aware is None:
            return super().plan_for_gang(group, who)
        pods = self.worth_placing(group)
        domains = self.domains(group, self.arguments.get(who.action, {}).get("maxDomains", MOST_DOMAINS))
        tries = [(domain, False, self.place_all) for domain in domains]  # nobody goes where some domain has room
        tries += [(domain, whole, self.make_room) for whole in self.modes(who) for domain in domains]
        for domain, whole, make in tries if pods else ():
            before = self.picture()
            draft = Draft(group, who, whole, domain=domain)
            self.inside = self.aware.site.inside(domain)
            made = make(draft, pods)
            self.inside = None
            if made and self.finish(draft, before):
                return True
            self.put_back(before)
        return False

    def sites(self, draft: Draft, part: Part) -> Sequence[set[str] | None]:
        """The domains inside the job's in which a part may lie; for actions that leave such parts to others, all."""
        if self.aware is None or draft.who.action in ("preempt", "reclaim"):
            return [self.inside]
        if not part.group.policies or self.limit_of_part(part) is None:
            return [self.inside]
        levels = self.levels_of_part(part, draft.domain, evicting=True)
        return [self.aware.site.inside(domain) for level in levels for domain in level]

    def within(self, site: set[str] | None, act: Callable[[], bool]) -> bool:
        """Do something in a domain."""
        outer, self.inside = self.inside, site
        done = act()
        self.inside = outer
        return done
