"""`python -m tools.custom_resources FOLDER`: write the definitions of all kinds."""

import sys
from pathlib import Path

from pyroclast.model.api.kinds import KINDS
from tools.custom_resources.definitions import file_name, text_of


def main(folder: Path) -> None:
    """Write each definition into `folder`, and remove definitions of kinds that no longer exist."""
    texts = {file_name(kind): text_of(kind) for kind in KINDS}
    for stale in folder.glob("*.yaml"):
        if stale.name not in texts:
            stale.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
