"""What is checked: an op with its inputs, and what its package registers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, TenferroError
from tenferro.ir import Leaf, NumpyArray, TensorMeta, TensorSpec, is_inexact, make_meta, symbol
from tenferro.ops.extension import Extension, ExtensionOp, ExtensionRuleSet, Register, ReverseOnlyOp
from tenferro.runtime import GraphExecutor, NumpyBackend
from tenferro.serialization import PayloadCodecs
from tenferro.testing.reference import STEP, GraphFunction, traced_inputs
from tenferro.transforms import AdContext, EagerRuntime, apply

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
        found: dict[Leaf, int] = {}
        for meta, array in zip(self.symbolic, self.arrays, strict=True):
            for size, extent in zip(meta.exact_shape(), array.shape, strict=True):
                found |= {leaf: extent for leaf in meta.symbols() if size == symbol(leaf)}
        return found

    @cached_property
    def is_total(self) -> bool:
        """Whether types are inferred for symbolic sizes, and are the right ones."""
        try:
            found = self.carrier.infer_all(self.symbolic)
        except TenferroError:
            return False
        expected = self.carrier.infer_all(self.metas)
        return [meta.bind(self.sizes) for meta in found] == list(expected)

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
    def function(self) -> GraphFunction:
        """One application of the op to inputs of the types of `smooth`."""
        return self.applied(metas_of(self.smooth))

    @cached_property
    def reverse_only(self) -> bool:
        """Whether derivatives are taken in reverse mode alone."""
        if self.without_jvp:
            return True
        met = self.function.jvp(self.wrt).extensions()
        return any(isinstance(op, ReverseOnlyOp) for op in met)

    @cached_property
    def smooth(self) -> tuple[NumpyArray, ...]:
        """The inputs in double precision, if the op takes them; where differences are taken."""
        wide = [array.astype(DOUBLE.get(array.dtype.kind, array.dtype)) for array in self.arrays]
        try:
            with np.errstate(all="ignore"):
                results = self.carrier.evaluate(wide)
        except TenferroError:
            return self.arrays
        is_wide = all(
            result.dtype == DOUBLE.get(result.dtype.kind, result.dtype) for result in results
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
            array.dtype == DOUBLE.get(array.dtype.kind, array.dtype) for array in self.smooth
        )

    def applied(self, metas: Sequence[TensorMeta], op: ExtensionOp | None = None) -> GraphFunction:
        """One application of the op, or of another, to inputs of some types."""
        inputs = traced_inputs(metas, "x")
        result = apply(self.op if op is None else op, *inputs)
        outputs = result if isinstance(result, tuple) else (result,)
        return GraphFunction(tuple(inputs), outputs, self.ad)

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
    if dtype.kind in "fc":
        values: Any = rng.uniform(-1.5, 1.5, shape)
        if dtype.kind == "c":
            values = values + 1j * rng.uniform(-1.5, 1.5, shape)
    else:
        values = rng.integers(0, 2 if dtype.kind == "b" else 4, shape)
    return np.asarray(values).astype(dtype)
