"""Value, tangent and cotangents of a contraction, written once for all array libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro_ext_tropical.plan import BATCH, CONTRACTED, FREE, OWN, Plan, Side
from tenferro_ext_tropical.semiring import Semiring


@dataclass(frozen=True)
class Form:
    """The parts that depend on the array library.

    Attributes:
        xp: its namespace, under NumPy's names.
        values: takes a semiring, `[batch, left, contracted]` and `[batch, contracted, right]` to
            the tropical matrix product `[batch, left, right]`.
        winners: takes the same to the first contracted index that attains each element, and to
            whether there is one.
        add_at: a flat array of zeros, of a given size and dtype, with updates added at places.
    """

    xp: Any
    values: Callable[[Semiring, Any, Any], Any]
    winners: Callable[[Semiring, Any, Any], tuple[Any, Any]]
    add_at: Callable[[int, Any, Any], Any]


def value(form: Form, ring: Semiring, plan: Plan, lhs: Any, rhs: Any) -> Any:
    """The result."""
    xp = form.xp
    if plan.is_empty:
        return xp.full(plan.output_shape, ring.zero, dtype=lhs.dtype)
    a = _own_sum(xp, ring, plan.lhs.arranged(xp, lhs))
    b = _own_sum(xp, ring, plan.rhs.arranged(xp, rhs))
    return plan.result(xp, form.values(ring, a, xp.swapaxes(b, 1, 2)))


def tangent(
    form: Form, ring: Semiring, plan: Plan, lhs: Any, rhs: Any, tangents: Sequence[Any]
) -> Any:
    """The sum of the operands' tangents at the winners, 0 where there is none.

    A tangent that is None is not added.
    """
    xp = form.xp
    if plan.is_empty:
        return xp.zeros(plan.output_shape, dtype=lhs.dtype)
    places, won = _places(form, ring, plan, lhs, rhs)
    total = None
    for at, given in zip(places, tangents, strict=True):
        if given is not None:
            term = xp.take(xp.reshape(given, (-1,)), at)
            total = term if total is None else total + term
    return plan.result(xp, xp.where(won, total, xp.zeros((), dtype=lhs.dtype)))


def cotangents(
    form: Form, ring: Semiring, plan: Plan, lhs: Any, rhs: Any, ct: Any, wanted: Sequence[int]
) -> tuple[Any, ...]:
    """Cotangents of the wanted operands: the result's cotangents, added at their winners."""
    xp = form.xp
    if plan.is_empty:
        shapes = (plan.lhs.shape, plan.rhs.shape)
        return tuple([xp.zeros(shapes[i], dtype=lhs.dtype) for i in wanted])
    places, won = _places(form, ring, plan, lhs, rhs)
    updates = xp.where(won, plan.canonical(xp, ct), xp.zeros((), dtype=lhs.dtype))
    updates = xp.reshape(updates, (-1,))
    sides = (plan.lhs, plan.rhs)
    return tuple(
        xp.reshape(
            form.add_at(sides[i].size, xp.reshape(places[i], (-1,)), updates), sides[i].shape
        )
        for i in wanted
    )


def _places(
    form: Form, ring: Semiring, plan: Plan, lhs: Any, rhs: Any
) -> tuple[tuple[Any, Any], Any]:
    """For each element of the result, the place of its winner in the flat operands, if any."""
    xp = form.xp
    batch, left, right = plan.extents
    a, b = plan.lhs.arranged(xp, lhs), plan.rhs.arranged(xp, rhs)
    k, won = form.winners(ring, _own_sum(xp, ring, a), xp.swapaxes(_own_sum(xp, ring, b), 1, 2))
    zero = xp.zeros((), dtype=k.dtype)
    k = xp.where(won, k, zero)
    index = [xp.arange(size, dtype=k.dtype) for size in (batch, left, right)]
    i, m, n = (xp.reshape(each, shape) for each, shape in zip(index, _AXES, strict=True))
    return (
        _place(xp, ring, plan.lhs, a, (i, m, k)),
        _place(xp, ring, plan.rhs, b, (i, n, k)),
    ), won


_AXES = ((-1, 1, 1), (1, -1, 1), (1, 1, -1))


def _place(xp: Any, ring: Semiring, side: Side, x: Any, index: tuple[Any, Any, Any]) -> Any:
    """The places of elements with indices (batch, free, contracted), best of their own labels."""
    at = sum(side.offset(group, index[group]) for group in (BATCH, FREE, CONTRACTED))
    if side.groups[OWN]:
        best = getattr(xp, f"arg{ring.extremum}")(_without_nan(xp, ring, x), axis=3)
        _, free, contracted, _ = side.extents
        flat = (index[BATCH] * free + index[FREE]) * contracted + index[CONTRACTED]
        own = xp.astype(xp.take(xp.reshape(best, (-1,)), flat), index[CONTRACTED].dtype)
        at = at + side.offset(OWN, own)
    return xp.broadcast_to(at, index[CONTRACTED].shape)


def _own_sum(xp: Any, ring: Semiring, x: Any) -> Any:
    """The sum over the last of four axes."""
    if x.shape[3] == 1:
        return xp.reshape(x, x.shape[:3])
    return getattr(xp, ring.extremum)(_without_nan(xp, ring, x), axis=3)


def _without_nan(xp: Any, ring: Semiring, x: Any) -> Any:
    """The elements, with NaN replaced by the zero of the semiring; only NaN differs from itself."""
    return xp.where(x == x, x, xp.asarray(ring.zero, dtype=x.dtype))
