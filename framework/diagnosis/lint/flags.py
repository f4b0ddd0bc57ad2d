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
        yield _no_effect(option, HIERARCHY, f"only {heeded} supports a hierarchy of queues")
    for flag, default in FLAGS.items():
        if flag != HIERARCHY and option.flags[flag] != default and flag not in served:
            yield _no_effect(option, flag, f"{option.plugin} is never called there")
    if option.plugin not in ALWAYS_ASKED and not any(option.enabled(flag) for flag in served):
        message = f"every extension point of {option.plugin} is disabled; remove the plugin"
        yield Finding(Severity.WARNING, option.path, message)


def _no_effect(option: PluginOption, flag: str, reason: str) -> Finding:
    return Finding(Severity.WARNING, f"{option.path}.{flag}", f"has no effect: {reason}")
