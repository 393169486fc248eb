"""make_program: a Python function as a GraphProgram."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.compiler import OptimizerOptions
from tenferro.errors import TracingError
from tenferro.runtime import GraphProgram
from tenferro.traced import GraphCompiler
from tenferro.transforms.trace import trace_function


def make_program(
    function: Callable[..., Any], *specs: Any, options: OptimizerOptions | None = None
) -> GraphProgram:
    """The program of `function` for arguments of the given types.

    Args:
        function: any function of arrays; its result's leaves are the program's outputs.
        specs: one for each argument: arrays, or `TensorSpec`s, whose extents may be names; trees of
            them.
        options: which passes run.

    Raises:
        PytreeError: a leaf of the specs or of the result is no array.
        TracingError: the function reads values of a trace around it.

    >>> import tenferro as tn
    >>> print(make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64")))
    # inputs: %0 = x
    exec_program(%0: f64[n]) {
      %1: f64[n] = multiply %0, %0!
      %2: f64[] = reduce_sum[axes=(0,)] %1!
      return %2
    }
    """
    trace, _ = trace_function(function, specs, {})
    if trace.outer:
        raise TracingError(
            "make_program: the function reads values of a trace around it; pass them as arguments"
        )
    return GraphCompiler(options).compile_keys(trace.outputs, trace.inputs)
