"""Unreadable: why a file could not be read or written, in words for whoever named it."""

__all__ = ["why"]


def why(error: OSError | UnicodeDecodeError) -> str:
    """Return the reason alone: who tells it names the file."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return error.strerror or str(error)
