"""The table of extension points in docs/plugins/writing.md is that of framework/extension/contract.py."""

from pathlib import Path

from pyroclast.framework.extension.contract import ALL_POINTS

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "writing.md"


def rows() -> dict[str, list[str]]:
    """Read the table: its cells by the name of the point, back-quotes taken off."""
    table = PAGE.read_text().split("<!-- points: begin -->\n", 1)[1].split("<!-- points: end -->", 1)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {row[0].strip("`"): row[1:] for row in cells}


def test_every_point_is_documented() -> None:
    """Flag, rule of combination, and when it is asked; no point is made up."""
    documented = {name: (row[2].strip("`"), row[3], row[4]) for name, row in rows().items()}

    assert documented == {point.name: (point.flag or "", point.combine, point.asked) for point in ALL_POINTS}


OF_QUOTAS = {"quota_check", "quota_status"}
"""Points that Volcano has not: hooks of Koordinator's quotas."""


def test_every_point_has_a_shape_and_a_counterpart() -> None:
    """What an author writes, and its counterpart in Volcano or Koordinator."""
    for name, row in rows().items():
        assert "->" in row[0], name
        assert name in OF_QUOTAS or row[1].startswith(("`Add", "`Reservation", "`Before", "`After", "`Resize")), name


def test_every_rule_of_combination_is_explained() -> None:
    """The words of the column are explained above the table."""
    words = {point.combine for point in ALL_POINTS}
    text = PAGE.read_text().split("## Every point", 1)[1]

    assert all(f"**{word}**" in text for word in words)
