"""What functions made of others refuse, they refuse at once, in their own name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.numpy.calls import Call
from tests.numpy.composite_calls import CALLS

X = np.arange(6.0).reshape(2, 3)
V = np.arange(3.0)


def traced(function: Callable[[Any], Any], x: Any = V) -> Callable[[], Any]:
    return lambda: tn.jit(function, executor="numpy")(x)


CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: tn.quantile(V, tn.nan), "quantile: q must be between 0 and 1, got nan"),
    (lambda: tn.nanquantile(V, [0.5, 1.5]), "nanquantile: q must be between 0 and 1, got 1.5"),
    (lambda: tn.percentile(V, -1), "percentile: q must be between 0 and 100, got -1"),
    (lambda: tn.nanpercentile(V, np.array([101])), "nanpercentile: q must be between 0 and 100"),
    (lambda: tn.trapezoid(X, X.T), "trapezoid: operands have types f64["),
    (lambda: tn.scipy.stats.norm.pdf(V, V[:2]), "norm.pdf: operands have types f64[3] and f64[2]"),
    (lambda: tn.scipy.stats.gamma.pdf("a", 1), "gamma.pdf: takes arrays and numbers, got str"),  # type: ignore[arg-type]
    (lambda: tn.fft.fft(V, "a"), "fft: the size 'a' has a number only in a function that is"),
    (lambda: tn.fft.irfft2(X, ("a", 2)), "irfft2: the size 'a' has a number only in a function"),  # type: ignore[arg-type]
    (lambda: tn.fft.fftfreq("n"), "fftfreq: the size 'n' has a number only in a function that"),
    (lambda: tn.pad(V, "a"), "pad: the size 'a' has a number only in a function that is traced"),  # type: ignore[arg-type]
    (lambda: tn.array(tn.nan, dtype="i4"), "tensor: cannot convert float NaN to integer"),
    (lambda: tn.quantile(V, 0.5, method="cubic"), "quantile: method must be one of 'linear'"),
    (lambda: tn.median(tn.asarray([1j])), "median: takes real numbers, got c128[1]"),
    (lambda: tn.quantile(X[:0], 0.5, 0), "quantile: f64[0,3] has no elements along the axes (0,)"),
    (lambda: tn.median(X, axis=2), "median: axis 2 is out of range for rank 2"),
    (lambda: tn.bincount([0.5]), "bincount: takes integers, got f64[1]"),
    (lambda: tn.bincount([-1]), "bincount: takes integers that are not negative"),
    (traced(tn.bincount, np.array([1])), "bincount: the elements of i64[1] decide the size of"),
    (lambda: tn.histogram(V, "auto"), "histogram_bin_edges: bins must be a number or edges"),
    (lambda: tn.histogram(V, 0), "histogram_bin_edges: bins must be an integer of at least 1"),
    (lambda: tn.searchsorted(X, 1.0), "searchsorted: x1 must be a vector, got f64[2,3]"),
    (lambda: tn.searchsorted(V, 1.0, "middle"), "searchsorted: side must be one of 'left', "),
    (lambda: tn.nonzero(1.0), "nonzero: takes an array with at least one axis, got f64[]"),
    (lambda: tn.nonzero(V, size=-1), "nonzero: size must be an integer of at least 0, got -1"),
    (lambda: tn.unique(V, axis=1), "unique: axis 1 is out of range for rank 1"),
    (lambda: tn.compress([True] * 4, V), "compress: condition bool[4] is longer than axis 0"),
    (lambda: tn.partition(V, 3), "partition: kth 3 is not a place along axis 0 of f64[3]"),
    (lambda: tn.lexsort([]), "lexsort: needs at least one key"),
    (traced(tn.trim_zeros), "trim_zeros: the elements of f64[3] decide the size of the result"),
    (lambda: tn.tril_indices(-1), "tril_indices: n must be an integer of at least 0, got -1"),
    (lambda: tn.tril_indices(3, 0.5), "tril_indices: k must be an integer, got 0.5"),
    (lambda: tn.diag_indices_from(X), "diag_indices_from: takes axes of equal sizes, got [2, 3]"),
    (lambda: tn.unravel_index([0.5], (2,)), "unravel_index: takes integers, got f64[1]"),
    (lambda: tn.ravel_multi_index(([5],), (3,)), "ravel_multi_index: 5 is out of range for axis 0"),
    (lambda: tn.ix_(X), "ix_: takes a vector, got f64[2,3]; flatten it with tn.ravel"),
    (lambda: tn.mgrid[3], "mgrid: takes slices start:stop:step, got 3"),
    (
        lambda: tn.r_["a", 1],
        "r_: 'a' is neither 'r', 'c' nor up to three integers 'axis,rank,place'",
    ),
    (lambda: tn.put(V, [0], 1), "put: arrays are not changed; pass inplace=False"),
    (lambda: tn.place(V, V > 0, [1.0]), "place: arrays are not changed; pass inplace=False"),
    (lambda: tn.put_along_axis(X, [[0]], 1.0, 0), "put_along_axis: arrays are not changed; pass"),
    (lambda: tn.fill_diagonal(X, 1.0), "fill_diagonal: arrays are not changed; pass"),
    (lambda: tn.put_along_axis(X, [0], 1.0, 0, inplace=False), "put_along_axis: indices i64[1]"),
    (
        lambda: tn.fill_diagonal(V, 1.0, inplace=False),
        "fill_diagonal: takes a matrix or axes of equal sizes",
    ),
    (lambda: tn.insert(V, 9, 1.0), "insert: an index is out of range for size 3"),
    (lambda: tn.delete(V, 0.5), "delete: indices must be integers, got float64"),
    (lambda: tn.select([], []), "select: got 0 conditions and 0 choices; there must be"),
    (lambda: tn.choose([5], [[1], [2]]), "choose: an index is not one of 2 choices"),
    (lambda: tn.piecewise(V, [V > 0], []), "piecewise: got 0 functions for 1 condition"),
    (lambda: tn.rot90(V), "rot90: axis 1 is out of range for rank 1"),
    (lambda: tn.rot90(X, 1, (0, 0)), "rot90: axes (0, 0) of f64[2,3] must differ"),
    (lambda: tn.moveaxis(X, [0, 1], [0]), "moveaxis: [0, 1] and [0] must name as many axes"),
    (lambda: tn.block([[V], V]), "block: lists must not be empty, and must have equal depths"),
    (lambda: tn.broadcast_shapes((2,), (3,)), "broadcast_shapes: (2,), (3,) do not broadcast"),
    (lambda: tn.vectorize(tn.sum, signature="n->")(V), "vectorize: 'n->' is not a signature"),
    (lambda: tn.vectorize(tn.sum, signature="(m,n)->()")(V), "vectorize: f64[3] must have at"),
    (
        lambda: tn.vectorize(lambda x: x[:1], signature="(n)->(n)")(X),
        "vectorize: signature '(n)->(n)': n is 3, but 1 in result 0: f64[1]",
    ),
    (
        lambda: tn.vectorize(lambda x: x, signature="(n)->()")(X),
        "vectorize: signature '(n)->()' has",
    ),
    (
        lambda: tn.vectorize(lambda x: (x, x), signature="(n)->(n)")(X),
        "vectorize: signature '(n)->(",
    ),
    (
        lambda: tn.vectorize(lambda x: x, signature="(n)->(n),()")(X),
        "vectorize: signature '(n)->(n)",
    ),
    (
        lambda: tn.vectorize(lambda x: [x, x])(X),
        "vectorize: without a signature the function must return an array or a tuple of arrays, ",
    ),
    (
        lambda: tn.vectorize(tn.sin, excluded={-1})(X),
        "vectorize: excluded has -1, which",
    ),
    (
        lambda: tn.vectorize(tn.add, signature="(n),(n)->(n)")(V, None),
        "vectorize: argument 1 is None, but",
    ),
    (lambda: tn.cov(X, dtype=int), "cov: dtype must be a floating-point or complex one, got"),
    (
        lambda: tn.vectorize(tn.add, signature="(n),(n)->(n)")(V, V[:2]),
        "vectorize: signature '(n),(n)->(n)': n is 3, but",
    ),
    (lambda: tn.convolve(X, V), "convolve: takes vectors, got f64[2,3]"),
    (lambda: tn.convolve(V, V, "half"), "convolve: mode must be one of 'full', 'same', 'valid'"),
    (lambda: tn.convolve(V, V[:0]), "convolve: the vectors must not be empty, got f64[0]"),
    (lambda: tn.interp(1.0, V, V[:2]), "interp: xp and fp must be vectors of equal size, got"),
    (lambda: tn.gradient(V, edge_order=2), "gradient: edge_order must be 1, got 2"),
    (lambda: tn.gradient(V[:1]), "gradient: axis 0 of f64[1] must have at least 2 elements"),
    (lambda: tn.gradient(X, 1.0, 2.0, 3.0), "gradient: got 3 distances for 2 axes; pass one"),
    (lambda: tn.polyder(V, -1), "polyder: m must be an integer of at least 0, got -1"),
    (lambda: tn.polyfit(V, X, 1), "polyfit: x must be a vector, and y have as many rows, got"),
    (traced(tn.roots), "roots: the elements of f64[3] decide the size of the result, and are"),
    (lambda: tn.fmax(1j, V), "fmax: takes real numbers, got c128[] and c128[3]"),
    (lambda: tn.ldexp(V, V), "ldexp: x2 must be integers, got f64[3]"),
    (lambda: tn.gcd(V, 2), "gcd: takes integers, got f64[3]"),
    (lambda: tn.packbits(V), "packbits: takes integers, got f64[3]"),
    (lambda: tn.unpackbits([1]), "unpackbits: takes u8, got i64[1]"),
    (lambda: tn.kaiser(3, "b"), "kaiser: beta must be a number, got 'b'"),  # type: ignore[arg-type]
    (lambda: tn.hamming(2.5), "hamming: M must be an integer of at least 0, got 2.5"),  # type: ignore[arg-type]
    (lambda: tn.matvec(V, V), "matvec: takes matrices and vectors, got f64[3] and f64[3]"),
    (lambda: tn.issubdtype(1, tn.floating), "issubdtype: takes dtypes, or groups such as"),
    (lambda: tn.frombuffer(b"123"), "frombuffer: buffer size must be a multiple of element"),
]


@pytest.mark.parametrize(("wrong", "text"), CASES)
def test_a_wrong_call_is_refused(wrong: Callable[[], Any], text: str) -> None:
    with pytest.raises(tn.TenferroError, match="^" + re.escape(text)):
        wrong()


@pytest.mark.parametrize(
    "call",
    {call.name: call for call in CALLS if call.operands}.values(),
    ids=lambda call: call.name,
)
def test_what_is_not_an_array_is_refused(call: Call) -> None:
    with pytest.raises(tn.TenferroError, match=rf"^{call.name}: "):
        call.on(getattr(tn, call.name), [object() for _ in call.operands])
