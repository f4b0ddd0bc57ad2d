"""Session: the view of the cluster for one cycle, used by plugins and actions.

Opened from a snapshot; plugins register their functions and ledgers in the order of the configuration; from then on
only statements change it. Nothing of it outlives the cycle but its report, its plans and its memory.

The parts: `extensions` holds the functions of plugins; `jobs`, `queues`, `nodes`,
`candidates`, `topology` and `evictions` answer questions; `report` collects events, conditions and metrics.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from uuid import NAMESPACE_OID, uuid5

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.resizes import SessionResizes
from pyroclast.framework.candidates.views import SessionViews
from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension.budgets import Budgets
from pyroclast.framework.extension.outside import Outside
from pyroclast.framework.extension.registration import BindingRefused, Extensions
from pyroclast.framework.session.evictions import SessionEvictions
from pyroclast.framework.session.held import HeldCapacities
from pyroclast.framework.session.jobs import SessionJobs
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.ownership import OwnJobs
from pyroclast.framework.session.queues import SessionQueues
from pyroclast.framework.session.report import SessionReport
from pyroclast.framework.session.session_values import Scratch
from pyroclast.framework.session.shadows.shadowed_session import (
    ShadowedEvictions,
    ShadowedJobs,
    ShadowedNodes,
    ShadowedQueues,
    ShadowedStatement,
)
from pyroclast.framework.session.shadows.shadows import Shadows
from pyroclast.framework.session.shadows.tracing import TracedNodes, TracedStatement, Tracing
from pyroclast.framework.session.skipped_jobs import SkippedJobs
from pyroclast.framework.session.statements.committing import begin_binding, plan_of
from pyroclast.framework.session.statements.deferred import DeferredStatements
from pyroclast.framework.session.statements.statement import Operation, Statement
from pyroclast.framework.session.topology import SessionTopology
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import IntArray
from pyroclast.model.plan import Plan
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedList
from pyroclast.model.snapshot import Snapshot

__all__ = ["Session"]


class Session:
    """One scheduling cycle in progress."""

    def __init__(
        self,
        snapshot: Snapshot,
        profile: Profile,
        *,
        cycle: int,
        generation: int,
        now: float,
        seed: int,
        outside: Mapping[str, Outside],
        committed: Callable[[Plan], None],
        settled: Settled,
        runs: Mapping[str, float] | None = None,
        tracing: Tracing | None = None,
        ownership: OwnJobs | None = None,
        budgets: Budgets | None = None,
        shadows: Shadows | None = None,
    ) -> None:
        self.snapshot = snapshot
        """The cluster, as it was when the cycle began."""
        self.resources = snapshot.resources
        """The resource names, their rows in arrays and their units."""
        self.cycle = cycle
        """Number of the cycle; the id that conditions carry."""
        self.generation = generation
        """Generation of the configuration."""
        self.now = now
        """The moment of the cycle, seconds since 1970."""
        self.seed = seed
        """Seed of every random choice."""
        self.uid = str(uuid5(NAMESPACE_OID, f"{seed}/{cycle}/{now}"))
        """Id of the session, as PodGroup conditions carry it; equal inputs give equal ids."""
        self.outside: Mapping[str, Outside] = MappingProxyType(dict(outside))
        """Services that plugins query beyond the snapshot, by instance; empty if there are none."""
        self.total: IntArray = snapshot.nodes.allocatable.sum(axis=1)
        self.total.flags.writeable = False
        """Total allocatable resources of all nodes, base units, shape (R,)."""
        self.action = ""
        """The action that is running, or empty."""
        self.following_actions: Sequence[str] = profile.actions
        """The actions that come after the running one; an action may be listed twice."""
        self.extensions = Extensions(profile, budgets)
        """Functions that plugins register, and their dispatch."""
        caller = self._caller = self.extensions.caller
        self.scratch = Scratch(caller)
        self.nodes = SessionNodes(snapshot.nodes, snapshot.resources, uncounted=snapshot.uncounted, caller=caller)
        """The nodes with their amounts of this moment."""
        views = SessionViews(self.extensions, self.nodes)
        self.reserved = SessionReservations(snapshot, self.nodes, self.extensions, views, now)
        """The Reservations, and what is left of them."""
        self._resizes = SessionResizes(
            self.extensions, self.nodes, self.reserved, is_permitted=snapshot.counts_resized_pods
        )
        self._tracing, self._shadows = tracing, shadows
        answers = NodeAnswers(self.extensions, self.nodes, snapshot, self.reserved, views)
        answers.own_predicates = self._resizes.predicates
        self.candidates = _candidates(answers, tracing, shadows)
        """Nodes that fit a task, and the refusals of the others."""
        of_queues = (snapshot.queues, self.extensions)
        self.queues = SessionQueues(*of_queues) if shadows is None else ShadowedQueues(*of_queues, shadows=shadows)
        """The queues, and what they may take."""
        skipped = SkippedJobs(
            snapshot, settled, nodes=self.nodes, candidates=self.candidates, queues=self.queues, caller=caller
        )
        of_jobs = (snapshot, settled, self.extensions, skipped, ownership)
        self.jobs = SessionJobs(*of_jobs) if shadows is None else ShadowedJobs(*of_jobs, shadows=shadows)
        """The jobs with their tasks of this moment, their order, and whether they may start."""
        self.topology = SessionTopology(snapshot, self.nodes, self.extensions)
        """The topology domains, and the order in which they are tried."""
        self.held = HeldCapacities(caller=caller)
        """Capacity that earlier cycles hold for jobs and other holders."""
        of_evictions = (snapshot, self.extensions, self.held, lambda: self.action)
        self.evictions = (
            SessionEvictions(*of_evictions) if shadows is None else ShadowedEvictions(*of_evictions, shadows=shadows)
        )
        """Queries about victims of evictions."""
        self.report = SessionReport(snapshot, settled, caller, runs or {})
        """Events, conditions, metrics, and what the next cycle should know."""
        self.deferred = DeferredStatements(caller)
        """Statements of gangs of which some members still wait."""
        self.plans: SealedList[Plan] = SealedList()
        """Plans that were committed."""
        self.searches_gangs = True
        """Whether members of a gang are searched for places together where placing them in order finds none."""
        self.search_steps = 0
        """Steps that searches for assignments of gangs took in this cycle."""
        self._committed = committed

    def statement(self, *, trial: bool = False) -> Statement:
        """Begin a transaction; a trial is always undone, and no ledger sends anything of it to the outside."""
        self._caller.for_actions("statement")
        parts = (self.nodes, self.extensions, self.reserved, self._resizes, self._commit)
        if self._tracing is not None and not trial:
            candidates, tracing = self.candidates, self._tracing
            return TracedStatement(*parts, candidates=candidates, tracing=tracing)
        if self._shadows is not None:
            return ShadowedStatement(*parts, shadows=self._shadows, is_trial=trial)
        return Statement(*parts, is_trial=trial)

    def _commit(self, operations: Sequence[Operation], together: bool) -> Refusal | None:
        """Make a plan of operations and hand it on.

        Returns:
            Why there is no plan and nothing has changed: a plugin failed that prepares bindings. Else None.
        """
        self._caller.for_actions("commit")
        try:
            plan = plan_of(
                operations,
                self.extensions,
                number=len(self.plans),
                cycle=self.cycle,
                configuration=self.generation,
                action=self.action,
                is_lent=self.queues.lends,
                together=together,
                reserve_tasks=self.snapshot.reserve_tasks,
            )
        except BindingRefused as failure:
            return failure.refusal
        begin_binding(operations)
        self.report.nominate(nomination.task for nomination in plan.nominations)
        if plan.binds or plan.evictions or plan.nominations:
            list.append(self.plans, plan)
            self._committed(plan)
        return None


def _candidates(answers: NodeAnswers, tracing: Tracing | None, shadows: Shadows | None) -> CandidateNodes:
    if tracing is not None:
        return TracedNodes(answers, tracing)
    return CandidateNodes(answers) if shadows is None else ShadowedNodes(answers, shadows=shadows)
