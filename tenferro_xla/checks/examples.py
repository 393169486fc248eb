"""Calls of functions that take more than arrays: loops, branches, windows, indices, shapes."""

from __future__ import annotations

from typing import Any

import tenferro as tn
from tenferro_xla.checks.checking import Function

__all__ = ["EXAMPLES"]

_lax = tn.lax
_random = tn.random
_ROWS_OF = _lax.GatherDimensionNumbers(
    offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
)
_ROWS = _lax.ScatterDimensionNumbers(
    update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
)


def _scattered(scatter: Function) -> tuple[str, Function]:
    """Rows that go to places of which some are the same."""
    return "mi", lambda m, i: scatter(m, i[:, None], 2 * m[::-1], _ROWS)


def _drawn(draw: Function) -> tuple[str, Function]:
    """What a draw makes of a key that is an argument, and of an array."""
    return "vk", lambda v, k: draw(_random.wrap_key_data(k), v)


def _of_key(draw: Function) -> tuple[str, Function]:
    return "k", lambda k: draw(_random.wrap_key_data(k))


def _swish(x: Any) -> Any:
    """A function whose derivative is a rule by hand."""
    ruled = tn.custom_jvp(lambda x: x * tn.tanh(x))
    ruled.defjvp(lambda primals, tangents: (ruled(primals[0]), tangents[0] * tn.cos(primals[0])))
    return ruled(x)


def _numbered(x: Any) -> Any:
    """A loop whose body has the number of the step."""
    return tn.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, tn.sin(c[1]) * c[0]), (0, x))


EXAMPLES: dict[str, tuple[str, Function]] = {
    "scan": ("m", lambda m: tn.scan(lambda c, row: (tn.sin(c + row), c * row), m[0], m)),
    "fori_loop": ("m", lambda m: tn.fori_loop(0, 3, lambda k, c: tn.cos(c) + k, m)),
    "while_loop": ("m", _numbered),
    "map": ("m", lambda m: tn.map(lambda row: tn.sum(row) * row, m)),
    "associative_scan": ("m", lambda m: tn.associative_scan(tn.multiply, m)),
    "cond": ("m", lambda m: tn.cond(tn.real(m[0, 0]) > 1, tn.sin, tn.cos, m)),
    "switch": ("mi", lambda m, i: tn.switch(i[0], [tn.sin, tn.cos, tn.exp], m)),
    "vmap of cond": (
        "m",
        lambda m: tn.vmap(lambda x: tn.cond(tn.real(x) > 1, tn.sin, tn.cos, x))(m[0]),
    ),
    "checkpoint": ("m", lambda m: tn.checkpoint(lambda m: tn.sin(tn.sin(m) @ m))(m)),
    "custom_jvp": ("m", _swish),
    "slices of a network": ("mm", lambda m, n: tn.einsum("ab,bc,cd->ad", m, n, m, slices="b")),
    "indexing": ("mi", lambda m, i: (m[i], m[:, i], m[i, i], m[1:, ::2], m[-1])),
    "at set": ("mi", lambda m, i: m.at[i[0]].set(0)),
    "at add": ("mi", lambda m, i: m.at[i].add(m)),
    "at multiply": ("mi", lambda m, i: m.at[i].multiply(2)),
    "at min": ("mi", lambda m, i: m.at[i].min(m[::-1])),
    "at max": ("mi", lambda m, i: m.at[i].max(m[::-1])),
    "lax.conv": ("m", lambda m: _lax.conv(m[None, None], m[None, None, :2, :3], (1, 1), "SAME")),
    "segments, sum": ("mi", lambda m, i: tn.ops.segment_sum(m, i, m.shape[0])),
    "segments, max": ("mi", lambda m, i: tn.ops.segment_max(tn.real(m), i, m.shape[0])),
    "lax.conv_transpose": (
        "m",
        lambda m: _lax.conv_transpose(m[None, :, :, None], m[:2, :2, None, None], (2, 2), "SAME"),
    ),
    "lax.ragged_dot": (
        "m",
        lambda m: _lax.ragged_dot(m, tn.stack([m.T, 2 * m.T]), tn.array([1, m.shape[0] - 1])),
    ),
    "a named axis, sum": ("m", lambda m: tn.vmap(lambda r: _lax.psum(r, "i"), axis_name="i")(m)),
    "a named axis, places": (
        "m",
        lambda m: tn.vmap(
            lambda r: _lax.ppermute(r, "i", [(0, 1), (1, 0)]) + _lax.axis_index("i"), axis_name="i"
        )(m[:2]),
    ),
    "scipy.linalg.lu_solve": (
        "mm",
        lambda m, n: tn.scipy.linalg.lu_solve(
            tn.scipy.linalg.lu_factor(m @ m.T + 9 * tn.eye(m.shape[0])), n
        ),
    ),
    "scipy.linalg.cho_solve": (
        "mm",
        lambda m, n: tn.scipy.linalg.cho_solve(
            tn.scipy.linalg.cho_factor(m @ tn.conj(m.T) + 9 * tn.eye(m.shape[0])), n
        ),
    ),
    "windows, sum": ("m", lambda m: _lax.reduce_window(m, 0, _lax.add, (2, 2), (1, 1), "VALID")),
    "windows, maximum": (
        "m",
        lambda m: _lax.reduce_window(m, -tn.inf, _lax.max, (2, 2), (2, 1), "SAME"),
    ),
    "pad": ("m", lambda m: tn.pad(m, ((1, 2), (0, 1)))),
    "any and all": ("m", lambda m: (tn.any(tn.real(m) > 1, 0), tn.all(tn.real(m) > 0, 1))),
    "sort by keys": ("m", lambda m: (tn.sort(m, axis=0), tn.argsort(tn.real(m), axis=1))),
    "compare": ("mm", lambda m, n: (m == n, m != n, tn.where(tn.real(m) > 1, m, n))),
    "broadcast": ("m", lambda m: tn.broadcast_to(m[:, None], (4, 3, 4)) + m[0]),
    "constants": ("m", lambda m: m + tn.eye(4) + tn.arange(4) + tn.tri(4) + tn.full((4, 4), 2)),
    "cross": ("m", lambda m: tn.cross(m[:, :3], m[:, 1:])),
    "select": ("m", lambda m: tn.select([tn.real(m) > 1, tn.real(m) > 0.3], [m, 2 * m], 0)),
    "bincount": ("i", lambda i: tn.bincount(i, length=5)),
    "convolution by Fourier transforms": ("m", lambda m: tn.fft.ifft(tn.fft.fft(m) * m)),
    "toeplitz": ("v", lambda v: tn.scipy.linalg.toeplitz(v)),
    "dynamic slices": ("mi", lambda m, i: _lax.dynamic_slice(m, (i[0], i[1]), (2, 3))),
    "dynamic updates": ("mi", lambda m, i: _lax.dynamic_update_slice(m, 2 * m[:2], (i[0], 0))),
    "threefry": ("m", lambda m: m + tn.random.uniform(tn.random.key(3), (4, 4))),
    "bartlett": ("m", lambda m: m + tn.bartlett(4)),
    "blackman": ("m", lambda m: m + tn.blackman(4)),
    "hamming": ("m", lambda m: m + tn.hamming(4)),
    "hanning": ("m", lambda m: m + tn.hanning(4)),
    "hessian": ("v", lambda v: tn.hessian(lambda v: tn.sum(tn.sin(v) ** 3))(v)),
    "jacobian of a loop": (
        "v",
        lambda v: tn.jacfwd(lambda v: tn.scan(lambda c, x: (c * x, c + x), v, v)[1])(v),
    ),
    "bits": ("i", lambda i: (i << 2 | 5, ~i, i >> 1, i ^ 3, tn.bitwise_count(i))),
    "division": ("ii", lambda i, j: (i // (j + 1), i % (j + 1), -i // (j + 1), -i % (j + 1))),
    "a set": ("i", lambda i: tn.unique(i, size=4)),
    # Functions that take more than arrays, by their names.
    "lax.dot_general": (
        "mm",
        lambda m, n: (
            _lax.dot_general(m, n, (((1,), (0,)), ((), ()))),
            _lax.dot_general(m, n, (((1,), (1,)), ((0,), (0,)))),
            _lax.dot_general(m[0], n, (((), ()), ((), ()))),
        ),
    ),
    "lax.gather": ("mi", lambda m, i: _lax.gather(m, i[:, None], _ROWS_OF, (1, 3))),
    "lax.scatter": (
        "mi",
        lambda m, i: _lax.scatter(m, (i[:1] + tn.arange(3))[:, None] - 1, 2 * m[:3], _ROWS),
    ),
    "lax.scatter_add": _scattered(_lax.scatter_add),
    "lax.scatter_sub": _scattered(_lax.scatter_sub),
    "lax.scatter_mul": _scattered(_lax.scatter_mul),
    "lax.scatter_min": _scattered(_lax.scatter_min),
    "lax.scatter_max": _scattered(_lax.scatter_max),
    "lax.reduce": (
        "m",
        lambda m: _lax.reduce((m, 2 * m), (0, 0), lambda x, y: (x[0] + y[0], x[1] + y[1]), (1,)),
    ),
    "lax.reduce_and": ("i", lambda i: _lax.reduce_and(i > 0, (0,))),
    "lax.reduce_or": ("i", lambda i: _lax.reduce_or(i > 2, (0,))),
    "lax.reduce_window": (
        "m",
        lambda m: _lax.reduce_window(m, 1, _lax.mul, (2, 3), (1, 2), ((1, 0), (0, 2))),
    ),
    "lax.reduce_precision": ("m", lambda m: _lax.reduce_precision(m, 8, 23)),
    "lax.conv_general_dilated": (
        "m",
        lambda m: _lax.conv_general_dilated(
            m[None, :2], m[:, None, :2], (1,), "SAME", (2,), (2,), feature_group_count=2
        ),
    ),
    "lax.conv_with_general_padding": (
        "m",
        lambda m: _lax.conv_with_general_padding(
            m[None, None], m[None, None, :2, :2], (2, 1), ((1, 0), (0, 1)), None, None
        ),
    ),
    "lax.broadcast_in_dim": ("v", lambda v: _lax.broadcast_in_dim(v, (3, 4), (1,))),
    "lax.broadcast_to_rank": ("v", lambda v: _lax.broadcast_to_rank(v, 3)),
    "lax.broadcasted_iota": ("m", lambda m: m + _lax.broadcasted_iota("int64", (4, 4), 1)),
    "lax.compare": ("mm", lambda m, n: tn.isclose(m, n)),
    "lax.convert": ("m", lambda m: _lax.convert(m, dtype="complex64")),
    "lax.full": ("m", lambda m: m + _lax.full((4, 4), 2)),
    "lax.pad": ("m", lambda m: _lax.pad(m, m[0, 0], ((1, 0, 2), (-1, 2, 0)))),
    "lax.split": ("m", lambda m: tuple(_lax.split(m, (1, 3), 1))),
    "lax.squeeze": ("m", lambda m: _lax.squeeze(m[:, None], (1,))),
    "lax.dynamic_update_slice": (
        "mi",
        lambda m, i: _lax.dynamic_update_slice(m, 2 * m[:2, :3], (i[0], i[1])),
    ),
    "lax.dynamic_update_slice_in_dim": (
        "mi",
        lambda m, i: _lax.dynamic_update_slice_in_dim(m, 2 * m[:2], i[0], 0),
    ),
    "lax.dynamic_update_index_in_dim": (
        "mi",
        lambda m, i: _lax.dynamic_update_index_in_dim(m, m[0] - 1, i[0], 1),
    ),
    "apply_along_axis": ("m", lambda m: tn.apply_along_axis(tn.cumsum, 0, m)),
    "apply_over_axes": ("m", lambda m: tn.apply_over_axes(tn.sum, m, (0, 1))),
    "arange": ("m", lambda m: m + tn.arange(1, 9, 2)),
    "broadcast_to": ("v", lambda v: tn.broadcast_to(v, (3, 4))),
    "checkpoint_name": ("m", lambda m: tn.sin(tn.checkpoint_name(m, "here"))),
    "choose": ("mi", lambda m, i: tn.choose(i, [m[0], m[1], m[2], m[3]], mode="clip")),
    "diag_indices": ("m", lambda m: m[tn.diag_indices(4)]),
    "dsplit": ("m", lambda m: tuple(tn.dsplit(m[:, None], 2))),
    "eye": ("m", lambda m: m + tn.eye(4, k=1)),
    "fill_diagonal": ("m", lambda m: tn.fill_diagonal(m, 7, inplace=False)),
    "full": ("m", lambda m: m * tn.full((4,), 3)),
    "identity": ("m", lambda m: m + tn.identity(4)),
    "indices": ("m", lambda m: m + tn.indices((4, 4))[1]),
    "mask_indices": ("m", lambda m: m[tn.mask_indices(4, tn.triu, size=10)]),
    "ones": ("m", lambda m: m + tn.ones(4)),
    "piecewise": ("v", lambda v: tn.piecewise(v, [tn.real(v) > 0.4], [tn.sin, tn.cos])),
    "place": ("m", lambda m: tn.place(m, tn.real(m) > 0.4, m[0], inplace=False)),
    "polyfit": ("vm", lambda v, m: tn.polyfit(v, m[:, 1], 2)),
    "put": ("mi", lambda m, i: tn.put(m, i + 3, 5, inplace=False)),
    "put_along_axis": (
        "mi",
        lambda m, i: tn.put_along_axis(m, i[:, None], 5, 1, inplace=False),
    ),
    "ravel_multi_index": ("ii", lambda i, j: tn.ravel_multi_index((i, j), (5, 6), mode="clip")),
    "roots": ("v", lambda v: tn.sort(tn.abs(tn.roots(v, strip_zeros=False)))),
    "top_k": ("m", lambda m: tn.top_k(m, 3)),
    "tri": ("m", lambda m: m * tn.tri(4)),
    "tril_indices": ("m", lambda m: m[tn.tril_indices(4)]),
    "triu_indices": ("m", lambda m: m[tn.triu_indices(4)]),
    "unpackbits": ("i", lambda i: tn.unpackbits(i.astype("uint8"))),
    "kaiser": ("m", lambda m: m + tn.kaiser(4, 3.0)),
    "zeros": ("m", lambda m: m + tn.zeros(4)),
    "linalg.eigh_tridiagonal": (
        "v",
        lambda v: tn.linalg.eigh_tridiagonal(v, v[1:], eigvals_only=True),
    ),
    "linalg.funm_hermitian": (
        "m",
        lambda m: tn.linalg.funm_hermitian(m @ tn.conj(m.T) + tn.eye(4), "log"),
    ),
    "linalg.cho_solve": ("m", lambda m: tn.linalg.cho_solve((m + 4 * tn.eye(4), True), m)),
    "linalg.lu_solve": ("m", lambda m: tn.linalg.lu_solve(tn.linalg.lu_factor(m), m + 1)),
    "fft.fftfreq": ("v", lambda v: v + tn.fft.fftfreq(4, 0.5)),
    "fft.rfftfreq": ("m", lambda m: m[:, :3] + tn.fft.rfftfreq(4, 0.5)),
    "nn.dot_product_attention": (
        "m",
        lambda m: tn.nn.dot_product_attention(m[:, None], m[:, None], m[:, None], is_causal=True),
    ),
    "a real transform and back": ("m", lambda m: tn.fft.irfft(tn.fft.rfft(tn.real(m)) * 2)),
    "a transform of 7 numbers": ("v", lambda v: tn.fft.fft(v, n=7)),
    "sort of equal keys": ("i", lambda i: (tn.argsort(i), tn.argsort(i, descending=True))),
    # Random numbers whose arguments are more than a key and arrays.
    "random.key": ("i", lambda i: _random.key_data(_random.key(i[0]))),
    "random.PRNGKey": ("i", lambda i: _random.PRNGKey(i[0])),
    "random.wrap_key_data": _of_key(_random.key_data),
    "random.key_data": _of_key(_random.key_data),
    "random.split": _of_key(lambda key: _random.key_data(_random.split(key, 3))),
    "random.fold_in": (
        "ki",
        lambda k, i: _random.key_data(_random.fold_in(_random.wrap_key_data(k), i[0])),
    ),
    "random.ball": _of_key(lambda key: _random.ball(key, 3, shape=(4,))),
    "random.binomial": _drawn(lambda key, v: _random.binomial(key, 9, v / 2)),
    "random.categorical": _drawn(lambda key, v: _random.categorical(key, v, shape=(5,))),
    "random.choice": _drawn(lambda key, v: _random.choice(key, v, (3,), replace=False)),
    "random.dirichlet": _drawn(_random.dirichlet),
    "random.generalized_normal": _of_key(lambda key: _random.generalized_normal(key, 1.5, (4,))),
    "random.geometric": _drawn(lambda key, v: _random.geometric(key, v / 2)),
    "random.multinomial": _drawn(lambda key, v: _random.multinomial(key, 9, v / tn.sum(v))),
    "random.multivariate_normal": _drawn(
        lambda key, v: _random.multivariate_normal(key, v, tn.eye(4) + 0.1)
    ),
    "random.orthogonal": _of_key(lambda key: tn.abs(_random.orthogonal(key, 3))),
    "random.permutation": _drawn(_random.permutation),
    "random.gamma below 1": _drawn(_random.gamma),
    "random.randint": _of_key(lambda key: _random.randint(key, (5,), -3, 9)),
    "random.triangular": _drawn(lambda key, v: _random.triangular(key, v - 1, v, v + 1)),
    "random.truncated_normal": _drawn(lambda key, v: _random.truncated_normal(key, -v, v + 1)),
    "random.weibull_min": _drawn(lambda key, v: _random.weibull_min(key, v, v + 1, (4,))),
    "random numbers of 32 bits": _of_key(
        lambda key: (
            _random.normal(key, (5,), "float32"),
            _random.uniform(key, (5,), "float32"),
            _random.bits(key, (5,), "uint32"),
        )
    ),
    "casts": ("m", lambda m: (m.astype("complex128"), tn.cast(tn.real(m), "int64"))),
}
"""For each name, the arguments (see `CALLS` of `parity`) and the call."""
