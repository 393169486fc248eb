"""The tropical matrix product on NumPy arrays, in tiles that stay in cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro_ext_tropical.forms import Form
from tenferro_ext_tropical.semiring import Semiring

Array = np.ndarray[Any, np.dtype[Any]]

TILE = 1 << 15
"""Elements of the result, or of a block of products, that are worked on at a time."""
BLOCK = 16
"""Contracted indices that are processed between two checks for changed results."""
PARALLEL = 1 << 22
"""Number of products from which threads share the tiles."""


@dataclass(frozen=True)
class Tile:
    """A part `[batch, left, right]` of the result."""

    batch: slice
    left: slice
    right: slice


def values(ring: Semiring, a: Array, b: Array) -> Array:
    """The product of `[batch, left, contracted]` and `[batch, contracted, right]`.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> a, b = np.array([[[1.0, 5.0]]]), np.array([[[3.0], [0.0]]])
    >>> values(semiring("maxplus"), a, b), values(semiring("minplus"), a, b)
    (array([[[5.]]]), array([[[4.]]]))
    """
    result = np.full((a.shape[0], a.shape[1], b.shape[2]), ring.zero, a.dtype)

    def run(tile: Tile) -> None:
        at, bt, size = _operands(a, b, tile)
        best = result[tile.batch, tile.left, tile.right]
        work = np.empty_like(best) if size == 1 else None
        for start in range(0, a.shape[2], size):
            _take_in(ring, at, bt, start, start + size, best, work)

    _over_tiles(run, a, b)
    return result


def winners(ring: Semiring, a: Array, b: Array) -> tuple[Array, Array]:
    """The first contracted index of the best product, and whether there is a product.

    >>> from tenferro_ext_tropical.semiring import semiring
    >>> winners(semiring("maxplus"), np.array([[[1.0, 5.0]]]), np.array([[[4.0], [0.0]]]))
    (array([[[0]]]), array([[[ True]]]))
    """
    index = np.zeros((a.shape[0], a.shape[1], b.shape[2]), np.int64)
    won = np.zeros(index.shape, np.bool_)

    def run(tile: Tile) -> None:
        at, bt, size = _operands(a, b, tile)
        best = np.full(index[tile.batch, tile.left, tile.right].shape, ring.zero, a.dtype)
        work = np.empty_like(best) if size == 1 else None
        blocks = np.full(best.shape, -1, np.int64)
        length = max(size, BLOCK)
        for start in range(0, a.shape[2], length):
            before = best.copy()
            for k in range(start, min(start + length, a.shape[2]), size):
                _take_in(ring, at, bt, k, k + size, best, work)
            np.copyto(blocks, start, where=ring.better(best, before))
        won[tile.batch, tile.left, tile.right] = blocks >= 0
        _resolve(at, bt, best, blocks, length, index[tile.batch, tile.left, tile.right])

    _over_tiles(run, a, b)
    return index, won


def _take_in(
    ring: Semiring, at: Array, bt: Array, start: int, stop: int, best: Array, work: Array | None
) -> None:
    """Improve `best` by the products with contracted indices from `start` to before `stop`."""
    if work is not None:
        np.add(at[start][:, :, None], bt[start][:, None, :], out=work)
    else:
        products = at[start:stop][:, :, :, None] + bt[start:stop][:, :, None, :]
        work = ring.pick.reduce(products, axis=0)
    ring.pick(best, work, out=best)


def _resolve(at: Array, bt: Array, best: Array, blocks: Array, length: int, index: Array) -> None:
    """The first index that attains each best product, within the block that first attains it."""
    batch, left, right = places = np.nonzero(blocks >= 0)
    k, target = blocks[places], best[places]
    for _ in range(length):
        miss = at[k, batch, left] + bt[k, batch, right] != target
        hit = ~miss
        index[batch[hit], left[hit], right[hit]] = k[hit]
        batch, left, right = batch[miss], left[miss], right[miss]
        k, target = k[miss] + 1, target[miss]
        if not k.size:
            return
    raise AssertionError("a best product is found again within its block")


def _operands(a: Array, b: Array, tile: Tile) -> tuple[Array, Array, int]:
    """The operands of a tile, contracted index first, and how many indices to take at a time."""
    at = np.ascontiguousarray(np.moveaxis(a[tile.batch, tile.left], 2, 0))
    bt = np.ascontiguousarray(np.moveaxis(b[tile.batch, :, tile.right], 1, 0))
    elements = at.shape[1] * at.shape[2] * bt.shape[2]
    return at, bt, max(1, min(TILE // max(1, elements), len(at)))


def _tiles(batch: int, left: int, right: int) -> Iterator[Tile]:
    wide = min(right, TILE)
    high = min(left, max(1, TILE // wide))
    deep = min(batch, max(1, TILE // (wide * high)))
    for i in range(0, batch, deep):
        for m in range(0, left, high):
            for n in range(0, right, wide):
                yield Tile(slice(i, i + deep), slice(m, m + high), slice(n, n + wide))


def _over_tiles(run: Callable[[Tile], None], a: Array, b: Array) -> None:
    batch, left, contracted = a.shape
    right = b.shape[2]
    tiles = list(_tiles(batch, left, right)) if batch * left * right else []

    def quiet(tile: Tile) -> None:
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs make NaN
            run(tile)

    workers = min(len(tiles), os.cpu_count() or 1)
    if workers < 2 or batch * left * right * contracted < PARALLEL:
        for tile in tiles:
            quiet(tile)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(quiet, tiles))


def _add_at(size: int, places: Array, updates: Array) -> Array:
    # bincount adds in double precision
    return np.bincount(places, weights=updates, minlength=size).astype(updates.dtype, copy=False)


NUMPY = Form(np, values, winners, _add_at)
