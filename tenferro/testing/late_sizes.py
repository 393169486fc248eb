"""Sections 7 and 10 where data decide a size: results and gradients are those of the cut inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from tenferro.errors import TenferroError, UnsupportedDynamicShapeError
from tenferro.exec_ir import Array
from tenferro.extension import apply
from tenferro.namespace import dynamic_truncate, real, sum
from tenferro.shape import Leaf, is_inexact, leaves, symbol
from tenferro.testing.functions import GraphFunction, difference, rounding, traced_inputs
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import FamilySubject, metas_of
from tenferro.traced import TracedTensor
from tenferro.typing import AnyTensor

Axes = list[tuple[int, int]]
"""Positions of inputs, and axes of them."""


def _late(subject: FamilySubject) -> Findings:
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
    subject: FamilySubject, leaf: Leaf, axes: Axes, arrays: Sequence[Array]
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
        found = difference(one, other, rounding(other))
        if found:
            yield f"where data decide {leaf}, output {i} {found}"


def _gradients(
    subject: FamilySubject, leaf: Leaf, axes: Axes, arrays: Sequence[Array]
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
        found = difference(one, whole, 100 * rounding(*arrays))
        if found:
            yield f"where data decide {leaf}, the gradient by input {i} {found}"


def _cut(subject: FamilySubject, axes: Axes, arrays: Sequence[Array]) -> GraphFunction:
    """The op on inputs of which a scalar, the last input, says how much is meant."""
    inputs = traced_inputs(metas_of(arrays), "x")
    count = TracedTensor.input((), "int64", name="count")
    values: list[AnyTensor] = list(inputs)
    for i, axis in axes:
        values[i] = dynamic_truncate(values[i], count, axis)
    result = apply(subject.op, *values)
    outputs = result if isinstance(result, tuple) else (result,)
    return GraphFunction((*inputs, count), outputs, subject.ad)


def _gradient(subject: FamilySubject, function: GraphFunction) -> GraphFunction:
    """The gradient of the sum of the real parts of the squares of all smooth outputs."""
    terms = [sum(real(y * y)) for y in function.live if is_inexact(y.meta.dtype)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    wrt = [function.inputs[i] for i in subject.wrt]
    found = subject.ad.grad_optional(cast(TracedTensor, total), wrt)
    return GraphFunction(function.inputs, tuple(found), subject.ad)


def _axes(subject: FamilySubject, leaf: Leaf) -> Axes:
    """The axes that have the size; none if a size is computed from it."""
    found: Axes = []
    for i, meta in enumerate(subject.symbolic):
        for axis, size in enumerate(meta.exact_shape()):
            if size == symbol(leaf):
                found.append((i, axis))
            elif leaf in leaves(size):
                return []
    return found


LATE_SIZES = (
    Clause(
        7, "late sizes", "data may decide sizes", _late, ("symbolic", "guarantees", "reference")
    ),
)
