"""JAX functions as programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import jax

from tenferro.errors import BindingError
from tenferro.runtime import GraphProgram, Tensor
from tenferro.shape import TensorMeta, TensorSpec, fresh_input
from tenferro.traced import GraphCompiler
from tenferro_xla.interop.names import JaxprEmitter, translate


def from_jax(function: Callable[..., Any], *specs: Any) -> GraphProgram:
    """A JAX function as a program, through its jaxpr.

    It computes the same values in 64-bit mode. Derivative rules of JAX (`custom_jvp`, `custom_vjp`,
    `stop_gradient`) are not part of a program.

    Args:
        function: a function of arrays or pytrees of arrays that JAX can trace.
        specs: for each argument an array or a `TensorSpec` of constant shape, or a pytree of them.

    Raises:
        ExecutorError: the function uses a JAX primitive without a counterpart; names the first.

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
