"""JAX functions as programs, and programs as JAX functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from tenferro.compiler import Target, contraction_passes, optimize_for
from tenferro.compiler.device import refuse_dynamic
from tenferro.errors import BindingError, counted
from tenferro.ir import NumpyArray, TensorSpec, as_dtype, fresh_input
from tenferro.ops.extension import Package
from tenferro.random import Key
from tenferro.runtime import (
    GraphProgram,
    ProgramInput,
    Tensor,
    added_packages,
    bind_specs,
    check_program,
)
from tenferro.transforms import CallForm, GraphCompiler, flatten, leaf_meta
from tenferro_xla.compiled import require_static
from tenferro_xla.interop.jaxprs import outputs_of
from tenferro_xla.interop.jaxprs.reader import is_key, meta_of
from tenferro_xla.lowering import ExtensionLowerings, LoweringOptions, Precision, jax_function
from tenferro_xla.target import platform_of

__all__ = ["from_jax", "jax_gradient", "to_jax"]


def from_jax(function: Callable[..., Any], *specs: Any, x64: bool = True) -> GraphProgram:
    """A JAX function as a program, through its jaxpr.

    The program can be called with trees as the function is, differentiated, batched, compiled and
    saved like any other. `scan`, `while_loop`, `fori_loop`, `cond` and `switch` become loops
    and branches of the program; called functions are written out in their place. Its
    derivatives are those of its ops, but of functions of `jax.custom_jvp` and `jax.custom_vjp`
    those of their rules, as long as the program is not saved. JAX differentiates these
    functions when a derivative is asked for.

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
        jaxpr, result = jax.make_jaxpr(function, return_shape=True)(*shaped)
    leaves = jax.tree_util.tree_leaves_with_path(shaped)
    names = _names(function, [path for path, _ in leaves])
    inputs = [
        fresh_input(meta_of(leaf), name) for name, (_, leaf) in zip(names, leaves, strict=True)
    ]
    outputs = outputs_of(jaxpr, inputs, x64)
    program = GraphCompiler(capacity=1).compile_keys(outputs, inputs)
    return replace(program, form=_form(specs, result))


def _form(specs: tuple[Any, ...], result: Any) -> CallForm | None:
    """The trees of a function of JAX; None if they have leaves in another order here."""
    trees = []
    tree: Any
    for tree in ((specs, {}), result):
        leaves, treedef = flatten(tree)
        others = jax.tree.leaves(tree)
        if len(leaves) != len(others) or any(
            leaf is not other and not isinstance(other, Key)
            for leaf, other in zip(leaves, others, strict=True)
        ):
            return None
        trees.append(treedef)
    return CallForm(trees[0], trees[1])


def _abstract(spec: Any, x64: bool) -> jax.ShapeDtypeStruct:
    if isinstance(spec, Key):
        return _typed(spec.shape, jax.random.key(0).dtype)
    if hasattr(spec, "dtype") and is_key(spec):
        return _typed(spec.shape, spec.dtype)
    meta = leaf_meta(spec, "from_jax: a spec")
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


_ADVICE = "give a package that has one to to_jax or jax_gradient, packages=(...)"


def to_jax(
    program: GraphProgram, precision: Precision = "highest", packages: Sequence[Package] = ()
) -> Callable[..., Any]:
    """The program as a JAX function.

    That of a program of a function of trees takes and returns trees. Each takes the inputs in
    order, or one dict of them by name, and then returns the output, or a tuple where there are
    several. It works under `jax.jit`, `jax.grad` and `jax.vmap`; JAX differentiates it itself,
    so gradients at complex inputs obey JAX's convention, not that of `tn.grad`, and the rules
    of `tn.custom_jvp` and `tn.custom_vjp` are not part of it. 64-bit programs stay 64-bit for
    any setting of JAX; but JAX must pass them 64-bit arrays.

    Args:
        program: what to turn into a function.
        precision: of contractions.
        packages: families that the program may hold, in addition to those that come with tenferro.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.
        UnsupportedExtensionError: on a call, a family has neither a lowering nor standard ops.
        BackendFailureError: JAX lowers the function for a platform on which it lacks an op.
        BindingError: on a call, the arguments do not fit the program's inputs.
        ExecutorError: on a call, data decide a size in the program; names the instruction.

    >>> import jax, tenferro as tn
    >>> x = tn.TracedTensor.input((), "float32", name="x")
    >>> square = to_jax(tn.GraphCompiler().compile([x * x]))
    >>> float(jax.grad(square)(3.0))
    6.0
    """
    check_program("to_jax", program)
    device = jax.devices()[0]
    platform = platform_of(device)
    lowerings = ExtensionLowerings(added_packages(packages))
    options = LoweringOptions(
        precision,
        lowerings,
        waits_in_branch=not platform.keeps_barriers,
        differentiated=True,
        drops_nan=platform.drops_nan,
    )
    passes = contraction_passes(platform.costs_of(device) if platform.rewrites else None)
    target = Target("jax", passes, options.extensions, advice=_ADVICE, differentiates=True)

    form = None if program.form is None or program.form.is_flat else program.form

    def tenferro_function(*args: Any) -> Any:
        leaves = None if form is None else form.leaves(args, {})
        if leaves is None:
            values = _positional(program, args)
        else:
            values = [*leaves, *[each.default for each in program.inputs[len(leaves) :]]]
        with jax.enable_x64(True):
            arrays = [
                _operand(declared, value)
                for declared, value in zip(program.inputs, values, strict=True)
            ]
            sizes = bind_specs(
                program,
                {
                    declared.name: TensorSpec(array.shape, array.dtype)
                    for declared, array in zip(program.inputs, arrays, strict=True)
                },
            )
            bound = optimize_for(program.exec_program, target, sizes, program.options)
            refuse_dynamic(bound, "to_jax")
            require_static(bound)
            results = jax_function(bound, options)(*arrays)
        if form is not None and leaves is not None:
            return form.result(results)
        return results[0] if len(results) == 1 else results

    return tenferro_function


def jax_gradient(
    program: GraphProgram, *args: Any, argnums: int = 0, packages: Sequence[Package] = ()
) -> NumpyArray:
    """`jax.grad` of the program's only output, to compare `tn.grad` with.

    It uses the rules of JAX, not those of tenferro. At complex inputs it is the conjugate of
    `tn.grad`.
    `packages` are families that the program may hold, in addition to those that come with tenferro.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: x * x, tn.TensorSpec((), "float64"))
    >>> jax_gradient(program, 3.0)
    array(6.)
    """
    with jax.enable_x64(True):
        arrays = [
            _operand(declared, arg) for declared, arg in zip(program.inputs, args, strict=True)
        ]
        return np.asarray(jax.grad(to_jax(program, packages=packages), argnums)(*arrays))


def _positional(program: GraphProgram, args: tuple[Any, ...]) -> list[Any]:
    """The arguments in the order of the inputs; captured arrays need not be given."""
    inputs = program.inputs
    if len(args) == 1 and isinstance(args[0], dict):
        unknown = sorted(set(args[0]) - {declared.name for declared in inputs})
        if unknown:
            raise BindingError(f"to_jax: {unknown[0]!r} is not an input of this program")
        values = [args[0].get(declared.name, declared.default) for declared in inputs]
    else:
        open_inputs = [declared for declared in inputs if declared.default is None]
        if len(args) not in (len(inputs), len(open_inputs)):
            names = ", ".join(declared.name for declared in open_inputs)
            raise BindingError(
                f"to_jax: the program takes {counted(len(open_inputs), 'input')} ({names}), got "
                f"{len(args)}"
            )
        rest = iter(args)
        everything = len(args) == len(inputs)
        values = [
            next(rest) if everything or declared.default is None else declared.default
            for declared in inputs
        ]
    for declared, value in zip(inputs, values, strict=True):
        if value is None:
            raise BindingError(f"to_jax: input {declared.name!r}: {declared.meta} is not given")
    return values


def _operand(declared: ProgramInput, value: Any) -> Any:
    """An array of JAX or NumPy; Python numbers take the declared dtype."""
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return value
    return np.asarray(value, dtype=declared.meta.dtype)
