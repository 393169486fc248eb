"""Calls, loops and branches: primitives that hold jaxprs.

A call is written out in its place. Loops and branches become ops that hold programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

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
from tenferro.transforms import TracedTensor, scan, switch, while_loop
from tenferro_xla.interop.jaxprs.reader import (
    JaxprBody,
    Keys,
    Reader,
    Translation,
    of_parameters,
)

_JAXPRS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "fwd_jaxpr", "call", "callee")
"""Names of the parameter in which an equation of a call holds the called jaxpr."""

_CALLS = (
    *("jit", "pjit", "closed_call", "core_call", "call", "eval_jaxpr", "composite", "compute_on"),
    *("custom_partitioning", "linear_call", "program_order", "remat_opt", "xla_metadata_call"),
)


def _call(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of the called jaxpr."""
    jaxpr = next((equation.params[name] for name in _JAXPRS if name in equation.params), None)
    if jaxpr is None:
        raise at.refuse(equation, "holds no jaxpr")
    return at.read(jaxpr, operands)


def _checkpoint(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The outputs of a checkpointed jaxpr, of which derivatives save the operands.

    What a policy of JAX saves in addition to them is computed again. Effects are not made again.
    """
    if equation.effects:
        return at.read(equation.params["jaxpr"], operands)
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


def _counts(equation: Any) -> tuple[int, int]:
    """The number of constants and of carries of a scan.

    Versions of JAX name them differently; xs and ys have an axis more than their entries.
    """
    body = equation.params["jaxpr"]
    entries = zip(equation.invars, body.in_avals, strict=True)
    fixed = sum(whole.aval.ndim == entry.ndim for whole, entry in entries)
    returned = zip(equation.outvars, body.out_avals, strict=True)
    carry = sum(whole.aval.ndim == entry.ndim for whole, entry in returned)
    return fixed - carry, carry


def _scan(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if equation.effects:
        return _scan_with_effects(at, equation, operands)
    if not equation.outvars:
        return []
    body = at.body(params["jaxpr"])
    consts, carry = _counts(equation)
    op = Scan(
        program_of([*body.captured, *body.inputs], body.outputs),
        len(body.captured) + consts,
        carry,
        int(params["length"]),
        bool(params["reverse"]),
        max(int(params.get("unroll", 1)), 1),
    )
    return at.emit_all(op, *body.captured, *operands)


def _while(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params = equation.params
    if equation.effects:
        return _while_with_effects(at, equation, operands)
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


# Loops with effects are those of `tn`, which see to it that the effects are made.


def _keys(values: Iterable[TracedTensor]) -> list[GlobalValKey]:
    return [value.key for value in values]


def _scan_with_effects(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params, values = equation.params, [*map(TracedTensor, operands)]
    consts, carry = _counts(equation)
    body = at.function(params["jaxpr"])

    def step(state: Any, xs: Any) -> Any:
        results = body(*values[:consts], *state, *xs)
        return results[:carry], results[carry:]

    state, ys = scan(
        step,
        tuple(values[consts : consts + carry]),
        tuple(values[consts + carry :]),
        length=int(params["length"]),
        reverse=bool(params["reverse"]),
    )
    return _keys([*state, *ys])


def _while_with_effects(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    params, values = equation.params, [*map(TracedTensor, operands)]
    of_cond, of_body = int(params["cond_nconsts"]), int(params["body_nconsts"])
    if equation.params["cond_jaxpr"].out_avals[0].shape:
        raise at.refuse(equation, "has effects in a batch, and has no counterpart")
    cond, body = at.function(params["cond_jaxpr"]), at.function(params["body_jaxpr"])
    consts, state = values[: of_cond + of_body], tuple(values[of_cond + of_body :])
    last = while_loop(
        lambda state: cond(*consts[:of_cond], *state)[0],
        lambda state: body(*consts[of_cond:], *state),
        state,
    )
    return _keys(last)


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
    if not equation.outvars and not equation.effects:
        return []
    index, *rest = operands
    if dtype_kind(at.ctx.meta(index).dtype) == "b":
        index = emit_function(at, elementwise.astype, index, dtype=INT32)
    produced = at.producer(index)
    if produced is not None and isinstance(produced[0], Constant):
        number = min(max(int(produced[0].value), 0), len(equation.params["branches"]) - 1)
        return at.read(equation.params["branches"][number], rest)
    if equation.effects:
        functions = [at.function(branch) for branch in equation.params["branches"]]
        return _keys(switch(TracedTensor(index), functions, *map(TracedTensor, rest)))
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
