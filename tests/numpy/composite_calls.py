"""Calls of functions that are made of others, with NumPy's and JAX's words for them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

import tenferro as tn
from tests.numpy.calls import Call, calls

rng = np.random.default_rng(1)
X = rng.uniform(-2, 2, (3, 4))
Y = rng.uniform(-2, 2, (3, 4))
Z = X + 1j * Y
V = rng.uniform(-2, 2, 6)
W = rng.uniform(0.5, 2, 6)
S = np.sort(V)
I = np.array([[6, -5, 3, 0], [3, 12, 7, 6], [0, 1, 2, 3]])  # noqa: E741  # integers
C = np.array([3, 1, 3, 0, 2, 1])
B = X > 0
N = X.copy()
N[0, 1] = N[2, 3] = np.nan
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.25, 8.0, 1e-310, 3e300])
LONG = rng.uniform(-1, 1, 40)
M = rng.uniform(-2, 2, (3, 3))
MODES: tuple[dict[str, Any], ...] = tuple({"mode": mode} for mode in ("full", "same", "valid"))

# Functions of NumPy that are called otherwise, or change an array.


IN_PLACE = {"inplace": False}


def changed(function: Any) -> Any:
    """A function of NumPy that changes its first argument, as one that returns a changed copy."""

    def of_copy(x: Any, *args: Any, inplace: bool, **options: Any) -> Any:
        assert not inplace
        result = x.copy()
        function(result, *args, **options)
        return result

    return of_copy


def many(names: str, *args: Any, **options: Any) -> list[Call]:
    """Calls whose derivatives are not compared."""
    return calls(names, *args, smooth=False, **options)


STATISTICS = [
    *calls("median nanmedian", X),
    *[Call(name, (X, q), {"axis": axis, "keepdims": keep}) for name, q in
      (("quantile", 0.3), ("nanquantile", np.array([0.25, 0.7])), ("percentile", 80.0))
      for axis, keep in ((None, True), (1, False))],
    *many("median nanmedian", N, 1),
    *many("quantile nanquantile", N, 0.4, 0),
    *[Call("quantile", (X, 0.35), {"axis": (0, 1), "method": method}, smooth=False)
      for method in ("lower", "higher", "nearest", "midpoint")],
    *many("percentile", I, [0, 50, 100], 0),
    Call("nanpercentile", (N, 30.0), {"axis": 0}, smooth=False),
    *calls("cov corrcoef", X),
    *many("cov", Z),
    Call("cov", (V, W), {"ddof": 0}),
    Call("cov", (X,), {"fweights": np.array([1, 2, 1, 3]), "aweights": W[:4]}),
    Call("cov", (X,), {"rowvar": False, "bias": True}),
    Call("corrcoef", (V, W), {}),
    Call("average", (X, 1, np.array([1.0, 2, 3, 4])), {"returned": True}),
    *many("histogram histogram_bin_edges", V),
    *many("histogram", I, 4),
    Call("histogram", (V, S[1:4]), {"density": True}, smooth=False),
    Call("histogram", (V, 3), {"range": (-1.0, 1.0), "weights": W}, smooth=False),
    *many("histogram2d", V, W, 3),
    Call("histogram2d", (V, W, [2, 4]), {"density": True}, smooth=False),
    *many("digitize", X, S),
    *many("digitize", X, S[::-1].copy(), True),
    *many("bincount", C),
    Call("bincount", (C, W), {"minlength": 6}, smooth=False),
]  # fmt: skip
NANS = [
    *[Call(name, (N,), options, smooth=False)
      for name in ("nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanstd", "nanvar")
      for options in ({}, {"axis": 1, "keepdims": True}, {"axis": 0})],
    *calls("nansum nanprod nanmean nanmax nanmin nanstd nanvar nancumsum nancumprod", X, 1),
    *many("nansum nanmax nanmean nanargmax nanargmin nancumprod", I, 0),
    *many("nanargmax nanargmin nancumsum nancumprod", N, 1),
    Call("nansum", (X,), {"where": B, "initial": 2.0}),
    Call("nanmax", (X,), {"where": B, "initial": -1.0, "axis": 0}),
    Call("nanmean", (N,), {"where": B}, smooth=False),
    Call("nanvar", (Z,), {"ddof": 1}, smooth=False),
]  # fmt: skip
SEARCH = [
    *[Call("searchsorted", (a, x, side), smooth=False) for side in ("left", "right")
      for a in (S, np.sort(LONG), np.sort(SPECIAL)) for x in (X, SPECIAL)],
    *many("searchsorted", np.array([1, 3, 3, 5]), I),
    Call("searchsorted", (V, X), {"sorter": np.argsort(V)}, smooth=False),
    *many("isin", I, C),
    Call("isin", (X, S), {"invert": True}, smooth=False),
    *many("unique unique_counts unique_inverse unique_all", I),
    *many("unique", N),
    *many("unique_values", I, numpy=np.unique),
    *many("unique_values", N, numpy=lambda x: np.unique(x, equal_nan=False)),
    *many("unique", Z),
    Call("unique", (I, True, True, True), smooth=False),
    Call("unique", (np.array([[1, 2], [0, 5], [1, 2]]), True, False, True, 0), smooth=False),
    *many("nonzero argwhere flatnonzero", I),
    *many("union1d intersect1d setdiff1d setxor1d", I, C),
    *many("union1d", X, V),
    Call("intersect1d", (I, C), {"return_indices": True}, smooth=False),
    *many("lexsort", I),
    *many("sort_complex", np.round(Z)),
    *many("partition", V, 2, numpy=lambda x, k: np.sort(x)),
    *calls("partition", X, 2, 0),
    *many("argpartition", V, 2, numpy=lambda x, k: np.argsort(x)),
    *many("extract", B, X),
    *many("compress", [True, False, True], X, 1),
    *many("trim_zeros", np.array([0, 1, 0, 2, 0])),
]  # fmt: skip
INDICES = [
    *many("tril_indices triu_indices", 3, 1, 4),
    *many("tril_indices_from triu_indices_from", X),
    *many("diag_indices", 3),
    *many("diag_indices_from", M),
    *many("unravel_index", np.array([3, 7]), (3, 4)),
    Call("ravel_multi_index", (np.array([[0, 2], [1, 3]]), (3, 4)), {"order": "F"}, smooth=False,
         symbolic=False),
    Call("ravel_multi_index", (np.array([[0, 5], [-1, 3]]), (3, 4)), {"mode": "clip"},
         smooth=False),
    *many("indices", (2, 3)),
    *many("ix_", C, np.array([True, False, True])),
    Call("mask_indices", (3, tn.triu), smooth=False,
         numpy=lambda n, _: np.mask_indices(n, np.triu)),
    *calls("rot90", X),
    *calls("rot90", X, 3, (1, 0)),
    *calls("rollaxis", rng.uniform(size=(2, 3, 4)), 2),
    *calls("moveaxis", rng.uniform(size=(2, 3, 4)), [0, 1], [-1, 0]),
    Call("block", ([[np.ones((1, 2)), np.zeros((1, 1))], [np.ones((2, 3))]],), smooth=False),
    *calls("append", X, Y),
    *calls("append", X, Y, 1),
    *calls("insert", X, 1, Y[:, 0].copy(), 1),
    *calls("insert", V, [1, 3, 3], W[:3].copy(), jax=lambda x, i, v: jnp.insert(x, np.array(i), v)),
    *calls("insert", X, slice(0, 2), 9.0, 0),
    *calls("delete", X, 1, 1),
    *many("delete", X, slice(0, 4, 2)),
    *calls("delete", V, [0, -1], jax=lambda x, i: jnp.delete(x, np.array(i))),
    *calls("resize", V, (2, 5)),
    *calls("select", [X > 1, X > 0], [X, 2 * X], numpy=np.select),
    *many("choose", np.array([0, 2, 1]), [np.arange(3), np.arange(3) + 5, np.arange(3) - 5]),
    Call("fill_diagonal", (X, 5.0), IN_PLACE, numpy=changed(np.fill_diagonal), smooth=False),
    Call("fill_diagonal", (M, V[:3].copy()), IN_PLACE, numpy=changed(np.fill_diagonal),
         smooth=False),
    Call("fill_diagonal", (np.ones((7, 3)), 2.0, True), IN_PLACE, numpy=changed(np.fill_diagonal),
         smooth=False),
    Call("put", (X, np.array([0, -1, 5]), np.array([7.0, 8.0])), IN_PLACE, numpy=changed(np.put),
         smooth=False),
    Call("put_along_axis", (X, np.array([[0, 2], [1, 3], [2, 3]]), 9.0, 1), IN_PLACE,
         numpy=changed(np.put_along_axis), smooth=False),
    Call("place", (X, B, np.array([7.0, 8.0])), IN_PLACE, numpy=changed(np.place), smooth=False),
]  # fmt: skip
SIGNALS = [
    *[Call(name, (a, b), mode) for name in ("convolve", "correlate") for mode in MODES
      for a, b in ((V, W[:3].copy()), (W[:2].copy(), V), (LONG, LONG[:20].copy()))],
    *many("convolve correlate", Z[0], Z[1], "full"),
    *many("convolve", C, C),
    *calls("interp", X, S, W),
    Call("interp", (X, S, W), {"left": -1.0, "right": 3.0}),
    Call("interp", (X, V, W), {"period": 3.0}, smooth=False),
    *calls("gradient", V),
    *calls("gradient", X, 0.5),
    *calls("gradient", X, S[:3].copy(), 2.0),
    Call("gradient", (X,), {"axis": 1}),
    *calls("trapezoid", X),
    *calls("trapezoid", X, S[:4].copy()),
    Call("trapezoid", (X,), {"dx": 0.5, "axis": 0}),
    *calls("ediff1d", V),
    Call("ediff1d", (X, [1.0, 2.0], 0.0), smooth=False),
    *calls("unwrap", 4 * V),
    *many("unwrap", C * 2, None, -1),
    Call("unwrap", (C * 2,), {"period": 4}, smooth=False),
    Call("unwrap", (C * 2,), {"period": 3}, smooth=False),
    *calls("matvec", X, V[:4].copy()),
    *calls("vecmat", V[:3].copy(), X),
    *many("vecmat", Z[:, :3].copy(), M),
    *many("hamming hanning blackman bartlett", 5),
    *many("kaiser", 6, 2.5),
    *calls("geomspace", W, W + 1, 4),
    *many("geomspace", -1000.0, -1.0, 4),
    *many("geomspace", 1.0, 256.0, 9, False),
]  # fmt: skip
POLYNOMIALS = [
    *calls("polyval", V, X),
    *calls("polyadd polysub polymul", V, W[:3].copy()),
    *many("polyadd polymul", C, np.array([1, 2])),
    Call(
        "polydiv",
        (V, W[:3].copy()),
        numpy=lambda u, v: (
            np.polydiv(u, v)[0],
            np.pad(np.polydiv(u, v)[1], (len(u) - len(np.polydiv(u, v)[1]), 0)),
        ),
    ),
    *calls("polyder", V),
    *calls("polyder", V, 2),
    *calls("polyint", V),
    *calls("polyint", V, 2),
    *calls("polyfit", S, W, 2),
    *calls("vander", V),
    *many("vander", C, 3, True),
    *calls("poly", V[:3].copy()),
    *many("poly", M),
    Call(
        "roots",
        (np.array([0.0, 2.0, -6.0, 4.0, 0.0]),),
        smooth=False,
        numpy=lambda p: np.roots(p).astype(complex),
    ),
]
FLOATS = [
    *calls("fmax fmin", X, Y),
    *many("fmax fmin", SPECIAL, SPECIAL[::-1].copy()),
    *many("fmax", I, I.T[:3, :1].copy()),
    *calls("fabs sinc", X),
    *many("sinc", Z),
    *calls("float_power", W, V),
    *many("float_power", I, 2),
    *many("heaviside", SPECIAL, 0.5),
    *many("frexp modf spacing", SPECIAL),
    *many("spacing frexp", SPECIAL[5:8].astype("float32")),
    Call("ldexp", (X, [3, -2, 0, 10]), jax=lambda x, n: jnp.ldexp(x, np.array(n))),
    *many("ldexp", SPECIAL, -7),
    *many("modf frexp", X),
    *many("divmod", I, 4),
    *many("isneginf isposinf", SPECIAL),
    *many("iscomplex isreal", Z.round(0)),
    *many("array_equiv", X, X[:1].copy()),
    *many("gcd lcm", I, 8),
    *many("gcd", np.array([7, 6, -(2**63), -(2**63), 0]), np.array([-(2**63), 9, 6, -7, -5])),
    *many("spacing", np.array([0.0, -0.0, 1e-310, 1.0, -2.0])),
    *many("spacing", np.array([0.0, -0.0, 1.0], np.float32)),
    *many("gcd lcm", I, C[:4].copy()),
    *many("bitwise_count", I),
    *many("packbits", I, 1),
    *many("packbits", B),
    Call("unpackbits", (np.array([[3], [200]], "uint8"),), {"axis": 1, "bitorder": "little",
         "count": 7}, smooth=False),
]  # fmt: skip
GROUPS = {
    "statistics": STATISTICS,
    "nans": NANS,
    "search": SEARCH,
    "indices": INDICES,
    "signals": SIGNALS,
    "polynomials": POLYNOMIALS,
    "floats": FLOATS,
}
CALLS = [call for group in GROUPS.values() for call in group]

COMPOSITE = {call.name for call in CALLS} - {"average", "moveaxis"}
COMPOSITE |= {
    *("apply_along_axis", "apply_over_axes", "array_repr", "array_str", "broadcast_shapes"),
    *("copy", "einsum_path", "frombuffer", "fromfunction", "fromiter", "fromstring"),
    *("get_printoptions", "histogramdd", "iscomplexobj", "isrealobj", "isscalar", "issubdtype"),
    *("iterable", "ndim", "piecewise", "printoptions", "promote_types", "set_printoptions"),
    *("size", "vectorize", "where"),
}
"""Functions of NumPy that are made of others."""
