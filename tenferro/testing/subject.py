"""An op with its inputs, what its package registers, and its functions as graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenferro.compiler import OptimizerOptions
from tenferro.core import ResolvedView, resolve_keys
from tenferro.errors import ConfigError, TenferroError
from tenferro.ir import (
    Leaf,
    NumpyArray,
    TensorMeta,
    TensorSpec,
    dtype_kind,
    float_limits,
    is_inexact,
    make_meta,
    symbol,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.extension import (
    Extension,
    ExtensionOp,
    ExtensionRegistry,
    ExtensionRuleSet,
    KernelRuntime,
    Register,
    ReverseOnlyOp,
)
from tenferro.runtime import GraphExecutor, GraphProgram, NumpyBackend
from tenferro.serialization import PayloadCodecs
from tenferro.transforms import AdContext, EagerRuntime, GraphCompiler, TracedTensor, apply

STEP = 1e-5


@dataclass(frozen=True)
class TracedGraph:
    """Traced tensors as a function of others. An output None is a symbolic zero."""

    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor | None, ...]
    ad: AdContext

    @property
    def live(self) -> list[TracedTensor]:
        """The outputs that are not symbolic zeros."""
        return [output for output in self.outputs if output is not None]

    def jvp(self, wrt: Sequence[int], seeded: Sequence[bool] | None = None) -> TracedGraph:
        """Tangents of the outputs; further inputs are the tangents of the inputs `wrt`.

        Where `seeded` is False the tangent is a symbolic zero, and no input.
        """
        active = [self.inputs[i] for i in wrt]
        seeds = _seeds(active, seeded)
        pushed = iter(self.ad.jvp_optional(self.live, active, seeds))
        outputs = tuple([None if out is None else next(pushed) for out in self.outputs])
        return TracedGraph((*self.inputs, *_present(seeds)), outputs, self.ad)

    def vjp(self, wrt: Sequence[int], seeded: Sequence[bool] | None = None) -> TracedGraph:
        """Cotangents of the inputs `wrt`; further inputs are those of the outputs.

        Where `seeded`, one for each output, is False the cotangent is a symbolic zero, no input.
        """
        mask = [
            out is not None and is_inexact(out.meta.dtype) and (seeded is None or seeded[i])
            for i, out in enumerate(self.outputs)
        ]
        smooth = [flag for flag, out in zip(mask, self.outputs, strict=True) if out is not None]
        seeds = _seeds(self.live, smooth)
        active = [self.inputs[i] for i in wrt]
        pulled = self.ad.vjp_optional(self.live, active, seeds)
        return TracedGraph((*self.inputs, *_present(seeds)), tuple(pulled), self.ad)

    def metas(self) -> list[TensorMeta | None]:
        """What the graph infers of each output."""
        return [None if output is None else output.meta for output in self.outputs]

    def program(self, options: OptimizerOptions | None = None) -> GraphProgram:
        """The program of the outputs that are not symbolic zeros."""
        return GraphCompiler(options).compile(self.live, inputs=self.inputs)

    def __call__(self, *arrays: NumpyArray) -> list[NumpyArray | None]:
        """The outputs by the reference meaning of all ops, without any pass."""
        if not self.live:
            return [None] * len(self.outputs)
        program = self.program(OptimizerOptions.none())
        executor = GraphExecutor(NumpyBackend())
        executor.register_extension(lambda registry: register_references(registry, program))
        return self.run(executor, arrays, program)

    def run(
        self, executor: Any, arrays: Sequence[NumpyArray], program: GraphProgram | None = None
    ) -> list[NumpyArray | None]:
        """The outputs on an executor."""
        if not self.live:
            return [None] * len(self.outputs)
        program = self.program() if program is None else program
        results = iter(executor.run(program, dict(zip(self.inputs, arrays, strict=True))))
        return [None if out is None else np.asarray(next(results)) for out in self.outputs]

    def extensions(self) -> list[ExtensionOp]:
        """The extension ops that the outputs need."""
        ops, _ = everything().topo_order([output.key for output in self.live])
        return [op.primitive.op for op in ops if isinstance(op.primitive, Extension)]

    def reaches(self, output: TracedTensor, sources: Sequence[TracedTensor]) -> bool:
        """Whether an output depends on any of the sources."""
        _, reached = everything().topo_order([output.key])
        return any(source.key in reached for source in sources)


def register_references(registry: ExtensionRegistry, program: GraphProgram) -> None:
    """Give each family of a program its reference runtime."""
    for part in program.exec_program.walk():
        for op in part.ops_of(Extension):
            registry.register(KernelRuntime(op.family_id))


def traced_inputs(metas: Sequence[TensorMeta], name: str) -> list[TracedTensor]:
    """New inputs of the given types."""
    return [
        TracedTensor.input(meta.exact_shape(), meta.dtype, name=f"{name}{i}")
        for i, meta in enumerate(metas)
    ]


def central(
    function: Callable[..., Sequence[NumpyArray | None]],
    arrays: Sequence[NumpyArray],
    wrt: Sequence[int],
    directions: Sequence[NumpyArray],
    step: float,
) -> list[NumpyArray | None]:
    """The central difference of each output; None of one that is None or not floating-point."""

    def at(sign: float) -> Sequence[NumpyArray | None]:
        moved = list(arrays)
        for i, direction in zip(wrt, directions, strict=True):
            moved[i] = (arrays[i] + sign * step * direction).astype(arrays[i].dtype)
        return function(*moved)

    return [
        None
        if ahead is None or behind is None or dtype_kind(ahead.dtype) not in "fc"
        else np.asarray((ahead - behind) / (2 * step))
        for ahead, behind in zip(at(1.0), at(-1.0), strict=True)
    ]


def directions(arrays: Sequence[NumpyArray], seed: int) -> list[NumpyArray]:
    """Random arrays of the types of others, complex where those are."""
    rng = np.random.default_rng(seed)
    result = []
    for array in arrays:
        values: Any = rng.uniform(-1, 1, array.shape)
        if dtype_kind(array.dtype) == "c":
            values = values + 1j * rng.uniform(-1, 1, array.shape)
        result.append(np.asarray(values).astype(array.dtype))
    return result


def difference(
    actual: NumpyArray | None, expected: NumpyArray | None, tolerance: float
) -> str | None:
    """What is different between two arrays, None being zeros; None if nothing is."""
    if actual is None and expected is None:
        return None
    here = np.zeros_like(expected) if actual is None else np.asarray(actual)
    there = np.zeros_like(here) if expected is None else np.asarray(expected)
    if here.shape != there.shape:
        return f"has shape {list(here.shape)}, expected {list(there.shape)}"
    finite = np.abs(there[np.isfinite(there)])
    scale = max(1.0, float(finite.max(initial=0)))
    if np.allclose(here, there, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        return None
    wrong = ~np.isclose(here, there, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    got, wanted = here[where].item(), there[where].item()
    return f"is {got:.6g} at {list(where)}, expected {wanted:.6g}"


def rounding(*arrays: NumpyArray | None) -> float:
    """The tolerance for two ways to compute one thing."""
    kinds = [
        array.dtype for array in arrays if array is not None and dtype_kind(array.dtype) in "fc"
    ]
    return 200 * max([float(float_limits(dtype).eps) for dtype in kinds], default=0.0)


def inner(a: NumpyArray | None, b: NumpyArray | None) -> float:
    """Re(conj(a)·b), where None is zero."""
    return 0.0 if a is None or b is None else float(np.real(np.vdot(a, b)))


def everything() -> ResolvedView[StdTensorOp]:
    """A view in which every value is its own definition."""
    return resolve_keys()


def _seeds(
    like: Sequence[TracedTensor], seeded: Sequence[bool] | None
) -> list[TracedTensor | None]:
    flags = [True] * len(like) if seeded is None else seeded
    fresh = traced_inputs([tensor.meta for tensor in like], "seed")
    return [seed if flag else None for seed, flag in zip(fresh, flags, strict=True)]


def _present(seeds: Sequence[TracedTensor | None]) -> list[TracedTensor]:
    return [seed for seed in seeds if seed is not None]


DOUBLE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


@dataclass(frozen=True)
class FamilySubject:
    """An op of a family, and all that is known of the family.

    Attributes:
        op: the op.
        arrays: inputs for it.
        symbolic: the types of the inputs with names for sizes.
        equal: an op with an equal payload, made apart.
        different: ops of the family with other payloads.
        rules: derivative rules and batch rules; None if the family has neither.
        register_runtime: registers the runtimes on a native executor.
        register_xla: registers lowerings on an XLA executor.
        codecs: make ops from the payloads in files.
        terminal: families that are documented to end differentiation.
        wrt: the inputs to differentiate by.
        tolerance: of derivatives against differences in double precision.
        identity: the identity of the op before any check ran.
        without_jvp: whether forward mode is not to be run.
    """

    op: ExtensionOp
    arrays: tuple[NumpyArray, ...]
    symbolic: tuple[TensorMeta, ...]
    equal: ExtensionOp
    different: tuple[ExtensionOp, ...]
    rules: ExtensionRuleSet | None
    register_runtime: Register | None
    register_xla: Callable[[Any], object] | None
    codecs: PayloadCodecs | None
    terminal: frozenset[str]
    wrt: tuple[int, ...]
    tolerance: float
    identity: bytes | None
    without_jvp: bool = False

    @cached_property
    def carrier(self) -> Extension:
        """The op as an op of graphs."""
        return Extension(self.op)

    @cached_property
    def metas(self) -> tuple[TensorMeta, ...]:
        """The types of the inputs."""
        return metas_of(self.arrays)

    @cached_property
    def sizes(self) -> dict[Leaf, int]:
        """What the names in `symbolic` stand for."""
        sizes: dict[Leaf, int] = {}
        for meta, array in zip(self.symbolic, self.arrays, strict=True):
            for size, extent in zip(meta.exact_shape(), array.shape, strict=True):
                sizes |= {leaf: extent for leaf in meta.symbols() if size == symbol(leaf)}
        return sizes

    @cached_property
    def is_total(self) -> bool:
        """Whether types are inferred for symbolic sizes, and are the right ones."""
        try:
            inferred = self.carrier.infer_all(self.symbolic)
        except TenferroError:
            return False
        expected = self.carrier.infer_all(self.metas)
        return [meta.bind(self.sizes) for meta in inferred] == list(expected)

    @cached_property
    def expected(self) -> tuple[NumpyArray, ...]:
        """The outputs by `eager_execute`, which is not to be judged any more."""
        with np.errstate(all="ignore"):
            results = self.carrier.evaluate(self.arrays)
        return tuple([np.asarray(result) for result in results])

    @cached_property
    def ad(self) -> AdContext:
        """Takes derivatives with the family's rules."""
        rules = ExtensionRuleSet() if self.rules is None else self.rules
        return AdContext.builder().with_extension_rules(rules).build()

    @cached_property
    def function(self) -> TracedGraph:
        """One application of the op to inputs of the types of `smooth`."""
        return self.applied(metas_of(self.smooth))

    @cached_property
    def reverse_only(self) -> bool:
        """Whether derivatives are taken in reverse mode alone."""
        if self.without_jvp:
            return True
        emitted = self.function.jvp(self.wrt).extensions()
        return any(isinstance(op, ReverseOnlyOp) for op in emitted)

    @cached_property
    def smooth(self) -> tuple[NumpyArray, ...]:
        """The inputs in double precision, if the op takes them; where differences are taken."""
        wide = [
            array.astype(DOUBLE.get(dtype_kind(array.dtype), array.dtype)) for array in self.arrays
        ]
        try:
            with np.errstate(all="ignore"):
                results = self.carrier.evaluate(wide)
        except TenferroError:
            return self.arrays
        is_wide = all(
            result.dtype == DOUBLE.get(dtype_kind(result.dtype), result.dtype) for result in results
        )
        return tuple(wide) if is_wide else self.arrays

    @property
    def runs_on_xla(self) -> bool:
        """Whether the family says that it has a lowering or a standard-op form."""
        own = type(self.op).lower_to_standard_ops
        return self.register_xla is not None or own is not ExtensionOp.lower_to_standard_ops

    @property
    def step(self) -> float:
        """The step of differences."""
        return STEP if self._is_double else 1e-2

    @property
    def closeness(self) -> float:
        """The tolerance of differences."""
        return self.tolerance if self._is_double else max(self.tolerance, 2e-2)

    @property
    def _is_double(self) -> bool:
        return all(
            array.dtype == DOUBLE.get(dtype_kind(array.dtype), array.dtype) for array in self.smooth
        )

    def applied(self, metas: Sequence[TensorMeta], op: ExtensionOp | None = None) -> TracedGraph:
        """One application of the op, or of another, to inputs of some types."""
        inputs = traced_inputs(metas, "x")
        result = apply(self.op if op is None else op, *inputs)
        outputs = result if isinstance(result, tuple) else (result,)
        return TracedGraph(tuple(inputs), outputs, self.ad)

    def executor(self) -> GraphExecutor:
        """A native executor with the package's runtimes."""
        executor = GraphExecutor(NumpyBackend())
        if self.register_runtime is not None:
            executor.register_extension(self.register_runtime)
        return executor

    def eager_runtime(self) -> EagerRuntime:
        """An eager runtime with the package's runtimes and rules."""
        runtime = EagerRuntime(GraphExecutor(NumpyBackend()), ad_context=self.ad)
        if self.register_runtime is not None:
            runtime.register_extension(self.register_runtime)
        return runtime


def metas_of(arrays: Sequence[NumpyArray]) -> tuple[TensorMeta, ...]:
    """The types of arrays."""
    return tuple([make_meta(array.dtype, array.shape) for array in arrays])


def some_arrays(specs: Sequence[TensorSpec]) -> list[NumpyArray]:
    """Random arrays of some types; a size that is a name is 2, 3, ... in order of appearance."""
    rng = np.random.default_rng(0)
    sizes: dict[Leaf, int] = {}
    arrays = []
    for meta in [spec.meta for spec in specs]:
        for leaf in sorted(meta.symbols() - sizes.keys(), key=str):
            sizes[leaf] = len(sizes) + 2
        shape = meta.bind(sizes).static_shape
        if shape is None:
            raise ConfigError(f"check_extension: {meta} has sizes that are not names or numbers")
        arrays.append(_random(rng, shape, meta.dtype))
    return arrays


def named(arrays: Sequence[NumpyArray]) -> list[TensorMeta]:
    """The types of arrays, with one name for all extents of one size above 1."""
    return [
        TensorMeta.of(array.dtype, [f"n{k}" if k > 1 else k for k in array.shape])
        for array in arrays
    ]


def active(arrays: Sequence[NumpyArray]) -> tuple[int, ...]:
    """The positions of floating-point and complex arrays."""
    return tuple([i for i, array in enumerate(arrays) if is_inexact(array.dtype)])


def strict(op: ExtensionOp) -> ExtensionOp:
    """The same op, except that `eager_execute` is an error: for executors that may not use it."""

    def refuse(self: ExtensionOp, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        raise AssertionError("eager_execute is called on the way to XLA")

    cls = type(op)
    double = copy.copy(op)
    try:
        stands_for = {"FAMILY_ID": getattr(cls, "FAMILY_ID", ""), "__slots__": ()}
        kind = type(cls.__name__, (cls,), {"eager_execute": refuse, **stands_for})
        object.__setattr__(double, "__class__", kind)
    except TypeError:  # a class that cannot be derived from
        return op
    return double


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NumpyArray:
    if dtype_kind(dtype) in "fc":
        values: Any = rng.uniform(-1.5, 1.5, shape)
        if dtype_kind(dtype) == "c":
            values = values + 1j * rng.uniform(-1.5, 1.5, shape)
    else:
        values = rng.integers(0, 2 if dtype_kind(dtype) == "b" else 4, shape)
    return np.asarray(values).astype(dtype)
