"""Writes `config/crd/` from the structs of `model.api`: `make crds`.

Belongs here: the conversion of structs into structural schemas, and the writing of files. Does not belong here: code
that
the program needs at run time.
"""
