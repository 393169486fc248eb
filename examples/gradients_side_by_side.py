"""`tn.grad` beside `jax.grad` on a page of functions.

Every function is written once, for a namespace `xp` that is `tenferro` or `jax.numpy`. At complex
arguments `tn.grad` is the conjugate of `jax.grad`: it points uphill, as in PyTorch.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn

TOLERANCE = 1e-12

REAL = {
    "sum(exp(x))": lambda xp, x: xp.sum(xp.exp(x)),
    "sum(sin(x) cos(x))": lambda xp, x: xp.sum(xp.sin(x) * xp.cos(x)),
    "log(sum(exp(x)))": lambda xp, x: xp.log(xp.sum(xp.exp(x))),
    "mean(tanh(x)²)": lambda xp, x: xp.mean(xp.tanh(x) ** 2),
    "sqrt(sum(x²))": lambda xp, x: xp.sqrt(xp.sum(x * x)),
    "sum(|x|^1.5)": lambda xp, x: xp.sum(xp.abs(x) ** 1.5),
    "sum(2^x)": lambda xp, x: xp.sum(2.0**x),
    "sum(x / (1 + x²))": lambda xp, x: xp.sum(x / (1 + x**2)),
    "sum(log1p(x²))": lambda xp, x: xp.sum(xp.log1p(x * x)),
    "sum(expm1(-x²))": lambda xp, x: xp.sum(xp.expm1(-x * x)),
    "max(x)": lambda xp, x: xp.max(x),
    "max(x), all equal": lambda xp, x: xp.max(0 * x),
    "prod(x)": lambda xp, x: xp.prod(x),
    "prod(x), with a zero": lambda xp, x: xp.prod(x * np.arange(12.0).reshape(3, 4)),
    "sum(clip(x, -½, ½))": lambda xp, x: xp.sum(xp.clip(x, -0.5, 0.5)),
    "sum(maximum(x, 0))": lambda xp, x: xp.sum(xp.maximum(x, 0.0)),
    "sum(where(x > 0, x², x))": lambda xp, x: xp.sum(xp.where(x > 0, x * x, x)),
    "sum(x @ xᵀ)": lambda xp, x: xp.sum(xp.matmul(x, xp.permute_dims(x, (1, 0))) ** 2),
    "tensordot": lambda xp, x: xp.sum(xp.tensordot(x, x, axes=([0], [0])) ** 3),
    "outer": lambda xp, x: xp.sum(xp.sin(xp.outer(x[0], x[:, 0]))),
    "x[1:, ::2]": lambda xp, x: xp.sum(x[1:, ::2] ** 3),
    "reshape, concat": lambda xp, x: xp.sum(xp.sin(xp.concat([xp.reshape(x, (12,)), x[0]]))),
    "tril, triu": lambda xp, x: xp.sum(xp.tril(x) ** 2) + xp.sum(xp.triu(x, k=1) ** 3),
    "diagonal": lambda xp, x: xp.sum(xp.diagonal(x) ** 3),
    "flip, stack, pad": lambda xp, x: xp.sum(xp.stack([xp.flip(x, axis=0), x]) ** 2),
    "broadcast": lambda xp, x: xp.sum(xp.broadcast_to(x, (5, 3, 4)) * x),
}

COMPLEX = {
    "sum(|z|²)": lambda xp, z: xp.sum(xp.real(z * xp.conj(z))),
    "sum(|z|)": lambda xp, z: xp.sum(xp.abs(z)),
    "Re sum(exp(z))": lambda xp, z: xp.real(xp.sum(xp.exp(z))),
    "Im sum(z³)": lambda xp, z: xp.imag(xp.sum(z * z * z)),
    "|sum(z sin z)|": lambda xp, z: xp.abs(xp.sum(z * xp.sin(z))),
    "‖z zᴴ‖²": lambda xp, z: xp.sum(xp.abs(xp.matmul(z, xp.conj(xp.permute_dims(z, (1, 0))))) ** 2),
    "Re sum(log z)": lambda xp, z: xp.sum(xp.real(xp.log(z))),
    "Re sum(z / (2 + z))": lambda xp, z: xp.real(xp.sum(z / (2 + z))),
    "Re sum(tanh z)": lambda xp, z: xp.sum(xp.real(xp.tanh(z))),
}


def difference(function, x):
    """The largest difference between `tn.grad` and the conjugate of `jax.grad`."""
    ours = np.asarray(tn.jit(tn.grad(lambda x: function(tn, x)))(x))
    with jax.enable_x64(True):
        theirs = np.asarray(jax.jit(jax.grad(lambda x: function(jnp, x)))(jnp.asarray(x)))
    assert ours.dtype == theirs.dtype == x.dtype
    return float(np.max(np.abs(ours - np.conj(theirs))))


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    z = x + 1j * rng.normal(size=(3, 4))
    worst = 0.0
    for title, functions, point in (("real", REAL, x), ("complex, conjugated", COMPLEX, z)):
        print(f"{title:28} max |tn.grad - jax.grad|")
        for name, function in functions.items():
            error = difference(function, point)
            worst = max(worst, error)
            print(f"  {name:26} {error:.1e}")
    print(f"{len(REAL) + len(COMPLEX)} functions, largest difference {worst:.1e}")
    assert worst < TOLERANCE, worst


if __name__ == "__main__":
    sys.exit(main())
