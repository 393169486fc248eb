"""Deconvolution of a blurred signal by Fourier transforms, with a weight that the data choose.

What is seen is y = h * x + noise, on a circle. The estimate minimizes |h * x - y|² + λ |x''|²: each
frequency is divided as in a Wiener filter. The weight λ minimizes the generalized cross-validation
n |y - A y|² / (n - tr A)², where A is the linear map from what is seen to the estimate, blurred.
No truth is needed. Newton's method takes the first and second derivative by log λ. Both, and the
gradient by the data, are compared with dense matrices in NumPy, and with differences.
"""

import sys

import numpy as np

import tenferro as tn

POINTS = 256
PLACES = np.arange(POINTS)
FREQUENCIES = 2 * np.pi * np.fft.rfftfreq(POINTS)
ROUGHNESS = (2 - 2 * np.cos(FREQUENCIES)) ** 2  # |x''|² by frequency, x'' by differences
TWICE = np.where((PLACES[: POINTS // 2 + 1] % (POINTS // 2)) == 0, 1, 2)
"""How often a frequency of a real transform stands in a complex one."""


def signal():
    """A step, a ramp and a bump, smooth enough to be told from the noise."""
    x = np.where((PLACES > 40) & (PLACES < 90), 1.0, 0.0)
    x += np.where((PLACES > 110) & (PLACES < 170), (PLACES - 110) / 60, 0.0)
    return x + 0.8 * np.exp(-(((PLACES - 210) / 8) ** 2))


def kernel(width):
    """A Gaussian around place 0, of sum 1."""
    distance = np.minimum(PLACES, POINTS - PLACES)
    h = np.exp(-((distance / width) ** 2) / 2)
    return h / h.sum()


def filtered(log_weight, h):
    """By frequency: what makes the estimate of y, and how much of y the blurred estimate has."""
    blur = tn.fft.rfft(h)
    power = tn.real(blur * tn.conj(blur))
    inverse = tn.conj(blur) / (power + tn.exp(log_weight) * ROUGHNESS)
    return inverse, tn.real(inverse * blur)


def estimate(log_weight, y, h):
    """x from y and the kernel h."""
    return tn.fft.irfft(filtered(log_weight, h)[0] * tn.fft.rfft(y), n=POINTS)


def validation(log_weight, y, h):
    """The generalized cross-validation."""
    _, share = filtered(log_weight, h)
    missed = y - tn.fft.irfft(share * tn.fft.rfft(y), n=POINTS)
    return POINTS * tn.sum(missed**2) / tn.sum(TWICE * (1 - share)) ** 2


def validation_by_matrices(log_weight, y, h):
    """The same with matrices, and its gradient by y, in NumPy."""
    blur = np.stack([np.roll(h, k) for k in PLACES], axis=1)
    curve = np.roll(np.eye(POINTS), 1, axis=0) + np.roll(np.eye(POINTS), -1, axis=0)
    curve -= 2 * np.eye(POINTS)
    penalized = blur.T @ blur + np.exp(log_weight) * curve.T @ curve
    misses = np.eye(POINTS) - blur @ np.linalg.solve(penalized, blur.T)
    scale = POINTS / np.trace(misses) ** 2
    return scale * np.sum((misses @ y) ** 2), 2 * scale * misses.T @ misses @ y


# A few calls on small arrays: compiling them would take longer.
by_weight = tn.jit(tn.value_and_grad(validation), executor="numpy")
curvature = tn.jit(tn.hessian(validation), executor="numpy")
by_data = tn.jit(tn.grad(validation, argnums=1), executor="numpy")


def chosen(y, h, at=0.0):
    """The logarithm of the weight where the slope is zero."""
    for _ in range(20):
        _, slope = by_weight(at, y, h)
        move = -float(slope) / abs(float(curvature(at, y, h)))
        at += min(max(move, -2.0), 2.0)
        if abs(move) < 1e-9:
            break
    return at


def check(at, y, h):
    """Value and derivatives at a weight, beside those of the matrices."""
    value, slope = by_weight(at, y, h)
    step = 1e-3
    behind, here, ahead = (validation_by_matrices(at + d, y, h) for d in (-step, 0.0, step))
    np.testing.assert_allclose(value, here[0], rtol=1e-11)
    np.testing.assert_allclose(by_data(at, y, h), here[1], atol=1e-11)
    scale = here[0]
    np.testing.assert_allclose(slope, (ahead[0] - behind[0]) / (2 * step), atol=1e-6 * scale)
    bend = (ahead[0] - 2 * here[0] + behind[0]) / step**2
    np.testing.assert_allclose(curvature(at, y, h), bend, atol=1e-5 * scale)


def main():
    x, h = signal(), kernel(4.0)
    noise = 0.02 * np.random.default_rng(0).normal(size=POINTS)
    y = np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h), n=POINTS) + noise
    at = chosen(y, h)
    for point in (at - 3, at, at + 3):
        check(point, y, h)

    def error(log_weight):
        return np.linalg.norm(np.asarray(estimate(log_weight, y, h)) - x) / np.linalg.norm(x)

    best = min(error(log_weight) for log_weight in np.linspace(-12, 4, 65))
    print(f"blurred: off by {np.linalg.norm(y - x) / np.linalg.norm(x):.4f}")
    print(
        f"λ = {np.exp(at):.2e}, slope {float(by_weight(at, y, h)[1]):.1e}: off by {error(at):.4f}"
    )
    print(f"the best λ, chosen with the truth: off by {best:.4f}")
    assert error(at) < 1.1 * best, "the data choose almost as well as one who knows the truth"


if __name__ == "__main__":
    sys.exit(main())
