"""Completion of a tensor from a fraction of its entries, by a tensor train fitted with gradients.

A tensor of 10**4 entries has tensor-train rank 3, and 15 % of its entries are known. One
contraction computes the train's elements at all known places; the places are a label of every core.
"""

import sys

import numpy as np

import tenferro as tn

SIZE, ORDER, RANK = 10, 4, 3
BONDS = [1, RANK, RANK, RANK, 1]


def cores(generator):
    """A random train: cores `[left, index, right]`."""
    return [
        generator.normal(size=(BONDS[k], SIZE, BONDS[k + 1])) / np.sqrt(RANK) for k in range(ORDER)
    ]


def elements(train, places):
    """The train at places `[order, n]`."""
    slices = [tn.take(core, place, axis=1) for core, place in zip(train, places, strict=True)]
    return tn.einsum("anb,bnc,cnd,dne->n", *slices)


@tn.jit
@tn.value_and_grad
def misfit(train, places, seen):
    """Mean squared difference at the known places."""
    return tn.mean((elements(train, places) - seen) ** 2)


def fit(train, places, seen, steps=1500, rate=0.03):
    """Adam, with a rate that decreases to zero; prints the misfit every 300 steps."""
    first = [np.zeros_like(core) for core in train]
    second = [np.zeros_like(core) for core in train]
    for step in range(1, steps + 1):
        value, slopes = misfit(train, places, seen)
        now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        for k, slope in enumerate(map(np.asarray, slopes)):
            first[k] = 0.9 * first[k] + 0.1 * slope
            second[k] = 0.99 * second[k] + 0.01 * slope**2
            ahead = first[k] / (1 - 0.9**step) / (np.sqrt(second[k] / (1 - 0.99**step)) + 1e-12)
            train[k] = train[k] - now * ahead
        if step % 300 == 0:
            print(f"step {step:4}  misfit {float(value):.2e}")
    return train


def main():
    generator = np.random.default_rng(0)
    whole = np.einsum("aib,bjc,ckd,dle->ijkl", *cores(generator))
    known = generator.random(whole.shape) < 0.15
    places, others = np.array(np.nonzero(known)), np.array(np.nonzero(~known))

    train = fit(cores(generator), places, whole[known])
    guess = np.asarray(elements(train, others))
    error = np.linalg.norm(guess - whole[~known]) / np.linalg.norm(whole[~known])
    print(f"{known.sum()} of {whole.size} entries seen; the others are off by {error:.1e}")
    assert error < 1e-3, error


if __name__ == "__main__":
    sys.exit(main())
