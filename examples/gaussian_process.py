"""Hyperparameters of a Gaussian process by Newton's method, with the exact Hessian.

The evidence of noisy samples y of a smooth function is a Gaussian with the covariance
K = a² exp(-(x - x')² / 2l²) + s². Its negative logarithm ½ yᵀK⁻¹y + Σ log L_ii + n/2 log 2π, with
K = L Lᵀ by `tn.linalg.cholesky` and K⁻¹y by `tn.linalg.cho_solve`, is minimized over the logarithms
of a, l and s. Value and gradient are compared with the formula ½ tr((K⁻¹ - z zᵀ) dK), z = K⁻¹y, in
NumPy, and the Hessian with differences of gradients.
"""

import sys

import numpy as np

import tenferro as tn

POINTS = 60
X = np.linspace(0, 6, POINTS)
Y = np.sin(2 * X) + 0.5 * np.cos(5 * X) + 0.2 * np.random.default_rng(0).normal(size=POINTS)
SQUARES = (X[:, None] - X) ** 2


def covariance(theta):
    """K of the logarithms of amplitude, length and noise."""
    amplitude, length, noise = tn.unstack(tn.exp(theta))
    return amplitude**2 * tn.exp(-SQUARES / (2 * length**2)) + noise**2 * tn.eye(POINTS)


def loss(theta):
    """The negative logarithm of the evidence."""
    factor = tn.linalg.cholesky(covariance(theta))
    z = tn.linalg.cho_solve((factor, True), Y)
    half_determinant = tn.sum(tn.log(tn.diagonal(factor)))
    return tn.vecdot(Y, z) / 2 + half_determinant + POINTS / 2 * np.log(2 * np.pi)


def value_and_gradient_in_numpy(theta):
    """The textbook: Rasmussen and Williams, equations 2.30 and 5.9."""
    amplitude, length, noise = np.exp(theta)
    signal = amplitude**2 * np.exp(-SQUARES / (2 * length**2))
    k = signal + noise**2 * np.eye(POINTS)
    slopes = [2 * signal, signal * SQUARES / length**2, 2 * noise**2 * np.eye(POINTS)]
    inverse = np.linalg.inv(k)
    z = inverse @ Y
    value = (Y @ z + np.linalg.slogdet(k)[1] + POINTS * np.log(2 * np.pi)) / 2
    return value, np.array([np.sum((inverse - np.outer(z, z)) * slope) / 2 for slope in slopes])


# A few calls on small matrices: compiling them would take longer.
value_and_gradient = tn.jit(tn.value_and_grad(loss), executor="numpy")
hessian = tn.jit(tn.hessian(loss), executor="numpy")


def newton(theta, steps=25):
    """The minimum; directions of negative curvature are turned, and steps halved as needed."""
    for step in range(steps):
        value, gradient = map(np.asarray, value_and_gradient(theta))
        print(f"step {step}: {value:.10f}, slope {np.linalg.norm(gradient):.1e}")
        if np.linalg.norm(gradient) < 1e-9:
            break
        curvatures, axes = np.linalg.eigh(np.asarray(hessian(theta)))
        move = -axes @ (axes.T @ gradient / np.maximum(np.abs(curvatures), 1.0))
        while value_and_gradient(theta + move)[0] > value + 1e-12 * abs(value):
            move = move / 2
        theta = theta + move
    return theta


def main():
    theta = newton(np.log([0.5, 2.0, 0.5]))
    print("amplitude {:.4f}, length {:.4f}, noise {:.4f}".format(*np.exp(theta)))
    for point in (np.log([0.5, 2.0, 0.5]), theta):
        value, gradient = value_and_gradient(point)
        peer, gradient_of_peer = value_and_gradient_in_numpy(point)
        np.testing.assert_allclose(value, peer, rtol=1e-11)
        np.testing.assert_allclose(gradient, gradient_of_peer, rtol=1e-9, atol=1e-8)
        step = 1e-4
        differenced = [
            (value_and_gradient_in_numpy(point + e)[1] - value_and_gradient_in_numpy(point - e)[1])
            / (2 * step)
            for e in step * np.eye(3)
        ]
        np.testing.assert_allclose(hessian(point), differenced, rtol=1e-6, atol=1e-5)
    print(f"gradient at the minimum, in NumPy: {np.max(np.abs(gradient_of_peer)):.1e}")
    assert np.linalg.eigvalsh(np.asarray(hessian(theta)))[0] > 0, "it is a minimum"
    assert np.max(np.abs(gradient_of_peer)) < 1e-8


if __name__ == "__main__":
    sys.exit(main())
