"""Scores by images over all nodes and kube-scheduler's formula for one node agree on clusters by chance."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pyroclast.model import wire
from tests.drawing import examples
from tests.unit.plugins.policies import MIB, group, node, opened, pod

ALIKE = settings(max_examples=examples(150), deadline=None)
SEEDS = st.integers(0, 2**32)
HELD = ("app:1", "app:latest", "host:5000/app:latest", "data:2")
"""Images as nodes name them."""
WANTED = {
    "app:1": "app:1",
    "app": "app:latest",
    "host:5000/app": "host:5000/app:latest",
    "data:2": "data:2",
    "no": "no",
}
"""How nodes name what pods write."""
OTHERS = ("leastrequested", "balancedresource", "nodeaffinity", "podaffinity", "tainttoleration", "podtopologyspread")
WEIGHT = 3


def plain(node_images: dict[str, dict[str, int]], name: str, images: list[str], containers: int) -> int:
    """Add up each image on a node by its size and how many nodes have it, and scale between the two limits."""
    total = 0
    for image in images:
        known = WANTED[image]
        if known in node_images[name]:
            holders = sum(known in held for held in node_images.values())
            total += int(node_images[name][known] * (holders / len(node_images)))
    least, most = 23 * MIB, 1000 * MIB * containers
    return 100 * (min(max(total, least), most) - least) // (most - least)


@ALIKE
@given(SEEDS)
def test_same_scores(seed: int) -> None:
    """Images of containers, of init containers and of volumes, of which some are nowhere and some everywhere."""
    chance = Random(seed)
    names = [f"n{number}" for number in range(chance.randint(1, 5))]
    sizes = {image: chance.choice([10, 40, 300, 900, 2500]) * MIB for image in HELD}
    held = {name: {image: sizes[image] for image in HELD if chance.random() < 0.5} for name in names}
    main, first, mounted = (chance.choices(list(WANTED), k=chance.randint(least, 2)) for least in (1, 0, 0))
    waiting = pod(
        "p",
        containers=[wire.Container(name=f"c{number}", image=image) for number, image in enumerate(main)],
        spec={
            "init_containers": tuple(wire.Container(name=f"i{at}", image=image) for at, image in enumerate(first)),
            "volumes": tuple(
                wire.Volume(name=f"v{at}", image=wire.ImageVolume(reference=image)) for at, image in enumerate(mounted)
            ),
        },
    )
    weights = {f"{each}.weight": 0 for each in OTHERS} | {"imagelocality.weight": WEIGHT}
    there = opened(
        *(node(name, images=images) for name, images in held.items()),
        group("job"),
        waiting,
        plugins=[{"name": "nodeorder", "arguments": weights}],
    )

    expected = {name: WEIGHT * plain(held, name, [*main, *first, *mounted], len(main) + len(first)) for name in names}
    assert there.scores("p") == expected
