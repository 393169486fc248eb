"""Between programs and JAX functions, in both directions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tenferro.errors import BindingError
from tenferro.exec_ir import Array
from tenferro.runtime import GraphProgram, ProgramInput, Tensor, bind_specs, check_program
from tenferro.shape import TensorMeta, TensorSpec
from tenferro.traced import GraphCompiler, fresh_input
from tenferro_xla.extension import expanded
from tenferro_xla.jaxpr import JaxprEmitter, translate
from tenferro_xla.lowering import LoweringOptions, Precision, jax_function
from tenferro_xla.network import with_networks
from tenferro_xla.segments import refuse_dynamic, settled
from tenferro_xla.stablehlo import require_static


def to_jax(program: GraphProgram, precision: Precision = "highest") -> Callable[..., Any]:
    """The program as a JAX function.

    It takes the inputs in order, or one dict of them by name, and returns the output, or a tuple
    where there are several. It works under `jax.jit`, `jax.grad` and `jax.vmap`; JAX differentiates
    it itself, so gradients at complex inputs obey JAX's convention, not that of `tn.grad`. 64-bit
    programs stay 64-bit whatever the setting of JAX; but JAX must hand them 64-bit arrays.

    Raises:
        BindingError: on a call, the arguments do not fit the program's inputs.
        ExecutorError: on a call, data decide a size in the program; names the instruction.

    >>> import jax, tenferro as tn
    >>> x = tn.TracedTensor.input((), "float32", name="x")
    >>> square = to_jax(tn.GraphCompiler().compile([x * x]))
    >>> float(jax.grad(square)(3.0))
    6.0
    """
    check_program("to_jax", program)
    options = with_networks(LoweringOptions(precision))

    def tenferro_function(*args: Any) -> Any:
        with jax.enable_x64(True):
            arrays = [
                _operand(declared, value)
                for declared, value in zip(program.inputs, _positional(program, args), strict=True)
            ]
            sizes = bind_specs(
                program,
                {
                    declared.name: TensorSpec(array.shape, array.dtype)
                    for declared, array in zip(program.inputs, arrays, strict=True)
                },
            )
            bound = settled(program.exec_program.bind(sizes))
            refuse_dynamic(bound, "to_jax")
            require_static(bound)
            bound = expanded(bound, options.extensions)
            results = jax_function(bound, options)(*arrays)
        return results[0] if len(results) == 1 else results

    return tenferro_function


def jax_gradient(program: GraphProgram, *args: Any, argnums: int = 0) -> Array:
    """`jax.grad` of the program's only output, by JAX's own rules: what `tn.grad` is compared with.

    The rules of tenferro play no part in it. At complex inputs it is the conjugate of `tn.grad`.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: x * x, tn.TensorSpec((), "float64"))
    >>> jax_gradient(program, 3.0)
    array(6.)
    """
    with jax.enable_x64(True):
        arrays = [_operand(each, arg) for each, arg in zip(program.inputs, args, strict=True)]
        return np.asarray(jax.grad(to_jax(program), argnums)(*arrays))


def from_jax(function: Callable[..., Any], *specs: Any) -> GraphProgram:
    """A JAX function as a program, through its jaxpr.

    It computes the same values in 64-bit mode. Derivative rules of JAX (`custom_jvp`, `custom_vjp`,
    `stop_gradient`) are not part of a program.

    Args:
        function: a function of arrays or pytrees of arrays that JAX can trace.
        specs: for each argument an array or `TensorSpec`, or a pytree of them, of constant shape.

    Raises:
        ExecutorError: the function uses a primitive that has no counterpart; names the first.

    >>> import jax.numpy as jnp, tenferro as tn
    >>> print(from_jax(lambda x: jnp.sin(x) * 2, tn.TensorSpec((3,), "float64")).exec_program)
    exec_program(%0: f64[3]) {
      %1: f64[3] = sine %0!
      %2: f64[] = constant[value=2.0, dtype=f64]
      %3: f64[3] = broadcast_in_dim[shape=(3,), dims=()] %2!
      %4: f64[3] = multiply %1!, %3!
      return %4
    }
    """
    with jax.enable_x64(True):
        shaped = jax.tree.map(_abstract, specs)
        closed = jax.make_jaxpr(function)(*shaped)
    leaves = jax.tree_util.tree_leaves_with_path(shaped)
    names = _names(function, [path for path, _ in leaves])
    inputs = [
        fresh_input(TensorMeta.of(leaf.dtype, leaf.shape), name)
        for name, (_, leaf) in zip(names, leaves, strict=True)
    ]
    outputs = translate(JaxprEmitter(), closed.jaxpr, closed.consts, inputs)
    return GraphCompiler(capacity=1).compile_keys(outputs, inputs)


def _positional(program: GraphProgram, args: tuple[Any, ...]) -> list[Any]:
    """The arguments in the order of the inputs; captured arrays need not be given."""
    declared = program.inputs
    if len(args) == 1 and isinstance(args[0], dict):
        unknown = sorted(set(args[0]) - {each.name for each in declared})
        if unknown:
            raise BindingError(f"to_jax: {unknown[0]!r} is not an input of this program")
        values = [args[0].get(each.name, each.default) for each in declared]
    else:
        open_inputs = [each for each in declared if each.default is None]
        if len(args) not in (len(declared), len(open_inputs)):
            names = ", ".join(each.name for each in open_inputs)
            raise BindingError(
                f"to_jax: the program takes {len(open_inputs)} inputs ({names}), got {len(args)}"
            )
        rest = iter(args)
        everything = len(args) == len(declared)
        values = [
            next(rest) if everything or each.default is None else each.default for each in declared
        ]
    for each, value in zip(declared, values, strict=True):
        if value is None:
            raise BindingError(f"to_jax: input {each.name!r}: {each.meta} is not given")
    return values


def _operand(declared: ProgramInput, value: Any) -> Any:
    """An array of JAX or NumPy; Python numbers take the declared dtype."""
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return value
    return np.asarray(value, dtype=declared.meta.dtype)


def _abstract(spec: Any) -> jax.ShapeDtypeStruct:
    meta: TensorMeta = spec.meta if isinstance(spec, TensorSpec) else Tensor(spec).meta
    if meta.static_shape is None:
        raise BindingError(f"from_jax: {meta} has symbolic extents; JAX traces constant shapes")
    return jax.ShapeDtypeStruct(meta.static_shape, meta.dtype)  # type: ignore[no-untyped-call]


def _names(function: Callable[..., Any], paths: list[Any]) -> list[str]:
    """For each leaf of the arguments the parameter's name, and its path within it."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_POSITIONAL]
    result = []
    for path in paths:
        index = int(re.sub(r"\D", "", jax.tree_util.keystr(path[:1])))
        root = named[index] if index < len(named) else f"x{index}"
        result.append(root + jax.tree_util.keystr(path[1:]))
    return result
