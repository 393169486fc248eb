"""Forty gradients whose memory is compared with what was predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tenferro as tn

Arrays = tuple[Any, ...]
Program = tuple[str, Callable[..., Any], Arrays]


def normal(*shape: int, scale: float = 1.0, seed: int = 0, dtype: str = "float64") -> Any:
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)


def square(n: int, seed: int = 1, dtype: str = "float64") -> Any:
    return normal(n, n, scale=1 / np.sqrt(n), seed=seed, dtype=dtype)


def repeated(count: int, step: Callable[..., Any], energy: bool = True) -> Callable[..., Any]:
    """The sum of the results of `step(x, *weights)`, applied `count` times."""

    def f(x: Any, *weights: Any) -> Any:
        for _ in range(count):
            x = step(x, *weights)
        return tn.sum(x * x) if energy else tn.sum(x)

    return f


def layers(count: int, step: Callable[..., Any]) -> Callable[..., Any]:
    """The same with weights of its own for each layer, stacked."""

    def f(x: Any, *weights: Any) -> Any:
        for layer in range(count):
            x = step(x, *(w[layer] for w in weights))
        return tn.sum(x * x)

    return f


def gradient(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    return tn.grad(f, argnums=tuple(range(count)))


def softmax(x: Any) -> Any:
    e = tn.exp(x - tn.max(x, axis=-1, keepdims=True))
    return e / tn.sum(e, axis=-1, keepdims=True)


def normalized(x: Any) -> Any:
    centred = x - tn.mean(x, axis=-1, keepdims=True)
    return centred / tn.sqrt(tn.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)


def attention(x: Any, q: Any, k: Any, v: Any, w: Any) -> Any:
    scores = softmax((x @ q) @ tn.permute_dims(x @ k, (1, 0)) / 8.0)
    x = normalized(x + scores @ (x @ v))
    return normalized(x + tn.tanh(x @ w))


def rk4(x: Any, w: Any) -> Any:
    def slope(y: Any) -> Any:
        return tn.tanh(y @ w)

    a = slope(x)
    b = slope(x + 0.05 * a)
    c = slope(x + 0.05 * b)
    d = slope(x + 0.1 * c)
    return x + 0.1 / 6 * (a + 2 * b + 2 * c + d)


def lstm(state: Any, w: Any) -> Any:
    h, c = state[:, :64], state[:, 64:]
    z = h @ w
    i, f, o, g = (z[:, 64 * k : 64 * (k + 1)] for k in range(4))
    c = c / (1 + tn.exp(-f)) + tn.tanh(g) / (1 + tn.exp(-i))
    return tn.concat([tn.tanh(c) / (1 + tn.exp(-o)), c], axis=1)


def heat(u: Any) -> Any:
    inside = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    new = tn.tanh(inside + 0.1 * (around - 4 * inside))
    return tn.pad(new, ((1, 1), (1, 1)))


def unet(x: Any, *weights: Any) -> Any:
    kept = []
    for w in weights:
        kept.append(x)
        x = tn.tanh(x @ w)
    for w in reversed(weights):
        x = tn.tanh(x @ w) + kept.pop()
    return tn.sum(x * x)


def dense_net(x: Any, *weights: Any) -> Any:
    features = [x]
    for w in weights:
        features.append(tn.tanh(tn.concat(features, axis=1) @ w))
    return tn.sum(features[-1] ** 2)


def coupling(x: Any, w: Any, v: Any) -> Any:
    half = x.shape[1] // 2
    a, b = x[:, :half], x[:, half:]
    b = b * tn.exp(tn.tanh(a @ w)) + a @ v
    return tn.concat([b, a], axis=1)


def sinkhorn(cost: Any) -> Any:
    kernel = tn.exp(-cost * cost)
    u = v = tn.ones(cost.shape[0])
    for _ in range(20):
        u = 1 / (kernel @ v)
        v = 1 / (tn.permute_dims(kernel, (1, 0)) @ u)
    return tn.sum(u[:, None] * kernel * v[None, :] * cost)


def gaussian_process(x: Any, y: Any) -> Any:
    distance = x[:, None] - x[None, :]
    kernel = tn.exp(-distance * distance) + tn.eye(x.shape[0])
    factor = tn.linalg.cholesky(kernel)
    z = tn.linalg.solve(factor, y)
    return tn.sum(z * z) + 2 * tn.sum(tn.log(tn.linalg.diagonal(factor)))


def unrolled_descent(w: Any, x: Any) -> Any:
    def loss(p: Any) -> Any:
        return tn.sum(tn.tanh(x @ p) ** 2)

    for _ in range(6):
        w = w - 0.01 * tn.grad(loss)(w)
    return loss(w)


def newton_schulz(a: Any) -> Any:
    for _ in range(10):
        a = 1.5 * a - 0.5 * a @ tn.permute_dims(a, (1, 0)) @ a
    return tn.sum(tn.sin(a))


def mixture(x: Any, means: Any) -> Any:
    scores = -tn.sum((x[:, None, :] - means[None]) ** 2, axis=-1)
    top = tn.max(scores, axis=1, keepdims=True)
    return -tn.sum(tn.log(tn.sum(tn.exp(scores - top), axis=1)) + top[:, 0])


def kalman(p: Any, a: Any) -> Any:
    total = 0.0
    for _ in range(8):
        p = a @ p @ tn.permute_dims(a, (1, 0)) + tn.eye(p.shape[0])
        p = p - p @ tn.linalg.solve(p + tn.eye(p.shape[0]), p)
        total = total + tn.sum(p * p)
    return total


def spectral(x: Any, w: Any) -> Any:
    return tn.real(tn.fft.ifft(tn.fft.fft(tn.tanh(x)) * w))


def matrix_product_state(*sites: Any) -> Any:
    left = sites[0]
    for site in sites[1:]:
        left = tn.tanh(tn.einsum("ab,bsc->asc", left, site)[:, 0, :])
    return tn.sum(left * left)


def convolved(x: Any, *kernels: Any) -> Any:
    for kernel in kernels:
        x = tn.tanh(tn.lax.conv_general_dilated(x, kernel, (1, 1), "SAME"))
    return tn.sum(x * x)


def scanned(count: int, step: Callable[..., Any]) -> Callable[..., Any]:
    def f(x: Any, *weights: Any) -> Any:
        last, _ = tn.scan(lambda c, _: (step(c, *weights), None), x, None, length=count)
        return tn.sum(last * last)

    return f


def layer(x: Any, w: Any) -> Any:
    return tn.tanh(x @ w)


def residual(x: Any, w: Any, v: Any) -> Any:
    return x + tn.tanh(x @ w) @ v


def batch_normalized(x: Any, w: Any) -> Any:
    y = x @ w
    centred = y - tn.mean(y, axis=0, keepdims=True)
    return tn.maximum(centred / tn.sqrt(tn.mean(centred**2, axis=0) + 1e-5), 0.0)


def with_norm(x: Any, w: Any) -> Any:
    return normalized(tn.tanh(x @ w))


def choosing(x: Any, w: Any) -> Any:
    return tn.cond(tn.sum(x) > 0, lambda y: tn.tanh(y @ w), lambda y: tn.sin(y @ w), x)


def complex_step(x: Any, w: Any) -> Any:
    return x @ w / (1 + tn.real(tn.conj(x) * x))


def programs() -> Iterator[Program]:
    """The name of each, the function, and its arguments."""
    x, w = normal(256, 128), square(128)
    many = normal(32, 128, 128, scale=0.1)
    yield "MLP, 8 layers", gradient(repeated(8, layer), 2), (x, w)
    yield "MLP, 16 layers", gradient(repeated(16, layer), 2), (x, w)
    yield "MLP, 32 layers", gradient(repeated(32, layer), 2), (x, w)
    yield "MLP, 64 layers, by x", gradient(repeated(64, layer), 1), (x, w)
    yield "MLP, own weights, 16", gradient(layers(16, layer), 2), (x, many[:16])
    yield "MLP, own weights, 32", gradient(layers(32, layer), 2), (x, many)
    yield "MLP, wide batch", gradient(repeated(12, layer), 2), (normal(2048, 64), square(64))
    yield (
        "MLP, float32",
        gradient(repeated(24, layer), 2),
        (*(normal(256, 128, dtype="float32"), square(128, dtype="float32")),),
    )
    yield "MLP, value and gradient", tn.value_and_grad(repeated(24, layer), (0, 1)), (x, w)
    yield "residual, 12", gradient(repeated(12, residual), 3), (x, w, square(128, 2))
    yield "residual, 24", gradient(repeated(24, residual), 3), (x, w, square(128, 2))
    yield "layer norm, 16", gradient(repeated(16, with_norm), 2), (x, w)
    yield "batch norm, 16", gradient(repeated(16, batch_normalized), 2), (x, w)
    parts = tuple(square(64, seed) for seed in range(4))
    yield "transformer, 4 blocks", gradient(repeated(4, attention), 5), (normal(256, 64), *parts)
    yield "transformer, 8 blocks", gradient(repeated(8, attention), 5), (normal(128, 64), *parts)
    yield "attention, long", gradient(repeated(2, attention), 5), (normal(512, 64), *parts)
    yield "RK4, 10 steps", gradient(repeated(10, rk4), 2), (x, w)
    yield "RK4, 30 steps", gradient(repeated(30, rk4), 2), (normal(128, 64), square(64))
    yield (
        "LSTM, 16 steps",
        gradient(repeated(16, lstm), 2),
        (*(normal(128, 128), normal(64, 256, scale=0.1)),),
    )
    yield "heat, 24 steps", gradient(repeated(24, heat), 1), (normal(200, 200),)
    unet_weights = tuple(square(128, seed) for seed in range(8))
    yield "U-net, 8 levels", gradient(unet, 9), (x, *unet_weights)
    dense_weights = tuple(normal(64 * (k + 1), 64, scale=0.1, seed=k) for k in range(8))
    yield "dense net, 8", gradient(dense_net, 9), (normal(256, 64), *dense_weights)
    yield (
        "coupling flow, 12",
        gradient(repeated(12, coupling), 3),
        (*(normal(512, 128), square(64), square(64, 2)),),
    )
    yield "Sinkhorn, 20", gradient(sinkhorn, 1), (normal(300, 300),)
    yield "Gaussian process", gradient(gaussian_process, 1), (normal(300), normal(300))
    yield "unrolled descent", gradient(unrolled_descent, 1), (square(128), normal(256, 128))
    yield "Newton-Schulz, 10", gradient(newton_schulz, 1), (square(200),)
    yield "mixture", gradient(mixture, 2), (normal(500, 16), normal(64, 16))
    yield "Kalman, 8", gradient(kalman, 2), (np.eye(80), square(80))
    yield "spectral, 16", gradient(repeated(16, spectral), 2), (normal(64, 1024), normal(1024))
    sites = (normal(64, 64, scale=0.1), *(normal(64, 4, 64, scale=0.1, seed=k) for k in range(16)))
    yield "matrix product state", gradient(matrix_product_state, 17), sites
    kernels = tuple(normal(8, 8, 3, 3, scale=0.1, seed=k) for k in range(6))
    yield "convolutions, 6", gradient(convolved, 7), (normal(4, 8, 48, 48), *kernels)
    yield "scan, 32 layers", gradient(scanned(32, layer), 2), (x, w)
    yield "scan, 64 residual", gradient(scanned(64, residual), 3), (x, w, square(128, 2))
    yield "scan, RK4 40", gradient(scanned(40, rk4), 2), (normal(128, 64), square(64))
    yield "branches, 12", gradient(repeated(12, choosing), 2), (x, w)
    yield "Hessian product", _hessian_product, (x, w)
    yield (
        "per example",
        tn.vmap(gradient(repeated(12, layer), 1), (0, None)),
        (*(normal(256, 4, 64), square(64)),),
    )
    yield (
        "complex, 16",
        gradient(_complex, 2),
        (*(x[:, :64] + 1j * x[:, 64:], square(64) + 0.1j * square(64, 2)),),
    )
    yield "checkpointed, 4 of 8", gradient(repeated(4, tn.checkpoint(_eight)), 2), (x, w)


def _complex(x: Any, w: Any) -> Any:
    for _ in range(16):
        x = complex_step(x, w)
    return tn.sum(tn.real(x * tn.conj(x)))


def _hessian_product(x: Any, w: Any) -> Any:
    return tn.hvp(lambda y: repeated(12, layer)(y, w), (x,), (x,))


def _eight(x: Any, w: Any) -> Any:
    for _ in range(8):
        x = layer(x, w)
    return x
