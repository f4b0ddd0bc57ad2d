"""Storage: objects as bytes, their kinds, names, lists and watches."""
