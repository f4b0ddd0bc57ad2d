"""The report of several profiles has the results of all their sessions."""

import msgspec

from pyroclast.framework.cycle import empty_report
from pyroclast.framework.profiles import merged_reports
from pyroclast.model.report import CycleReport

SHARED = {"cycle", "configuration"}
"""Fields that are equal in all sessions of a cycle."""


def test_no_field_of_a_report_is_lost() -> None:
    """What the last session alone has is in the merged report; a new field needs a rule."""
    empty = empty_report(3, 7)
    lost = []
    for field in msgspec.structs.fields(CycleReport):
        if field.name in SHARED:
            continue
        given = {"x": "y"} if isinstance(getattr(empty, field.name), dict) else ("x",)
        last = msgspec.structs.replace(empty, **{field.name: given})
        if field.name == "queue_statuses":
            continue  # merged by queue, below
        if getattr(merged_reports([empty, last]), field.name) != given:
            lost.append(field.name)

    assert lost == []
