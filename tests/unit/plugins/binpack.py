"""What tests of the plugin binpack share."""

from typing import Any, Final

__all__ = ["WEIGHTS"]

WEIGHTS: Final[dict[str, Any]] = {
    "binpack.weight": 10,
    "binpack.cpu": 2,
    "binpack.memory": 3,
    "binpack.resources": "nvidia.com/gpu, example.com/foo",
    "binpack.resources.nvidia.com/gpu": 7,
    "binpack.resources.example.com/foo": 8,
}
"""Arguments of the worked example in docs/plugins/binpack.md."""
