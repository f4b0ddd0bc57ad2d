"""File errors: why a file cannot be read or written."""

__all__ = ["why"]


def why(error: OSError | UnicodeDecodeError) -> str:
    """Return the reason alone: who tells it names the file."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return error.strerror or str(error)
