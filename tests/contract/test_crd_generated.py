"""`config/crd/` is what `make crds` writes from the structs of `model.api`."""

from pathlib import Path

import pytest
import yaml

from pyroclast.model.api.definitions import KubernetesObject
from pyroclast.model.api.kinds import KINDS
from tools.custom_resources.definitions import definition_of, file_name, text_of

CRD_FOLDER = Path(__file__).parents[2] / "config" / "crd"


def test_every_kind_has_its_file() -> None:
    """A file for each kind, and no other."""
    assert {path.name for path in CRD_FOLDER.iterdir()} == {file_name(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_up_to_date(kind: type[KubernetesObject]) -> None:
    """A changed struct needs `make crds`; a changed file is overwritten."""
    assert (CRD_FOLDER / file_name(kind)).read_text(encoding="utf-8") == text_of(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_files_say_what_was_meant(kind: type[KubernetesObject]) -> None:
    """The text reads back as the definition: no value is taken for another type on the way."""
    assert yaml.safe_load(text_of(kind)) == definition_of(kind)
