"""Graphs as programs, which ops hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.errors import TracingError
from tenferro.exec_ir import ExecBuilder, ExecProgram
from tenferro.ops import Argument, StdTensorOp
from tenferro.shape import type_of


def program_of(inputs: Sequence[GlobalValKey], outputs: Sequence[GlobalValKey]) -> ExecProgram:
    """The program that computes `outputs` from `inputs`, which may be any values of a graph.

    Its instructions stand in the order in which a walk from the outputs meets them, so that graphs
    that compute the same give the same program.

    Raises:
        TracingError: the outputs depend on an input of the graph that is not among `inputs`.
        TenferroError: an op cannot take its operands.
    """
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, foreign = view.topo_order(outputs, leaves=inputs)
    if foreign:
        raise TracingError(f"program: reads {foreign[0]}, which is not among its inputs")
    builder = ExecBuilder()
    slots = {key: builder.input(type_of(key)) for key in inputs}
    for op in ops:
        operands = tuple([slots[key] for key in op.inputs])
        made = (
            operands
            if type(op.primitive) is Argument
            else builder.add(cast(StdTensorOp, op.primitive), operands, op.site)
        )
        for key, slot in zip(op.outputs, made, strict=True):
            slots.setdefault(key, slot)  # an input stays the input
    return builder.build([slots[key] for key in outputs])
