"""Which controllers there are. A new one is a line here; names are Volcano's where it has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import controllers.cronjobs.reconciler
import controllers.gangs.reconciler
import controllers.garbage.reconciler
import controllers.hypernodes.reconciler
import controllers.jobflows.reconciler
import controllers.jobflows.templates
import controllers.jobs.reconciler
import controllers.podgroups.reconciler
import controllers.queues.reconciler
import controllers.quotaprofiles.reconciler
from controllers.runtime.operator import Operator
from controllers.runtime.options import ControllerOptions
from framework.configuration.suggest import did_you_mean

__all__ = ["CONTROLLERS", "NOT_HERE", "Build", "chosen"]

Build = Callable[[Operator, ControllerOptions], object]
"""Plugs a controller into an operator."""

CONTROLLERS: Final[Mapping[str, Build]] = {
    "pg-controller": controllers.podgroups.reconciler.build,
    "queue-controller": controllers.queues.reconciler.build,
    "job-controller": controllers.jobs.reconciler.build,
    "cronjob-controller": controllers.cronjobs.reconciler.build,
    "jobflow-controller": controllers.jobflows.reconciler.JobFlows,
    "jobtemplate-controller": controllers.jobflows.templates.JobTemplates,
    "hyperNode-controller": controllers.hypernodes.reconciler.build,
    "gang-controller": controllers.gangs.reconciler.GangStatuses,
    "gc-controller": controllers.garbage.reconciler.build,
    "quotaprofile-controller": controllers.quotaprofiles.reconciler.QuotaProfiles,
}

NOT_HERE: Final[Mapping[str, str]] = {
    "sharding-controller": "NodeShards are read, and made by hand",
    "colocation-config-controller": "nodes are not configured here",
}
"""Controllers of Volcano that may be named without effect, and why."""


def chosen(entries: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Read `--controllers`: `*`, `-*`, `name` or `+name`, `-name`; the first entry that names a controller counts.

    Returns:
        The controllers to run in the table's order, warnings, and faults.
    """
    warnings, faults = [], []
    verdicts: dict[str, bool] = {}
    signs: dict[str, set[str]] = {}
    for entry in entries:
        if entry in {"*", "-*"}:
            continue
        name = entry.removeprefix("+") if entry.startswith("+") else entry.removeprefix("-")
        is_wanted = not entry.startswith("-")
        signs.setdefault(name, set()).add("+" if is_wanted else "-")
        verdicts.setdefault(name, is_wanted)
        if name in NOT_HERE and is_wanted:
            warnings.append(f"--controllers: {name}: without effect: {NOT_HERE[name]}")
        elif name not in CONTROLLERS and name not in NOT_HERE:
            faults.append(f"--controllers: {name}: unknown controller{did_you_mean(name, [*CONTROLLERS, *NOT_HERE])}")
    faults.extend(f"--controllers: {name}: both wanted and not wanted" for name, both in signs.items() if len(both) > 1)
    is_default = "*" in entries or not entries
    return [name for name in CONTROLLERS if verdicts.get(name, is_default)], warnings, faults
