"""JAX functions as programs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import jax

from tenferro.errors import BindingError
from tenferro.ir import TensorMeta, TensorSpec, as_dtype, fresh_input
from tenferro.random import Key
from tenferro.runtime import GraphProgram, Tensor
from tenferro.transforms import GraphCompiler
from tenferro_xla.interop.jaxprs import TABLE
from tenferro_xla.interop.jaxprs.reader import Reader, is_key, meta_of

__all__ = ["from_jax"]


def from_jax(function: Callable[..., Any], *specs: Any, x64: bool = True) -> GraphProgram:
    """A JAX function as a program, through its jaxpr.

    The program can be called, differentiated, batched, compiled and saved like any other. `scan`,
    `while_loop`, `fori_loop`, `cond` and `switch` become loops and branches of the program; called
    functions are written out in their place. Its derivatives are those of its ops, but of functions
    of `jax.custom_jvp` and `jax.custom_vjp` those of their rules, as long as the program is not
    saved. JAX differentiates these functions when a derivative is asked for.

    Args:
        function: a function of arrays or pytrees of arrays that JAX can trace.
        specs: for each argument an array, a key of `tn.random` or `jax.random`, a `TensorSpec` of
            constant shape, or a pytree of them.
        x64: whether JAX's 64-bit mode is on while it traces, whatever its setting is. In that mode
            numbers and arrays without a dtype are 64 bits wide; without it nothing is.

    Raises:
        ExecutorError: the function uses a JAX primitive without a counterpart; names the first, and
            its line.
        BindingError: a spec has symbolic sizes, or is 64 bits wide with `x64=False`.

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
    shaped = jax.tree.map(lambda spec: _abstract(spec, x64), specs)
    with jax.enable_x64(x64):
        jaxpr = jax.make_jaxpr(function)(*shaped)
    leaves = jax.tree_util.tree_leaves_with_path(shaped)
    names = _names(function, [path for path, _ in leaves])
    inputs = [
        fresh_input(meta_of(leaf), name) for name, (_, leaf) in zip(names, leaves, strict=True)
    ]
    outputs = Reader(TABLE, x64).read(jaxpr, inputs)
    return GraphCompiler(capacity=1).compile_keys(outputs, inputs)


def _abstract(spec: Any, x64: bool) -> jax.ShapeDtypeStruct:
    if isinstance(spec, Key):
        return _typed(spec.shape, jax.random.key(0).dtype)
    if hasattr(spec, "dtype") and is_key(spec):
        return _typed(spec.shape, spec.dtype)
    meta: TensorMeta = spec.meta if isinstance(spec, TensorSpec) else Tensor(spec).meta
    if meta.static_shape is None:
        raise BindingError(f"from_jax: {meta} has symbolic extents; JAX traces constant shapes")
    if not x64 and meta.dtype in _WIDE:
        raise BindingError(f"from_jax: {meta} is 64 bits wide; pass x64=True, or a narrower spec")
    with jax.enable_x64(True):
        return _typed(meta.static_shape, meta.dtype)


def _typed(shape: Any, dtype: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


_WIDE = tuple(map(as_dtype, ("float64", "int64", "uint64", "complex128")))


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
