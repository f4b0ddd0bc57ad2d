"""File errors: why a file cannot be read or written."""

__all__ = ["why"]


def why(error: OSError | UnicodeDecodeError) -> str:
    """Return the reason without the file name; the caller adds the name."""
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 at byte {error.start}"
    return error.strerror or str(error)
