"""The two-dimensional Ising model by corner transfer matrices, with derivatives by β.

A corner is a quarter of the lattice, an edge half a row. Both grow by a row and a column in each
step, and are projected on the space of the corner's largest singular values, `tn.linalg.svd_block`.
Free energy, energy and specific heat are log κ, the partition function per site, and its first and
second derivative through all steps. They are compared with Onsager's solution on both sides of the
transition, at β = 0.4407.

In the ordered phase each singular value stands twice, as both magnetizations are there. Derivatives
of single singular vectors do not exist then: with `tn.linalg.svd` in place of the block they are
NaN. The space of all that are kept is smooth.
"""

import sys

import numpy as np

import tenferro as tn

BOND, STEPS = 10, 16


def tensors(beta):
    """Corner `[right, down]`, edge `[left, in, right]` and site of a lattice with free edges."""
    even, odd = tn.sqrt(tn.cosh(beta)), tn.sqrt(tn.sinh(beta))
    root = tn.stack([tn.stack([even, odd]), tn.stack([even, -odd])])  # of e^{β s s'}, `[s, bond]`
    corner = root.mT @ root
    edge = tn.einsum("sa,sb,sc->abc", root, root, root)
    return corner, edge, tn.einsum("sa,sb,sc,sd->abcd", root, root, root, root)


def grown(corner, edge, site):
    """Corner and edge with one more row and column."""
    corner = tn.einsum("ab,ari,bsj,rspq->ipjq", corner, edge, edge, site)
    edge = tn.einsum("irj,rpdq->ipdjq", edge, site)
    size = corner.shape[0] * 2
    return tn.reshape(corner, (size, size)), tn.reshape(edge, (size, 2, size))


def space(corner):
    """A basis of the space that is kept."""
    return tn.linalg.svd_block(corner, BOND).U


def vectors(corner):
    """The same by single singular vectors."""
    return tn.linalg.svd(corner, full_matrices=False).U[:, :BOND]


def log_partition(beta, basis_of=space):
    """The logarithm of the partition function, per site."""
    corner, edge, site = tensors(beta)
    for _ in range(STEPS):
        corner, edge = grown(corner, edge, site)
        if corner.shape[0] > BOND:
            basis = basis_of(corner)
            corner = basis.mT @ corner @ basis
            edge = tn.einsum("ia,idj,jb->adb", basis, edge, basis)
        corner = corner / tn.linalg.norm(corner)
        edge = edge / tn.linalg.norm(edge)
    side = tn.einsum("ab,bpc->apc", corner, edge)
    around_site = tn.einsum("apb,bqc,crd,dsa,pqrs->", side, side, side, side, site)
    around_bond = tn.einsum("apb,bc,cpd,da->", side, corner, side, corner)
    around_nothing = tn.sum((corner @ corner) ** 2)
    return tn.log(around_site * around_nothing / around_bond**2)


def onsager(beta, points=256):
    """The exact value, and its first and second derivative, by integration over two angles."""
    cosines = np.cos(2 * np.pi * np.arange(points) / points)
    sums = cosines[:, None] + cosines
    s, c = np.sinh(2 * beta), np.cosh(2 * beta)
    g = c * c - s * sums
    first = (4 * s * c - 2 * c * sums) / g
    second = (8 * np.cosh(4 * beta) - 4 * s * sums) / g - first**2
    return np.log(2) + np.mean(np.log(g)) / 2, np.mean(first) / 2, np.mean(second) / 2


# Many operations on small arrays: compiling them would take longer.
value_and_slope = tn.jit(tn.value_and_grad(log_partition), executor="numpy")
bend = tn.jit(tn.hessian(log_partition), executor="numpy")


@tn.jit(executor="numpy")
def slope_by_vectors(beta):
    """By single singular vectors, in reverse mode: `tn.grad` by one number is in forward mode."""
    _, pullback = tn.vjp(lambda beta: log_partition(beta, vectors), beta)
    return pullback(1.0)[0]


def main():
    for phase, beta in (("disordered", 0.35), ("ordered", 0.7)):
        found = np.array([*map(float, value_and_slope(beta)), float(bend(beta))])
        exact = np.array(onsager(beta))
        print(f"{phase} phase, β = {beta}: off from Onsager's solution by")
        names = ("free energy", "energy", "specific heat")
        scales = -1 / beta, -1, beta**2
        for name, scale, value, off in zip(names, scales, found, found - exact, strict=True):
            print(f"  {name:13} {scale * value:+.10f} {abs(scale * off):.1e}")
        assert np.all(np.abs(found - exact) < [1e-12, 1e-10, 1e-8]), found - exact
    print(f"energy by single singular vectors, ordered phase: {float(slope_by_vectors(0.7))}")
    assert np.isnan(float(slope_by_vectors(0.7)))


if __name__ == "__main__":
    sys.exit(main())
