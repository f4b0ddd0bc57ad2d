"""Settings: the device ConfigMap of a configuration, and its content."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pyroclast.framework.configuration import Profile
from pyroclast.framework.configuration.arguments import decode
from pyroclast.framework.configuration.text import read_yaml
from pyroclast.model import wire
from pyroclast.model.devices.koordinator.templates import NO_TEMPLATES, Templates, read_templates
from pyroclast.model.devices.settings import DEFAULT, DeviceSettings, read_settings
from pyroclast.model.errors import ConfigError
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs

__all__ = ["DOCUMENT", "NAME", "TEMPLATES", "args_of", "map_of", "settings_of", "templates_of"]

NAME: Final = "deviceshare"
DOCUMENT: Final = "device-config.yaml"
TEMPLATES: Final = "data.yaml"
"""Keys of the ConfigMaps: for virtual cards, and for shares of NPUs."""


def args_of(profile: Profile) -> DeviceShareArgs | None:
    """Return the arguments of deviceshare in a configuration; None if it is not configured."""
    option = next((each for each in profile.plugins if each.plugin == NAME), None)
    return None if option is None else decode(DeviceShareArgs, option.arguments, option.path)[0]


def map_of(args: DeviceShareArgs | None) -> tuple[str, str] | None:
    """Return namespace and name of the device ConfigMap that the arguments require; None if they require none."""
    if args is not None and (args.vgpu or args.ascend_hami):
        return args.map_namespace, args.map_name
    if args is not None and args.koordinator and args.templates is not None:
        return args.templates.config_map_namespace, args.templates.config_map_name
    return None


def settings_of(args: DeviceShareArgs, config_maps: Mapping[str, wire.ConfigMap]) -> tuple[DeviceSettings, str]:
    """Return the settings of the device ConfigMap, or the defaults; and the fault, empty if it can be read."""
    found = config_maps.get(f"{args.map_namespace}/{args.map_name}")
    if found is None:
        return DEFAULT, ""
    text = found.data.get(DOCUMENT)
    return (DEFAULT, f"data: no key {DOCUMENT!r}") if text is None else _read(text)


def templates_of(args: DeviceShareArgs, config_maps: Mapping[str, wire.ConfigMap]) -> tuple[Templates, str]:
    """Return the NPU shares that the ConfigMap permits, and the fault, empty if it can be read."""
    if args.templates is None:
        return NO_TEMPLATES, ""
    matched = frozenset(args.templates.matched_resources)
    found = config_maps.get(f"{args.templates.config_map_namespace}/{args.templates.config_map_name}")
    if found is None:
        return Templates(matched=matched), ""
    text = found.data.get(TEMPLATES)
    return (Templates(matched=matched), f"data: no key {TEMPLATES!r}") if text is None else _templates(text, matched)


@lru_cache(8)
def _templates(text: str, matched: frozenset[str]) -> tuple[Templates, str]:
    try:
        return read_templates(read_yaml(text), matched), ""
    except (ConfigError, ValueError) as error:
        return Templates(matched=matched), f"data[{TEMPLATES}]: {error}"


@lru_cache(8)
def _read(text: str) -> tuple[DeviceSettings, str]:
    try:
        return read_settings(read_yaml(text) or {}), ""
    except (ConfigError, ValueError) as error:  # validation errors of structs are ValueErrors
        return DEFAULT, f"data[{DOCUMENT}]: {error}"
