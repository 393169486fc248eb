"""A program as one function of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tenferro.compiler import give_way
from tenferro.exec_ir import ExecInstruction, ExecProgram, run
from tenferro.family import Extension
from tenferro_xla.lowering.registry import LoweringOptions, lower

JaxFunction = Callable[..., tuple[jax.Array, ...]]


def jax_function(program: ExecProgram, options: LoweringOptions) -> JaxFunction:
    """The program as a function of arrays, one for each input, to be traced by JAX.

    Every extent of the program must be an integer. A value is dropped after its last use. Constants
    among the outputs may be NumPy arrays.
    """

    def handler(step: ExecInstruction, operands: list[Any]) -> Sequence[Any]:
        give_way()
        if isinstance(step.op, Extension):
            return options.extensions(step.op, operands)
        return lower(step.op, operands, options)

    def tenferro_program(*arrays: Any) -> tuple[jax.Array, ...]:
        with jax.default_matmul_precision(options.precision):  # of products in functions of JAX too
            return tuple(run(program, arrays, handler))

    return tenferro_program
