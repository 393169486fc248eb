"""A thousand Kalman filters at once, and the gradient of their likelihood by the noise parameters.

Points move along lines: position and velocity follow x' = F x + noise of covariance q² Q, and both
are seen with noise of variance r² c², where c is the known quality of the point's sensor. A filter
gives the likelihood of what was seen. Each step inverts a batch of 1000 matrices of 2 × 2. The
gradient goes through all steps, and Newton's method finds the noise that the data were made with.
"""

import sys

import numpy as np

import tenferro as tn

BATCH, STEPS, DT = 1000, 4, 0.5
F = np.array([[1.0, DT], [0.0, 1.0]])
Q = np.array([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])  # white noise in the acceleration
TRUTH = np.log([0.7, 0.4])
"""The logarithms of q and r."""


def observations():
    """What is seen of the points, `[steps, batch, 2]`, and their sensors' qualities, `[batch]`."""
    generator = np.random.default_rng(0)
    q, r = np.exp(TRUTH)
    quality = generator.uniform(0.5, 2.0, size=BATCH)
    x, seen = generator.normal(size=(BATCH, 2)), []
    for _ in range(STEPS):
        x = x @ F.T + q * generator.normal(size=(BATCH, 2)) @ np.linalg.cholesky(Q).T
        seen.append(x + r * quality[:, None] * generator.normal(size=(BATCH, 2)))
    return np.array(seen), quality


def loss(theta, seen, quality):
    """The negative logarithm of the likelihood of a point, on average."""
    q, r = tn.unstack(tn.exp(theta))
    sensor = (r * quality)[:, None, None] ** 2 * tn.eye(2)
    mean, covariance = tn.zeros((BATCH, 2)), tn.broadcast_to(tn.eye(2), (BATCH, 2, 2))
    total = STEPS * np.log(2 * np.pi)
    for observed in tn.unstack(seen):
        mean, covariance = mean @ F.T, F @ covariance @ F.T + q**2 * Q
        surprise, spread = observed - mean, covariance + sensor
        inverse = tn.linalg.inv(spread)
        gain = covariance @ inverse
        weighed = tn.sum(inverse * surprise[:, None, :], axis=-1)
        total += tn.mean(tn.vecdot(surprise, weighed) + tn.log(tn.linalg.det(spread))) / 2
        mean = mean + tn.sum(gain * surprise[:, None, :], axis=-1)
        covariance = covariance - gain @ covariance
    return total


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
    y = seen.swapaxes(0, 1).reshape(BATCH, -1, 1)
    square = y.swapaxes(1, 2) @ np.linalg.solve(joint, y)
    return np.mean(square[:, 0, 0] + np.linalg.slogdet(2 * np.pi * joint)[1]) / 2


def differenced(function, x, step=1e-4):
    """Central differences of a function of a vector, along its last axis."""
    pairs = [(function(x + e), function(x - e)) for e in step * np.eye(x.size)]
    return np.stack([(ahead - behind) / (2 * step) for ahead, behind in pairs], axis=-1)


def main():
    seen, quality = observations()
    # 40 calls of 20 ms. XLA's take less than 1 ms, but compiling takes longer than all of them.
    both = tn.jit(tn.value_and_grad(loss), executor="numpy")

    def value_and_gradient(theta):
        return map(np.asarray, both(theta, seen, quality))

    def peer(theta):
        return loss_at_once(theta, seen, quality)

    theta = np.zeros(2)
    value, gradient = value_and_gradient(theta)
    exact, slopes = peer(theta), differenced(peer, theta)
    print(f"at q = r = 1: {value:.10f}, without a filter {exact:.10f}")
    print(f"  gradient {gradient}, off by {np.max(np.abs(gradient - slopes)):.1e}")
    np.testing.assert_allclose(value, exact, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)

    for _ in range(8):
        hessian = differenced(lambda at: list(value_and_gradient(at))[1], theta)
        value, gradient = value_and_gradient(theta)
        theta = theta - np.linalg.solve(hessian, gradient)
    error = np.sqrt(np.diag(np.linalg.inv(BATCH * hessian)))
    for name, found, true, width in zip("qr", theta, TRUTH, error, strict=True):
        print(f"{name} = {np.exp(found):.4f} ± {np.exp(found) * width:.4f}, truth {np.exp(true)}")
    assert np.max(np.abs(gradient)) < 1e-9, gradient
    assert np.all(np.abs(theta - TRUTH) < 3 * error), "the truth is within three deviations"


if __name__ == "__main__":
    sys.exit(main())
