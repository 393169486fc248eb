"""Functions with derivative rules, which are kept; and primitives of libraries.

An equation holds its rules as Python functions that only JAX can call. So JAX differentiates the
equation alone, when a derivative is asked for, and the jaxpr of that is read.

A primitive that a library defines is read through its implementation, if that is made of functions
of JAX. It is a function whose derivative rule is that of the primitive; without a rule it has the
derivatives of its implementation. Its rule for batches is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, TypeVar

import jax
import numpy as np
from jax.extend import core
from jax.interpreters import ad

from tenferro.core import Emitter, GlobalValKey, JvpSite, Slots, TransposeSite, V
from tenferro.ir import TensorMeta, fresh_input, fresh_token
from tenferro.ops.control_flow import Custom, CustomRule, emitted, program_of
from tenferro.ops.functions.elementwise import conj
from tenferro.transforms import TracedTensor, as_key, custom_jvp, custom_vjp
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, meta_of, shown
from tenferro_xla.interop.jaxprs.refused import REFUSED

T = TypeVar("T")
Traced = tuple[TracedTensor, ...]
FLOAT0 = jax.dtypes.float0


def traced(at: Reader, function: Callable[..., Any], types: Sequence[Any]) -> Any:
    """The jaxpr of a function of JAX for arguments of these types."""
    with jax.enable_x64(True):
        shaped = [
            jax.ShapeDtypeStruct(each.shape, each.dtype)  # type: ignore[no-untyped-call]  # JAX has no types there
            for each in types
        ]
    with jax.enable_x64(at.x64):
        return jax.make_jaxpr(function)(*shaped)


class _Equation:
    """An equation that holds a function with rules, as functions of JAX and of traced values.

    Attributes:
        name: that of the function, or of the primitive.
        variables: its operands that are not numbers, each once.
        in_jax: the function of these, for JAX.
    """

    def __init__(self, at: Reader, equation: Any, called: Any) -> None:
        self._at = at
        self._site = at.site
        self._equation = equation
        self._called = called
        self.name = str(equation.params.get("name", equation.primitive.name))
        self.variables = list(
            dict.fromkeys(atom for atom in equation.invars if not hasattr(atom, "val"))
        )
        debug_info = getattr(called, "jaxpr", called).debug_info
        jaxpr = core.Jaxpr((), self.variables, equation.outvars, [equation], debug_info=debug_info)
        self.in_jax: Callable[..., Any] = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    @property
    def types(self) -> list[Any]:
        """The types of the operands, for JAX."""
        return [variable.aval for variable in self.variables]

    def keys_of(self, operands: Keys) -> list[GlobalValKey]:
        """The operands that are not numbers, each once."""
        pairs = zip(self._equation.invars, operands, strict=True)
        known = {atom: key for atom, key in pairs if not hasattr(atom, "val")}
        return [known[variable] for variable in self.variables]

    def all_operands(self, xs: Sequence[T], number: Callable[[Any], T]) -> list[T]:
        """All operands, from those of `variables`; `number` makes one of a number."""
        known = dict(zip(self.variables, xs, strict=True))
        return [
            number(np.asarray(atom.val, atom.aval.dtype)) if hasattr(atom, "val") else known[atom]
            for atom in self._equation.invars
        ]

    def function(self) -> Callable[..., Traced]:
        """The function without its rules, under the name that it has in JAX."""

        def function(*xs: TracedTensor) -> Traced:
            reader = self._reader()
            operands = self.all_operands([x.key for x in xs], reader.constant)
            return self._traced(reader, self._called, operands)

        function.__name__ = self.name
        return function

    def read(self, function: Callable[..., Any], types: Sequence[Any], *xs: Any) -> Traced:
        """A function of JAX for arguments of these types, on traced values."""
        jaxpr = traced(self._at, function, types)
        return self._traced(self._reader(), jaxpr, [as_key(x) for x in xs])

    def pushed(self, moving: Sequence[bool], primals: Keys, tangents: Keys) -> list[Any]:
        """The tangents of the results by JAX's rule; None for those of integers.

        `moving` says which of the operands have one of the `tangents`.
        """

        def function(*values: Any) -> Any:
            xs, dxs = values[: len(moving)], iter(values[len(moving) :])
            pairs = zip(xs, moving, strict=True)
            _, found = jax.jvp(
                self.in_jax, xs, tuple([next(dxs) if on else _float0(x) for x, on in pairs])
            )
            return [leaf for leaf in found if leaf.dtype != FLOAT0]

        types = [*self.types, *compress(self.types, moving)]
        found = iter(self.read(function, types, *map(TracedTensor, (*primals, *tangents))))
        return [
            next(found) if _is_inexact(variable.aval) else None
            for variable in self._equation.outvars
        ]

    def pulled(self, active: Sequence[bool], operands: Keys, cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the active operands, in which the equation is linear."""
        arriving = [ct is not None for ct in cts]
        linear = list(compress(self.types, active))
        outputs = [variable.aval for variable in self._equation.outvars]

        def function(*values: Any) -> Any:
            fixed, rest = values[: len(operands)], iter(values[len(operands) :])

            def of_active(*xs: Any) -> Any:
                moving = iter(xs)
                pairs = zip(active, fixed, strict=True)
                return self.in_jax(*[next(moving) if on else x for on, x in pairs])

            arrived = [
                next(rest) if on else _float0(aval)
                for on, aval in zip(arriving, outputs, strict=True)
            ]
            return jax.linear_transpose(of_active, *linear)(arrived)

        types = [*self.types, *compress(outputs, arriving)]
        moving = [conj(TracedTensor(ct)) for ct in cts if ct is not None]
        found = self.read(function, types, *map(TracedTensor, operands), *moving)
        results = iter([conj(x) for x in found])
        return [next(results) if on else None for on in active]

    def _reader(self) -> Reader:
        """A reader for jaxprs at the place of the equation."""
        reader = self._at.fresh()
        reader.site = self._site
        return reader

    def _traced(self, reader: Reader, jaxpr: Any, keys: Sequence[GlobalValKey]) -> Traced:
        results = reader.read(jaxpr, keys)
        self._at.captured.update(reader.captured)
        return tuple([TracedTensor(key) for key in results])


def _jvp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_jvp`, with its rule."""
    this = _Equation(at, equation, equation.params["call_jaxpr"])
    ruled = custom_jvp(this.function())

    def rule(primals: Traced, tangents: tuple[TracedTensor | None, ...]) -> tuple[Any, Any]:
        moving = [tangent is not None for tangent in tangents]
        present = [tangent.key for tangent in tangents if tangent is not None]
        found = this.pushed(moving, [x.key for x in primals], present)
        return ruled(*primals), tuple(found)

    ruled.defjvp(rule)
    return [value.key for value in ruled(*map(TracedTensor, this.keys_of(operands)))]


def _vjp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_vjp`, with its rules."""
    this = _Equation(at, equation, equation.params["call_jaxpr"])
    ruled = custom_vjp(this.function())

    def fwd(*xs: TracedTensor) -> tuple[Any, Any]:
        trees: list[Any] = []

        def saved(*values: Any) -> Any:
            _, pullback = jax.vjp(this.in_jax, *values)
            leaves, tree = jax.tree.flatten(pullback)
            trees.append((tree, [jax.typeof(leaf) for leaf in leaves]))
            return leaves

        return ruled(*xs), (this.read(saved, this.types, *xs), trees[0])

    def bwd(residuals: tuple[Traced, Any], cts: tuple[TracedTensor | None, ...]) -> tuple[Any, ...]:
        saved, (tree, types) = residuals
        moving = [ct is not None for ct in cts]
        outputs = [variable.aval for variable in equation.outvars]
        is_zero: list[bool] = []

        def pulled(*values: Any) -> Any:
            rest = iter(values[len(saved) :])
            pairs = zip(moving, outputs, strict=True)
            all_cts = [next(rest) if on else _float0(aval) for on, aval in pairs]
            found = jax.tree.unflatten(tree, values[: len(saved)])(all_cts)
            is_zero[:] = [leaf.dtype == FLOAT0 for leaf in found]
            typed = zip(found, this.types, strict=True)
            return [_like(leaf, aval) for leaf, aval in typed if leaf.dtype != FLOAT0]

        moving_cts = [conj(ct) for ct in cts if ct is not None]
        types = [*types, *compress(outputs, moving)]
        found = iter(this.read(pulled, types, *saved, *moving_cts))
        return tuple([None if zero else conj(next(found)) for zero in is_zero])

    ruled.defvjp(fwd, bwd)
    return [value.key for value in ruled(*map(TracedTensor, this.keys_of(operands)))]


def _is_inexact(x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, np.inexact))


def _float0(x: Any) -> Any:
    """What JAX calls the tangent of an integer; zeros for other values."""
    return jax.numpy.zeros(x.shape, x.dtype) if _is_inexact(x) else np.zeros(x.shape, FLOAT0)


def _like(ct: Any, aval: Any) -> Any:
    """The cotangent of a value; that of a real one is real."""
    return ct if np.issubdtype(aval.dtype, np.complexfloating) else ct.real


CUSTOM_RULES: dict[str, Translation] = {
    "custom_jvp_call": _jvp,
    "custom_vjp_call": _vjp,
    "custom_vjp_call_jaxpr": _vjp,
}


# Primitives of libraries.


class _PrimitiveRule(CustomRule):
    """The rules that JAX has for the primitive of an equation."""

    def __init__(self, equation: _Equation) -> None:
        self._equation = equation
        self._token = fresh_token()

    @property
    def token(self) -> bytes:
        """Bytes of this rule alone."""
        return self._token

    def __str__(self) -> str:
        return f"from_jax {self._equation.name}"

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The tangents that the rule of the primitive gives."""
        moving = [tangent is not None for tangent in at.tangent[op.consts :]]
        primals = _fresh(op.body.input_metas[op.consts :])
        tangents = _fresh(compress(op.body.input_metas[op.consts :], moving))
        found = self._equation.pushed(moving, primals, tangents)
        values = [*at.primal[op.consts :], *(x for x in at.tangent[op.consts :] if x is not None)]
        return self._emitted(at.emitter, found, [*primals, *tangents], values)

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents that the rule of the primitive gives."""
        operands = _fresh(op.body.input_metas[op.consts :])
        seeds = [
            None if ct is None else fresh_input(meta, "ct")
            for ct, meta in zip(at.ct, op.body.output_metas, strict=True)
        ]
        found = self._equation.pulled(at.active[op.consts :], operands, seeds)
        values = [*at.inputs[op.consts :], *(ct for ct in at.ct if ct is not None)]
        present = [seed for seed in seeds if seed is not None]
        cts = self._emitted(at.emitter, found, [*operands, *present], values)
        return (*[None] * op.consts, *cts)

    def _emitted(
        self,
        at: Emitter[V],
        found: Sequence[TracedTensor | None],
        inputs: Keys,
        values: Sequence[V],
    ) -> Slots[V]:
        keys = [None if x is None else x.key for x in found]
        known = dict(zip(inputs, values, strict=True))
        return emitted(at, keys, known, inputs[0].serial, f"rule of {self}")


def _fresh(metas: Iterable[TensorMeta]) -> list[GlobalValKey]:
    return [fresh_input(meta, f"operand{number}") for number, meta in enumerate(metas)]


def of_library(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a primitive that a library defines, of its implementation."""
    primitive, params = equation.primitive, equation.params
    if primitive.name in REFUSED:
        raise at.refuse(equation, REFUSED[primitive.name])

    def implementation(*xs: Any) -> Any:
        return primitive.impl(*xs, **params)

    try:
        called = traced(at, implementation, [atom.aval for atom in equation.invars])
    except Exception as error:
        raise at.refuse(
            equation, f"has no implementation that JAX can trace: {type(error).__name__}: {error}"
        ) from error
    if _applies_only(called, primitive):
        raise at.refuse(
            equation, f"has no counterpart in tenferro.ops; it is used in: {shown(equation)}"
        )
    has_rule = primitive in ad.primitive_jvps or primitive in ad.primitive_transposes
    if not has_rule or not any(_is_inexact(variable.aval) for variable in equation.outvars):
        return at.read(called, operands)
    this = _Equation(at, equation, called)
    reader = at.fresh()
    inputs = _fresh(map(meta_of, this.types))
    outputs = reader.read(called, this.all_operands(inputs, reader.constant))
    consts = [*reader.captured]
    at.captured.update(reader.captured)
    op = Custom(program_of([*consts, *inputs], outputs), _PrimitiveRule(this), len(consts))
    return at.emit_all(op, *consts, *this.keys_of(operands))


def _applies_only(called: Any, primitive: Any) -> bool:
    """Whether a jaxpr applies a primitive and nothing else, maybe within calls."""
    equations = called.jaxpr.eqns
    while len(equations) == 1 and equations[0].primitive.name in ("jit", "pjit"):
        equations = equations[0].params["jaxpr"].jaxpr.eqns
    return len(equations) == 1 and equations[0].primitive is primitive
