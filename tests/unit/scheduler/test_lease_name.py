"""The lease is named like Volcano's, whatever name the scheduler goes by: two in a namespace need a flag."""

from pyroclast.scheduler.cli.options import parse_options


def test_the_name_of_the_scheduler_is_not_the_name_of_its_lease() -> None:
    """`--leader-elect-resource-name` is."""
    assert parse_options(["--scheduler-name=mine"]).options.leader_elect_resource_name == "volcano"
