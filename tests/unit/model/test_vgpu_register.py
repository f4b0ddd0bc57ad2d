"""The register of virtual cards: what is parsed, and what could not be allocated from it."""

import pytest

from pyroclast.model.devices.settings import DEFAULT
from pyroclast.model.devices.vgpu_register import HAMI_CORE, Card, read_register

SETTINGS = DEFAULT.nvidia


def test_a_piece_without_a_comma_takes_an_index() -> None:
    """What is no number is nothing, and health is what Go reads as true."""
    cards = read_register("GPU-0,many,-5,NVIDIA-A100,t,hami-core:x:GPU-1,2,3000,NVIDIA-A100,yes,other,more:", SETTINGS)

    assert cards is not None
    assert cards.mode == HAMI_CORE
    assert cards.cards == (
        Card(0, "GPU-0", 0, 0, "NVIDIA-A100", is_healthy=True),
        Card(2, "GPU-1", 2, 3000, "NVIDIA-A100", is_healthy=False),
    )


@pytest.mark.parametrize("register", ["", "GPU-0,1,1,NVIDIA,true,mig", ":", "x:y:"])
def test_without_a_record_there_are_no_cards(register: str) -> None:
    """A record ends with a colon."""
    assert read_register(register, SETTINGS) is None


@pytest.mark.parametrize(
    ("uuids", "message"),
    [
        (["GPU-0", "GPU-0"], "2 cards are called 'GPU-0'"),
        (["", ""], "2 cards are called ''"),
        (["GPU[0"], r"card 'GPU\[0': a UUID without"),
        (["GPU-0", "GPU]1"], r"card 'GPU\]1': a UUID without"),
        (["GPU;0"], "card 'GPU;0': a UUID without"),
    ],
)
def test_cards_that_pods_could_not_name_are_not_given(uuids: list[str], message: str) -> None:
    """Their pods would be found on no card, or on another one, and the next pod would have it too."""
    register = "".join(f"{uuid},1,1000,NVIDIA,true,hami-core:" for uuid in uuids)

    with pytest.raises(ValueError, match=message):
        read_register(register, SETTINGS)
