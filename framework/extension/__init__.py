"""Extension: the points at which plugins are called, how they register, and how their answers combine."""
