"""Calls with derivative rules: the rules are kept.

An equation holds its rules as Python functions that only JAX can call. So JAX differentiates the
equation alone, when a derivative is asked for, and the jaxpr of that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend import core

from tenferro.computegraph import GlobalValKey
from tenferro.custom import custom_jvp, custom_vjp
from tenferro.namespace import conj
from tenferro.traced import TracedTensor, as_key
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation

Traced = tuple[TracedTensor, ...]
FLOAT0 = jax.dtypes.float0


class _Equation:
    """An equation that holds a function with rules, as functions of JAX and of traced values.

    Attributes:
        variables: its operands that are not numbers, each once.
        in_jax: the function of these, for JAX.
    """

    def __init__(self, at: Reader, equation: Any) -> None:
        self._at = at
        self._site = at.site
        self._equation = equation
        self.variables = list(
            dict.fromkeys(atom for atom in equation.invars if not hasattr(atom, "val"))
        )
        held = equation.params["call_jaxpr"]
        debug_info = getattr(held, "jaxpr", held).debug_info
        jaxpr = core.Jaxpr((), self.variables, equation.outvars, [equation], debug_info=debug_info)
        self._held = held
        self.in_jax: Callable[..., Any] = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    def given(self, operands: Keys) -> list[TracedTensor]:
        """The operands that are not numbers, each once."""
        pairs = zip(self._equation.invars, operands, strict=True)
        known = {atom: key for atom, key in pairs if not hasattr(atom, "val")}
        return [TracedTensor(known[variable]) for variable in self.variables]

    def value(self, *given: TracedTensor) -> Traced:
        """The results, without the rules."""
        known = dict(zip(self.variables, given, strict=True))
        reader = self._reader()
        operands = [
            reader.constant(np.asarray(atom.val, atom.aval.dtype))
            if hasattr(atom, "val")
            else known[atom].key
            for atom in self._equation.invars
        ]
        return self._traced(reader, self._held, operands)

    def read(self, function: Callable[..., Any], *given: Any) -> Traced:
        """A function of JAX on traced values."""
        keys = [as_key(value) for value in given]
        reader = self._reader()
        metas = [reader.ctx.meta(key) for key in keys]
        with jax.enable_x64(True):
            types = [
                jax.ShapeDtypeStruct(meta.static_shape, meta.dtype)  # type: ignore[no-untyped-call]  # JAX has no types there
                for meta in metas
            ]
        with jax.enable_x64(self._at.x64):
            jaxpr = jax.make_jaxpr(function)(*types)
        return self._traced(reader, jaxpr, keys)

    def _reader(self) -> Reader:
        """A reader for jaxprs at the place of the equation."""
        reader = Reader(self._at.table, self._at.x64)
        reader.site = self._site
        return reader

    def _traced(self, reader: Reader, jaxpr: Any, keys: Sequence[GlobalValKey]) -> Traced:
        results = reader.read(jaxpr, keys)
        self._at.captured.update(reader.captured)
        return tuple([TracedTensor(key) for key in results])


def _jvp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_jvp`, with its rule."""
    this = _Equation(at, equation)

    def function(*xs: TracedTensor) -> Traced:
        return this.value(*xs)

    function.__name__ = str(equation.params.get("name", "f"))
    ruled = custom_jvp(function)

    def rule(primals: Traced, tangents: tuple[TracedTensor | None, ...]) -> tuple[Any, Any]:
        moving = [tangent is not None for tangent in tangents]

        def pushed(*values: Any) -> Any:
            xs, dxs = values[: len(primals)], iter(values[len(primals) :])
            pairs = zip(xs, moving, strict=True)
            tangents = [next(dxs) if on else _float0(x) for x, on in pairs]
            _, found = jax.jvp(this.in_jax, xs, tuple(tangents))
            return [leaf for leaf in found if leaf.dtype != FLOAT0]

        found = iter(this.read(pushed, *primals, *(t for t in tangents if t is not None)))
        value = ruled(*primals)
        return value, tuple([next(found) if leaf.dtype.kind in "fc" else None for leaf in value])

    ruled.defjvp(rule)
    return [value.key for value in ruled(*this.given(operands))]


def _vjp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_vjp`, with its rules."""
    this = _Equation(at, equation)

    def function(*xs: TracedTensor) -> Traced:
        return this.value(*xs)

    function.__name__ = str(equation.params.get("name", "f"))
    ruled = custom_vjp(function)

    def fwd(*xs: TracedTensor) -> tuple[Any, Any]:
        trees: list[Any] = []

        def kept(*values: Any) -> Any:
            _, pullback = jax.vjp(this.in_jax, *values)
            leaves, tree = jax.tree.flatten(pullback)
            trees.append(tree)
            return leaves

        return ruled(*xs), (this.read(kept, *xs), trees[0])

    def bwd(residuals: tuple[Traced, Any], cts: tuple[TracedTensor | None, ...]) -> tuple[Any, ...]:
        kept, tree = residuals
        moving = [ct is not None for ct in cts]
        is_zero: list[bool] = []

        def pulled(*values: Any) -> Any:
            rest = iter(values[len(kept) :])
            pairs = zip(moving, equation.outvars, strict=True)
            given = [next(rest) if on else _float0(variable.aval) for on, variable in pairs]
            found = jax.tree.unflatten(tree, values[: len(kept)])(given)
            is_zero[:] = [leaf.dtype == FLOAT0 for leaf in found]
            typed = zip(found, this.variables, strict=True)
            return [_like(leaf, var.aval) for leaf, var in typed if leaf.dtype != FLOAT0]

        given = [conj(ct) for ct in cts if ct is not None]
        found = iter(this.read(pulled, *kept, *given))
        return tuple([None if zero else conj(next(found)) for zero in is_zero])

    ruled.defvjp(fwd, bwd)
    return [value.key for value in ruled(*this.given(operands))]


def _float0(x: Any) -> Any:
    """What JAX calls the tangent of an integer; zeros for other values."""
    if np.issubdtype(x.dtype, np.inexact):
        return jax.numpy.zeros(x.shape, x.dtype)
    return np.zeros(x.shape, FLOAT0)


def _like(ct: Any, aval: Any) -> Any:
    """The cotangent of a value; that of a real one is real."""
    return ct if np.issubdtype(aval.dtype, np.complexfloating) else ct.real


TABLE: dict[str, Translation] = {
    "custom_jvp_call": _jvp,
    "custom_vjp_call": _vjp,
    "custom_vjp_call_jaxpr": _vjp,
}
"""The translation of each primitive, by its name."""
