"""The scheduler's configuration: what stands in the file, checked, as values.

Belongs here: the shape of the file, its faults and warnings. Does not: reading files (that is the daemon's), what an
argument of a plugin means (that is the plugin's), advice about a sound configuration (`framework.diagnosis.lint`).
"""

from pyroclast.framework.configuration.flags import FLAGS
from pyroclast.framework.configuration.parser import parse
from pyroclast.framework.configuration.types import Configuration, Parsed, PluginOption, Profile
from pyroclast.framework.configuration.usage_source import interval_of, read_source

__all__ = ["FLAGS", "Configuration", "Parsed", "PluginOption", "Profile", "interval_of", "parse", "read_source"]
