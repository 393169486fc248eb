"""Sliced networks on XLA: one loop, whose body is one round."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from tenferro.config import config
from tenferro.exec_ir import check_budget
from tenferro.network import SlicedNetwork, make_round
from tenferro.shape import make_meta
from tenferro_xla.lowering import LoweringOptions, jax_function


def with_networks(options: LoweringOptions) -> LoweringOptions:
    """The options, their extensions now with the lowering of sliced networks.

    >>> SlicedNetwork.FAMILY_ID in with_networks(LoweringOptions()).extensions
    True
    """
    lowering = functools.partial(lower_sliced, options=options)
    options.extensions.register(SlicedNetwork.FAMILY_ID, lowering)
    return options


def lower_sliced(
    op: SlicedNetwork, *operands: jax.Array, options: LoweringOptions
) -> tuple[jax.Array, ...]:
    """The outputs of the network, each round's additions put where they belong.

    Raises:
        ExtentError: a value of a round is larger than the byte budget.
    """
    found = make_round(op, [make_meta(each.dtype, each.shape) for each in operands])
    check_budget(found.program, config.max_bytes)
    zeros = tuple(lax.full(meta.static_shape, 0, meta.dtype) for meta in found.metas)  # type: ignore[arg-type]  # static
    total = math.prod(found.counts)
    if not total:
        return zeros
    body = jax_function(found.program, options)

    def step(number: jax.Array, sums: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        numbers = _digits(number, found.counts)
        additions = body(*operands, *numbers)
        return tuple(
            _added(total, addition, places, numbers)
            for total, addition, places in zip(sums, additions, found.places, strict=True)
        )

    return tuple(lax.fori_loop(0, total, step, zeros))


def _digits(number: jax.Array, counts: tuple[int, ...]) -> list[jax.Array]:
    """The values of the sliced labels in a round, the last label's changing fastest."""
    digits: list[jax.Array] = []
    for count in reversed(counts):
        digits.append(lax.rem(number, jnp.asarray(count, number.dtype)))
        number = lax.div(number, jnp.asarray(count, number.dtype))
    return [lax.convert_element_type(digit, jnp.int64) for digit in reversed(digits)]


def _added(
    total: jax.Array, addition: jax.Array, places: tuple[int | None, ...], numbers: list[Any]
) -> jax.Array:
    """An addition in its window; an axis of size 1 has one place for all rounds."""
    if not any(place is not None for place in places):
        return lax.add(total, addition)
    window = tuple(
        size if place is None else 1 for place, size in zip(places, total.shape, strict=True)
    )
    zero = jnp.zeros((), jnp.int64)
    starts = [
        zero if place is None or size == 1 else numbers[place]
        for place, size in zip(places, total.shape, strict=True)
    ]
    old = lax.dynamic_slice(total, starts, window)
    new = lax.add(old, lax.reshape(addition, window))
    return lax.dynamic_update_slice(total, new, starts)
