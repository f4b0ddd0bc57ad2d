"""Decision: the next step of a Job, from the objects that exist."""
