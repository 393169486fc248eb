"""Calls, loops and branches: primitives that hold jaxprs.

A call is written out in its place. Loops and branches become ops that hold programs.

An equation holds its rules as Python functions that only JAX can call. So JAX differentiates the
equation alone, when a derivative is asked for, and the jaxpr of that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import jax
import numpy as np
from jax.extend import core

from tenferro.core import GlobalValKey, ResolvedView, resolve_keys
from tenferro.ir import INT32, dtype_kind
from tenferro.ops import (
    SELECT,
    STOP_GRADIENT,
    BroadcastInDim,
    CheckpointName,
    Constant,
    ReduceOr,
    StdTensorOp,
    replay,
)
from tenferro.ops.control_flow import Checkpointed, Scan, Switch, While, program_of
from tenferro.ops.functions import elementwise, emit_function
from tenferro.ops.functions.elementwise import conj
from tenferro.transforms import TracedTensor, as_key, custom_jvp, custom_vjp
from tenferro_xla.interop.jaxprs.reader import (
    JaxprBody,
    Keys,
    Reader,
    Translation,
    meta_of,
    of_parameters,
)

_JAXPRS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "callee")
"""Names of the parameter in which an equation of a call holds the called jaxpr."""

_CALLS = (
    *("jit", "pjit", "closed_call", "core_call"),
    *("custom_vmap_call", "linear_call"),
)


def _call(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of the called jaxpr. A rule for batches that comes with it is dropped."""
    jaxpr = next((equation.params[name] for name in _JAXPRS if name in equation.params), None)
    if jaxpr is None:
        raise at.refuse(equation, "holds no jaxpr")
    return at.read(jaxpr, operands)


def _checkpoint(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a checkpointed jaxpr, of which derivatives save the operands.

    What a policy of JAX saves in addition to them is computed again.
    """
    if not equation.outvars:
        return []
    body = at.body(equation.params["jaxpr"])
    program = program_of([*body.captured, *body.inputs], body.outputs)
    op = Checkpointed(program, prevent_cse=bool(equation.params.get("prevent_cse", True)))
    return at.emit_all(op, *body.captured, *operands)


def _solve(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of the solver of a linear system, which is differentiated itself.

    JAX does not differentiate the solver, and stops the gradient of what it reads in addition to
    the right side. What is computed from the system alone is differentiated here.
    """
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    ends = [*accumulate(lengths, initial=0), len(operands)]
    *consts, right = [operands[start:stop] for start, stop in pairwise(ends)]
    names = jaxprs._fields
    system, read = (consts[names.index(name)] for name in ("matvec", "solve"))
    return at.read(jaxprs.solve, [*_differentiable(at, read, system), *right])


def _differentiable(at: Reader, values: Keys, leaves: Keys) -> list[GlobalValKey]:
    """The values, with the gradients of what they compute from the leaves not stopped."""
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, inputs = view.topo_order(values, leaves=leaves)
    known: dict[GlobalValKey, GlobalValKey] = {key: key for key in (*leaves, *inputs)}
    reached = set(leaves)
    for op in ops:
        if reached.isdisjoint(op.inputs):
            continue
        reached.update(op.outputs)
        if op.primitive == STOP_GRADIENT:
            known[op.outputs[0]] = _again(at, op.inputs, known)[0]
    return _again(at, values, known)


def _again(
    at: Reader, values: Keys, known: Mapping[GlobalValKey, GlobalValKey]
) -> list[GlobalValKey]:
    return [key for key in replay(at, values, known) if key is not None]


def _scan(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if not equation.outvars:
        return []
    body = at.body(params["jaxpr"])
    # Versions of JAX name the counts differently; xs and ys have an axis more than their entries.
    ranks = [at.ctx.meta(key).rank for key in operands]
    each_round = [at.ctx.meta(key).rank for key in body.inputs]
    fixed = sum(whole == entry for whole, entry in zip(ranks, each_round, strict=True))
    returned = [at.ctx.meta(key).rank for key in body.outputs]
    carry = sum(
        meta_of(var.aval).rank == rank for var, rank in zip(equation.outvars, returned, strict=True)
    )
    op = Scan(
        program_of([*body.captured, *body.inputs], body.outputs),
        len(body.captured) + fixed - carry,
        carry,
        int(params["length"]),
        bool(params["reverse"]),
        max(int(params.get("unroll", 1)), 1),
    )
    return at.emit_all(op, *body.captured, *operands)


def _while(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if not equation.outvars:
        return []
    cond, body = at.body(params["cond_jaxpr"]), at.body(params["body_jaxpr"])
    of_cond, of_body = int(params["cond_nconsts"]), int(params["body_nconsts"])
    consts = [*cond.captured, *operands[:of_cond]]
    body_consts = [*body.captured, *operands[of_cond : of_cond + of_body]]
    if at.ctx.meta(cond.outputs[0]).rank:
        body = _frozen(at, params, body)
        body_consts = [*body.captured, *operands[: of_cond + of_body]]
        (pred,) = cond.outputs
        cond.outputs = [at.emit(ReduceOr(tuple(range(at.ctx.meta(pred).rank))), pred)]
    op = While(
        program_of([*cond.captured, *cond.inputs], cond.outputs),
        program_of([*body.captured, *body.inputs], body.outputs),
        len(consts),
        len(body_consts),
    )
    return at.emit_all(op, *consts, *body_consts, *operands[of_cond + of_body :])


def _frozen(at: Reader, params: Any, body: JaxprBody) -> JaxprBody:
    """The body of a loop in a batch, which keeps the entries that are done; takes cond's consts."""
    of_cond, of_body = int(params["cond_nconsts"]), int(params["body_nconsts"])
    asked, carry = at.body(params["cond_jaxpr"]), body.inputs[of_body:]
    consts = asked.inputs[:of_cond]
    (pred,) = at.read(params["cond_jaxpr"], [*consts, *carry])
    chosen = [_chosen(at, pred, new, old) for new, old in zip(body.outputs, carry, strict=True)]
    everything = dict.fromkeys([*body.captured, *asked.captured])
    return JaxprBody([*consts, *body.inputs], chosen, [*everything])


def _chosen(at: Reader, pred: GlobalValKey, new: GlobalValKey, old: GlobalValKey) -> GlobalValKey:
    """Elements chosen by a condition on the leading axes."""
    shape = at.ctx.meta(new).static_shape
    assert shape is not None, "JAX traces constant shapes"
    wide = at.emit(BroadcastInDim(shape, tuple(range(at.ctx.meta(pred).rank))), pred)
    return at.emit(SELECT, wide, new, old)


def _platform_index(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """The number of the branch for all platforms; a program is for no one of them."""
    platforms = tuple(equation.params["platforms"])
    if None not in platforms:
        raise at.refuse(
            equation, "has no branch for all platforms, lax.platform_dependent default="
        )
    return at.constant(np.asarray(platforms.index(None), np.int32))


def _cond(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """A choice among branches; the first of two is that for False."""
    if not equation.outvars:
        return []
    index, *rest = operands
    if dtype_kind(at.ctx.meta(index).dtype) == "b":
        index = emit_function(at, elementwise.astype, index, dtype=INT32)
    produced = at.producer(index)
    if produced is not None and isinstance(produced[0], Constant):
        number = min(max(int(produced[0].value), 0), len(equation.params["branches"]) - 1)
        return at.read(equation.params["branches"][number], rest)
    branches = [at.body(branch) for branch in equation.params["branches"]]
    captured = list(dict.fromkeys(key for branch in branches for key in branch.captured))
    programs = [program_of([*captured, *each.inputs], each.outputs) for each in branches]
    return at.emit_all(Switch(tuple(programs)), index, *captured, *rest)


TABLE: dict[str, Translation] = {
    **dict.fromkeys(_CALLS, _call),
    **dict.fromkeys(("checkpoint", "remat", "remat2"), _checkpoint),
    "cond": _cond,
    "custom_linear_solve": _solve,
    "name": of_parameters(lambda p: CheckpointName(str(p["name"]))),
    "platform_index": _platform_index,
    "scan": _scan,
    "while": _while,
}


# Calls with derivative rules: the rules are kept.

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
        self._called = equation.params["call_jaxpr"]
        debug_info = getattr(self._called, "jaxpr", self._called).debug_info
        jaxpr = core.Jaxpr((), self.variables, equation.outvars, [equation], debug_info=debug_info)
        self.in_jax: Callable[..., Any] = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, ()))

    def traced_operands(self, operands: Keys) -> list[TracedTensor]:
        """The operands that are not numbers, each once."""
        pairs = zip(self._equation.invars, operands, strict=True)
        known = {atom: key for atom, key in pairs if not hasattr(atom, "val")}
        return [TracedTensor(known[variable]) for variable in self.variables]

    def function(self) -> Callable[..., Traced]:
        """The function without its rules, under the name that it has in JAX."""

        def function(*xs: TracedTensor) -> Traced:
            known = dict(zip(self.variables, xs, strict=True))
            reader = self._reader()
            operands = [
                reader.constant(np.asarray(atom.val, atom.aval.dtype))
                if hasattr(atom, "val")
                else known[atom].key
                for atom in self._equation.invars
            ]
            return self._traced(reader, self._called, operands)

        function.__name__ = str(self._equation.params.get("name", "f"))
        return function

    def read(self, function: Callable[..., Any], *xs: Any) -> Traced:
        """A function of JAX on traced values."""
        keys = [as_key(x) for x in xs]
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
    ruled = custom_jvp(this.function())

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
        return value, tuple(
            [next(found) if dtype_kind(leaf.dtype) in "fc" else None for leaf in value]
        )

    ruled.defjvp(rule)
    return [value.key for value in ruled(*this.traced_operands(operands))]


def _vjp(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a function of `jax.custom_vjp`, with its rules."""
    this = _Equation(at, equation)
    ruled = custom_vjp(this.function())

    def fwd(*xs: TracedTensor) -> tuple[Any, Any]:
        trees: list[Any] = []

        def saved(*values: Any) -> Any:
            _, pullback = jax.vjp(this.in_jax, *values)
            leaves, tree = jax.tree.flatten(pullback)
            trees.append(tree)
            return leaves

        return ruled(*xs), (this.read(saved, *xs), trees[0])

    def bwd(residuals: tuple[Traced, Any], cts: tuple[TracedTensor | None, ...]) -> tuple[Any, ...]:
        saved, tree = residuals
        moving = [ct is not None for ct in cts]
        is_zero: list[bool] = []

        def pulled(*values: Any) -> Any:
            rest = iter(values[len(saved) :])
            pairs = zip(moving, equation.outvars, strict=True)
            all_cts = [next(rest) if on else _float0(variable.aval) for on, variable in pairs]
            found = jax.tree.unflatten(tree, values[: len(saved)])(all_cts)
            is_zero[:] = [leaf.dtype == FLOAT0 for leaf in found]
            typed = zip(found, this.variables, strict=True)
            return [_like(leaf, var.aval) for leaf, var in typed if leaf.dtype != FLOAT0]

        moving_cts = [conj(ct) for ct in cts if ct is not None]
        found = iter(this.read(pulled, *saved, *moving_cts))
        return tuple([None if zero else conj(next(found)) for zero in is_zero])

    ruled.defvjp(fwd, bwd)
    return [value.key for value in ruled(*this.traced_operands(operands))]


def _float0(x: Any) -> Any:
    """What JAX calls the tangent of an integer; zeros for other values."""
    if np.issubdtype(x.dtype, np.inexact):
        return jax.numpy.zeros(x.shape, x.dtype)
    return np.zeros(x.shape, FLOAT0)


def _like(ct: Any, aval: Any) -> Any:
    """The cotangent of a value; that of a real one is real."""
    return ct if np.issubdtype(aval.dtype, np.complexfloating) else ct.real


CUSTOM_RULES: dict[str, Translation] = {
    "custom_jvp_call": _jvp,
    "custom_vjp_call": _vjp,
    "custom_vjp_call_jaxpr": _vjp,
}
"""The translation of each primitive, by its name."""
