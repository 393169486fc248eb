"""The arity of an extension op, the types that it infers, and sizes that data decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import cast

import numpy as np

from tenferro.errors import (
    InvalidConfigError,
    TenferroError,
    UnsupportedDynamicShapeError,
    class_of,
    counted,
)
from tenferro.ir import (
    AnyTensor,
    DimExpr,
    Exact,
    Leaf,
    NumpyArray,
    ShapeExtent,
    TensorMeta,
    Unknown,
    UpperBound,
    implies,
    is_inexact,
    leaves,
    make_meta,
    symbol,
)
from tenferro.ops.functions.elementwise import real
from tenferro.ops.functions.manipulation import dynamic_truncate
from tenferro.ops.functions.reductions import sum
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import (
    FamilySubject,
    TracedGraph,
    difference,
    metas_of,
    rounding,
    traced_inputs,
)
from tenferro.transforms import TracedTensor, apply

# Arity, and inference of types: sections 6 and 7 of the contract.


def _arity(subject: FamilySubject) -> Findings:
    op = subject.op
    for name in ("input_count", "output_count"):
        count = getattr(op, name)
        if type(count) is not int or count < 0:
            yield f"{name} is {count!r}, not a number"
        elif count != getattr(op, name) or count != getattr(subject.equal, name):
            yield f"{name} is not the same for equal ops"
    if op.input_count != len(subject.arrays):
        yield f"input_count is {op.input_count}, but {len(subject.arrays)} inputs are given"


def _accepts(subject: FamilySubject) -> Findings:
    first, second = (subject.carrier.infer_all(subject.metas) for _ in range(2))
    if first != second:
        yield f"gives {_list(first)}, and {_list(second)} when asked again"


def _symbolic(subject: FamilySubject) -> Findings:
    try:
        inferred = subject.carrier.infer_all(subject.symbolic)
    except InvalidConfigError:
        raise
    except TenferroError as error:
        yield (
            f"refuses {_list(subject.symbolic)}: {error}; if some of these sizes must be numbers, "
            "or equal, say so with symbolic_shapes="
        )
        return
    expected = subject.carrier.infer_all(subject.metas)
    bound = [meta.bind(subject.sizes) for meta in inferred]
    if bound != list(expected):
        yield (
            f"gives {_list(inferred)} for {_list(subject.symbolic)}, which is {_list(bound)} for "
            f"the sizes given, but {_list(expected)} for {_list(subject.metas)}"
        )


def _sizes(subject: FamilySubject) -> Findings:
    """The types inferred for symbols hold when these stand for other numbers, and results agree."""
    inferred = subject.carrier.infer_all(subject.symbolic)
    for sizes in _other_bindings(subject.sizes):
        metas = [meta.bind(sizes) for meta in subject.symbolic]
        try:
            expected = subject.carrier.infer_all(metas)
        except InvalidConfigError as error:
            yield f"{error}"
            continue
        except TenferroError as error:
            yield Note(f"{_list(metas)} is refused: {error}")
            continue
        bound = [meta.bind(sizes) for meta in inferred]
        if bound != list(expected):
            yield f"gives {_list(expected)} for {_list(metas)}, but {_list(bound)} symbolically"
            return
        for finding in _runs(subject, metas, expected):
            yield finding
            if isinstance(finding, str):
                return


def _runs(
    subject: FamilySubject, metas: Sequence[TensorMeta], expected: Sequence[TensorMeta]
) -> Iterator[str | Note]:
    """Whether results of other sizes are as inferred."""
    arrays = [_resized(array, meta) for array, meta in zip(subject.arrays, metas, strict=True)]
    try:
        with np.errstate(all="ignore"):
            results = subject.op.eager_execute(arrays)
        subject.carrier.checked_results(expected, results)
    except InvalidConfigError as error:
        yield f"on {_list(metas)}: {error}"
    except Exception as error:  # the author's code may raise anything
        text = f"eager_execute on {_list(metas)}: {type(error).__name__}: {error}"
        empty = any(array.size == 0 for array in arrays)
        yield text if empty else Note(text)


def _guarantees(subject: FamilySubject) -> Findings:
    """Weaken one extent at a time; what is said of the outputs must hold for any true size."""
    for position, meta in enumerate(subject.metas):
        for axis, extent in enumerate(meta.extents):
            assert isinstance(extent, Exact)
            assert isinstance(extent.dim, int)
            for weak in (UpperBound(extent.dim + 2), Unknown()):
                yield from _weakened(subject, position, axis, weak)


def _weakened(
    subject: FamilySubject, position: int, axis: int, weak: ShapeExtent
) -> Iterator[str | Note]:
    metas = _with_extent(subject.metas, position, axis, weak)
    try:
        claimed = subject.carrier.infer_all(metas)
    except InvalidConfigError:
        raise
    except TenferroError as error:
        yield Note(f"{_list(metas)} is refused: {error}")
        return
    for meta in claimed:
        mentioned = [extent for extent in meta.extents if isinstance(extent, Exact)]
        if any(isinstance(extent.dim, DimExpr) for extent in mentioned):
            yield f"claims {_list(claimed)} for {_list(metas)}"
            return
    size = subject.arrays[position].shape[axis]
    for true in (size, size + 1, size + 2, max(size - 1, 0)):
        try:
            actual = subject.carrier.infer_all(
                _with_extent(subject.metas, position, axis, Exact(true))
            )
        except TenferroError:
            continue
        for known, said in zip(actual, claimed, strict=True):
            if known.rank != said.rank or not all(map(implies, known.extents, said.extents)):
                yield f"claims {said} for {_list(metas)}, where it may be {known}"
                return


def _with_extent(
    metas: Sequence[TensorMeta], position: int, axis: int, extent: ShapeExtent
) -> list[TensorMeta]:
    changed = list(metas)
    extents = list(metas[position].extents)
    extents[axis] = extent
    dims = [each.dim for each in extents if isinstance(each, Exact)]
    changed[position] = (
        make_meta(metas[position].dtype, tuple(dims))
        if len(dims) == len(extents)
        else metas[position].with_extents(extents)
    )
    return changed


def _other_bindings(sizes: dict[Leaf, int]) -> Iterator[dict[Leaf, int]]:
    """All sizes one larger, and each of them 0 and 1."""
    if sizes:
        yield {leaf: size + 1 for leaf, size in sizes.items()}
    for leaf in sizes:
        yield {**sizes, leaf: 0}
        yield {**sizes, leaf: 1}


def _resized(array: NumpyArray, meta: TensorMeta) -> NumpyArray:
    assert meta.static_shape is not None
    return np.resize(array, meta.static_shape)


def _reference(subject: FamilySubject) -> Findings:
    """`eager_execute` gives what is inferred, the same each time, and leaves its inputs alone."""
    inputs = [array.copy() for array in subject.arrays]
    inferred = subject.carrier.infer_all(metas_of(inputs))
    with np.errstate(all="ignore"):
        first = subject.carrier.checked_results(inferred, subject.op.eager_execute(inputs))
        for i, (array, before) in enumerate(zip(inputs, subject.arrays, strict=True)):
            if array.tobytes() != before.tobytes():
                yield f"input {i} is written to"
        again = subject.op.eager_execute([array.copy() for array in subject.arrays])
    for i, (one, other) in enumerate(zip(first, again, strict=True)):
        if not isinstance(one, np.ndarray | np.generic):
            yield f"output {i} is {class_of(one)}, not a NumPy array"
        elif np.asarray(one).tobytes() != np.asarray(other).tobytes():
            yield f"output {i} is another one when the op is called again"
    yield from _traits(subject, [np.asarray(each) for each in first])


def _traits(subject: FamilySubject, results: Sequence[NumpyArray]) -> Iterator[str]:
    """Whether the op is what its class says of it: commutative, pointwise."""
    op, arrays = subject.op, subject.arrays
    claims: list[tuple[str, Sequence[NumpyArray], Callable[[NumpyArray], NumpyArray]]] = []
    if op.commutative:
        if len(arrays) != 2:
            yield f"it is declared commutative, but has {counted(len(arrays), 'input')}"
        else:
            claims.append(("commutative", arrays[::-1], lambda result: result))
    if op.pointwise:
        shapes = {each.shape for each in (*arrays, *results)}
        if len(shapes) != 1:
            yield "it is declared pointwise, but inputs and results have several shapes"
        else:
            turned = [np.flip(array).copy() for array in arrays]
            claims.append(("pointwise", turned, np.flip))
    for claim, inputs, expected in claims:
        try:
            with np.errstate(all="ignore"):
                values = subject.carrier.evaluate(inputs)
        except TenferroError as error:
            yield f"it is declared {claim}, but does not take such inputs: {error}"
            continue
        for i, (one, result) in enumerate(zip(values, results, strict=True)):
            text = difference(np.asarray(one), expected(result), 100 * rounding(*arrays, result))
            if text:
                yield f"it is declared {claim}, but output {i} {text}"


def _pruning(subject: FamilySubject) -> Findings:
    op, count = subject.op, subject.op.output_count
    if count < 2:
        return
    masks = [tuple(i == only for i in range(count)) for only in range(count)]
    masks += [tuple(i != gone for i in range(count)) for gone in range(count)] if count > 2 else []
    for live in masks:
        smaller = op.prune_outputs(live)
        if smaller is None:
            continue
        pruned = replace(subject, op=smaller)
        wanted = list(compress(_inferred(subject), live))
        if smaller.input_count != op.input_count or smaller.output_count != sum(live):
            yield (
                f"of {live} gives an op of {counted(smaller.input_count, 'input')} and "
                f"{counted(smaller.output_count, 'output')}, not {op.input_count} and {sum(live)}"
            )
        elif list(_inferred(pruned)) != wanted:
            yield f"of {live} gives {_list(_inferred(pruned))}, not {_list(wanted)}"
        else:
            values = list(compress(subject.expected, live))
            for one, other in zip(pruned.expected, values, strict=True):
                if not np.allclose(one, other, equal_nan=True):
                    yield f"of {live} gives an op with other results"


def _inferred(subject: FamilySubject) -> tuple[TensorMeta, ...]:
    return subject.carrier.infer_all(subject.metas)


def _list(metas: Sequence[TensorMeta]) -> str:
    return ", ".join(str(meta) for meta in metas) or "nothing"


TYPES = (
    Clause(6, "arity", "the numbers of inputs and outputs are fixed", _arity, ("payload",)),
    Clause(7, "inference", "infer_output_meta takes the inputs", _accepts, ("arity",)),
    Clause(
        7, "symbolic", "infer_output_meta is total on symbolic sizes", _symbolic, ("inference",)
    ),
    Clause(7, "guarantees", "no guarantee is made stronger", _guarantees, ("symbolic",)),
    Clause(8, "reference", "eager_execute gives what is inferred", _reference, ("inference",)),
    Clause(7, "sizes", "what is inferred holds for all sizes", _sizes, ("symbolic", "reference")),
    Clause(4, "pruning", "prune_outputs gives the live outputs", _pruning, ("reference",)),
)


# Where data decide a size, results and gradients are those of the cut inputs: sections 7 and 10.

Axes = list[tuple[int, int]]
"""Positions of inputs, and axes of them."""


def _dynamic(subject: FamilySubject) -> Findings:
    """For each name of a size: the inputs are one longer, and a scalar says how much is meant."""
    checked = False
    for leaf, size in subject.sizes.items():
        axes = _axes(subject, leaf)
        if not axes or size == 0:
            continue
        checked = True
        arrays = list(subject.arrays)
        for i, axis in axes:
            edge = [(0, 1 if at == axis else 0) for at in range(arrays[i].ndim)]
            arrays[i] = np.pad(arrays[i], edge, mode="edge")
        yield from _results(subject, leaf, axes, arrays)
        if subject.rules is not None and subject.op.family_id in subject.rules:
            yield from _gradients(subject, leaf, axes, arrays)
    if not checked:
        raise NotCheckedError("no size has a name")


def _results(
    subject: FamilySubject, leaf: Leaf, axes: Axes, arrays: Sequence[NumpyArray]
) -> Iterator[str | Note]:
    try:
        function = _cut(subject, axes, arrays)
    except TenferroError as error:
        yield Note(f"{leaf} must be known: {error}")
        return
    size = np.int64(subject.sizes[leaf])
    for i, (one, other) in enumerate(
        zip(function(*arrays, np.asarray(size)), subject.expected, strict=True)
    ):
        if text := difference(one, other, rounding(other)):
            yield f"where data decide {leaf}, output {i} {text}"


def _gradients(
    subject: FamilySubject, leaf: Leaf, axes: Axes, arrays: Sequence[NumpyArray]
) -> Iterator[str | Note]:
    try:
        expected = _gradient(subject, subject.applied(subject.metas))(*subject.arrays)
    except Exception:
        return  # the rules do not work for known sizes either, which is judged elsewhere
    try:
        gradient = _gradient(subject, _cut(subject, axes, arrays))
    except UnsupportedDynamicShapeError as error:
        yield Note(f"derivatives need to know {leaf}: {error}")
        return
    results = gradient(*arrays, np.asarray(np.int64(subject.sizes[leaf])))
    for i, one, other in zip(subject.wrt, results, expected, strict=True):
        whole = None if other is None else np.zeros(arrays[i].shape, other.dtype)
        if whole is not None and other is not None:
            whole[tuple(slice(extent) for extent in other.shape)] = other
        if text := difference(one, whole, 100 * rounding(*arrays)):
            yield f"where data decide {leaf}, the gradient by input {i} {text}"


def _cut(subject: FamilySubject, axes: Axes, arrays: Sequence[NumpyArray]) -> TracedGraph:
    """The op on inputs of which a scalar, the last input, says how much is meant."""
    inputs = traced_inputs(metas_of(arrays), "x")
    count = TracedTensor.input((), "int64", name="count")
    values: list[AnyTensor] = list(inputs)
    for i, axis in axes:
        values[i] = dynamic_truncate(values[i], count, axis)
    result = apply(subject.op, *values)
    outputs = result if isinstance(result, tuple) else (result,)
    return TracedGraph((*inputs, count), outputs, subject.ad)


def _gradient(subject: FamilySubject, function: TracedGraph) -> TracedGraph:
    """The gradient of the sum of the real parts of the squares of all smooth outputs."""
    terms = [sum(real(y * y)) for y in function.live if is_inexact(y.meta.dtype)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    wrt = [function.inputs[i] for i in subject.wrt]
    gradients = subject.ad.grad_optional(cast(TracedTensor, total), wrt)
    return TracedGraph(function.inputs, tuple(gradients), subject.ad)


def _axes(subject: FamilySubject, leaf: Leaf) -> Axes:
    """The axes that have the size; none if a size is computed from it."""
    axes: Axes = []
    for i, meta in enumerate(subject.symbolic):
        for axis, size in enumerate(meta.exact_shape()):
            if size == symbol(leaf):
                axes.append((i, axis))
            elif leaf in leaves(size):
                return []
    return axes


DYNAMIC_SIZES = (
    Clause(
        7, "late sizes", "data may decide sizes", _dynamic, ("symbolic", "guarantees", "reference")
    ),
)
