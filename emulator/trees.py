"""JSON trees: copying them, and reading them where parts may be absent or of the wrong type."""

from typing import Any

__all__ = ["copy_tree", "items_at", "number_at", "object_at", "text_at", "value_at"]


def copy_tree(tree: Any) -> Any:
    """A copy that shares nothing changeable; many times faster than `copy.deepcopy`, as trees have no cycles."""
    if isinstance(tree, dict):
        return {key: copy_tree(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [copy_tree(value) for value in tree]
    return tree


def value_at(tree: Any, *path: str) -> Any:
    """Return the value at a path of keys; None if it does not exist."""
    for key in path:
        if not isinstance(tree, dict):
            return None
        tree = tree.get(key)
    return tree


def text_at(tree: Any, *path: str, otherwise: str = "") -> str:
    """The text at a path; `otherwise` when there is none or it is empty."""
    value = value_at(tree, *path)
    return value if isinstance(value, str) and value else otherwise


def number_at(tree: Any, *path: str) -> int:
    """The whole number at a path, 0 when there is none."""
    value = value_at(tree, *path)
    return value if isinstance(value, int) else 0


def items_at(tree: Any, *path: str) -> list[Any]:
    """The list at a path, empty when there is none."""
    value = value_at(tree, *path)
    return value if isinstance(value, list) else []


def object_at(tree: Any, *path: str) -> dict[str, Any]:
    """The object at a path, empty when there is none."""
    value = value_at(tree, *path)
    return value if isinstance(value, dict) else {}
