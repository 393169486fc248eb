"""A distribution as a row of a table: formulas of its standard form, from which all else follows.

`row` adds what all rows share: location and scale, the ends of the support, parameters that are not
allowed, NaN. `of_vectors` declares a distribution of vectors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import reduce, update_wrapper
from operator import and_
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, cast

from tenferro.ir import AnyTensor
from tenferro.missing_names import missing
from tenferro.numpy import clip, exp, floor, log, log1p, where
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
_WITH_LOGARITHM = {name: logarithm for logarithm, name in LOGARITHMS.items()}
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
        """The functions by name, and those of which one is the logarithm of another one."""
        completed = dict(functions)
        for name, other in LOGARITHMS.items():
            if name in functions:
                completed.setdefault(other, _composed(exp, functions[name]))
            elif other in functions:
                completed[name] = _composed(log, functions[other])
        self.__name__ = declaration.__name__
        update_wrapper(cast(Any, self), declaration)  # its text and signature
        self.__all__ = sorted(completed)
        for name, function in completed.items():
            setattr(self, name, _public(name, function, declaration))

    def __repr__(self) -> str:
        return f"<distribution {self.__name__}>"

    if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

        def __getattr__(self, name: str) -> Any:
            own = vars(self)
            home = f"tenferro.scipy.stats.{own.get('__name__')}"
            raise missing(home, name, lambda: own.get("__all__", []))


def _composed(outer: Function, inner: Function) -> Function:
    return lambda *args, **kwargs: outer(inner(*args, **kwargs))


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
    taken = inspect.signature(function).parameters
    if "kwargs" not in taken:
        others = [each for each in others if each.name in taken]
    signature: Any = declared.replace(parameters=[*shown, *others], return_annotation="AnyTensor")
    public.__signature__ = signature  # type: ignore[attr-defined]  # as `inspect` documents
    public.__name__, public.__module__ = name, "tenferro.scipy.stats"
    public.__qualname__ = title = f"{declaration.__name__}.{name}"
    public.__code__ = public.__code__.replace(co_name=title)  # errors name it
    _, gap, details = inspect.cleandoc(declaration.__doc__ or "").partition("\n\nArgs:")
    public.__doc__ = DOCS[name].format(x=first.name) + gap + details
    return public


def of_vectors(
    name: str, **others: Function
) -> Callable[[Callable[P, AnyTensor]], Distribution[P]]:
    """Declares a distribution of vectors: the decorated function is the one of this name."""
    return lambda function: Distribution(function, {name: function, **others})


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
    for name, other in (("cdf", "sf"), ("sf", "cdf")):
        if {name, other} <= formulas.keys():
            formulas.setdefault(f"log{name}", _log_of(formulas[name], formulas[other]))
    whole = "logpmf" in formulas

    def declared(declaration: Callable[P, Any]) -> Distribution[P]:
        functions = {}
        for name, formula in formulas.items():
            if name in ENDS and support is not None:
                formula = _of_all_numbers(name, formula, support, whole)
            functions[name] = _with_location(declaration, name, formula, allowed)
            other = LOGARITHMS.get(name) or _WITH_LOGARITHM.get(name)
            if other is not None and other not in formulas:
                inner = _with_location(declaration, name, formula, allowed, other)
                functions[other] = _composed(exp if name in LOGARITHMS else log, inner)
        return Distribution(declaration, functions)

    return declared


def _log_of(part: Function, rest: Function) -> Function:
    """The logarithm of a probability, from that of the opposite where this has more digits."""

    def formula(*operands: Any) -> Any:
        probability, opposite = part(*operands), rest(*operands)
        large = probability > 0.5
        inner = log(where(large, 1.0, probability))
        return where(large, log1p(where(large, -opposite, 0.0)), inner)

    return formula


def _of_all_numbers(name: str, formula: Function, support: Any, whole: bool) -> Function:
    """A formula that holds inside of the support, continued by its values below and above."""
    density = name in ("logpdf", "logpmf")

    def extended(y: Any, *shapes: Any) -> Any:
        if whole and not density:
            y = floor(y)
        low, high = support(*shapes) if callable(support) else support
        # A fixed end is infinite if it is not of the support. NaN is neither below nor above.
        fixed = isinstance(low, float)
        below = y <= low if fixed and math.isinf(low) else y < low
        above = y >= high if isinstance(high, float) and math.isinf(high) else y > high
        if whole and density:
            below = below | (floor(y) < y)
        if whole:  # at a number of the support, formulas have derivatives
            inside = low
        elif fixed:
            inside = min(max(0.0, low + 0.5), high)
        else:
            inside = clip(0.0, low, high)
        value = formula(where(below | above, inside, y), *shapes)
        start, stop = ENDS[name]
        return where(below, start, where(above, stop, value))

    return extended


def _with_location(
    declaration: Callable[..., Any],
    name: str,
    formula: Function,
    allowed: Function | None,
    called: str = "",
) -> Function:
    """The function of location, scale and shapes, for the formula of the standard distribution.

    Errors name the function that is `called`, which is computed from this one.
    """
    title = f"{declaration.__name__}.{called or name}"

    def function(*args: Any, **kwargs: Any) -> Any:
        args = (0, *args) if name == "entropy" else args
        x, loc, scale, *shapes = declaration(*args, **kwargs)
        moved = not (type(loc) is int and loc == 0)  # the defaults need no operation
        stretched = not (type(scale) is int and scale == 1)
        x, *others = real(title, x, *(loc,) * moved, *(scale,) * stretched, *shapes)
        shapes = others[moved + stretched :]
        width = others[moved] if stretched else 1
        valid = ([width > 0] if stretched else []) + ([allowed(*shapes)] if allowed else [])
        if name in ("ppf", "isf"):
            valid.insert(0, (x >= 0) & (x <= 1))
            value = formula(where(valid[0], x, 0.5), *shapes)
            value = value * width if stretched else value
            value = value + others[0] if moved else value
        else:
            y = x - others[0] if moved else x
            y = y / width if stretched else y
            if name == "entropy":
                valid.insert(0, y == y)  # y is 0 but for a location of NaN
                value = formula(*shapes)
            else:
                value = formula(y, *shapes)
            if name == "logpdf" and stretched:
                value = value - log(width)
        return where(reduce(and_, valid), value, math.nan) if valid else value

    return function
