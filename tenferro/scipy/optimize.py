"""`jax.scipy.optimize`: minima of functions of many numbers, by quasi-Newton methods.

>>> def distance(x):
...     return tn.sum((x - 1.0) ** 2)
>>> tn.scipy.optimize.minimize(distance, np.zeros(2), method="BFGS").x
Tensor([1., 1.])

Source: Nocedal, Wright, "Numerical Optimization", chapters 3, 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tenferro import numpy as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind
from tenferro.missing_names import attributes, unlisted
from tenferro.numpy.arguments import array, callable_of, count, number, option
from tenferro.transforms import fori_loop, value_and_grad, while_loop

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """What `minimize` returns.

    Attributes:
        x: the minimum.
        success: whether the gradient there is small.
        status: 0 for success, 1 after too many iterations, 3 if no step along the last direction
            was good.
        fun: the value there.
        jac: the gradient there.
        hess_inv: the approximate inverse of the matrix of second derivatives; None for L-BFGS.
        nfev: how often the function was computed.
        njev: how often its gradient was.
        nit: the number of iterations.
    """

    x: AnyTensor
    success: AnyTensor
    status: AnyTensor
    fun: AnyTensor
    jac: AnyTensor
    hess_inv: AnyTensor | None
    nfev: AnyTensor
    njev: AnyTensor
    nit: AnyTensor


_LIMITED = "l-bfgs-experimental-do-not-rely-on-this"
_OPTIONS = {
    "bfgs": ("gtol", "maxiter", "norm", "line_search_maxiter"),
    _LIMITED: (
        *("gtol", "maxiter", "norm", "line_search_maxiter", "maxcor", "ftol"),
        *("maxfun", "maxgrad", "maxls"),
    ),
}


def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """The minimum of a smooth function near a point.

    The result has derivatives in forward mode, those of the iterations. For exact ones in both
    modes solve `tn.grad(fun)(x) == 0` with `tn.custom_root`.

    Args:
        fun: takes a vector and `args`, and returns a real number.
        x0: where to start, a vector of floating-point numbers; complex ones are pairs of real ones,
            and `hess_inv` is that of the pairs.
        args: further arguments.
        method: "BFGS"; or "l-bfgs-experimental-do-not-rely-on-this", or "L-BFGS-B", without
            bounds, which stores a few vectors in place of a matrix.
        tol: the largest component of the gradient that counts as 0.
        options: `gtol`, which is `tol`; `maxiter`; `norm`, that of the gradient, by default
            infinite; `line_search_maxiter`, steps that are tried along a direction. For L-BFGS:
            `maxcor`, how many vectors; `ftol`, a relative change of the value that counts as 0.

    Raises:
        ConfigError: there is no such method or option, or `args` is not a tuple.
        ShapeError: x0 is not a vector.
        DTypeError: x0 is not of a floating-point dtype.

    >>> def rosenbrock(x, a):
    ...     return (a - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2
    >>> found = tn.scipy.optimize.minimize(rosenbrock, np.zeros(2), (1.0,), method="BFGS")
    >>> tn.round(found.x, 4)
    Tensor([1., 1.])
    """
    name = "minimize"
    callable_of(name, fun)
    if not isinstance(args, tuple):
        raise ConfigError(f"{name}: args must be a tuple, got {args!r}; write (x,)")
    kind = method.lower() if isinstance(method, str) else method
    kind = _LIMITED if kind == "l-bfgs-b" else kind
    option(name, "method", kind, tuple(_OPTIONS))
    if not isinstance(options, Mapping | None):
        raise ConfigError(f"{name}: options must be a dict, got {options!r}")
    chosen = dict(options or {})
    for key in chosen:
        if key not in _OPTIONS[kind]:
            raise ConfigError(unlisted(name, key, _OPTIONS[kind]))
    x = array(name, x0)
    if x.ndim != 1:
        raise ShapeError(f"{name}: x0 must be a vector, got {x.meta}; flatten it with tn.ravel")
    if dtype_kind(x.dtype) not in "fc":
        raise DTypeError(f"{name}: x0 must be floating-point numbers, got {x.meta}")
    if dtype_kind(x.dtype) == "c":
        return _of_parts(fun, x, args, method, tol, options)
    gtol = number(name, "gtol", chosen.get("gtol", 1e-5 if tol is None else tol))
    most = chosen.get("maxiter")
    search = _Search(
        lambda x: fun(x, *args),
        gtol,
        200 * x.shape[0] if most is None else count(name, "maxiter", most),
        number(name, "norm", chosen.get("norm", math.inf)),
        count(name, "line_search_maxiter", chosen.get("line_search_maxiter", 20), 1),
    )
    if kind == "bfgs":
        return search.with_matrix(x)
    stored = count(name, "maxcor", chosen.get("maxcor", 10), 1)
    return search.with_vectors(x, stored, number(name, "ftol", chosen.get("ftol", 0.0)))


def _of_parts(
    fun: Callable[..., Any],
    x: Any,
    args: tuple[Any, ...],
    method: str,
    tol: float | None,
    options: Mapping[str, Any] | None,
) -> OptimizeResults:
    """The minimum of a function of complex numbers, as one of their parts."""

    def joined(parts: Any) -> Any:
        half = x.shape[0]
        return (parts[:half] + 1j * parts[half:]).astype(x.dtype)

    def of_parts(parts: Any, *args: Any) -> Any:
        return fun(joined(parts), *args)

    start = tn.concat([x.real, x.imag])
    found = minimize(of_parts, start, args, method=method, tol=tol, options=options)
    return found._replace(x=joined(found.x), jac=joined(found.jac))


class _Search:
    """Quasi-Newton iterations: a direction, a step along it, what was learned of the curvature."""

    def __init__(
        self, fun: Callable[[Any], Any], gtol: float, most: Any, order: float, tries: int
    ) -> None:
        self.fun, self.gtol, self.most, self.order, self.tries = fun, gtol, most, order, tries
        self.slopes = value_and_grad(fun)

    def small(self, gradient: Any) -> Any:
        return tn.linalg.norm(gradient, self.order) < self.gtol

    def with_matrix(self, x: Any) -> OptimizeResults:
        """BFGS."""
        eye = tn.eye(x.shape[0], dtype=x.dtype)

        def direction(g: Any, inverse: Any) -> Any:
            return -(inverse @ g)

        def learned(inverse: Any, step: Any, change: Any, iteration: Any) -> Any:
            product = tn.vecdot(change, step)
            good = product > 0
            rho = tn.where(good, 1.0 / tn.where(good, product, 1.0), 0.0)
            turn = eye - rho * step[:, None] * change
            after = turn @ inverse @ turn.mT + rho * step[:, None] * step
            return tn.where(good, after, inverse)

        return self._iterated(x, eye, direction, learned, 0.0, lambda inverse: inverse)

    def with_vectors(self, x: Any, stored: int, ftol: float) -> OptimizeResults:
        """L-BFGS: the last `stored` steps and changes of the gradient."""
        rows = tn.zeros((stored, x.shape[0]), dtype=x.dtype)
        nothing = (rows, rows, tn.zeros(stored, dtype=x.dtype), tn.ones((), dtype=x.dtype))

        def direction(g: Any, memory: Any) -> Any:
            steps, changes, rhos, scale = memory

            def back(i: Any, both: Any) -> Any:  # the newest row is the first one
                q, parts = both
                part = rhos[i] * tn.vecdot(steps[i], q)
                return q - part * changes[i], parts.at[i].set(part)

            q, parts = fori_loop(0, stored, back, (g, tn.zeros_like(rhos)))

            def forth(k: Any, r: Any) -> Any:
                i = stored - 1 - k
                return r + steps[i] * (parts[i] - rhos[i] * tn.vecdot(changes[i], r))

            return -fori_loop(0, stored, forth, scale * q)

        def learned(memory: Any, step: Any, change: Any, iteration: Any) -> Any:
            product = tn.vecdot(change, step)
            good = product > 0
            safe = tn.where(good, product, 1.0)
            length = tn.vecdot(change, change)
            scale = tn.where(good, safe / tn.where(length == 0, 1.0, length), memory[3])
            rolled = [
                tn.where(good, tn.roll(old, 1, axis=0).at[0].set(new), old)
                for old, new in zip(memory[:3], (step, change, 1.0 / safe), strict=True)
            ]
            return (*rolled, scale)

        return self._iterated(x, nothing, direction, learned, ftol, lambda memory: None)

    def _iterated(
        self,
        x: Any,
        memory: Any,
        direction: Callable[..., Any],
        learned: Callable[..., Any],
        ftol: float,
        inverse_of: Callable[[Any], Any],
    ) -> OptimizeResults:
        value, gradient = self.slopes(x)

        def goes_on(state: tuple[Any, ...]) -> Any:
            _, _, _, _, k, _, done, failed = state
            return ~done & ~failed & (k < self.most)

        def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
            x, value, g, memory, k, calls, _, _ = state
            p = direction(g, memory)
            descends = tn.vecdot(p, g) < 0
            p = tn.where(descends, p, -g)
            first = tn.where(
                k == 0, tn.minimum(1.0, 1.0 / tn.maximum(tn.linalg.norm(g), 1e-30)), 1.0
            ).astype(x.dtype)
            length, after, g_after, used, good = self._step(x, p, value, g, first)
            moved = length * p
            memory = learned(memory, moved, g_after - g, k)
            stalled = tn.abs(value - after) < ftol * tn.maximum(tn.abs(value), 1.0)
            done = self.small(g_after) | (good & stalled)
            return x + moved, after, g_after, memory, k + 1, calls + used, done, ~good & ~done

        no = tn.asarray(False)
        start = (x, value, gradient, memory, 0, 1, self.small(gradient), no)
        x, value, gradient, memory, k, calls, done, failed = while_loop(goes_on, step, start)
        status = tn.where(done, 0, tn.where(failed, 3, 1))
        return OptimizeResults(
            x, done, status, value, gradient, inverse_of(memory), calls, calls, k
        )

    def _step(self, x: Any, p: Any, start: Any, g: Any, first: Any) -> tuple[Any, ...]:
        """A step that meets the strong conditions of Wolfe, by bisection and parabolas.

        `low` descends and is low enough; `high` does not, so that a good step lies between them.
        """
        slope = tn.vecdot(g, p)
        none = tn.zeros((), dtype=x.dtype)

        def goes_on(state: tuple[Any, ...]) -> Any:
            return ~state[-1] & (state[-2] < self.tries)

        def tried(state: tuple[Any, ...]) -> tuple[Any, ...]:
            low, at_low, slope_low, high, length, _, _, _, k, _ = state
            value, gradient = self.slopes(x + length * p)
            now = tn.vecdot(gradient, p)
            too_high = ~(value <= start + 1e-4 * length * slope) | (value > at_low)
            good = ~too_high & (tn.abs(now) <= -0.9 * slope)
            up = too_high | (now >= 0)
            gap = length - low
            bend = value - at_low - slope_low * gap
            parabola = -slope_low * gap * gap / tn.where(bend > 0, 2 * bend, 1.0)
            inside = tn.where((bend > 0) & tn.isfinite(value), parabola, gap / 2)
            nearer = low + tn.clip(inside, 0.1 * gap, 0.9 * gap)
            new_low = tn.where(up, low, length)
            new_high = tn.where(up, length, high)
            further = tn.where(tn.isinf(high), 2 * length, (length + new_high) / 2)
            following = tn.where(up, nearer, further)
            return (
                new_low, tn.where(up, at_low, value), tn.where(up, slope_low, now), new_high,
                following, length, value, gradient, k + 1, good,
            )  # fmt: skip

        state = (none, start, slope, none + math.inf, first, none, start, g, 0, tn.asarray(False))
        result = while_loop(goes_on, tried, state)
        low, _, _, _, _, length, value, gradient, k, good = result
        lower = ~good & ~(value < start)  # no step was good: the lowest one that descends
        length = tn.where(lower, low, length)
        value, gradient = self.slopes(x + length * p)
        return length, value, gradient, k + 1, good | (value < start)


MISSING = {
    "root": "use tn.custom_root",
    "linear_sum_assignment": "on arrays that are known, use SciPy itself",
}
"""Names of `scipy.optimize`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.optimize", __all__, MISSING)
