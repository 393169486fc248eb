"""Functions with derivative rules, which are kept; and primitives of libraries.

An equation holds its rules as Python functions that only JAX can call. So JAX differentiates the
equation alone, when a derivative is asked for, and the jaxpr of that is read.

A primitive that a library defines is read through its implementation, if that is made of functions
of JAX. It has the rules of the primitive for tangents, cotangents and batches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, TypeVar

import jax
import numpy as np
from jax.extend import core

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    Slots,
    TransposeSite,
    V,
)
from tenferro.ir import NumpyArray, TensorMeta, fresh_input, fresh_token, is_inexact
from tenferro.ops import Constant
from tenferro.ops.control_flow import Custom, CustomRule, emitted, program_of
from tenferro.ops.functions.elementwise import conj
from tenferro.transforms import TracedTensor, as_key, custom_jvp, custom_vjp
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, meta_of, shown
from tenferro_xla.interop.jaxprs.refused import REFUSED

T = TypeVar("T")
_NOTHING: Mapping[Any, NumpyArray] = {}
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
        variables: its operands that are not numbers and not `known`, each once.
        in_jax: the function of these, for JAX.
    """

    def __init__(
        self, at: Reader, equation: Any, called: Any, known: Mapping[Any, NumpyArray] = _NOTHING
    ) -> None:
        self._at = at
        self._site = at.site
        self._equation = equation
        self._called = called
        self.name = str(equation.params.get("name", equation.primitive.name))
        self._known = known
        atoms = [atom for atom in equation.invars if not hasattr(atom, "val")]
        self.variables = list(dict.fromkeys(atom for atom in atoms if atom not in known))
        debug_info = getattr(called, "jaxpr", called).debug_info
        jaxpr = core.Jaxpr(
            [*known], self.variables, equation.outvars, [equation], debug_info=debug_info
        )
        self.in_jax: Callable[..., Any] = core.jaxpr_as_fun(
            core.ClosedJaxpr(jaxpr, [*known.values()])
        )

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
        values = dict(zip(self.variables, xs, strict=True))
        for atom, array in self._known.items():
            values[atom] = number(array)
        return [
            number(np.asarray(atom.val, atom.aval.dtype)) if hasattr(atom, "val") else values[atom]
            for atom in self._equation.invars
        ]

    def of_moving(self, xs: Sequence[Any], moving: Sequence[bool]) -> Callable[..., Any]:
        """The function of JAX of some operands; the others are fixed, and have no tangents."""

        def function(*values: Any) -> Any:
            rest = iter(values)
            return self.in_jax(*[next(rest) if on else x for on, x in zip(moving, xs, strict=True)])

        return function

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
            xs, dxs = values[: len(moving)], values[len(moving) :]
            _, found = jax.jvp(self.of_moving(xs, moving), tuple(compress(xs, moving)), dxs)
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
            xs, rest = values[: len(operands)], iter(values[len(operands) :])
            of_active = self.of_moving(xs, active)
            arrived = [
                next(rest) if on else jax.numpy.zeros(aval.shape, aval.dtype)
                for on, aval in zip(arriving, outputs, strict=True)
                if _is_inexact(aval)
            ]
            return jax.linear_transpose(
                lambda *xs: [y for y in of_active(*xs) if _is_inexact(y)], *linear
            )(arrived)

        types = [*self.types, *compress(outputs, arriving)]
        moving = [conj(TracedTensor(ct)) for ct in cts if ct is not None]
        found = self.read(function, types, *map(TracedTensor, operands), *moving)
        results = iter([conj(x) for x in found])
        return [next(results) if on else None for on in active]

    def batched(
        self, size: int, flags: Sequence[bool], operands: Keys
    ) -> tuple[Traced, Sequence[bool]]:
        """The results for a batch, in front of the operands with a flag; and which have one."""
        axes = [0 if on else None for on in flags]
        types = [
            jax.core.ShapedArray((size, *aval.shape), aval.dtype) if on else aval
            for aval, on in zip(self.types, flags, strict=True)
        ]

        def function(out_axes: Any) -> Callable[..., Any]:
            return jax.vmap(self.in_jax, axes, out_axes, axis_size=size)

        has_batch = [True] * len(self._equation.outvars)
        for place in range(len(has_batch)):
            without = [None if at == place else 0 for at in range(len(has_batch))]
            with contextlib.suppress(ValueError):  # raised where the result has a batch
                traced(self._at, function(without), types)
                has_batch[place] = False
        out_axes = [0 if on else None for on in has_batch]
        return self.read(function(out_axes), types, *map(TracedTensor, operands)), has_batch

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

    ruled.defjvp(rule, symbolic_zeros=True)
    return [value.key for value in ruled(*map(TracedTensor, this.keys_of(operands)))]


def _vjp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_vjp`, with its rules."""
    this = _Equation(at, equation, equation.params["call_jaxpr"])
    ruled = custom_vjp(this.function())

    outputs = [variable.aval for variable in equation.outvars]

    def fwd(*xs: Any) -> tuple[Any, Any]:
        moving, operands = [x.perturbed for x in xs], [x.value for x in xs]
        trees: list[Any] = []

        def saved(*values: Any) -> Any:
            _, pullback = jax.vjp(this.of_moving(values, moving), *compress(values, moving))
            leaves, tree = jax.tree.flatten(pullback)
            trees.append((tree, [jax.typeof(leaf) for leaf in leaves]))
            return leaves

        return ruled(*operands), (this.read(saved, this.types, *operands), moving, trees[0])

    def bwd(residuals: Any, cts: tuple[TracedTensor | None, ...]) -> tuple[Any, ...]:
        saved, moving, (tree, types) = residuals
        arriving = [ct is not None for ct in cts]
        is_zero: list[bool] = []

        def pulled(*values: Any) -> Any:
            rest = iter(values[len(saved) :])
            pairs = zip(arriving, outputs, strict=True)
            all_cts = [next(rest) if on else _float0(aval) for on, aval in pairs]
            found = jax.tree.unflatten(tree, values[: len(saved)])(all_cts)
            is_zero[:] = [leaf.dtype == FLOAT0 for leaf in found]
            typed = zip(found, compress(this.types, moving), strict=True)
            return [_like(leaf, aval) for leaf, aval in typed if leaf.dtype != FLOAT0]

        arrived = [conj(ct) for ct in cts if ct is not None]
        found = iter(this.read(pulled, [*types, *compress(outputs, arriving)], *saved, *arrived))
        of_moving = iter([None if zero else conj(next(found)) for zero in is_zero])
        return tuple([next(of_moving) if on else None for on in moving])

    ruled.defvjp(fwd, bwd, symbolic_zeros=True)
    return [value.key for value in ruled(*map(TracedTensor, this.keys_of(operands)))]


def _is_inexact(x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, np.inexact))


def _float0(x: Any) -> Any:
    """What JAX calls the tangent of an integer; zeros for other values."""
    return jax.numpy.zeros(x.shape, x.dtype) if _is_inexact(x) else np.zeros(x.shape, FLOAT0)


def _like(ct: Any, aval: Any) -> Any:
    """The cotangent of a value; that of a real one is real."""
    return ct if np.issubdtype(aval.dtype, np.complexfloating) else ct.real


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
        if not any(is_inexact(meta.dtype) for meta in op.body.output_metas):
            return (None,) * len(at.out)
        moving = [tangent is not None for tangent in at.tangent[op.consts :]]
        primals = _fresh(op.body.input_metas[op.consts :])
        tangents = _fresh(compress(op.body.input_metas[op.consts :], moving))
        found = self._equation.pushed(moving, primals, tangents)
        values = [*at.primal[op.consts :], *(x for x in at.tangent[op.consts :] if x is not None)]
        return self._emitted(at.emitter, found, [*primals, *tangents], values)

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents that the rule of the primitive gives; without one those of the body."""
        operands = _fresh(op.body.input_metas[op.consts :])
        seeds = [
            None if ct is None else fresh_input(meta, "ct")
            for ct, meta in zip(at.ct, op.body.output_metas, strict=True)
        ]
        try:
            found = self._equation.pulled(at.active[op.consts :], operands, seeds)
        except NotImplementedError:  # of JAX: there is no rule
            return super().transpose_rule(op, at)
        values = [*at.inputs[op.consts :], *(ct for ct in at.ct if ct is not None)]
        present = [seed for seed in seeds if seed is not None]
        cts = self._emitted(at.emitter, found, [*operands, *present], values)
        return (*[None] * op.consts, *cts)

    def batch_by_hand(self, op: Custom, at: BatchSite[V]) -> Batched[V] | None:
        """What the rule of the primitive for batches gives; None for sizes that are symbols."""
        if not isinstance(at.size, int) or any(at.batched[: op.consts]):
            return None
        operands = _fresh([at.ctx.meta(value) for value in at.inputs[op.consts :]])
        found, batched = self._equation.batched(at.size, at.batched[op.consts :], operands)
        results = self._emitted(at.emitter, found, operands, at.inputs[op.consts :])
        return tuple(zip(results, batched, strict=True))  # type: ignore[arg-type]  # none is None

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

    known: dict[Any, NumpyArray] = {}
    for atom, operand in zip(equation.invars, operands, strict=True):
        produced = at.producer(operand)
        if produced is not None and isinstance(produced[0], Constant) and not hasattr(atom, "val"):
            known[atom] = np.asarray(produced[0].value, atom.aval.dtype)

    def implementation(*xs: Any) -> Any:
        values = [
            np.asarray(atom.val, atom.aval.dtype) if hasattr(atom, "val") else known.get(atom, x)
            for atom, x in zip(equation.invars, xs, strict=True)
        ]
        return primitive.impl(*values, **params)

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
    this = _Equation(at, equation, called, known)
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


CUSTOM_RULES: dict[str, Translation] = {
    "custom_jvp_call": _jvp,
    "custom_vjp_call": _vjp,
    "custom_vmap_call": of_library,
    "custom_vjp_call_jaxpr": _vjp,
}
