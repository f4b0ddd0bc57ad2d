"""Table of the controllers. To add a controller, add a line. Names are Volcano's if Volcano has the controller."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyroclast.controllers.builtinquotas.reconciler
import pyroclast.controllers.cronjobs.reconciler
import pyroclast.controllers.gangs.reconciler
import pyroclast.controllers.garbage.reconciler
import pyroclast.controllers.hypernodes.reconciler
import pyroclast.controllers.jobflows.reconciler
import pyroclast.controllers.jobflows.templates
import pyroclast.controllers.jobs.reconciler
import pyroclast.controllers.podgroups.reconciler
import pyroclast.controllers.queues.reconciler
import pyroclast.controllers.quotaprofiles.reconciler
import pyroclast.controllers.reservations.reconciler
import pyroclast.controllers.sharding.reconciler
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.framework.configuration.suggest import did_you_mean

__all__ = ["CONTROLLERS", "NOT_HERE", "Build", "chosen"]

Build = Callable[[Operator, ControllerOptions], object]
"""Registers a controller with an operator."""

CONTROLLERS: Final[Mapping[str, Build]] = {
    "pg-controller": pyroclast.controllers.podgroups.reconciler.build,
    "queue-controller": pyroclast.controllers.queues.reconciler.build,
    "job-controller": pyroclast.controllers.jobs.reconciler.build,
    "cronjob-controller": pyroclast.controllers.cronjobs.reconciler.build,
    "jobflow-controller": pyroclast.controllers.jobflows.reconciler.JobFlows,
    "jobtemplate-controller": pyroclast.controllers.jobflows.templates.JobTemplates,
    "hyperNode-controller": pyroclast.controllers.hypernodes.reconciler.build,
    "gang-controller": pyroclast.controllers.gangs.reconciler.GangStatuses,
    "gc-controller": pyroclast.controllers.garbage.reconciler.build,
    "builtinquota-controller": pyroclast.controllers.builtinquotas.reconciler.BuiltInQuotas,
    "quotaprofile-controller": pyroclast.controllers.quotaprofiles.reconciler.QuotaProfiles,
    "reservation-controller": pyroclast.controllers.reservations.reconciler.ReservationStatuses,
    "sharding-controller": pyroclast.controllers.sharding.reconciler.build,
}

NOT_HERE: Final[Mapping[str, str]] = {
    "colocation-config-controller": "colocation of nodes is not configured",
}
"""Controllers of Volcano that may be named without effect, with the reason."""


def chosen(entries: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Parse `--controllers`: `*`, `-*`, `name` or `+name`, `-name`. The first entry that names a controller wins.

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
        is_enabled = not entry.startswith("-")
        signs.setdefault(name, set()).add("+" if is_enabled else "-")
        verdicts.setdefault(name, is_enabled)
        if name in NOT_HERE and is_enabled:
            warnings.append(f"--controllers: {name}: without effect: {NOT_HERE[name]}")
        elif name not in CONTROLLERS and name not in NOT_HERE:
            faults.append(f"--controllers: {name}: unknown controller{did_you_mean(name, [*CONTROLLERS, *NOT_HERE])}")
    faults.extend(f"--controllers: {name}: both enabled and disabled" for name, both in signs.items() if len(both) > 1)
    is_default = "*" in entries or not entries
    return [name for name in CONTROLLERS if verdicts.get(name, is_default)], warnings, faults
