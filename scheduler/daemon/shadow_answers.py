"""Answers of plugins in shadow mode: after a cycle it is decided once more for them, and their answers are counted."""

from functools import partial

import structlog

from pyroclast.framework.session.shadows.shadows import Shadows
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.daemon.plugin_budgets import ClockBudgets, budget_of
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["ShadowAnswers"]

_log = structlog.get_logger(__name__)


class ShadowAnswers:
    """Counts the answers of shadows in metrics, and logs their failures."""

    def __init__(self, metrics: Metrics, *, seed: int, budget_seconds: float) -> None:
        """Count in `metrics`. `seed` is that of all cycles; `budget_seconds` the default time budget of a plugin."""
        self._metrics, self._seed, self._budget_seconds = metrics, seed, budget_seconds
        self._counted: dict[str, int] = {}
        """Number of the last cycle that was counted, by profile."""

    def count(self, seen: Seen) -> None:
        """Ask the shadows of all profiles that decided in a cycle. Called in the cycle's thread."""
        for each in seen.turns or (seen,):
            if each.inputs is None or not each.inputs.configuration.deciding.shadows:
                continue
            profile = each.inputs.configuration.deciding.name
            if self._counted.get(profile) != each.report.cycle:
                self._counted[profile] = each.report.cycle
                self._count(each)

    def _count(self, seen: Seen) -> None:
        inputs = seen.inputs
        assert inputs is not None
        budget = partial(budget_of, inputs.configuration, self._budget_seconds)
        shadows = Shadows()
        try:
            inputs.decide_again(seen.snapshot, seed=self._seed, shadows=shadows, budgets=ClockBudgets(budget))
        except Exception:  # noqa: BLE001  # a shadow may harm the session that it is asked in, but no cycle
            _log.exception("shadows_broke", cycle=seen.report.cycle)
            return
        for (plugin, point, result), count in sorted(shadows.answers.items()):
            self._metrics.add("pyroclast_shadow_answers_total", count, plugin, point, result)
        for plugin in shadows.over_budget:
            self._metrics.add("pyroclast_plugin_over_budget_total", 1, plugin)
        for plugin, refusal in sorted(shadows.failures.items()):
            _log.warning("shadow_plugin_failed", plugin=plugin, message=refusal.message, cycle=seen.report.cycle)
