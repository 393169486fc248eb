"""Functions as graphs of tensor ops: built, differentiated, transposed, and run on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.core import (
    FragmentBuilder,
    FragmentEmitter,
    GlobalValKey,
    ResolvedView,
    compile_graph,
    differentiate,
    materialize_merge,
    resolve,
    transpose,
)
from tenferro.ops import StdTensorOp, meta_of, shape_context
from tenferro.shape import Exact, Leaf, TensorInput, TensorMeta, implies, symbol

Array = np.ndarray[Any, Any]
CTX = shape_context()


@dataclass(frozen=True)
class Function:
    """Values of a graph as a function of its inputs. An output None is a symbolic zero."""

    view: ResolvedView[Any]
    inputs: tuple[GlobalValKey, ...]
    outputs: tuple[GlobalValKey | None, ...]

    def __call__(self, *arrays: Array) -> list[Array | None]:
        """The outputs on arrays, one for each input; symbols are bound by the arrays' shapes."""
        given = dict(zip(self.inputs, arrays, strict=True))
        live = [key for key in self.outputs if key is not None]
        results = iter(run(self.view, live, given))
        return [None if key is None else next(results) for key in self.outputs]

    def jvp(self, wrt: Sequence[int]) -> Function:
        """Tangents of the outputs; the inputs are those of this function, then the tangents."""
        linear = differentiate(self.view, self._live(), [self.inputs[i] for i in wrt], ctx=CTX)
        return Function(
            resolve([*self.view.roots, linear.fragment]),
            (*self.inputs, *linear.input_keys),
            linear.output_keys,
        )

    def vjp(self, wrt: Sequence[int]) -> Function:
        """Cotangents of the inputs `wrt`; the inputs are those of this function, then the seeds."""
        linear = differentiate(self.view, self._live(), [self.inputs[i] for i in wrt], ctx=CTX)
        reverse = transpose(linear, ctx=CTX)
        return Function(
            resolve([*self.view.roots, linear.fragment, reverse.fragment]),
            (*self.inputs, *reverse.input_keys),
            reverse.output_keys,
        )

    def metas(self) -> list[TensorMeta | None]:
        """What the graph infers of each output."""
        return [None if key is None else CTX.meta(key) for key in self.outputs]

    def ops(self) -> list[StdTensorOp]:
        """The ops that the outputs need."""
        live = [key for key in self.outputs if key is not None]
        return [op.primitive for op in materialize_merge(self.view, live).ops]  # type: ignore[misc]

    def _live(self) -> list[GlobalValKey]:
        assert None not in self.outputs, "a symbolic zero has no derivative"
        return [key for key in self.outputs if key is not None]


def function(op: StdTensorOp, metas: Iterable[TensorMeta], output: int = 0) -> Function:
    """One output of one application of an op, exactly as given."""
    builder: FragmentBuilder[Any] = FragmentBuilder()
    inputs = [builder.input(TensorInput(f"x{i}", meta)) for i, meta in enumerate(metas)]
    outputs = builder.add(op, inputs)
    for value in outputs:
        CTX.meta(value)
    chosen = outputs[output : output + 1]
    return Function(resolve([builder.build(chosen)]), tuple(inputs), chosen)


def traced(f: Callable[..., Any], *metas: TensorMeta) -> Function:
    """The function that `f(emit, *inputs)` writes with `emit(op, *operands)`, which folds."""
    builder: FragmentBuilder[Any] = FragmentBuilder()
    inputs = [builder.input(TensorInput(f"x{i}", meta)) for i, meta in enumerate(metas)]
    output = f(FragmentEmitter(builder, CTX).emit, *inputs)
    return Function(resolve([builder.build([output])]), tuple(inputs), (output,))


def run(
    view: ResolvedView[Any], outputs: Sequence[GlobalValKey], values: dict[GlobalValKey, Array]
) -> list[Array]:
    """Materialize, compile, bind and evaluate, in silence about what floating point does."""
    graph = materialize_merge(view, outputs)
    program = compile_graph(graph)
    arrays = [values[key] for key in graph.inputs]
    sizes: dict[Leaf, int] = {}
    for key, array in values.items():
        sizes |= bound(CTX.meta(key), array)
    slots: list[Any] = [None] * program.n_slots
    for slot, array in zip(program.input_slots, arrays, strict=True):
        slots[slot] = array
    with np.errstate(all="ignore"):
        for step in program.instructions:
            results = step.op.bind(sizes).evaluate([slots[slot] for slot in step.inputs])
            for slot, result in zip(step.outputs, results, strict=True):
                slots[slot] = result
    return [slots[slot] for slot in program.output_slots]


def bound(meta: TensorMeta, array: Array) -> dict[Leaf, int]:
    """The sizes of the symbols that stand alone as an exact extent of `meta`."""
    extents = {
        extent.dim: size
        for extent, size in zip(meta.extents, array.shape, strict=True)
        if isinstance(extent, Exact)
    }
    return {leaf: extents[symbol(leaf)] for leaf in meta.symbols() if symbol(leaf) in extents}


def fits(meta: TensorMeta | None, array: Array) -> bool:
    """Whether an array is of a type, of which sizes that data decide are bounded only."""
    return (
        meta is not None
        and (meta.dtype, meta.rank) == (array.dtype, array.ndim)
        and all(map(implies, meta_of(array).extents, meta.extents))
    )


def metas_of(arrays: Iterable[Array]) -> list[TensorMeta]:
    """The types of arrays."""
    return [meta_of(array) for array in arrays]


def inner(a: Array | None, b: Array | None) -> float:
    """Re(conj(a)·b), where None is zero."""
    return 0.0 if a is None or b is None else float(np.real(np.vdot(a, b)))


def central(f: Callable[..., Array], arrays: Sequence[Array], steps: Sequence[Array]) -> Array:
    """The central difference of `f` at `arrays` along `steps`."""
    h = 1e-5
    ahead = f(*[x + h * step for x, step in zip(arrays, steps, strict=True)])
    behind = f(*[x - h * step for x, step in zip(arrays, steps, strict=True)])
    numbers = np.result_type(ahead, np.int8)  # booleans have no difference
    return np.asarray((ahead.astype(numbers) - behind.astype(numbers)) / (2 * h))


def evaluated(op: StdTensorOp, *arrays: Any) -> Array:
    """The op's value on arrays or numbers."""
    given = [np.asarray(array) for array in arrays]
    (result,) = function(op, metas_of(given))(*given)
    assert result is not None
    return np.asarray(result)


def gradients(op: StdTensorOp, *arrays: Any, wrt: Sequence[int] = (0,)) -> list[Array]:
    """The gradient of the sum of an op's real result; zeros where it is symbolically zero."""
    given = [np.asarray(array) for array in arrays]
    f = function(op, metas_of(given))
    if f.jvp(wrt).outputs == (None,):
        return [np.zeros_like(given[i]) for i in wrt]
    cts = f.vjp(wrt)(*given, np.ones_like(f(*given)[0]))
    return [
        np.zeros_like(given[i]) if ct is None else np.asarray(ct)
        for i, ct in zip(wrt, cts, strict=True)
    ]


def hessian(op: StdTensorOp, x: Array) -> Array:
    """Second derivatives of a scalar op of one vector, one row after the other."""
    gradient = function(op, metas_of([x])).vjp([0])
    if gradient.jvp([0]).outputs == (None,):
        return np.zeros((x.size, x.size))
    again = gradient.vjp([0])
    seed = np.ones((), x.dtype)
    rows = [again(x, seed, row)[0] for row in np.eye(x.size, dtype=x.dtype)]
    return np.asarray([np.zeros_like(x) if row is None else row for row in rows])
