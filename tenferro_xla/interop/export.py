"""Programs as StableHLO artifacts, which can be stored and do not need tenferro to run."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from os import PathLike
from pathlib import Path
from typing import Any, cast

import jax.export
import numpy as np

from tenferro.compiler import Target, contraction_passes, optimize_for
from tenferro.compiler.device import PlanFamilies, refuse_dynamic
from tenferro.config import config
from tenferro.core import BoundedCache, CacheStats, Capacity
from tenferro.errors import BackendFailureError, BindingError, ExecutorError, TenferroError
from tenferro.ir import (
    Atom,
    Dim,
    DimExpr,
    ExecOp,
    ExecProgram,
    Guard,
    SizeFunction,
    SymDim,
    TensorMeta,
    calls,
    check_budget,
    dim,
    fresh_input,
    verify,
)
from tenferro.ops.control_flow import Scan
from tenferro.ops.extension import Extension, Package
from tenferro.runtime import (
    GraphProgram,
    ProgramInput,
    Tensor,
    added_packages,
    bind_inputs,
    check_program,
)
from tenferro.transforms import Callback
from tenferro_xla.compiled import private
from tenferro_xla.devices import find_device, own_settings
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.lowering import ExtensionLowerings, LoweringOptions, Precision, jax_function
from tenferro_xla.lowering.linalg import ELSEWHERE

__all__ = ["Exported", "export", "load_exported"]

PLATFORMS = ("cpu", "cuda", "tpu")
_KNOWN_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

TYPICAL = 64
"""What a symbol is taken to be where an artifact needs an order of contractions for all sizes."""

_MULTIPLE = re.compile(r"([1-9][0-9]*)\*floordiv\(")

_ADVICE = "give export a package that has one, export(..., packages=(...))"

ToJaxDim = Callable[[Dim], Any]


def export(
    program: GraphProgram,
    *,
    platforms: Sequence[str] = PLATFORMS,
    precision: Precision = "highest",
    packages: Sequence[Package] = (),
) -> Exported:
    """The program as a portable artifact, with its symbolic sizes.

    The artifact is one of `jax.export`: a function of one dict, from the names of the inputs to
    arrays. It runs on every device of the platforms, for every size of a symbol except 0.

    Args:
        program: what to export. Arrays that it has captured must be inputs instead.
        platforms: where it can run: some of "cpu", "cuda", "rocm" and "tpu".
        precision: of contractions.
        packages: families that the program may hold, in addition to those that come with tenferro.

    Raises:
        BindingError: the program has captured an array.
        UnsupportedExtensionError: a family has neither a lowering nor standard ops for the sizes.
        ExtensionRegistryError: a package is given twice, or is not one.
        ExecutorError: an instruction needs a size that only data decide, an op has no lowering, or
            JAX cannot lower it for symbolic sizes or for a platform; the text names it.

    >>> import numpy as np, tenferro as tn
    >>> artifact = export(tn.make_program(lambda x: x * 2, tn.TensorSpec(("n",))))
    >>> print(artifact)
    Exported(x: f64[n]) -> (f64[n]) for cpu, cuda, tpu
    >>> artifact.run({"x": np.arange(3.0)})
    [Tensor([0., 2., 4.])]
    """
    check_program("export", program)
    for platform in platforms:
        if platform not in _KNOWN_PLATFORMS:
            known = ", ".join(_KNOWN_PLATFORMS)
            raise ExecutorError(f"export: there is no platform {platform!r}; there are: {known}")
    for declared in program.inputs:
        if declared.default is not None:
            raise BindingError(
                f"export: the program has captured {declared.meta} ({declared.name}), which is not "
                "part of an artifact; make it an argument of the function"
            )
    refuse_dynamic(program.exec_program, "export")
    lowerings = ExtensionLowerings(added_packages(packages))
    target = Target("export", contraction_passes(None), lowerings, advice=_ADVICE)
    body = optimize_for(_planned(program.exec_program), target, None, program.options)
    verify(body)
    _refuse_named_lengths(body)
    _refuse_callbacks(body)
    check_budget(body, config.max_bytes)
    try:
        with own_settings(precision):
            scope = jax.export.SymbolicScope(_constraints(program, body))
            to_jax_dim = _to_jax_dim(scope)
            options = LoweringOptions(precision, lowerings)
            function = partial(_function, program, body, options, to_jax_dim)
            arguments = {
                declared.name: jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]
                    tuple(to_jax_dim(size) for size in declared.meta.exact_shape("export")),
                    declared.meta.dtype,
                )
                for declared in program.inputs
            }
            return Exported(_lowered(function, arguments, platforms))
    except TenferroError:
        raise
    except (
        Exception
    ) as error:  # JAX raises many types, some private, for sizes that it cannot compare
        advice = "; give the inputs constant sizes" if body.symbols() else ""
        raise ExecutorError(f"export: JAX says {_first_line(error)}{advice}") from error


def _lowered(
    function: Callable[[str | None], Callable[..., Any]],
    arguments: Mapping[str, Any],
    platforms: Sequence[str],
) -> jax.export.Exported:
    """The artifact of JAX for all platforms.

    `function` makes the function for a platform, or for several if that is None.

    Raises:
        ExecutorError: JAX lowers the function for some of the platforms only, or does not have an
            op on any; the text names them.
    """

    def lowered(to: Sequence[str]) -> jax.export.Exported:
        for_one = function(to[0] if len(to) == 1 else None)
        return jax.export.export(jax.jit(for_one), platforms=tuple(to))(arguments)

    try:
        return lowered(platforms)
    except Exception as error:
        absent = isinstance(error, BackendFailureError) and ELSEWHERE in str(error)
        if isinstance(error, TenferroError) and not absent:
            raise
        failures = {}
        for platform in platforms:
            try:
                lowered([platform])
            except Exception as alone:
                failures[platform] = _first_line(alone)
        rest = tuple(platform for platform in platforms if platform not in failures)
        if not failures or not (rest or absent):
            raise
        why = "; ".join(dict.fromkeys(failures.values()))
        if not rest:
            raise ExecutorError(f"export: {why}") from error
        raise ExecutorError(
            f"export: JAX cannot lower it for {' and '.join(failures)}: {why}; "
            f"pass platforms={rest!r}"
        ) from error


def load_exported(source: str | PathLike[str] | bytes) -> Exported:
    """An artifact that `Exported.save` wrote to a file, or the bytes of one.

    An artifact does not contain pickled objects, and loading it does not run code from it.

    Raises:
        ExecutorError: the file cannot be read, or is not an artifact that `export` has made.
    """
    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as error:
        raise ExecutorError(f"load_exported: {source!s} cannot be read: {error.strerror}") from None
    try:
        exported = jax.export.deserialize(bytearray(data))
    except ImportError as error:
        raise _needs_flatbuffers("load_exported") from error
    except Exception as error:
        name = "the bytes" if isinstance(source, bytes) else str(source)
        raise ExecutorError(
            f"load_exported: {name} cannot be read as an artifact: {_first_line(error)}"
        ) from error
    return Exported(exported)


class Exported:
    """A program as an artifact, which can be run and saved.

    Attributes:
        exported: the artifact of JAX.
        inputs: name and type of each input.
        outputs: type of each output.
    """

    def __init__(self, exported: jax.export.Exported) -> None:
        self.exported = exported
        self.inputs: tuple[tuple[str, TensorMeta], ...] = tuple(_inputs(exported))
        self.outputs: tuple[TensorMeta, ...] = tuple(_meta(aval) for aval in exported.out_avals)
        self._signature = _signature(self.inputs)
        self._compiled: BoundedCache[Any, Callable[..., Any]] = BoundedCache(
            Capacity(config.cache_entries)
        )

    @property
    def platforms(self) -> tuple[str, ...]:
        """Where the artifact runs."""
        return tuple(self.exported.platforms)

    def stablehlo(self) -> str:
        """The text of the StableHLO module."""
        return str(self.exported.mlir_module())

    def serialize(self) -> bytes:
        """The artifact as bytes, which `jax.export.deserialize` reads as well.

        Raises:
            ExecutorError: the package `flatbuffers` is not installed.
        """
        try:
            return bytes(self.exported.serialize())
        except ImportError as error:
            raise _needs_flatbuffers("serialize") from error

    def save(self, path: str | PathLike[str]) -> None:
        """Write the artifact to a file, for `load_exported`."""
        Path(path).write_bytes(self.serialize())

    def run(
        self, bindings: Mapping[str, Any], device: int | str | jax.Device | None = None
    ) -> list[Tensor]:
        """The outputs for the given inputs, by name, on a device (see `find_device`).

        Raises:
            BindingError: the bindings do not fit the inputs, or a symbol would have size 0.
            ExecutorError: the artifact is not for this platform.
        """
        refuse_forked("run")
        bound = bind_inputs(self._signature, bindings)
        for leaf, size in bound.sizes.items():
            if size < 1:
                raise BindingError(f"run: {leaf} is {size}; an artifact takes sizes from 1 on")
        values = [private(v.data) if v.executor is None else v.data for v in bound.values]
        arrays = {name: value for (name, _), value in zip(self.inputs, values, strict=True)}
        target = find_device(device)
        key = (target, tuple(value.shape for value in values))
        try:
            with own_settings(), jax.default_device(target):
                call = self._compiled.get_or_make(key, lambda: self._compile(arrays))
                results = call(arrays)
        except ValueError as error:
            raise ExecutorError(f"run: JAX says {_first_line(error)}") from error
        return [Tensor(result) for result in results]

    def stats(self) -> CacheStats:
        """The number of sizes that it is compiled for, and hits and misses of that cache."""
        return self._compiled.stats()

    def _compile(self, arrays: dict[str, Any]) -> Callable[..., Any]:
        return jax.jit(self.exported.call).lower(arrays).compile()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {meta}" for name, meta in self.inputs)
        outputs = ", ".join(map(str, self.outputs))
        return f"Exported({inputs}) -> ({outputs}) for {', '.join(self.platforms)}"


def _planned(program: ExecProgram) -> ExecProgram:
    """The program with networks in an order that serves all sizes, found for a typical one."""
    return PlanFamilies(tuple((leaf, TYPICAL) for leaf in program.symbols())).run(program)


def _refuse_callbacks(program: ExecProgram) -> None:
    """Raise ExecutorError if a function of the user is called."""
    for part in program.walk():
        for op in part.ops_of(Extension):
            if isinstance(op.op, Callback):
                raise ExecutorError(
                    f"export: {op.op.function} is a Python function, which an artifact does not "
                    "hold; leave the call out of the program, and pass its result"
                )


def _refuse_named_lengths(program: ExecProgram) -> None:
    """Raise ExecutorError if a loop has a named number of iterations; JAX needs a constant."""
    for part in program.walk():
        for step in part.steps_of(Scan):
            length = cast(Scan, step.op).length
            if isinstance(length, DimExpr):
                place = "" if step.site is None else f" at {step.site}"
                names = " and ".join(sorted(map(str, length.leaves())))
                raise ExecutorError(
                    f"export: scan{place}: the number of rounds is {length}, and an artifact has "
                    f"loops of constant length only; give {names} a constant size"
                )


def _function(
    program: GraphProgram,
    body: ExecProgram,
    options: LoweringOptions,
    to_jax_dim: ToJaxDim,
    platform: str | None,
) -> Callable[[dict[str, Any]], tuple[jax.Array, ...]]:
    """The program as a function of a dict, its symbols replaced by those of JAX."""
    there = replace(options, platform=platform)
    run = jax_function(body.with_ops(lambda op: _with_dims(op, to_jax_dim)), there)
    names = [declared.name for declared in program.inputs]

    def tenferro_program(arrays: dict[str, Any]) -> tuple[jax.Array, ...]:
        return run(*(arrays[name] for name in names))

    return tenferro_program


def _with_dims(op: ExecOp, to_jax_dim: ToJaxDim) -> Any:
    """The op with sizes of JAX in its payload; it can only be lowered."""
    if not op.symbols():
        return op
    clone = copy.copy(op)
    for field in op.payload_fields():
        object.__setattr__(clone, field, _replaced(getattr(op, field), to_jax_dim))
    return clone


def _replaced(value: Any, to_jax_dim: ToJaxDim) -> Any:
    match value:
        case DimExpr() if all(isinstance(leaf, SymDim) for leaf in value.leaves()):
            return to_jax_dim(value)
        case tuple():
            return tuple(_replaced(item, to_jax_dim) for item in value)
        case ExecProgram():
            return value.with_ops(lambda op: _with_dims(op, to_jax_dim))
        case _:
            return value


def _constraints(program: GraphProgram, body: ExecProgram) -> list[str]:
    """The assumptions of a program in JAX's notation.

    For JAX `min(n, 3)` and `min(3, n)` are two sizes, and its own functions write both.
    """
    guards = [_constraint(guard) for guard in program.guards]
    sizes = {
        size
        for part in body.walk()
        for meta in part.slot_metas()
        if meta
        for size in meta.dims or ()
    }
    swapped = {
        (_in_jax(SizeFunction(call.name, (a, b))), _in_jax(SizeFunction(call.name, (b, a))))
        for size in sizes
        for call in calls(size)
        if call.name != "floordiv" and len(call.args) == 2
        for a, b in [sorted(call.args, key=str)]
    }
    return [*guards, *(f"{one} == {other}" for one, other in sorted(swapped))]


def _constraint(guard: Guard) -> str:
    """An assumption in JAX's notation; JAX would not terminate on `n == 2*floordiv(n, 2)`."""
    for size, parts in ((guard.left, guard.right), (guard.right, guard.left)):
        multiple = _MULTIPLE.match(str(parts))
        if multiple and parts == int(multiple[1]) * (size // int(multiple[1])):
            return f"mod({_in_jax(size)}, {multiple[1]}) == 0"
    return f"{_in_jax(guard.left)} == {_in_jax(guard.right)}"


def _to_jax_dim(scope: jax.export.SymbolicScope) -> ToJaxDim:
    """Converts sizes to those of JAX, through their text."""

    def convert(size: Dim) -> Any:
        if isinstance(size, int):
            return size
        (converted,) = jax.export.symbolic_shape(_in_jax(size), scope=scope)
        return converted

    return convert


def _in_jax(size: Dim | Atom) -> str:
    """The text that JAX reads: no sign before a name, and calls of two arguments."""
    match size:
        case DimExpr():
            terms = ("*".join([str(factor), *map(_in_jax, atoms)]) for atoms, factor in size.terms)
            return " + ".join(terms)
        case SizeFunction():
            return reduce(lambda a, b: f"{size.name}({a}, {b})", map(_in_jax, size.args))
        case _:
            return str(size)


def _inputs(exported: jax.export.Exported) -> list[tuple[str, TensorMeta]]:
    metas = [_meta(aval) for aval in exported.in_avals]
    args, kwargs = jax.tree_util.tree_unflatten(exported.in_tree, metas)
    if kwargs or len(args) != 1 or not isinstance(args[0], dict):
        raise ExecutorError(
            f"load_exported: the artifact takes {exported.in_tree}, not one dict of arrays by name"
        )
    return [(str(name), meta) for name, meta in args[0].items()]


def _meta(aval: Any) -> TensorMeta:
    sizes = [
        size if isinstance(size, int) else dim(str(size).replace("^", "**")) for size in aval.shape
    ]
    return TensorMeta.of(np.dtype(aval.dtype), sizes)


def _signature(inputs: Sequence[tuple[str, TensorMeta]]) -> GraphProgram:
    """An empty program with these inputs, to check bindings against."""
    declared = tuple(ProgramInput(name, meta, fresh_input(meta, name)) for name, meta in inputs)
    slots = tuple(range(len(inputs)))
    metas = tuple(meta for _, meta in inputs)
    return GraphProgram(ExecProgram((), slots, metas, (), len(inputs)), declared)


def _needs_flatbuffers(name: str) -> ExecutorError:
    return ExecutorError(
        f"{name}: artifacts need the package flatbuffers; install tenferro[export]"
    )


def _first_line(error: Exception) -> str:
    """The first line of what an error says, without what further lines would explain, and without
    advice that is not for artifacts."""
    lines = str(error).splitlines()
    line = lines[0] if lines else type(error).__name__
    line = line.removesuffix(f"; {ELSEWHERE}")
    return line.rpartition(". ")[0] if line.endswith(":") and ". " in line else line
