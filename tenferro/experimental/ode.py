"""Ordinary differential equations, and their derivatives by the adjoint equation.

Source: Hairer, Nørsett, Wanner, "Solving Ordinary Differential Equations I", sections II.4 to II.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro import numpy as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import PyTree, common_dtype, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import array, callable_of, constant_size, number
from tenferro.transforms import (
    closure_convert,
    custom_vjp,
    flatten,
    scan,
    unflatten,
    vjp,
    while_loop,
)

__all__ = ["odeint"]

Field = Callable[..., Any]


def odeint(
    func: Field,
    y0: PyTree,
    t: Any,
    *args: PyTree,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> PyTree:
    """The solution of dy/dt = func(y, t, *args) at times, by the method of Dormand and Prince.

    It has derivatives by y0, t, args and what `func` closes over, of any order in reverse mode,
    which solve the adjoint equation backward in time.

    Args:
        func: returns a tree like y0, or another one with as many numbers in the same order.
        y0: the value at the first time, a tree of floating-point arrays.
        t: the times, a vector, ascending strictly.
        args: trees of arrays.
        rtol: the relative error allowed in a step.
        atol: the absolute error allowed in a step.
        mxstep: the largest number of steps from one time to the next.
        hmax: the largest step.

    Returns:
        A tree like y0, with a new first axis for the times.

    Raises:
        ShapeError: t is not a vector, or `func` does not return as many numbers as y0 has.
        ConfigError: y0 has no numbers that change.

    >>> t = np.array([0.0, 1.0, 2.0])
    >>> tn.round(tn.experimental.ode.odeint(lambda y, t, rate: -rate * y, 1.0, t, 0.5), 6)
    Tensor([1.      , 0.606531, 0.367879])
    """
    name = "odeint"
    callable_of(name, func)
    times = array(name, t)
    if times.ndim != 1:
        raise ShapeError(f"{name}: t must be a vector of times, got {times.meta}")
    constant_size(name, times, 0)
    controls = tuple(
        number(name, field, value)
        for field, value in (("rtol", rtol), ("atol", atol), ("mxstep", mxstep), ("hmax", hmax))
    )
    state = _Vector.of(name, y0)
    passed, tree = flatten(args)
    operands = [tn.asarray(each) for each in passed]
    moving = [place for place, each in enumerate(operands) if dtype_kind(each.dtype) in "fc"]

    def field(y: Any, t: Any, *values: Any) -> Any:
        leaves = list(operands)
        for place, value in zip(moving, values, strict=True):
            leaves[place] = value
        return state.ravelled(func(state.tree(y), t, *unflatten(tree, leaves)))

    times = times.astype(state.real_dtype)
    changing = [operands[place] for place in moving]
    field, closed = _converted(field, state.start, times[0], *changing)
    return state.trees(_integrated(field, controls, state.start, times, [*changing, *closed]))


def _converted(field: Field, *like: Any) -> tuple[Field, list[Any]]:
    """The field, which takes the floating-point values that it closes over as arguments too."""
    converted, values = closure_convert(field, *like)
    moving = [place for place, value in enumerate(values) if dtype_kind(value.dtype) in "fc"]

    def function(*arguments: Any) -> Any:
        closed = list(values)
        for place, value in zip(moving, arguments[len(like) :], strict=True):
            closed[place] = value
        return converted(*arguments[: len(like)], *closed)

    return function, [values[place] for place in moving]


class _Vector:
    """A tree of floating-point arrays as one vector."""

    def __init__(self, name: str, parts: Sequence[Any], structure: Any) -> None:
        self.name = name
        self.structure = structure
        self.types = [(part.shape, part.dtype) for part in parts]
        self.dtype = common_dtype(*[dtype for _, dtype in self.types])
        self.real_dtype = np.empty(0, self.dtype).real.dtype
        self.start = self._joined(parts)

    @classmethod
    def of(cls, name: str, tree: PyTree) -> _Vector:
        """The vector of a tree; integers become float64."""
        leaves, structure = flatten(tree)
        parts = [array(name, leaf) for leaf in leaves]
        parts = [
            part if dtype_kind(part.dtype) in "fc" else part.astype("float64") for part in parts
        ]
        if not parts or not any(part.size for part in parts):
            raise ConfigError(f"{name}: y0 has no numbers")
        return cls(name, parts, structure)

    def _joined(self, parts: Sequence[Any]) -> Any:
        return tn.concat([part.ravel().astype(self.dtype) for part in parts])

    def vector(self, tree: PyTree, what: str) -> Any:
        """A tree like that as a vector."""
        leaves, structure = flatten(tree)
        parts = [array(self.name, leaf) for leaf in leaves]
        shapes = [shape for shape, _ in self.types]
        if structure != self.structure or [part.shape for part in parts] != shapes:
            types = ", ".join(str(part.meta) for part in parts)
            raise ShapeError(f"{self.name}: {what} must be a tree like y0, got {types}")
        return self._joined(parts)

    def ravelled(self, tree: PyTree) -> Any:
        """A tree with as many numbers, in the same order, as a vector."""
        parts = [array(self.name, leaf) for leaf in flatten(tree)[0]]
        if sum(part.size for part in parts) != sum(math.prod(shape) for shape, _ in self.types):
            types = ", ".join(str(part.meta) for part in parts)
            raise ShapeError(
                f"{self.name}: the result of func must have the numbers of y0, got {types}"
            )
        return self._joined(parts)

    def tree(self, vector: Any) -> PyTree:
        """The tree of a vector."""
        return self._tree(vector, ())

    def trees(self, vectors: Any) -> PyTree:
        """The tree of vectors, stacked."""
        return self._tree(vectors, vectors.shape[:1])

    def _tree(self, vectors: Any, front: Sequence[Any]) -> PyTree:
        parts, start = [], 0
        for shape, dtype in self.types:
            size = math.prod(shape)
            part = vectors[..., start : start + size].reshape((*front, *shape))
            if dtype_kind(dtype) == "f" and dtype_kind(self.dtype) == "c":
                part = part.real
            parts.append(part.astype(dtype))
            start += size
        return unflatten(self.structure, parts)


# The adjoint equation.


def _integrated(
    field: Field, controls: tuple[float, ...], y0: Any, times: Any, args: Sequence[Any]
) -> Any:
    """The vectors at the times."""

    @custom_vjp
    def solution(y0: Any, times: Any, *args: Any) -> Any:
        return _solution(lambda y, t: field(y, t, *args), y0, times, *controls)

    def forward(y0: Any, times: Any, *args: Any) -> Any:
        ys = solution(y0, times, *args)
        return ys, (ys, times, args)

    def backward(residuals: Any, cts: Any) -> Any:
        ys, times, args = residuals
        return _adjoint(field, controls, ys, times, args, cts)

    solution.defvjp(forward, backward)
    return solution(y0, times, *args)


def _adjoint(
    field: Field, controls: tuple[float, ...], ys: Any, times: Any, args: Sequence[Any], cts: Any
) -> Any:
    """The cotangents of y0, the times and args.

    With the solution run backward, the cotangent a of y solves da/dt = −Jᴴa; those of the
    arguments are integrals along the way.
    """
    zeros = tuple(tn.zeros_like(arg) for arg in args)
    shape = _Vector.of("odeint", (ys[0], cts[0], tn.zeros((), dtype=times.dtype), zeros))

    def backward(packed: Any, minus_t: Any, *args: Any) -> Any:
        y, ct, _, _ = shape.tree(packed)
        slope, pullback = vjp(field, y, -minus_t, *args)
        of_y, of_t, *of_args = pullback(ct)
        return shape.vector((-slope, of_y, of_t, tuple(of_args)), "the adjoint")

    def one_back(carry: Any, row: Any) -> Any:
        ct, of_start, of_args = carry
        y, t, before, own, ct_before = row
        of_time = tn.sum((own.conj() * field(y, t, *args)).real)
        packed = shape.vector((y, ct, of_start - of_time, of_args), "the adjoint")
        ends = tn.stack([-t, -before])
        packed = _integrated(backward, controls, packed, ends, args)[1]
        _, ct, of_start, of_args = shape.tree(packed)
        return (ct + ct_before, of_start, of_args), of_time

    start = (cts[-1], tn.zeros((), dtype=times.dtype), zeros)
    rows = (ys[1:], times[1:], times[:-1], cts[1:], cts[:-1])
    (ct, of_start, of_args), of_times = scan(one_back, start, rows, reverse=True)
    return (ct, tn.concat([of_start[None], of_times]), *of_args)


# The method: seven stages, of which the last is the first of the next step.

_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 1951 / 21600,
    0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)
"""The weights of the stages at the middle of a step (Shampine 1986)."""


def _weighted(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    total: Any = 0
    for weight, slope in zip(weights, slopes, strict=False):
        if weight:
            total = total + weight * slope
    return total


def _solution(
    field: Field, y0: Any, times: Any, rtol: float, atol: float, mxstep: float, hmax: float
) -> Any:
    dtype = times.dtype

    def size(x: Any, scale: Any) -> Any:
        return tn.sqrt(tn.mean(tn.abs(x / scale) ** 2))

    def clipped(step: Any) -> Any:
        return tn.minimum(step, hmax) if hmax < math.inf else step

    def one_step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        count, y, f, t, dt, last, polynomial = state
        slopes = [f]
        new = y
        for node, weights in zip(_NODES, _STAGES, strict=True):
            new = y + dt * _weighted(weights, slopes)
            slopes.append(field(new, t + node * dt))
        scale = atol + rtol * tn.maximum(tn.abs(y), tn.abs(new))
        ratio = size(dt * _weighted(_ERROR, slopes), scale)
        fine = ratio <= 1.0
        middle = y + dt * _weighted(_MIDDLE, slopes)
        fitted = _polynomial(y, new, middle, dt * f, dt * slopes[-1])
        factor = tn.where(ratio == 0, 10.0, 0.9 * tn.where(ratio == 0, 1.0, ratio) ** -0.2)
        factor = tn.clip(factor, tn.where(ratio < 1.0, 1.0, 0.2), 10.0)
        following = clipped(dt * factor)
        kept = [tn.where(fine, a, b) for a, b in zip(
            (new, slopes[-1], t + dt, t, fitted), (y, f, t, last, polynomial), strict=True
        )]  # fmt: skip
        y, f, t, last, polynomial = kept
        return count + 1, y, f, t, following.astype(dtype), last, polynomial

    def to_time(carry: tuple[Any, ...], target: Any) -> tuple[tuple[Any, ...], Any]:
        def goes_on(state: tuple[Any, ...]) -> Any:
            count, _, _, t, dt, _, _ = state
            on = (t < target) & (dt > 0)
            return on & (count < mxstep) if mxstep < math.inf else on

        _, *after = while_loop(goes_on, one_step, (0, *carry))
        _, _, t, _, last, polynomial = after
        length = t - last
        place = tn.where(length == 0, 0.0, (target - last) / tn.where(length == 0, 1.0, length))
        y: Any = 0
        for row in range(5):
            y = y * place + polynomial[row]
        return tuple(after), y.astype(y0.dtype)

    f0 = field(y0, times[0])
    dt = clipped(_first_step(field, y0, f0, times[0], rtol, atol, size)).astype(dtype)
    constant = tn.zeros((5, *y0.shape), dtype=y0.dtype).at[4].set(y0)
    start = (y0, f0, times[0], dt, times[0], constant)
    _, ys = scan(to_time, start, times[1:])
    return tn.concat([y0[None], ys])


def _polynomial(y0: Any, y1: Any, middle: Any, slope0: Any, slope1: Any) -> Any:
    """The coefficients, highest first, of the quartic with these values and slopes at 0 and 1."""
    return tn.stack([
        -2 * slope0 + 2 * slope1 - 8 * y0 - 8 * y1 + 16 * middle,
        5 * slope0 - 3 * slope1 + 18 * y0 + 14 * y1 - 32 * middle,
        -4 * slope0 + slope1 - 11 * y0 - 5 * y1 + 16 * middle,
        slope0,
        y0,
    ])  # fmt: skip


def _first_step(
    field: Field, y0: Any, f0: Any, t0: Any, rtol: float, atol: float, size: Callable[..., Any]
) -> Any:
    """A step whose error will be about the one allowed."""
    scale = atol + rtol * tn.abs(y0)
    d0, d1 = size(y0, scale), size(f0, scale)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = tn.where(small, 1e-6, 0.01 * d0 / tn.where(small, 1.0, d1))
    f1 = field(y0 + h0 * f0, t0 + h0)
    d2 = size(f1 - f0, scale) / h0
    flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    largest = tn.where(flat, 1.0, tn.maximum(d1, d2))
    h1 = tn.where(flat, tn.maximum(1e-6, h0 * 1e-3), (0.01 / largest) ** 0.2)
    return tn.minimum(100 * h0, h1)


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.experimental.ode", __all__)
