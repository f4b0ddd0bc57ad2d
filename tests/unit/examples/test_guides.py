"""The code in docs/guides works as it stands."""

import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "test-a-configuration.md"


def test_the_test_of_a_configuration_passes(tmp_path: Path) -> None:
    """The block is a file that a reader can copy."""
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / "test_configuration.py").write_text(block)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
