"""Data files of the program: the default configuration and the custom resource definitions."""

from pathlib import Path
from typing import Any

import yaml

__all__ = ["config_folder", "custom_resource_definitions", "default_configuration"]


def config_folder() -> Path:
    """Return the folder `config` of the package; in a checkout it is a link to the folder at the top level."""
    return Path(__file__).parents[1] / "config"


def default_configuration() -> Path:
    """Return the file that the scheduler uses if no configuration file is given."""
    return config_folder() / "scheduler.yaml"


def custom_resource_definitions() -> list[dict[str, Any]]:
    """Read the definitions of all custom resources, in the order of their files."""
    files = sorted((config_folder() / "crd").glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]
