"""Flags that have no effect."""

from collections.abc import Iterator

from pyroclast.framework.configuration import FLAGS, PluginOption
from pyroclast.framework.configuration.flags import HIERARCHY
from pyroclast.framework.diagnosis.lint.finding import Finding, Severity
from pyroclast.framework.extension.served import ALWAYS_ASKED, HIERARCHICAL, SERVED

__all__ = ["lint_flags"]


def lint_flags(option: PluginOption) -> Iterator[Finding]:
    """Yield flags that change nothing for this plugin, and whether they switch all of it off."""
    served = SERVED.get(option.plugin)
    if served is None:
        return
    if option.hierarchy and option.plugin not in HIERARCHICAL:
        heeded = ", ".join(sorted(HIERARCHICAL))
        yield _no_effect(option, HIERARCHY, f"queues are a tree to {heeded} alone")
    for flag, default in FLAGS.items():
        if flag != HIERARCHY and option.flags[flag] != default and flag not in served:
            yield _no_effect(option, flag, f"{option.plugin} is never asked there")
    if option.plugin not in ALWAYS_ASKED and not any(option.enabled(flag) for flag in served):
        message = f"every point that {option.plugin} serves is switched off; leave the plugin out"
        yield Finding(Severity.WARNING, option.path, message)


def _no_effect(option: PluginOption, flag: str, reason: str) -> Finding:
    return Finding(Severity.WARNING, f"{option.path}.{flag}", f"has no effect: {reason}")
