"""Normal modes of a chain of anharmonic springs, from the Hessian of its energy.

Equal masses hang between two walls; neighbours attract as V(d) = d²/2 + g d⁴/4 with d the
extension. The only function of the model is the energy. Its gradient finds the equilibrium under a
uniform force (Newton's method), and its Hessian gives the frequencies of small oscillations around
it. Without a force the chain is harmonic there, and the frequencies are known exactly.
"""

import sys

import numpy as np

import tenferro as tn

MASSES = 8
ANHARMONICITY = 0.3


def energy(u, force):
    """Energy of displacements u `[masses]`, with walls at both ends and a force on every mass."""
    wall = tn.zeros((1,))
    extension = tn.concat([u, wall]) - tn.concat([wall, u])
    springs = extension**2 / 2 + ANHARMONICITY * extension**4 / 4
    return tn.sum(springs) - force * tn.sum(u)


gradient = tn.jit(tn.grad(energy))
hessian = tn.jit(tn.hessian(energy))


def equilibrium(force):
    """The displacements for which the energy is stationary."""
    u = np.zeros(MASSES)
    for _ in range(50):
        slope = np.asarray(gradient(u, force))
        if np.max(np.abs(slope)) < 1e-13:
            break
        u = u - np.linalg.solve(np.asarray(hessian(u, force)), slope)
    return u


def frequencies(u, force):
    """Frequencies of the normal modes around u, lowest first."""
    return np.sqrt(np.linalg.eigvalsh(np.asarray(hessian(u, force))))


def difference_hessian(u, force, step=1e-5):
    """The Hessian by central differences of the gradient."""
    rows = [
        (np.asarray(gradient(u + e, force)) - np.asarray(gradient(u - e, force))) / (2 * step)
        for e in step * np.eye(len(u))
    ]
    return np.stack(rows)


def main():
    on_paper = 2 * np.sin(np.pi * np.arange(1, MASSES + 1) / (2 * (MASSES + 1)))
    rest, pulled = equilibrium(0.0), equilibrium(0.5)
    at_rest, under_force = frequencies(rest, 0.0), frequencies(pulled, 0.5)

    print("mode   at rest   on paper   under force")
    for k, row in enumerate(zip(at_rest, on_paper, under_force, strict=True), 1):
        print(f"{k:4}   {row[0]:.5f}   {row[1]:.5f}    {row[2]:.5f}")

    exact = np.asarray(hessian(pulled, 0.5))
    error = np.max(np.abs(exact - difference_hessian(pulled, 0.5)))
    direction = np.linspace(-1, 1, MASSES)
    product = np.asarray(tn.hvp(lambda u: energy(u, 0.5), pulled, direction))
    off = np.max(np.abs(product - exact @ direction))
    print(f"force on the masses at equilibrium: {tn.max(tn.abs(gradient(pulled, 0.5))):.1e}")
    print(f"Hessian against central differences: {error:.1e}")
    print(f"Hessian-vector product against the Hessian: {off:.1e}")

    np.testing.assert_allclose(at_rest, on_paper, rtol=1e-12)
    assert np.all(under_force > at_rest), "these springs harden when they are stretched"
    assert error < 1e-8, error
    np.testing.assert_allclose(product, exact @ direction, atol=1e-12)
    np.testing.assert_allclose(exact, exact.T, atol=1e-14)


if __name__ == "__main__":
    sys.exit(main())
