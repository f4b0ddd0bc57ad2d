"""Writes `config/crd/` from the structs of `model.api`: `make crds`.

Belongs here: what turns a struct into a structural schema, and the writing of files. Does not: anything that the
program needs when it runs.
"""
