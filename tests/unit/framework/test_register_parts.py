"""Several functions of one plugin at one point."""

from typing import Any

from framework import points
from framework.configuration import PluginOption, Profile, flags
from framework.points import Locality
from model.refusals import Reason
from tests.unit.plugins.filtering import node, opened, pod


def test_parts_stand_in_the_order_of_registration_under_one_name() -> None:
    """Each keeps its locality and its reasons; the same part again replaces the earlier in its place."""
    session = opened(node("n1"), pod("p"), node_affinity=False).session
    session._registered.clear()
    session._functions.clear()
    session._tiers.clear()

    def function(*_: Any) -> None:
        """Permit everything."""

    session.register(points.PREDICATE, "predicates", function, locality=Locality.FACTS, part="b")
    session.register(points.PREDICATE, "predicates", function, locality=Locality.GLOBAL, part="a")
    session.register(points.PREDICATE, "predicates", function, locality=Locality.NODE, reasons=[Reason("x")], part="b")
    known = session.functions(points.PREDICATE)

    assert [(each.plugin, each.locality) for each in known] == [
        ("predicates", Locality.NODE),
        ("predicates", Locality.GLOBAL),
    ]
    assert [each.reasons for each in known] == [(Reason("x"),), ()]


def test_flag_of_the_point_switches_all_parts_off() -> None:
    """`enablePredicate: false` leaves none of them."""
    session = opened(node("n1"), pod("p")).session
    off = {**flags.defaults(absent=True), "enablePredicate": False}
    option = PluginOption(plugin="predicates", instance="predicates", flags=off)
    session.profile = Profile(actions=(), tiers=((option,),))
    session._functions.clear()
    session._tiers.clear()

    assert session.functions(points.PREDICATE) == ()
