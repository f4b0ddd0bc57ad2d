"""Volcano's custom resources: the one typed source of our definitions and of what controllers read and write.

Belongs here: a struct for each kind with every field of it, its description, default and limits; names of labels and
annotations. `config/crd/` is generated from it (`make crds`). Does not: rules that a schema cannot hold (those of
admission).

How a struct says it: a field's docstring is its description. Its default is what an absent field means. A field without
default is required. So is one marked `REQUIRED`, without which an object can be read all the same; where its default is
a value that objects may have, a `default_factory` gives it, so that it is written. `Annotated` carries what
`model.api.rules` has; `is_atomic` marks what server-side apply takes as one value. Decoding does not check limits: the
API server did, and an object that was stored before a limit came must still be read.
"""
