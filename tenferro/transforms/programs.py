"""make_program and eval_shape: a function as a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tenferro.compiler import OptimizerOptions
from tenferro.errors import TracingError
from tenferro.ir import PyTree, TensorSpec, collecting_guards, type_of
from tenferro.runtime import GraphProgram
from tenferro.transforms.program import checked_options, compile_keys
from tenferro.transforms.trace import trace_function
from tenferro.transforms.trees import unflatten

__all__ = ["eval_shape", "make_program"]


# make_program: a Python function as a GraphProgram.


def make_program(
    function: Callable[..., object], *specs: PyTree, options: OptimizerOptions | None = None
) -> GraphProgram:
    """The program of `function` for arguments of the types of `specs`.

    Args:
        function: any function of arrays. The leaves of its result are the program's outputs.
        specs: one for each argument: an array, a `TensorSpec`, whose extents may be names, or a
            tree of these.
        options: select the passes.

    Raises:
        PytreeError: a leaf of the specs or of the result is not an array.
        TracingError: a spec is a shape; or the function reads values of an enclosing trace.

    >>> import tenferro as tn
    >>> print(make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64")))
    # inputs: %0 = x
    exec_program(%0: f64[n]) {
      %1: f64[n] = multiply %0, %0!
      %2: f64[] = reduce_sum[axes=(0,)] %1!
      return %2
    }
    """
    for spec in specs:
        if isinstance(spec, tuple | list) and spec and all(type(size) is int for size in spec):
            raise TracingError(
                f"make_program: {spec} is a shape, or {len(spec)} scalars; write "
                f"TensorSpec({spec}) for an array of this shape"
            )
    with collecting_guards():  # what is assumed is about the names in the specs of this program
        trace, _ = trace_function(function, specs, {}, nested=False)
    if trace.outer:
        raise TracingError(
            "make_program: the function reads values of another trace; pass them as arguments, "
            "or return them there"
        )
    limited = checked_options(options).limited(trace.limit)
    program = compile_keys(trace.outputs, trace.program_inputs, trace.guards, limited)
    return replace(program, packages=tuple(trace.packages)) if trace.packages else program


# eval_shape: the types of the results of a function, which is not run.


def eval_shape(function: Callable[..., object], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """The types of the results of `function`, as a tree of `TensorSpec`. Nothing is computed.

    Args:
        function: any function of arrays.
        args, kwargs: its arguments: arrays, `TensorSpec`s, whose extents may be names, or trees of
            these.

    Raises:
        PytreeError: a leaf of the arguments or of the result is not an array.

    >>> import tenferro as tn
    >>> eval_shape(tn.matmul, tn.TensorSpec(("n", 3), "float32"), tn.TensorSpec((3, 2), "float32"))
    TensorSpec(f32[n,2])
    """
    trace, _ = trace_function(function, args, kwargs, nested=False)
    return unflatten(trace.out_tree, [TensorSpec.of(type_of(key)) for key in trace.outputs])
