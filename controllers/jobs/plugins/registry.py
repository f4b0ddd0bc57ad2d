"""The plugins of Jobs by name, in the order in which they complete a pod.

In Volcano the order is random. Here hosts, keys and indexes come first, then frameworks, then plugins that read their
variables.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pyroclast.controllers.jobs.plugins.env import Env
from pyroclast.controllers.jobs.plugins.hcclrank import HcclRank
from pyroclast.controllers.jobs.plugins.mpi import Mpi
from pyroclast.controllers.jobs.plugins.names import name_faults
from pyroclast.controllers.jobs.plugins.plugin import JobPlugin, PluginFault
from pyroclast.controllers.jobs.plugins.pytorch import PyTorch
from pyroclast.controllers.jobs.plugins.ray import Ray
from pyroclast.controllers.jobs.plugins.ssh import Ssh
from pyroclast.controllers.jobs.plugins.svc import Svc
from pyroclast.controllers.jobs.plugins.tensorflow import TensorFlow
from pyroclast.model.api.batch import Job

__all__ = ["PLUGINS", "plugin_faults", "plugins_of"]

PLUGINS: Final[dict[str, Callable[[Sequence[str]], JobPlugin]]] = {
    "svc": Svc,
    "ssh": Ssh,
    "env": Env,
    "tensorflow": TensorFlow,
    "mpi": Mpi,
    "pytorch": PyTorch,
    "ray": Ray,
    "hcclrank": HcclRank,
}


def plugins_of(job: Job) -> tuple[JobPlugin, ...]:
    """Return a Job's plugins in the fixed order. `plugin_faults` reports unknown names."""
    return tuple(build(job.spec.plugins[name] or ()) for name, build in PLUGINS.items() if name in job.spec.plugins)


def plugin_faults(job: Job) -> tuple[PluginFault, ...]:
    """Return the faults of a Job's plugins. With a fatal fault no pod may be created."""
    unknown = [
        PluginFault(
            plugin=name,
            path=f"spec.plugins[{name}]",
            value=name,
            expected=f"one of: {', '.join(sorted(PLUGINS))}",
            message=f"unable to find job plugin: {name}",
            is_fatal=True,
        )
        for name in sorted(job.spec.plugins)
        if name not in PLUGINS
    ]
    plugins = plugins_of(job)
    return (*unknown, *name_faults(job, plugins), *(fault for plugin in plugins for fault in plugin.faults(job)))
