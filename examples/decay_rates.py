"""Variational inference with random numbers that are differentiable: the rates of 20 sources.

Each source decays at a rate of its own, and is counted a few times, for different spans of time.
The rates have a gamma distribution, and the counts are Poisson numbers. So the distribution of a
rate given its counts is a gamma distribution, too, which is known, and the fit has to find it.

The fit is written for one source. It draws rates from a gamma distribution q, and moves q to where
log p(rate, counts) - log q(rate) is the largest on average, by the derivative of the drawn rates by
the parameters of q. Where q is exact, that difference is the same number for every rate, the
logarithm of the evidence: so the noise of the gradient vanishes there, and the fit converges to the
last digit, with steps that stay as long. `vmap` fits all sources, each with a key of its own.
"""

import math
import sys

import numpy as np

import tenferro as tn

SOURCES, COUNTS, DRAWS, STEPS = 20, 6, 16, 60
STEP = 0.5
SHAPE, RATE = 2.0, 0.5
"""Of the gamma distribution that the rates of decay come from."""


def observations(key):
    """The spans of time and the counts, both `[sources, counts]`."""
    for_rates, for_spans, for_counts = tn.random.split(key, 3)
    rates = tn.random.gamma(for_rates, SHAPE, (SOURCES, 1)) / RATE
    spans = tn.random.uniform(for_spans, (SOURCES, COUNTS), minval=0.5, maxval=2.0)
    return spans, tn.random.poisson(for_counts, rates * spans)


def log_joint(rate, spans, counts):
    """The logarithm of the density of a rate and its counts, up to a constant."""
    mean = rate * spans
    return (SHAPE - 1) * tn.log(rate) - RATE * rate + tn.sum(counts * tn.log(mean) - mean)


def parameters(theta):
    """Shape and rate of q, from the logarithms of its shape and its mean."""
    shape, mean = tn.unstack(tn.exp(theta))
    return shape, shape / mean


def excess(theta, key, spans, counts):
    """The mean of log q(rate) - log p(rate, counts) over rates from q, up to a constant.

    The density of q does not count as a function of theta: that part of the derivative is 0 on
    average, and only noise.
    """
    shape, scale = parameters(theta)
    rates = tn.random.gamma(key, shape, (DRAWS,)) / scale
    shape, scale = parameters(tn.lax.stop_gradient(theta))
    log_q = (shape - 1) * tn.log(rates) - scale * rates
    return tn.mean(log_q - tn.vmap(log_joint, (0, None, None))(rates, spans, counts))


def fitted(key, spans, counts):
    """The parameters theta of q, by natural gradient.

    The gradient is divided by the Fisher information of q, which is about 1/2 for the logarithm of
    the shape, and the shape for that of the mean.
    """

    def step(theta, key):
        slope = tn.grad(excess)(theta, key, spans, counts)
        information = tn.stack([0.5, tn.exp(theta[0])])
        return theta - STEP * tn.clip(slope / information, -1.0, 1.0), None

    theta, _ = tn.scan(step, tn.zeros(2), tn.random.split(key, STEPS))
    return theta


def log_evidence(rates, shape, scale, spans, counts):
    """log p(rate, counts) - log q(rate) at some rates, with the constants of both."""
    of_prior = SHAPE * math.log(RATE) - math.lgamma(SHAPE)
    of_counts = -sum(math.lgamma(count + 1) for count in counts)
    log_q = shape * math.log(scale) - math.lgamma(shape)
    log_q = log_q + (shape - 1) * np.log(rates) - scale * rates
    mean = rates[:, None] * spans
    of_rates = (SHAPE - 1) * np.log(rates) - RATE * rates
    return of_prior + of_counts + of_rates + np.sum(counts * np.log(mean) - mean, axis=1) - log_q


def main():
    for_data, for_fits, for_rates = tn.random.split(tn.random.key(0), 3)
    spans, counts = observations(for_data)
    fit = tn.jit(tn.vmap(fitted), executor="numpy")
    theta = fit(tn.random.split(for_fits, SOURCES), spans, counts)
    shapes, scales = (np.asarray(each) for each in tn.vmap(parameters)(theta))
    spans, counts = np.asarray(spans), np.asarray(counts)
    exact = SHAPE + counts.sum(axis=1), RATE + spans.sum(axis=1)
    errors = [
        np.max(np.abs(found / true - 1))
        for found, true in zip((shapes, scales), exact, strict=True)
    ]
    for name, found, error in zip(("shapes", "rates"), (shapes, scales), errors, strict=True):
        print(f"{name} of all fits: {found.min():.3f} to {found.max():.3f}, off by {error:.1e}")
    assert max(errors) < 1e-9

    rates = np.asarray(tn.random.gamma(for_rates, shapes[0], (100,))) / scales[0]
    levels = log_evidence(rates, shapes[0], scales[0], spans[0], counts[0])
    print(f"log evidence of the first source: {levels.mean():.6f} ± {levels.std():.1e}")
    assert levels.std() < 1e-9


if __name__ == "__main__":
    sys.exit(main())
