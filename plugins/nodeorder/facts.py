"""Scores by facts of nodes: preferred node affinity, PreferNoSchedule taints, present images."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.matching.nodes import term_mask
from pyroclast.model.matching.taints import PREFER_NO_SCHEDULE, untolerated
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.wire import PodSpec

__all__ = ["affinity_weights", "avoided_taints", "image_scores", "normalised", "reversed_normalised"]

MAX_SCORE: Final = 100
MEBIBYTE: Final = 1 << 20
LEAST_IMAGE_BYTES: Final = 23 * MEBIBYTE
MOST_IMAGE_BYTES: Final = 1000 * MEBIBYTE


def affinity_weights(facts: NodeFacts, spec: PodSpec) -> IntArray | None:
    """Return the sum of the weights of matching preferred terms by node, shape (N,); None without such terms."""
    node_affinity = None if spec.affinity is None else spec.affinity.node_affinity
    preferred = () if node_affinity is None else node_affinity.preferred
    if not preferred:
        return None
    weights = np.zeros(len(facts.nodes), dtype=np.int64)
    for each in preferred:
        if each.weight:
            weights += each.weight * term_mask(facts, each.preference)
    return weights


def avoided_taints(facts: NodeFacts, spec: PodSpec) -> IntArray:
    """Return the number of PreferNoSchedule taints that a pod does not tolerate, by node, shape (N,)."""
    # Tolerations of other effects do not apply to PreferNoSchedule taints.
    tolerations = tuple(each for each in spec.tolerations if each.effect in {"", PREFER_NO_SCHEDULE})
    return untolerated(facts, tolerations, frozenset({PREFER_NO_SCHEDULE}))


def normalised(raw: FloatArray) -> FloatArray:
    """Scale so that the highest candidate has 100; all 0 if all candidates have 0."""
    highest = raw.max(initial=0.0)
    # Integers far below 2**53: the floor of their rounded quotient is exact, and faster than `//` of floats.
    return np.zeros(raw.shape) if highest == 0 else np.floor(MAX_SCORE * raw / highest)


def reversed_normalised(raw: FloatArray) -> FloatArray:
    """Scale so that the highest candidate has 0, and candidates with 0 have 100."""
    highest = raw.max(initial=0.0)
    return np.full(raw.shape, float(MAX_SCORE)) if highest == 0 else MAX_SCORE - np.floor(MAX_SCORE * raw / highest)


def image_scores(facts: NodeFacts, spec: PodSpec) -> IntArray | None:
    """Score the images of a pod that are present on each node, shape (N,); None if no node has any.

    An image counts its size times the fraction of nodes that have it, so that few nodes with an image are not crowded.
    """
    run = [container.image for container in (*spec.init_containers, *spec.containers)]
    mounted = [volume.image.reference for volume in spec.volumes if volume.image is not None]
    sizes = facts.derive(("images",), lambda: _sizes_by_image(facts))
    known = [sizes[image] for image in map(tagged, (*run, *mounted)) if image in sizes]
    if not known:
        return None
    total = np.zeros(len(facts.nodes), dtype=np.int64)
    for spread in known:
        total += spread
    # As in kube-scheduler, volumes add to the sum, but only containers add to the maximum.
    most = MOST_IMAGE_BYTES * len(run)
    clamped = np.clip(total, LEAST_IMAGE_BYTES, most)
    scores: IntArray = MAX_SCORE * (clamped - LEAST_IMAGE_BYTES) // (most - LEAST_IMAGE_BYTES)
    return scores


def tagged(image: str) -> str:
    """Return an image's name with a tag; the default is `latest`."""
    return image if ":" in image.rsplit("/", 1)[-1] or "@" in image else f"{image}:latest"


def _sizes_by_image(facts: NodeFacts) -> Mapping[str, IntArray]:
    holders: dict[str, list[tuple[int, int]]] = {}
    for column, node in enumerate(facts.nodes):
        for image, size in node.images.items():
            holders.setdefault(image, []).append((column, size))
    return {image: _spread(pairs, len(facts.nodes)) for image, pairs in holders.items()}


def _spread(pairs: Sequence[tuple[int, int]], nodes: int) -> IntArray:
    spread = np.zeros(nodes, dtype=np.int64)
    for column, size in pairs:
        spread[column] = int(size * (len(pairs) / nodes))
    return spread
