"""Calls of functions that take more than arrays: loops, branches, windows, indices, shapes."""

from __future__ import annotations

from typing import Any

import tenferro as tn
from tenferro_xla.checks.checking import Function

__all__ = ["EXAMPLES"]

_lax = tn.lax


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
    "indices": ("mi", lambda m, i: (m[i], m[:, i], m[i, i], m[1:, ::2], m[-1])),
    "at set": ("mi", lambda m, i: m.at[i[0]].set(0)),
    "at add": ("mi", lambda m, i: m.at[i].add(m)),
    "at multiply": ("mi", lambda m, i: m.at[i].multiply(2)),
    "at min": ("mi", lambda m, i: m.at[i].min(m[::-1])),
    "at max": ("mi", lambda m, i: m.at[i].max(m[::-1])),
    "convolution": ("m", lambda m: _lax.conv(m[None, None], m[None, None, :2, :3], (1, 1), "SAME")),
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
    "cho_solve": ("m", lambda m: tn.linalg.cho_solve((m + 4 * tn.eye(4), True), m)),
    "lu_solve": ("m", lambda m: tn.linalg.lu_solve(tn.linalg.lu_factor(m), m + 1)),
    "dynamic slices": ("mi", lambda m, i: _lax.dynamic_slice(m, (i[0], i[1]), (2, 3))),
    "dynamic updates": ("mi", lambda m, i: _lax.dynamic_update_slice(m, 2 * m[:2], (i[0], 0))),
    "threefry": ("m", lambda m: m + tn.random.uniform(tn.random.key(3), (4, 4))),
    "attention": ("m", lambda m: tn.nn.dot_product_attention(m[:, None], m[:, None], m[:, None])),
    "hessian": ("v", lambda v: tn.hessian(lambda v: tn.sum(tn.sin(v) ** 3))(v)),
    "jacobian of a loop": (
        "v",
        lambda v: tn.jacfwd(lambda v: tn.scan(lambda c, x: (c * x, c + x), v, v)[1])(v),
    ),
    "bits": ("i", lambda i: (i << 2 | 5, ~i, i >> 1, i ^ 3, tn.bitwise_count(i))),
    "division": ("ii", lambda i, j: (i // (j + 1), i % (j + 1), -i // (j + 1), -i % (j + 1))),
    "a set": ("i", lambda i: tn.unique(i, size=4)),
    "casts": ("m", lambda m: (m.astype("complex128"), tn.cast(tn.real(m), "int64"))),
}
"""For each name, the arguments (see `CALLS` of `parity`) and the call."""
