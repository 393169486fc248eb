"""Ground-state energy of the Heisenberg chain by DMRG sweeps, with gradients by the couplings.

White's scheme: a block of spins is a Hamiltonian and the spin operators of its last site, in a
basis that is kept small. Two blocks, each grown by a site, make a chain whose lowest state `[left,
right]` is found by `tn.linalg.eigh_block`. `tn.linalg.svd_truncate(absorb="right")` gives the basis
that the left block keeps; of the transposed state, the one of the right block.

The lowest state is a singlet of the total spin. Its Schmidt values at each bond are therefore
multiplets: twice, three times, … the same. The kept number is data, so that the whole computation
runs and is differentiated on `tn.EagerRuntime`; no multiplet is cut, and all derivatives exist,
also by the anisotropy, which splits the multiplets. The first and the second derivative through the
whole sweep are compared with differences, and the first with the exact ones of the chain.
"""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices this small gain nothing from more threads
import numpy as np

import tenferro as tn

SITES, BOND = 10, 8
SPIN = np.array([[[0, 1], [1, 0]], [[0, 1], [-1, 0]], [[1, 0], [0, -1]]]) / 2
"""S_x, i S_y and S_z."""


def coupled(a, b):
    """Σ a_k ⊗ b_k."""
    size = a.shape[-1] * b.shape[-1]
    return tn.reshape(tn.einsum("kij,klm->iljm", a, b), (size, size))


def grown(block, bond):
    """A block and one more site."""
    energy, spins = block
    total = tn.kron(energy, np.eye(2)) + coupled(spins, bond[:, None, None] * SPIN)
    return total, np.kron(np.eye(energy.shape[0]), SPIN)


def ground_state(left, right, bond):
    """The lowest energy of two blocks, and its state `[left, right]`."""
    m, n = left[0].shape[0], right[0].shape[0]
    total = tn.kron(left[0], np.eye(n)) + tn.kron(np.eye(m), right[0])
    total = total + coupled(left[1], bond[:, None, None] * right[1])
    vector, energy = tn.linalg.eigh_block(total, 1)
    return energy[0, 0], tn.reshape(vector, (m, n))


def kept(block, state):
    """The block in the basis of the state's largest Schmidt values."""
    basis, _ = tn.linalg.svd_truncate(state, max_rank=BOND, cutoff=1e-8, absorb="right")
    return tuple(basis.mT @ part @ basis for part in block)


def swept_energy(couplings, anisotropy):
    """The energy after one sweep, by the coupling of each bond and a factor of S_z S_z."""
    bonds = couplings[:, None] * tn.stack([1.0, -1.0, anisotropy])
    half = SITES // 2
    left, right = ({1: (np.zeros((2, 2)), SPIN)} for _ in range(2))  # by number of sites
    for k in range(1, half):  # chains of 2k + 2 sites
        a, b = grown(left[k], bonds[k - 1]), grown(right[k], bonds[-k])
        _, state = ground_state(a, b, bonds[k])
        left[k + 1], right[k + 1] = kept(a, state), kept(b, state.mT)
    to_the_right = [*range(half, SITES - 2)]
    to_the_left = [*range(SITES - 2, 2, -1)]
    for cut, turned in [*((c, False) for c in to_the_right), *((c, True) for c in to_the_left)]:
        a, b = grown(left[cut - 1], bonds[cut - 2]), grown(right[SITES - cut - 1], bonds[cut])
        energy, state = ground_state(a, b, bonds[cut - 1])
        if turned:
            right[SITES - cut] = kept(b, state.mT)
        else:
            left[cut] = kept(a, state)
    return energy


def exact_energy(couplings, anisotropy):
    """The lowest energy of all states with as many spins up as down, and its gradient."""
    states = [s for s in range(2**SITES) if s.bit_count() == SITES // 2]
    places = {s: place for place, s in enumerate(states)}
    flips = np.zeros((SITES - 1, len(states), len(states)))
    signs = np.zeros((SITES - 1, len(states)))
    for bond in range(SITES - 1):
        for place, s in enumerate(states):
            opposite = (s >> bond) & 3 in (1, 2)
            signs[bond, place] = -0.25 if opposite else 0.25
            if opposite:
                flips[bond, places[s ^ (3 << bond)], place] = 0.5
    total = np.einsum("b,bij->ij", couplings, flips) + np.diag(anisotropy * couplings @ signs)
    values, vectors = np.linalg.eigh(total)
    ground = vectors[:, 0]
    by_sign = signs @ ground**2
    by_coupling = ground @ flips @ ground + anisotropy * by_sign
    return values[0], by_coupling, couplings @ by_sign


def main():
    couplings, anisotropy = np.ones(SITES - 1), 1.0
    rt = tn.EagerRuntime()
    j, z = rt.variable(couplings), rt.variable(anisotropy)
    energy = swept_energy(j, z)
    slopes = rt.grad(energy, [j, z])
    by_coupling, by_anisotropy = (np.asarray(slope.detach()) for slope in slopes)

    exact, *exact_gradient = exact_energy(couplings, anisotropy)
    error = float(energy.detach()) - exact
    print(f"energy {float(energy.detach()):.10f}, exact {exact:.10f}, above by {error:.1e}")
    print(f"by the couplings: {by_coupling}")
    print(f"  exact:          {exact_gradient[0]}")
    print(f"by the anisotropy: {float(by_anisotropy):.8f}, exact {exact_gradient[1]:.8f}")
    assert -1e-10 < error < 1e-4, "of 16 or 32 Schmidt values at the inner bonds, 8 are kept"
    np.testing.assert_allclose(by_coupling, exact_gradient[0], atol=2e-3)
    np.testing.assert_allclose(by_anisotropy, exact_gradient[1], atol=2e-3)

    way = np.random.default_rng(0).normal(size=SITES)
    slope = tn.vecdot(slopes[0], way[1:]) + slopes[1] * way[0]
    again = rt.grad(slope, [j, z])
    bend = float((tn.vecdot(again[0], way[1:]) + again[1] * way[0]).detach())
    slope = float(slope.detach())

    def along(h):
        return float(
            swept_energy(rt.constant(couplings + h * way[1:]), rt.constant(1 + h * way[0]))
        )

    peer = (along(1e-4) - along(-1e-4)) / 2e-4
    second_peer = (along(1e-3) + along(-1e-3) - 2 * along(0.0)) / 1e-6
    print(f"along a direction: {slope:.9f}, by differences {peer:.9f}")
    print(f"  second derivative: {bend:.5f}, by differences {second_peer:.5f}")
    np.testing.assert_allclose(slope, peer, rtol=1e-6)
    np.testing.assert_allclose(bend, second_peer, rtol=1e-4)


if __name__ == "__main__":
    sys.exit(main())
