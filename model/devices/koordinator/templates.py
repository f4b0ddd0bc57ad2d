"""Templates: the shares that some models of GPUs can be given in, as a ConfigMap lists them.

Example: `{huawei-Ascend-310P: {vir01: {huawei.com/npu-core: 1, koordinator.sh/gpu-memory: 3Gi}}}`, by vendor and model
as labels of nodes name them, and by the name of the template.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.model.devices.koordinator.layout import DeviceAmounts, DeviceLayout
from pyroclast.model.devices.koordinator.names import GPU, NPU_CORE, OFFERED
from pyroclast.model.devices.koordinator.requests import filled
from pyroclast.model.quantity import QuantityError, units

__all__ = ["NO_TEMPLATES", "Templates", "read_templates"]

_NAMES: Final = OFFERED[GPU]


@dataclass(frozen=True, slots=True)
class Templates:
    """All templates, and the resources that require one."""

    known: tuple[tuple[str, tuple[tuple[str, DeviceAmounts], ...]], ...] = ()
    """Templates by `<vendor>-<model>`: name and amounts of each, in the order of the names."""
    matched: frozenset[str] = frozenset({NPU_CORE})
    """Resources that require a template if a pod requests them of shared GPUs."""

    def concern(self, amounts: DeviceAmounts) -> bool:
        """Return whether a share of these amounts must match a template."""
        return any(amount and name in self.matched for name, amount in zip(_NAMES, amounts, strict=True))

    def anywhere(self, amounts: DeviceAmounts) -> bool:
        """Return whether any model has a template of exactly these amounts."""
        return any(amounts == each for _, templates in self.known for _, each in templates)

    def equal_to(self, layout: DeviceLayout, amounts: DeviceAmounts) -> tuple[str, ...]:
        """Return the names of the templates of a node's GPUs with exactly these amounts."""
        of_model = dict(self.known).get(f"{layout.vendor}-{layout.model}", ())
        return tuple(name for name, each in of_model if each == amounts)

    def name_of(self, layout: DeviceLayout, taken: tuple[int, ...]) -> str:
        """Return the name of the one template that a share of a node's GPU follows, by the amounts taken of it.

        Empty if it follows none, or if several templates are equal.
        """
        if not (self.known and layout.gpu_memory and self.concern(taken)):
            return ""
        of_model = dict(self.known).get(f"{layout.vendor}-{layout.model}", ())
        full = ((name, filled(each, layout.gpu_memory)) for name, each in of_model)
        found = [name for name, each in full if tuple(amount or 0 for amount in each) == taken]
        return found[0] if len(found) == 1 else ""


NO_TEMPLATES: Final = Templates()


def read_templates(raw: object, matched: Collection[str]) -> Templates:
    """Read templates from parsed YAML.

    Raises:
        ValueError: A value is not a mapping, an amount is not a quantity, or a resource is not one of a GPU. The
            message names the path.
    """
    known = ((str(model), _of_model(str(model), templates)) for model, templates in _mapping("", raw).items())
    return Templates(tuple(sorted(known, key=lambda pair: pair[0])), frozenset(matched))


def _of_model(model: str, raw: object) -> tuple[tuple[str, DeviceAmounts], ...]:
    found = ((str(name), _amounts(f"{model}.{name}", amounts)) for name, amounts in _mapping(model, raw).items())
    return tuple(sorted(found, key=lambda pair: pair[0]))


def _mapping(path: str, raw: object) -> Mapping[Any, Any]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise ValueError(  # noqa: TRY004 - reported like other errors of the document
            f"{path + ': ' if path else ''}got {type(raw).__name__}, expected a mapping"
        )
    return raw


def _amounts(path: str, raw: object) -> DeviceAmounts:
    named = _mapping(path, raw)
    amounts: dict[str, int] = {}
    for name, amount in named.items():
        if name not in _NAMES:
            raise ValueError(f"{path}.{name}: is no resource of a GPU")
        try:
            amounts[name] = units(amount)
        except (QuantityError, TypeError, AttributeError):
            raise ValueError(f"{path}.{name}: {amount!r} is no quantity") from None
    return tuple(amounts.get(name) for name in _NAMES)
