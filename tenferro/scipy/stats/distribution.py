"""A distribution as a row of a table: from what holds inside of its support, all functions follow.

`Distribution` adds what all rows share: location and scale, the ends of the support, parameters
that are not allowed, NaN. A row says the rest, for the standard distribution.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, cast

from tenferro.ir import AnyTensor, ArrayLike
from tenferro.missing_names import missing
from tenferro.namespace import clip, exp, floor, log, log1p, where
from tenferro.scipy.special import real

P = ParamSpec("P")
Function = Callable[..., Any]
Support = tuple[float, float]

DOCS = {
    "logpdf": "Logarithm of the density.",
    "pdf": "The density.",
    "logpmf": "Logarithm of the probability of k.",
    "pmf": "The probability of k.",
    "cdf": "The probability of at most {x}.",
    "logcdf": "Logarithm of the probability of at most {x}.",
    "sf": "The probability of more than {x}.",
    "logsf": "Logarithm of the probability of more than {x}.",
    "ppf": "The inverse of `cdf`.",
    "isf": "The inverse of `sf`.",
    "entropy": "The entropy.",
}
LOGARITHMS = {"logpdf": "pdf", "logpmf": "pmf", "logcdf": "cdf", "logsf": "sf"}
ENDS = {
    **dict.fromkeys(("logpdf", "logpmf"), (-math.inf, -math.inf)),
    "cdf": (0.0, 1.0),
    "logcdf": (-math.inf, 0.0),
    "sf": (1.0, 0.0),
    "logsf": (0.0, -math.inf),
}
"""The values of functions below and above the support."""


class Distribution(Generic[P]):
    """The functions of one distribution, each of which is there where it has a formula.

    NaN of any argument gives NaN, and so do parameters that are not allowed. Densities are 0
    outside of the support, and probabilities of numbers that are not whole are 0.
    """

    logpdf: Callable[P, AnyTensor]
    pdf: Callable[P, AnyTensor]
    logpmf: Callable[P, AnyTensor]
    pmf: Callable[P, AnyTensor]
    cdf: Callable[P, AnyTensor]
    logcdf: Callable[P, AnyTensor]
    sf: Callable[P, AnyTensor]
    logsf: Callable[P, AnyTensor]
    ppf: Callable[..., AnyTensor]
    isf: Callable[..., AnyTensor]
    entropy: Callable[..., AnyTensor]

    def __init__(self, declaration: Callable[P, Any], functions: dict[str, Function]) -> None:
        """The functions by name, with the signature and the module of the declaration."""
        self.__name__ = declaration.__name__
        update_wrapper(cast(Any, self), declaration)  # its text and signature
        self.__all__ = sorted(functions)
        for name, function in functions.items():
            setattr(self, name, _public(name, function, declaration))

    def __repr__(self) -> str:
        return f"<distribution {self.__name__}>"

    if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

        def __getattr__(self, name: str) -> Any:
            own = vars(self)
            home = f"tenferro.scipy.stats.{own.get('__name__')}"
            raise missing(home, name, lambda: own.get("__all__", []))


def _public(name: str, function: Function, declaration: Callable[..., Any]) -> Function:
    """A function with a name, a docstring and a signature, whose first argument may be q."""
    declared = inspect.signature(declaration)
    first, *others = declared.parameters.values()
    inverse = name in ("ppf", "isf")

    def public(*args: Any, **kwargs: Any) -> AnyTensor:
        if inverse and "q" in kwargs:
            kwargs[first.name] = kwargs.pop("q")
        result: AnyTensor = function(*args, **kwargs)
        return result

    shown = [] if name == "entropy" else [first.replace(name="q") if inverse else first]
    signature: Any = declared.replace(parameters=[*shown, *others], return_annotation="AnyTensor")
    public.__signature__ = signature  # type: ignore[attr-defined]  # as `inspect` documents
    public.__name__, public.__module__ = name, declaration.__module__
    public.__qualname__ = f"{declaration.__name__}.{name}"
    _, gap, details = inspect.cleandoc(declaration.__doc__ or "").partition("\n\nArgs:")
    public.__doc__ = DOCS[name].format(x=first.name) + gap + details
    return public


def _completed(functions: dict[str, Function]) -> dict[str, Function]:
    """The functions, and those of which one is the logarithm of another one."""
    completed = dict(functions)
    for name, other in LOGARITHMS.items():
        if name in functions:
            completed.setdefault(other, _composed(exp, functions[name]))
        elif other in functions:
            completed[name] = _composed(log, functions[other])
    return completed


def _composed(outer: Function, inner: Function) -> Function:
    return lambda *args, **kwargs: outer(inner(*args, **kwargs))


def _log_of(part: Function, rest: Function) -> Function:
    """The logarithm of a probability, from that of the opposite where this has more digits."""

    def formula(*operands: Any) -> Any:
        probability, opposite = part(*operands), rest(*operands)
        large = probability > 0.5
        inner = log(where(large, 1.0, probability))
        return where(large, log1p(where(large, -opposite, 0.0)), inner)

    return formula


def of_vectors(name: str) -> Callable[[Callable[P, AnyTensor]], Distribution[P]]:
    """Declares a distribution of vectors: the decorated function is the one of this name."""
    return lambda function: Distribution(function, _completed({name: function}))


def row(
    *,
    support: Support | Callable[..., tuple[Any, Any]] | None = None,
    allowed: Function | None = None,
    **formulas: Function,
) -> Callable[[Callable[P, Any]], Distribution[P]]:
    """Declares a distribution: the decorated function names its parameters.

    It returns x, loc, scale and the shapes. `allowed` and the ends of the support are functions of
    the shapes, the formulas functions of a number of the support, or NaN, and the shapes.

    Args:
        support: the ends, which belong to it if they are finite; None where the formulas hold for
            all numbers and both infinities.
        allowed: which shapes are; NaN is not.
        formulas: by the names of the functions. A function is the exponential or the logarithm of
            another one where it is not among them.
    """

    def declared(declaration: Callable[P, Any]) -> Distribution[P]:
        form = _Row(declaration, support, allowed, "logpmf" in formulas)
        for name, other in (("cdf", "sf"), ("sf", "cdf")):
            if {name, other} <= formulas.keys():
                formulas.setdefault(f"log{name}", _log_of(formulas[name], formulas[other]))
        functions = {name: form.function(name, formula) for name, formula in formulas.items()}
        return Distribution(declaration, _completed(functions))

    return declared


@dataclass(frozen=True)
class _Row:
    """What the functions of a row share."""

    parameters: Callable[..., Any]
    support: Support | Callable[..., tuple[Any, Any]] | None
    allowed: Function | None
    whole: bool

    def function(self, name: str, formula: Function) -> Function:
        """The function of the arguments, for the formula of the standard distribution."""
        title = f"{self.parameters.__name__}.{name}"
        if name == "entropy":
            return lambda *args, **kwargs: self._of_shapes(
                title, formula, self.parameters(0, *args, **kwargs)
            )
        if name in ("ppf", "isf"):
            return lambda *args, **kwargs: self._of_probability(
                title, formula, self.parameters(*args, **kwargs)
            )
        return lambda *args, **kwargs: self._of_number(
            title, name, formula, self.parameters(*args, **kwargs)
        )

    def _of_number(self, title: str, name: str, formula: Function, operands: Any) -> Any:
        y, width, shapes = _standard(title, *operands)
        valid = self._valid(width, shapes)
        below, above, inner = self._places(y, shapes, density=name in ("logpdf", "logpmf"))
        value = formula(inner, *shapes)
        start, stop = ENDS[name]
        if above is not None:
            value = where(above, stop, value)
        if below is not None:
            value = where(below, start, value)
        if name == "logpdf" and width is not None:
            value = value - log(width)
        return value if valid is None else where(valid, value, math.nan)

    def _places(
        self, y: Any, shapes: tuple[Any, ...], density: bool
    ) -> tuple[Any | None, Any | None, Any]:
        """Where y is below and above the support, and y with another number there.

        At that number formulas have derivatives. NaN is neither below nor above.
        """
        support = self.support
        if support is None:
            return None, None, y
        if self.whole and not density:
            y = floor(y)
        low, high = support(*shapes) if callable(support) else support
        below = y <= low if _is_infinite(low) else y < low
        above = y >= high if _is_infinite(high) else y > high
        if self.whole and density:
            below = below | (floor(y) < y)
        return below, above, where(below | above, _between(low, high, self.whole), y)

    def _of_probability(self, title: str, formula: Function, operands: Any) -> Any:
        q, loc, scale, *shapes = operands
        moved, stretched = not _is(loc, 0), not _is(scale, 1)
        q, *others = real(title, q, *(loc,) * moved, *(scale,) * stretched, *shapes)
        width = others[moved] if stretched else None
        parameters = tuple(others[moved + stretched :])
        inside = (q >= 0) & (q <= 1)
        valid = self._valid(width, parameters)
        value = formula(where(inside, q, 0.5), *parameters)
        if width is not None:
            value = value * width
        if moved:
            value = value + others[0]
        return where(inside if valid is None else inside & valid, value, math.nan)

    def _of_shapes(self, title: str, formula: Function, operands: Any) -> Any:
        y, width, shapes = _standard(title, *operands)
        valid = self._valid(width, shapes)
        defined = y == y  # y is 0 but for a location of NaN
        defined = defined if valid is None else defined & valid
        return where(defined, formula(*shapes), math.nan)

    def _valid(self, width: Any | None, shapes: tuple[Any, ...]) -> Any | None:
        """Where the parameters are allowed; None if there are none."""
        allowed = None if self.allowed is None else self.allowed(*shapes)
        if width is None:
            return allowed
        positive = width > 0
        return positive if allowed is None else positive & allowed


def _is(value: Any, default: int) -> bool:
    """Whether a parameter is its default, which needs no operation."""
    return type(value) is int and value == default


def _standard(
    title: str, x: ArrayLike, loc: ArrayLike, scale: ArrayLike, *shapes: ArrayLike
) -> tuple[Any, Any | None, tuple[Any, ...]]:
    """(x - loc)/scale, scale (None if it is 1) and the shapes, as real values of one shape."""
    moved, stretched = not _is(loc, 0), not _is(scale, 1)
    y, *others = real(title, x, *(loc,) * moved, *(scale,) * stretched, *shapes)
    width = others[moved] if stretched else None
    if moved:
        y = y - others[0]
    if width is not None:
        y = y / width
    return y, width, tuple(others[moved + stretched :])


def _is_infinite(end: Any) -> bool:
    """Whether an end that does not depend on shapes is infinite, and so not of the support."""
    return isinstance(end, float) and math.isinf(end)


def _between(low: Any, high: Any, whole: bool) -> Any:
    """A number of the support."""
    if whole:
        return low
    if not isinstance(low, float):
        return clip(0.0, low, high)
    return min(max(0.0, low + 0.5), high)
