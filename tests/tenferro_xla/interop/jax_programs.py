"""Programs of JAX that tests read: what it makes of loops, branches, calls and indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.random.default_rng(0).normal(size=(3, 4))
V = np.array([0.3, -0.7, 1.1, 0.6])
Z = V + 1j * V[::-1]
INDEX = np.array([2, 0, 5, -1])


class Case(NamedTuple):
    """A function and its arguments; `differentiated` by the first one, or without a derivative."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = (X,)
    differentiated: bool = True


def measured(case: Case) -> Callable[..., tuple[Any, list[Any]]]:
    """The case as a function of a real number, in which all results count, and of the results."""

    def function(*args: Any) -> tuple[Any, list[Any]]:
        results = [jnp.asarray(leaf) for leaf in jax.tree.leaves(case.function(*args))]
        terms = [
            jnp.sum(leaf * (jnp.cos(jnp.arange(leaf.size)) * (1 - 2j)).reshape(leaf.shape))
            for leaf in results
        ]
        return jnp.real(sum(terms)), results

    return function


@jax.custom_jvp
def ruled(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


ruled.defjvp(lambda primals, tangents: (ruled(*primals), jnp.cos(primals[0]) * tangents[0]))


@jax.custom_vjp
def reversed_rule(x: jax.Array) -> jax.Array:
    return jnp.cosh(x)


reversed_rule.defvjp(lambda x: (jnp.cosh(x), x), lambda x, ct: (ct * jnp.sinh(x),))


@jax.custom_batching.custom_vmap
def batched_rule(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


batched_rule.def_vmap(lambda size, batched, x: (jnp.sin(x), batched[0]))


def rnn(w: jax.Array, x: jax.Array) -> Any:
    def step(h: jax.Array, row: jax.Array) -> Any:
        h = jnp.tanh(w @ h + row)
        return h, h[0]

    return lax.scan(step, jnp.zeros(4), x)


def nested(x: jax.Array) -> Any:
    def outer(carry: Any, row: jax.Array) -> Any:
        total, parts = lax.scan(lambda c, e: (c * 0.5 + jnp.sin(e), c), carry[0], row)
        return (total, carry[1] + parts.sum()), parts * carry[1]

    return lax.scan(outer, (jnp.float64(0.1), jnp.float64(1.0)), x)


def several(x: jax.Array) -> Any:
    def step(carry: Any, row: jax.Array) -> Any:
        count, a, b = carry
        return (count + 1, a * jnp.cos(row), b + row * count), (a, row[count % 4])

    return lax.scan(step, (0, jnp.ones(4), jnp.zeros(4)), x, reverse=True)


def newton(x: jax.Array) -> Any:
    def goes_on(state: Any) -> jax.Array:
        return (jnp.max(jnp.abs(state[1] ** 2 - state[0])) > 1e-13) & (state[2] < 30)

    def step(state: Any) -> Any:
        square, root, count = state
        return square, 0.5 * (root + square / root), count + 1

    return lax.while_loop(goes_on, step, (x * x + 1, jnp.ones_like(x), 0))[1:]


def kalman(x: jax.Array, a: jax.Array) -> Any:
    def step(carry: Any, y: jax.Array) -> Any:
        mean, cov = carry
        mean, cov = a @ mean, a @ cov @ a.T + jnp.eye(2)
        gain = cov[:, 0] / (cov[0, 0] + 0.1)
        return (mean + gain * (y - mean[0]), cov - jnp.outer(gain, cov[0])), mean[0]

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2)), x)


def branches(x: jax.Array, i: jax.Array) -> Any:
    return lax.switch(i, [jnp.sin, lambda x: x**2, lambda x: jnp.ones_like(x) * 3], x)


def positive(x: jax.Array) -> Any:
    return lax.cond(x[0, 0] > 0, lambda x: (x + 1, x.sum()), lambda x: (jnp.sin(x), 2.0), x)


def first_row(x: jax.Array) -> Any:
    return lax.scan(lambda c, y: (jnp.sin(c + y), c * y), x[0], x)[1].sum()


LARGE = np.linspace(0, 1, 20_000)

LOOPS: dict[str, Case] = {
    "scan of a network": Case(rnn, (np.eye(4) / 2, X)),
    "scan in a scan": Case(nested),
    "scan of several carries, in reverse": Case(several),
    "scan without xs": Case(lambda x: lax.scan(lambda c, _: (c * jnp.sin(c), c), x, None, 4)),
    "scan without carry": Case(lambda x: lax.scan(lambda c, r: (c, r * r), None, x)[1]),
    "scan that is unrolled": Case(
        lambda x: lax.scan(lambda c, r: (c + r**2, c), x[0], x, unroll=2)
    ),
    "scan of no rounds": Case(lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x[:0])),
    "scan of a Kalman filter": Case(kalman, (V, np.array([[1.0, 0.3], [-0.2, 0.9]]))),
    "scan of complex numbers": Case(
        lambda z: lax.scan(lambda c, x: (jnp.conj(c) * x + 1j, c * z), z, z[:3]), (Z,)
    ),
    "scan that reads a large array": Case(
        lambda x: lax.scan(lambda c, r: (c + r * jnp.asarray(LARGE)[:4], jnp.sum(LARGE)), x[0], x)
    ),
    "loop of a known number of rounds": Case(
        lambda x: lax.fori_loop(1, 4, lambda i, y: jnp.sin(y) * i, x)
    ),
    "loop whose number of rounds is computed": Case(
        lambda x, n: lax.fori_loop(0, n, lambda i, y: y * 0.5 + x, x),
        (X, np.int64(3)),
        differentiated=False,
    ),
    "while loop": Case(newton, differentiated=False),
    "while loop with consts": Case(
        lambda x: lax.while_loop(lambda c: c.sum() < x.sum() + 9, lambda c: c + x**2, x),
        differentiated=False,
    ),
    "map": Case(lambda x: lax.map(lambda row: row / jnp.sum(row**2), x)),
    "associative scan": Case(lambda x: lax.associative_scan(jnp.multiply, x, axis=1)),
    "polynomial": Case(lambda x: jnp.polyval(jnp.arange(4.0), x)),
    "cond": Case(positive),
    "cond that is not taken": Case(positive, (-abs(X),)),
    "switch": Case(branches, (X, np.int64(1))),
    "switch out of bounds": Case(branches, (X, np.int32(9))),
    "cond in a scan": Case(
        lambda x: lax.scan(
            lambda c, r: (lax.cond(r[0] > 0, lambda: c * r, lambda: c - r), c), jnp.ones(4), x
        )
    ),
    "vmap of a scan": Case(jax.vmap(lambda r: lax.scan(lambda c, y: (c * y, c), r[0], r))),
    "vmap of a cond": Case(jax.vmap(lambda r: lax.cond(r[0] > 0, lambda: jnp.exp(r), lambda: -r))),
    "vmap of a while loop": Case(
        jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 3, lambda c: c + r**2, r)),
        differentiated=False,
    ),
    "vmap of a while loop that reads a large array": Case(
        jax.vmap(
            lambda r: lax.while_loop(
                lambda c: c.sum() < 1e4 * jnp.asarray(LARGE)[10],
                lambda c: c + abs(r) + jnp.asarray(LARGE)[1],
                r,
            )
        ),
        differentiated=False,
    ),
    "vmap of a switch": Case(
        jax.vmap(lambda x, i: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x)),
        (X, np.array([2, 0, 7])),
    ),
    "vmap of a network": Case(
        jax.vmap(rnn, in_axes=(None, 0)), (np.eye(4) / 2, np.stack([X, X[::-1]]))
    ),
    "grad of a scan": Case(jax.grad(first_row)),
    "grad of a scan in a scan": Case(jax.grad(lambda x: nested(x)[1].sum())),
    "grad of a network, in a batch": Case(
        jax.vmap(jax.grad(lambda w, x: rnn(w, x)[1].sum()), in_axes=(None, 0)),
        (np.eye(4) / 2, np.stack([X, X[::-1]])),
    ),
    "grad of a checkpointed scan": Case(
        jax.grad(
            lambda x: lax.scan(jax.checkpoint(lambda c, r: (jnp.sin(c * r), c)), x[0], x)[0].sum()
        )
    ),
    "hessian of a scan": Case(jax.hessian(lambda v: first_row(v.reshape(2, 2))), (V,)),
    "jvp of a while loop": Case(
        lambda x: jax.jvp(newton, (x,), (jnp.cos(x),))[1][0], differentiated=False
    ),
    "jit inside": Case(
        lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) * y)(x) + jax.jit(first_row)(x)
    ),
}

CALLS: dict[str, Case] = {
    "activations": Case(
        lambda x: (
            jax.nn.relu(x) + jax.nn.softmax(x) + jax.nn.silu(x) + jax.nn.gelu(x),
            jax.nn.log_softmax(x),
            jax.nn.elu(x),
            jax.nn.softplus(x),
            jax.nn.relu6(x),
        )
    ),
    "sums of exponentials": Case(
        lambda x: (jax.scipy.special.logsumexp(x, axis=1), jnp.logaddexp(x, 2 * x))
    ),
    "xlogy": Case(lambda x: jax.scipy.special.xlogy(x, x**2 + 1) + jnp.sinc(x)),
    "derivative rules": Case(lambda x: ruled(x) + reversed_rule(x)),
    "grad of derivative rules": Case(jax.grad(lambda x: jnp.sum(ruled(x) * reversed_rule(x)))),
    "rule for batches": Case(lambda x: batched_rule(x) * 2, differentiated=False),
    "checkpoint": Case(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.cos(y)))(x)),
    "statistics": Case(
        lambda x: (jnp.var(x, 0), jnp.median(x), jnp.quantile(x, 0.3, axis=1), jnp.linalg.norm(x))
    ),
    "stop_gradient": Case(lambda x: x * lax.stop_gradient(x)),
}

INDEXING: dict[str, Case] = {
    "indexing": Case(
        lambda x: (x[1], x[::2, 1:], x[np.array([0, 2, -1])], x[:, np.array([[1, 0]])])
    ),
    "indexing by a value": Case(lambda x, i: (x[i], x[:, i], x[i, i + 1]), (X, np.int64(1))),
    "gather out of bounds": Case(
        lambda x, i: [
            jnp.take(x, i, axis=0, mode=mode, **kwargs)
            for mode, kwargs in [("clip", {}), ("wrap", {}), ("fill", {"fill_value": 7.0})]
        ],
        (X, INDEX),
    ),
    "take_along_axis": Case(
        lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1) * jnp.arange(4.0)
    ),
    "updates": Case(
        lambda x, i: (x.at[1].set(2.0), x.at[i].add(x[0]), x.at[:, 1].multiply(3.0)), (X, INDEX)
    ),
    "updates of extrema": Case(
        lambda x, i: (x.at[i].max(0.1 * x[1]), x.at[i, 1].min(-1.0)), (X, INDEX)
    ),
    "updates out of bounds": Case(
        lambda x, i: [x.at[i].add(x[1], mode=m) for m in ("clip", "drop", "fill")], (X, INDEX)
    ),
    "set out of bounds": Case(
        lambda x, i: x.at[i].set(x[1] ** 2, mode="clip"), (X, np.array([1, 7]))
    ),
    "subtracted and divided": Case(lambda x: (x.at[0].subtract(x[1]), x.at[1, 2].divide(3.0))),
    "dynamic slices": Case(
        lambda x, i: (
            lax.dynamic_slice(x, (i, jnp.int32(1)), (2, 2)),
            lax.dynamic_update_slice(x, x[:1, :2] * 2, (i, jnp.int32(3))),
            lax.dynamic_index_in_dim(x, i),
        ),
        (X, np.int32(2)),
    ),
    "dynamic slices in a batch": Case(
        jax.vmap(lambda r, i: (lax.dynamic_slice(r, (i,), (2,)), r.at[i].set(0.0), r[i])),
        (X, np.array([0, 3, 1])),
    ),
    "grad of indexing": Case(jax.grad(lambda x: jnp.sum(x[np.array([0, 0, 2])] ** 2 * x[1, 2]))),
    "sorting": Case(
        lambda x: (jnp.sort(x, 0), jnp.argsort(x), jnp.sort(x, descending=True), lax.top_k(x, 2))
    ),
    "sorting by keys": Case(
        lambda x: (jnp.lexsort((x[1], jnp.round(x[0]))), *lax.sort((x, -x, 2 * x), num_keys=2))
    ),
    "sorting of complex numbers": Case(lambda z: jnp.sort(z), (np.append(Z, Z[0].real),)),
    "places": Case(lambda x: (jnp.argmax(x), jnp.argmin(x, 1), jnp.nanargmax(x, 0))),
    "running combinations": Case(
        lambda x: (lax.cummax(x), lax.cummin(x, 1, reverse=True), lax.cumlogsumexp(x, 1))
    ),
    "reductions by functions": Case(
        lambda x: [
            lax.reduce(x, np.float64(2), function, (0,))
            for function in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: lax.max(a, b))
        ]
    ),
    "running sums": Case(lambda x: (jnp.cumsum(x), lax.cumprod(x, 1, reverse=True))),
    "searchsorted": Case(lambda v: jnp.searchsorted(jnp.sort(v), 0.2 * v) + v, (V,)),
    "interpolation": Case(
        lambda v: jnp.interp(v, jnp.array([-1.0, 0.0, 2.0]), jnp.arange(3.0)), (V,)
    ),
    "joining": Case(
        lambda x: (
            jnp.split(x, [1, 3], axis=1),
            jnp.roll(x, 1, 0),
            jnp.tile(x, 2),
            jnp.repeat(x, 2),
        )
    ),
    "triangles": Case(lambda x: (jnp.tril(x), jnp.diag(x[0]), jnp.trace(x), jnp.diagonal(x))),
    "integers": Case(
        lambda n: (
            n // 3,
            n % 3,
            -n // 2,
            n >> 1,
            lax.shift_right_logical(n, 60),
            lax.div(n, -2 + 0 * n),
        ),
        (np.arange(-4, 5),),
        False,
    ),
    "choice by a number": Case(
        lambda x: (
            jnp.choose(np.array([0, 1, 1, 2]), x, mode="clip"),
            lax.select_n(jnp.arange(12).reshape(3, 4) % 3, x, 2 * x, x * x),
            jnp.select([x > 1, x > 0], [x, x * x], 0.5),
        )
    ),
    "complex numbers": Case(
        lambda z: (jnp.abs(z), jnp.angle(z), z.real * z.imag, jnp.exp(1j * z), jnp.vdot(z, z * z)),
        (Z,),
    ),
    "products": Case(lambda x: (jnp.einsum("ij,kj->ik", x, x), jnp.kron(x, x))),
    "precision": Case(lambda x: lax.reduce_precision(x, 8, 23)),
}

S = X @ X.T + np.eye(3)
H = S + 1j * np.triu(X[:, :3], 1) - 1j * np.triu(X[:, :3], 1).T


def sandwich(vectors: jax.Array, values: jax.Array) -> jax.Array:
    return (vectors * jnp.exp(values)) @ jnp.conj(vectors.T)


MATRICES: dict[str, Case] = {
    "cholesky": Case(jnp.linalg.cholesky, (H,)),
    "cholesky of a triangle": Case(
        lambda x: jnp.linalg.cholesky(x, symmetrize_input=False), (np.tril(S),), False
    ),
    "eigh": Case(lambda x: sandwich(*jnp.linalg.eigh(x)[::-1]), (H,)),
    "eigvalsh": Case(lambda x: jnp.linalg.eigvalsh(x, UPLO="U"), (S,)),
    "svd": Case(lambda x: (lambda u, s, v: (s, (u * s**2) @ v))(*jnp.linalg.svd(x, False))),
    "singular values": Case(lambda x: jnp.linalg.svd(x, compute_uv=False)),
    "qr": Case(lambda x: (lambda q, r: (q @ q.T, r.T @ r))(*jnp.linalg.qr(x.T))),
    "solve": Case(lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.det(a)), (S, X)),
    "solve in a scan": Case(
        lambda a, b: lax.scan(lambda c, y: (jnp.linalg.solve(a, c) + y, c), b[:, 0], b.T), (S, X)
    ),
    "inverses in a batch": Case(jax.vmap(jnp.linalg.inv), (np.stack([S, S + np.eye(3)]),)),
    "logarithm of a determinant": Case(lambda a: jnp.linalg.slogdet(a), (S + X[:, :3],)),
    "triangular systems": Case(
        lambda a, b: [
            jax.scipy.linalg.solve_triangular(a, b, trans=t, lower=low)
            for t, low in [(0, True), (1, False), (2, True)]
        ],
        (H, X + 0j),
    ),
    "exponential of a matrix": Case(lambda a: jax.scipy.linalg.expm(a / 4), (S,)),
    "Fourier transforms": Case(
        lambda x: (jnp.fft.fft(x, axis=0), jnp.fft.irfft(jnp.fft.rfft(x) ** 2, 5), jnp.fft.ifft2(x))
    ),
}

CASES = LOOPS | CALLS | INDEXING | MATRICES
