"""Options of the scheduler: each flag with its default and the value that disables it.

Names and defaults are Volcano's. A flag without a meaning here is accepted with a warning; `WITHOUT_EFFECT` lists it
with the reason. A test keeps docs/flags.md equal to this file.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli import flags
from pyroclast.scheduler.cli.environment import Environment, read_environment
from pyroclast.scheduler.cli.features import read_gates
from pyroclast.scheduler.cli.flags import FlagKind, flag
from pyroclast.scheduler.cli.process_options import ParsedOptions, ProcessOptions, process_faults, process_warnings

__all__ = ["MOST_SCORES", "WITHOUT_EFFECT", "Options", "parse_options"]

MOST_SCORES: Final = 64
"""Maximum number of nodes in a logged table of scores; a log line has at most as many items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProcessOptions):
    """Options from the command line and the environment."""

    scheduler_name: tuple[str, ...] = flag(
        FlagKind.REPEAT, ("volcano",), "Pods with this schedulerName are ours; may be repeated."
    )
    scheduler_conf: str = flag(FlagKind.TEXT, "", "Configuration file, read again when it changes; empty: built in.")
    schedule_period: float = flag(FlagKind.DURATION, 1.0, "Pause between the end of a cycle and the next.")
    wake_on_change: bool = flag(
        FlagKind.BOOLEAN, default=True, help="Shorten the pause when a change allows a new decision."
    )
    default_queue: str = flag(FlagKind.TEXT, "default", "Queue of groups that name none; made when missing.")
    priority_class: bool = flag(
        FlagKind.BOOLEAN, default=True, help="Watch priority classes; false: all priorities are 0."
    )
    plugins_dir: str = flag(
        FlagKind.TEXT, "", "Folder of plugins, one .py file each, read again when one changes; empty: none."
    )
    plugin_call_limit: float = flag(
        FlagKind.DURATION, 1.0, "Time limit of a plugin call; longer calls are reported; 0: no limit."
    )
    plugin_call_deadline: float = flag(
        FlagKind.DURATION, 120.0, "/livez fails while one call of a plugin lasts for longer; 0: never."
    )
    scheduling_timeout: float = flag(
        FlagKind.DURATION, 30.0, "Sessions that last longer are logged and counted; 0: none."
    )
    plugin_time_budget: float = flag(
        FlagKind.DURATION, 30.0, "Time of an external plugin's calls per cycle, then it is left out; 0: no limit."
    )
    csi_storage: bool = flag(FlagKind.BOOLEAN, default=True, help="Watch CSIDrivers and CSIStorageCapacities.")
    enable_pprof: bool = flag(
        FlagKind.BOOLEAN, default=False, help="Serve /debug, /configz and /apis/v1 on --listen-address."
    )
    debug_scores: int = flag(
        FlagKind.WHOLE, 0, "Nodes in a logged table of scores of each placed pod; 0: none; see /debug/flags/s."
    )
    debug_filters: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="Log which rule refuses which node for each waiting pod; see /debug/flags/f.",
    )
    debug_diagnosis: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="Log all reasons of each waiting pod and of its job; see /debug/flags/d.",
    )
    node_selector: tuple[str, ...] = flag(
        FlagKind.LIST, (), "Only nodes with one of these labels, `key:value`; none: all nodes."
    )
    cache_dumper: bool = flag(FlagKind.BOOLEAN, default=True, help="On SIGUSR1, write the cluster state to a file.")
    cache_dump_dir: str = flag(FlagKind.TEXT, "/tmp", "Folder of those files.")  # noqa: S108 - Volcano's default, kept
    gate_removal_worker_num: int = flag(FlagKind.WHOLE, 5, "Scheduling gates removed concurrently; below 1 means 5.")
    ignored_provisioners: tuple[str, ...] = flag(
        FlagKind.LIST, (), "CSI provisioners whose driver a node need not have."
    )
    resource_sync_timeout: float = flag(
        FlagKind.DURATION, 60.0, "Longest wait for all lists; after it, pods, nodes, groups and queues suffice."
    )
    disable_default_scheduler_config: bool = flag(
        FlagKind.BOOLEAN, default=False, help="Refuse to start without a good configuration file."
    )
    scheduler_sharding_mode: str = flag(
        FlagKind.TEXT, "none", "Whether NodeShards limit (hard) or rank (soft) nodes.", choices=("none", "hard", "soft")
    )
    scheduler_sharding_name: str = flag(FlagKind.TEXT, "volcano", "NodeShard of this scheduler.")
    seed: int = flag(FlagKind.WHOLE, 0, "Seed of choices that no rule decides.")
    strict: bool = flag(FlagKind.BOOLEAN, default=False, help="Treat warnings of the configuration file as faults.")
    ungrouped_pods: str = flag(
        FlagKind.TEXT, "wait", "Pods without a PodGroup: wait, or run as gangs of one.", choices=("wait", "single")
    )
    cap_group_priority: bool = flag(
        FlagKind.BOOLEAN,
        default=False,
        help="The priority class of a PodGroup counts up to the highest priority of its pods.",
    )

    record: str = flag(
        FlagKind.TEXT, "", "File for a record that `pyroclast replay` reads; empty: nothing is recorded."
    )

    environment: Environment = field(default_factory=Environment)
    """Settings from environment variables."""

    @property
    def component(self) -> str:
        """Component name in events and requests: the scheduler's name, or `volcano` if it has several."""
        return self.scheduler_name[0] if len(self.scheduler_name) == 1 else "volcano"

    @property
    def gate_workers(self) -> int:
        """Number of scheduling gates that are removed concurrently."""
        return self.gate_removal_worker_num if self.gate_removal_worker_num >= 1 else 5


_RATE: Final = "requests are bounded by open connections, and by what the API server answers"
_SAMPLING: Final = "every node is looked at: sampling would cost more than it saves"
_LOGGING: Final = "lines go to standard error, unbuffered; --log-format and --v decide their form"

WITHOUT_EFFECT: Final[Mapping[str, tuple[FlagKind, str]]] = {
    "resync-period": (FlagKind.DURATION, "watches are resumed and audited; nothing is listed again by the clock"),
    "kube-api-qps": (FlagKind.TEXT, _RATE),
    "kube-api-burst": (FlagKind.TEXT, _RATE),
    "minimum-feasible-nodes": (FlagKind.WHOLE, _SAMPLING),
    "minimum-percentage-nodes-to-find": (FlagKind.WHOLE, _SAMPLING),
    "percentage-nodes-to-find": (FlagKind.WHOLE, _SAMPLING),
    "node-worker-threads": (FlagKind.WHOLE, "events of nodes are applied as they come, in one thread"),
    "log-flush-frequency": (FlagKind.DURATION, _LOGGING),
    "add-dir-header": (FlagKind.BOOLEAN, _LOGGING),
    "alsologtostderr": (FlagKind.BOOLEAN, _LOGGING),
    "log-backtrace-at": (FlagKind.TEXT, _LOGGING),
    "log-dir": (FlagKind.TEXT, _LOGGING),
    "log-file": (FlagKind.TEXT, _LOGGING),
    "log-file-max-size": (FlagKind.TEXT, _LOGGING),
    "logtostderr": (FlagKind.BOOLEAN, _LOGGING),
    "one-output": (FlagKind.BOOLEAN, _LOGGING),
    "skip-headers": (FlagKind.BOOLEAN, _LOGGING),
    "skip-log-headers": (FlagKind.BOOLEAN, _LOGGING),
    "stderrthreshold": (FlagKind.TEXT, _LOGGING),
    "vmodule": (FlagKind.TEXT, _LOGGING),
}
"""Flags of Volcano that are accepted without effect, by name, with the reason."""


def parse_options(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> ParsedOptions[Options]:
    """Parse flags and environment variables.

    Raises:
        ConfigError: The flags or variables have faults.
    """
    reading = flags.read(arguments, flags.flags_of(Options), {name: kind for name, (kind, _) in WITHOUT_EFFECT.items()})
    variables, warnings, faults = read_environment(environment)
    features, gate_warnings, gate_faults = read_gates(reading.values.get("feature_gates", ()))
    options = Options(**reading.values, features=features, environment=variables)
    faults = [*reading.faults, *gate_faults, *_faults_of(options), *faults]
    if faults:
        raise ConfigError(*faults)
    ignored = [f"--{name}: without effect: {WITHOUT_EFFECT[name][1]}" for name in dict.fromkeys(reading.ignored)]
    return ParsedOptions(options=options, warnings=(*ignored, *gate_warnings, *warnings, *process_warnings(options)))


def _faults_of(options: Options) -> list[str]:
    """Return the faults of values and of their combinations."""
    faults = process_faults(options)
    if options.schedule_period < 0:
        faults.append(f"--schedule-period: got {options.schedule_period}s, expected 0 or more")
    if options.plugin_call_limit < 0:
        faults.append(f"--plugin-call-limit: got {options.plugin_call_limit}s, expected 0 or more")
    if options.scheduling_timeout < 0:
        faults.append(f"--scheduling-timeout: got {options.scheduling_timeout}s, expected 0 or more")
    if options.plugin_time_budget < 0:
        faults.append(f"--plugin-time-budget: got {options.plugin_time_budget}s, expected 0 or more")
    if options.plugin_call_deadline < 0:
        faults.append(f"--plugin-call-deadline: got {options.plugin_call_deadline}s, expected 0 or more")
    if not 0 <= options.debug_scores <= MOST_SCORES:
        faults.append(f"--debug-scores: got {options.debug_scores}, expected 0 to {MOST_SCORES}")
    if options.disable_default_scheduler_config and not options.scheduler_conf:
        faults.append("--disable-default-scheduler-config: needs --scheduler-conf")
    faults.extend(
        f"--node-selector: got {entry!r}, expected key:value" for entry in options.node_selector if ":" not in entry
    )
    if "" in options.scheduler_name:
        faults.append("--scheduler-name: got an empty name")
    return faults
