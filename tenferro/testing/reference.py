"""Functions as graphs, run by the reference meaning of their ops or on an executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.compiler import OptimizerOptions
from tenferro.core import ResolvedView, resolve_keys
from tenferro.ir import NumpyArray, TensorMeta, is_inexact
from tenferro.ops import StdTensorOp
from tenferro.ops.extension import Extension, ExtensionCache, ExtensionOp, ExtensionRegistry
from tenferro.runtime import GraphExecutor, GraphProgram, NumpyBackend
from tenferro.transforms import AdContext, GraphCompiler, TracedTensor

STEP = 1e-5


@dataclass(frozen=True)
class GraphFunction:
    """Traced tensors as a function of others. An output None is a symbolic zero."""

    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor | None, ...]
    ad: AdContext

    @property
    def live(self) -> list[TracedTensor]:
        """The outputs that are not symbolic zeros."""
        return [output for output in self.outputs if output is not None]

    def jvp(self, wrt: Sequence[int], given: Sequence[bool] | None = None) -> GraphFunction:
        """Tangents of the outputs; further inputs are the tangents of the inputs `wrt`.

        Where `given` is False the tangent is a symbolic zero, and no input.
        """
        active = [self.inputs[i] for i in wrt]
        seeds = _seeds(active, given)
        pushed = iter(self.ad.jvp_optional(self.live, active, seeds))
        outputs = tuple([None if out is None else next(pushed) for out in self.outputs])
        return GraphFunction((*self.inputs, *_present(seeds)), outputs, self.ad)

    def vjp(self, wrt: Sequence[int], given: Sequence[bool] | None = None) -> GraphFunction:
        """Cotangents of the inputs `wrt`; further inputs are those of the outputs.

        Where `given`, one for each output, is False the cotangent is a symbolic zero, and no input.
        """
        mask = [
            out is not None and is_inexact(out.meta.dtype) and (given is None or given[i])
            for i, out in enumerate(self.outputs)
        ]
        smooth = [flag for flag, out in zip(mask, self.outputs, strict=True) if out is not None]
        seeds = _seeds(self.live, smooth)
        active = [self.inputs[i] for i in wrt]
        pulled = self.ad.vjp_optional(self.live, active, seeds)
        return GraphFunction((*self.inputs, *_present(seeds)), tuple(pulled), self.ad)

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
        _, met = everything().topo_order([output.key])
        return any(source.key in met for source in sources)


class ReferenceRuntime:
    """Runs a family by `eager_execute`."""

    def __init__(self, family_id: str) -> None:
        self.family_id = family_id

    def execute(
        self, backend: Any, op: ExtensionOp, inputs: Sequence[NumpyArray], cache: ExtensionCache
    ) -> Sequence[NumpyArray]:
        """The outputs of `op`."""
        return op.eager_execute(inputs)


def register_references(registry: ExtensionRegistry, program: GraphProgram) -> None:
    """Give each family of a program its reference runtime."""
    for part in program.exec_program.walk():
        for op in part.ops_of(Extension):
            registry.register(ReferenceRuntime(op.family_id))


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
        if ahead is None or behind is None or ahead.dtype.kind not in "fc"
        else np.asarray((ahead - behind) / (2 * step))
        for ahead, behind in zip(at(1.0), at(-1.0), strict=True)
    ]


def directions(arrays: Sequence[NumpyArray], seed: int) -> list[NumpyArray]:
    """Random arrays of the types of others, complex where those are."""
    rng = np.random.default_rng(seed)
    result = []
    for array in arrays:
        values: Any = rng.uniform(-1, 1, array.shape)
        if array.dtype.kind == "c":
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
    kinds = [array.dtype for array in arrays if array is not None and array.dtype.kind in "fc"]
    return 200 * max([float(np.finfo(dtype).eps) for dtype in kinds], default=0.0)


def inner(a: NumpyArray | None, b: NumpyArray | None) -> float:
    """Re(conj(a)·b), where None is zero."""
    return 0.0 if a is None or b is None else float(np.real(np.vdot(a, b)))


def everything() -> ResolvedView[StdTensorOp]:
    """A view in which every value is its own definition."""
    return resolve_keys()


def _seeds(like: Sequence[TracedTensor], given: Sequence[bool] | None) -> list[TracedTensor | None]:
    flags = [True] * len(like) if given is None else given
    fresh = traced_inputs([tensor.meta for tensor in like], "seed")
    return [seed if flag else None for seed, flag in zip(fresh, flags, strict=True)]


def _present(seeds: Sequence[TracedTensor | None]) -> list[TracedTensor]:
    return [seed for seed in seeds if seed is not None]
