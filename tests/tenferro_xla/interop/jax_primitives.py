"""Programs of JAX that tests read: windows, bits, matrices, collectives, library primitives."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from tests.tenferro_xla.interop.jax_programs import Case, S, V, X, Z

IMAGE = np.random.default_rng(1).normal(size=(2, 3, 4, 5))
KERNEL = np.random.default_rng(2).normal(size=(4, 3, 3, 2))
INTEGERS = np.arange(12).reshape(3, 4) % 5
LAST = (0, 2, 3, 1)


def windows(x: Any, function: Any, first: float, padding: str = "SAME", **options: Any) -> Any:
    return lax.reduce_window(x, first, function, (1, 1, 2, 3), (1, 1, 2, 1), padding, **options)


def largest(x: Any) -> Any:
    return windows(x, lax.max, -jnp.inf)


WINDOWS: dict[str, Case] = {
    "convolution": Case(
        lambda x, k: (
            lax.conv_general_dilated(x, k, (2, 1), "SAME"),
            lax.conv_general_dilated(x, k, (1, 2), ((1, 2), (0, -1)), (2, 1), (1, 2)),
        ),
        (IMAGE, KERNEL),
    ),
    "convolution in groups": Case(
        lambda x, k: (
            lax.conv_general_dilated(x, k[:3, :1], (1, 1), "VALID", feature_group_count=3),
            lax.conv_general_dilated(x, k, (1, 1), "VALID", batch_group_count=2),
        ),
        (IMAGE, KERNEL),
    ),
    "convolution, channels last": Case(
        lambda x, k: (
            lax.conv_general_dilated(
                x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ),
            lax.conv_transpose(x, k, (2, 2), "SAME"),
        ),
        (IMAGE.transpose(LAST), KERNEL.transpose(2, 3, 1, 0)),
    ),
    "gradient of a convolution": Case(
        jax.grad(
            lambda x, k: jnp.sum(jnp.sin(lax.conv_general_dilated(x, k, (2, 1), "SAME"))), (0, 1)
        ),
        (IMAGE, KERNEL),
    ),
    "convolution of complex vectors": Case(
        lambda z: (jnp.convolve(z, z[:2]), jnp.correlate(z, z)), (Z,)
    ),
    "sums of windows": Case(lambda x: windows(x, lax.add, 0.0), (IMAGE,)),
    "extrema of windows": Case(
        lambda x: (largest(x), windows(x, lax.min, jnp.inf, "VALID")), (IMAGE,)
    ),
    "gradient of extrema of windows": Case(
        jax.grad(lambda x: jnp.sum(largest(x) ** 2) + jnp.sum(windows(x, lax.min, jnp.inf))),
        (IMAGE,),
    ),
    "gradient of equal extrema": Case(
        jax.grad(lambda x: jnp.sum(largest(jnp.round(x)) * jnp.arange(5))), (IMAGE,), False
    ),
    "tangents of extrema of windows": Case(
        lambda x: jax.jvp(largest, (x,), (jnp.cos(x),))[1], (IMAGE,)
    ),
    "windows with holes": Case(
        lambda x: windows(x, lax.max, -jnp.inf, "VALID", window_dilation=(1, 1, 2, 1)),
        (IMAGE,),
        False,
    ),
    "functions of windows": Case(
        lambda x: (
            windows(x, lax.mul, 1.0),
            lax.reduce_window(
                (x, 2 * x),
                (0.0, 0.0),
                lambda a, b: (a[0] + b[0] + a[0] * b[0], jnp.logaddexp(a[1], b[1])),
                *((1, 1, 2, 2), (1, 1, 1, 1), "VALID"),
            ),
        ),
        (IMAGE,),
        False,
    ),
    "windows of integers": Case(
        lambda n: (
            lax.reduce_window(n, 0, lax.add, (2, 2), (1, 1), "SAME"),
            lax.reduce_window(n, np.iinfo(np.int64).min, lax.max, (2, 2), (1, 1), "SAME"),
        ),
        (INTEGERS,),
        False,
    ),
}

BITS: dict[str, Case] = {
    "bits of floats": Case(
        lambda x: (
            lax.bitcast_convert_type(x, "int64"),
            lax.bitcast_convert_type(x.astype("float32"), "uint32"),
            lax.bitcast_convert_type(lax.bitcast_convert_type(x, "uint16"), "float64"),
            jnp.nextafter(x, x + 1),
            jnp.signbit(x),
            lax.reduce_precision(x, 3, 4),
        ),
        differentiated=False,
    ),
    "bits of integers": Case(
        lambda n: (
            lax.mulhi(n * 2**40, n * 2**40),
            lax.population_count(n),
            lax.reduce_xor(n, (0,)),
            lax.reduce(n, np.int64(-1), lax.bitwise_and, (0,)),
            lax.reduce(n, np.int64(0), lax.bitwise_or, (1,)),
        ),
        (INTEGERS,),
        False,
    ),
    "reductions by other functions": Case(
        lambda x: (
            lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
            lax.reduce(x, np.float64(0), lambda a, b: a + b + a * b, (0, 1)),
        )
    ),
    "functions of elements": Case(
        lambda x: (x.at[1].apply(jnp.sin), x.at[np.array([0, 2]), 1:3].apply(lambda v: v * v)),
        differentiated=False,
    ),
    "pieces": Case(lambda x: (jnp.unstack(x, axis=1), jnp.split(x, 2, 1))),
    "largest and smallest elements": Case(
        lambda x: (lax.approx_max_k(x, 2), lax.approx_min_k(x, 2)), differentiated=False
    ),
    "grouped products": Case(
        lambda x, y: lax.ragged_dot(x, y, jnp.array([1, 2])),
        (X, np.random.default_rng(3).normal(size=(2, 4, 5))),
    ),
    "collectives of a batch": Case(
        jax.vmap(
            lambda x: (
                *(lax.psum(x, "i") + lax.axis_index("i"), lax.pmean(x, "i")),
                *(lax.all_gather(x, "i"), lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])),
            ),
            axis_name="i",
        )
    ),
    "extrema of a batch": Case(
        jax.vmap(lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i")), axis_name="i"), (X,), False
    ),
    "functions by the name of a kernel": Case(
        lambda x: lax.composite(lambda y: jnp.sin(y) * 2, name="a.b")(x), differentiated=False
    ),
}

MATRICES: dict[str, Case] = {
    "pivoted qr": Case(
        lambda a: (lambda q, r, p: (q @ r, p))(
            *lax.linalg.qr(a, pivoting=True, full_matrices=False)
        ),
        differentiated=False,
    ),
    "eigenvalues": Case(lambda a: jnp.sum(jnp.linalg.eigvals(a + X[:, :3]) ** 3), (S,)),
    "eigenvectors": Case(
        lambda a: (
            (lambda w, v: jnp.abs((v * w) @ jnp.linalg.inv(v)))(*jnp.linalg.eig(a + X[:, :3])),
            (lambda w, u, v: jnp.abs(jnp.sum(jnp.conj(u) * v, 0)))(*lax.linalg.eig(a + X[:, :3])),
        ),
        (S,),
        False,
    ),
    "schur": Case(lambda a: (lambda t, z: z @ t @ z.T)(*lax.linalg.schur(a)), (S,), False),
    "reflections": Case(
        lambda a: (
            lax.linalg.householder_product(a, a[0]),
            lax.linalg.ormqr(a, a[0], a),
            lax.linalg.symmetric_product(a, a @ a.T, alpha=2.0, beta=0.5),
            lax.linalg.cholesky_update(jnp.linalg.cholesky(a).T, a[0]),
        ),
        (S,),
        False,
    ),
    "tridiagonal systems": Case(
        lambda v: lax.linalg.tridiagonal_solve(
            v.at[0].set(0), v + 4, v.at[-1].set(0), jnp.outer(v, v)
        ),
        (V,),
    ),
    "permutations": Case(
        lambda a: (lambda lu, pivots, p: (lu, lax.linalg.lu_pivots_to_permutation(pivots, 4)))(
            *lax.linalg.lu(a.T)
        ),
        differentiated=False,
    ),
}


# A primitive as libraries define them: with an implementation, and rules of its own.

sine_p = core.Primitive("sine_of_a_library")
sine_p.def_impl(lambda x, *, scale: jnp.sin(scale * x))
sine_p.def_abstract_eval(lambda x, *, scale: x)
mlir.register_lowering(sine_p, mlir.lower_fun(sine_p.impl, multiple_results=False))
ad.primitive_jvps[sine_p] = lambda xs, dxs, *, scale: (
    sine_p.bind(*xs, scale=scale),
    7 * scaled_p.bind(jnp.cos(scale * xs[0]), dxs[0]),
)
batching.primitive_batchers[sine_p] = lambda xs, axes, *, scale: (
    sine_p.bind(*xs, scale=scale),
    axes[0],
)

scaled_p = core.Primitive("linear_of_a_library")
scaled_p.def_impl(lambda by, x: by * x)
scaled_p.def_abstract_eval(lambda by, x: x)
mlir.register_lowering(scaled_p, mlir.lower_fun(scaled_p.impl, multiple_results=False))
ad.primitive_transposes[scaled_p] = lambda ct, by, x: (None, 3 * by * ct)

# Whether any entry of a batch is true: one truth value for all entries.

any_p = core.Primitive("any_of_a_library")
any_p.def_impl(jnp.any)
any_p.def_abstract_eval(lambda x: jax.core.ShapedArray((), np.dtype(bool)))
mlir.register_lowering(any_p, mlir.lower_fun(any_p.impl, multiple_results=False))
batching.primitive_batchers[any_p] = lambda xs, axes: (any_p.bind(xs[0]), None)

# A function that is found by a number, which must be known when it is traced.

chosen_p = core.Primitive("chosen_by_a_library")
chosen_p.def_impl(lambda number, x: (jnp.sin, jnp.cos)[number.item()](x))
chosen_p.def_abstract_eval(lambda number, x: x)
mlir.register_lowering(chosen_p, mlir.lower_fun(lambda number, x: jnp.cos(x), False))
ad.primitive_jvps[chosen_p] = lambda xs, dxs: (
    chosen_p.bind(*xs),
    -2 * jnp.sin(xs[1]) * chosen_p.bind(xs[0], 0 * xs[1]) * dxs[1],
)

LIBRARIES: dict[str, Case] = {
    "primitive of a library with a known number": Case(
        lambda x: chosen_p.bind(np.asarray(1, np.int64), x) * x
    ),
    "primitive of a library": Case(lambda x: sine_p.bind(x, scale=2.0) * x),
    "primitive of a library in a loop": Case(
        lambda x: lax.scan(lambda c, r: (sine_p.bind(c * r, scale=0.5), c), jnp.ones(4), x)
    ),
}

CASES = WINDOWS | BITS | MATRICES | LIBRARIES
