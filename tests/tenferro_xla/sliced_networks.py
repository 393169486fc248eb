"""A sliced network whose bits are compared on one device, on several, and in several processes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

import tenferro as tn

RING = "ab,bc,cd,de,ea->"
GENERATOR = np.random.default_rng(0)


def random(shape: tuple[int, ...]) -> Any:
    return GENERATOR.normal(size=shape)


OPERANDS = [random(shape) for shape in ((40, 4), (4, 5), (5, 2), (2, 3), (3, 40))]


def value_and_gradient(*operands: Any) -> Any:
    def f(*operands: Any) -> Any:
        return tn.log(tn.abs(tn.einsum(RING, *operands, slices="ad")))

    return tn.value_and_grad(f, argnums=(0, 1, 2, 3, 4))(*operands)


def digest(results: Any) -> str:
    """The bits of all results."""
    leaves = [np.ascontiguousarray(leaf) for leaf in tn.tree_util.tree_leaves(results)]
    return hashlib.sha256(b"".join([leaf.tobytes() for leaf in leaves])).hexdigest()
