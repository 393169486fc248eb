"""What the distributions share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from tenferro.namespace import betaln, exp, log, log1p, where
from tenferro.scipy.real import real
from tenferro.typing import AnyTensor, ArrayLike

P = ParamSpec("P")


def standard(
    name: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike, *shapes: ArrayLike
) -> tuple[AnyTensor, ...]:
    """(x - loc)/scale, scale and the further parameters, as real values of one shape."""
    value, place, width, *others = real(name, x, loc, scale, *shapes)
    return ((value - place) / width, width, *others)


def inside(condition: AnyTensor, y: AnyTensor, otherwise: float = 1.0) -> AnyTensor:
    """y where the condition is true, else a number at which formulas have derivatives."""
    return where(condition, y, otherwise)


def ways(n: AnyTensor, k: AnyTensor) -> AnyTensor:
    """Logarithm of the number of ways to take k of n things; of 1 where that is not possible."""
    possible = (k >= 0) & (k <= n)
    rest, taken = (where(possible, count, 0.0) for count in (n - k, k))
    return -betaln(rest + 1, taken + 1) - log1p(rest + taken)


def exponential(function: Callable[P, AnyTensor], name: str) -> Callable[P, AnyTensor]:
    """The function of which another one is the logarithm."""

    @wraps(function)
    def public(*args: P.args, **kwargs: P.kwargs) -> AnyTensor:
        return exp(function(*args, **kwargs))

    return _called(public, name, f"exp of `{function.__name__}`.")


def logarithm(function: Callable[P, AnyTensor], name: str) -> Callable[P, AnyTensor]:
    """The logarithm of a function."""

    @wraps(function)
    def public(*args: P.args, **kwargs: P.kwargs) -> AnyTensor:
        return log(function(*args, **kwargs))

    return _called(public, name, f"Logarithm of `{function.__name__}`.")


def _called(function: Callable[P, AnyTensor], name: str, doc: str) -> Callable[P, AnyTensor]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function
