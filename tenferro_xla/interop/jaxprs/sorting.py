"""Sorting."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import elementwise, sorting
from tenferro.computegraph import GlobalValKey
from tenferro.ops import IMAG, REAL, Sort, Transpose, gather_along
from tenferro.shape import as_dtype
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, shape_of


def _sort(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The operands in the order of the first `num_keys` of them. Always stable."""
    axis, count = int(equation.params["dimension"]), int(equation.params["num_keys"])
    keys: list[GlobalValKey] = []
    for key in operands[:count]:
        is_complex = at.ctx.meta(key).dtype.kind == "c"
        keys += [at.emit(REAL, key), at.emit(IMAG, key)] if is_complex else [key]
    if len(keys) == len(operands) == 1:
        return at.emit_all(Sort(axis), keys[0])[:1]
    places: GlobalValKey | None = None
    for key in reversed(keys):  # later keys decide among equal ones, so that they come first
        moved = key if places is None else gather_along(at, key, places, axis)
        then = at.emit_all(Sort(axis), moved)[1]
        places = then if places is None else gather_along(at, places, then, axis)
    assert places is not None, "a sort has a key"
    return [gather_along(at, x, places, axis) for x in operands]


def _top_k(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The largest elements along an axis, in descending order, and their places."""
    (x,) = operands
    rank, count = at.ctx.meta(x).rank, int(equation.params["k"])
    axis = int(equation.params.get("axis", rank - 1)) % rank
    order = [*(other for other in range(rank) if other != axis), axis]
    back = Transpose(tuple(order.index(place) for place in range(rank)))
    if axis != rank - 1:
        x = at.emit(Transpose(tuple(order)), x)
    places = sorting.top_places(at, x, count)
    results = [gather_along(at, x, places, rank - 1), places]
    if axis != rank - 1:
        results = [at.emit(back, result) for result in results]
    dtype = as_dtype(equation.outvars[1].aval.dtype)
    assert at.ctx.meta(results[0]).static_shape == shape_of(equation)
    return [results[0], elementwise.astype(at, results[1], dtype)]


TABLE: dict[str, Translation] = {"sort": _sort, "top_k": _top_k}
