"""The least time that a network may take on its path: that of its arithmetic or of its operands.

The rate of multiplications is that of the fastest of some large real products, and the rate of
memory that of a sum over a large array, both by XLA in this process. No program is faster than the
larger of two times: all multiplications at that rate, where three real ones make a complex one, and
reading every operand once. What lies between is what a program may still gain.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.networks import Network

SIDES = (512, 1024, 2048)
NUMBERS = 1 << 26
TRIALS = 7


@dataclass(frozen=True)
class Limits:
    """What this machine does at best.

    Attributes:
        multiplications: of real numbers, a second.
        numbers: read from memory, a second.
    """

    multiplications: float
    numbers: float

    def seconds(self, network: Network, complex_: bool, gradient: bool) -> float:
        """No program for the network takes less; a gradient has three products for each."""
        times = (3 if complex_ else 1) * (3 if gradient else 1)
        read = sum(math.prod(shape) for shape in network.shapes) * (2 if complex_ else 1)
        written = read if gradient else 0
        arithmetic = times * multiplications(network) / self.multiplications
        return max(arithmetic, (read + written) / self.numbers)


def measured(dtype: str) -> Limits:
    """The limits for real numbers of the size of those in `dtype`."""
    real = np.empty(0, dtype).real.dtype
    rates = []
    for side in SIDES:
        x = jnp.ones((side, side), real)
        rates.append(side**3 / _least(jax.jit(jnp.matmul), x, x))
    x = jnp.ones(NUMBERS, real)
    return Limits(max(rates), NUMBERS / _least(jax.jit(jnp.sum), x))


def multiplications(network: Network) -> int:
    """Of the products on the path, those that sum over an index; of real numbers."""
    inputs, output = network.expression.split("->")
    terms = [set(term) for term in inputs.split(",")]
    sizes = {
        label: size
        for term, shape in zip(inputs.split(","), network.shapes, strict=True)
        for label, size in zip(term, shape, strict=True)
    }
    total = 0
    for step in network.path:
        taken = [terms.pop(place) for place in sorted(step, reverse=True)]
        labels = set().union(*taken)
        kept = labels & set(output).union(*terms)
        if labels != kept:
            total += math.prod(sizes[label] for label in labels)
        terms.append(kept)
    return total


def _least(call: Callable[..., Any], *operands: Any) -> float:
    times = []
    for _ in range(TRIALS):
        start = time.perf_counter()
        jax.block_until_ready(call(*operands))
        times.append(time.perf_counter() - start)
    return min(times)
