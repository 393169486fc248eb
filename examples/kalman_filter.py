"""A thousand Kalman filters at once, and the gradient of their likelihood by the noise parameters.

Points move along lines: position and velocity follow x' = F x + noise of covariance q² Q, and both
are seen with noise of variance r² c², where c is the known quality of the point's sensor. A filter
gives the likelihood of what was seen: it is a `scan` over time, written for one point, and `vmap`
runs it for all points. The gradient goes through all steps, and Newton's method, with the exact
Hessian, finds the noise that the data were made with.
"""

import sys

import numpy as np

import tenferro as tn

POINTS, STEPS, DT = 1000, 8, 0.5
F = np.array([[1.0, DT], [0.0, 1.0]])
Q = np.array([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])  # white noise in the acceleration
TRUTH = np.log([0.7, 0.4])
"""The logarithms of q and r."""


def observations():
    """What is seen, `[points, steps, 2]`, and the qualities of the sensors, `[points]`."""
    generator = np.random.default_rng(0)
    q, r = np.exp(TRUTH)
    quality = generator.uniform(0.5, 2.0, size=POINTS)
    x, seen = generator.normal(size=(POINTS, 2)), []
    for _ in range(STEPS):
        x = x @ F.T + q * generator.normal(size=(POINTS, 2)) @ np.linalg.cholesky(Q).T
        seen.append(x + r * quality[:, None] * generator.normal(size=(POINTS, 2)))
    return np.stack(seen, axis=1), quality


def surprise(theta, seen, quality):
    """The negative logarithm of the likelihood of one point, seen `[steps, 2]`."""
    q, r = tn.unstack(tn.exp(theta))
    sensor = (r * quality) ** 2 * np.eye(2)

    def step(state, observed):
        mean, covariance = F @ state[0], F @ state[1] @ F.T + q**2 * Q
        missed, spread = observed - mean, covariance + sensor
        gain = tn.linalg.solve(spread, covariance).T  # both are symmetric
        square = missed @ tn.linalg.solve(spread, missed)
        state = mean + gain @ missed, covariance - gain @ covariance
        return state, square + tn.log(tn.linalg.det(2 * np.pi * spread))

    _, terms = tn.scan(step, (np.zeros(2), np.eye(2)), seen)
    return tn.sum(terms) / 2


def loss(theta, seen, quality):
    """The mean over all points."""
    return tn.mean(tn.vmap(surprise, (None, 0, 0))(theta, seen, quality))


def loss_at_once(theta, seen, quality):
    """The same without a filter: all that is seen of a point is one Gaussian."""
    q, r = np.exp(theta)
    state, blocks = np.eye(2), [[None] * STEPS for _ in range(STEPS)]
    for i in range(STEPS):
        state = F @ state @ F.T + q**2 * Q
        for j in range(i, STEPS):
            blocks[j][i] = np.linalg.matrix_power(F, j - i) @ state
            blocks[i][j] = blocks[j][i].T
    joint = np.block(blocks) + (r * quality)[:, None, None] ** 2 * np.eye(2 * STEPS)
    y = seen.reshape(POINTS, -1, 1)
    square = y.swapaxes(1, 2) @ np.linalg.solve(joint, y)
    return np.mean(square[:, 0, 0] + np.linalg.slogdet(2 * np.pi * joint)[1]) / 2


def differenced(function, x, step=1e-4):
    """Central differences of a function of a vector."""
    pairs = [(function(x + e), function(x - e)) for e in step * np.eye(x.size)]
    return np.array([(ahead - behind) / (2 * step) for ahead, behind in pairs])


def main():
    seen, quality = observations()
    # 17 calls of 0.1 to 0.3 s. XLA's take 1 ms, but compiling takes longer than all of them.
    value_and_gradient = tn.jit(tn.value_and_grad(loss), executor="numpy")
    hessian = tn.jit(tn.hessian(loss), executor="numpy")

    theta = np.zeros(2)
    value, gradient = map(np.asarray, value_and_gradient(theta, seen, quality))
    exact = loss_at_once(theta, seen, quality)
    slopes = differenced(lambda at: loss_at_once(at, seen, quality), theta)
    print(f"at q = r = 1: {value:.10f}, without a filter {exact:.10f}")
    print(f"  gradient {gradient}, off by {np.max(np.abs(gradient - slopes)):.1e}")
    np.testing.assert_allclose(value, exact, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)

    for _ in range(8):
        curvature = np.asarray(hessian(theta, seen, quality))
        _, gradient = value_and_gradient(theta, seen, quality)
        theta = theta - np.clip(np.linalg.solve(curvature, np.asarray(gradient)), -0.5, 0.5)
    error = np.sqrt(np.diag(np.linalg.inv(POINTS * curvature)))
    for name, found, true, width in zip("qr", theta, TRUTH, error, strict=True):
        print(f"{name} = {np.exp(found):.4f} ± {np.exp(found) * width:.4f}, truth {np.exp(true)}")
    assert np.max(np.abs(np.asarray(gradient))) < 1e-9, gradient
    assert np.all(np.abs(theta - TRUTH) < 3 * error), "the truth is within three deviations"


if __name__ == "__main__":
    sys.exit(main())
