"""Newton's method with sparse Hessians: the minimum of the Rosenbrock function of 10 000 numbers.

The Hessian is tridiagonal. Its pattern follows from the program while it is traced, and three
forward passes give all its values. Each step is a sparse solve by SciPy, with a line search. For a
small function the sparse Hessian is compared with the dense one.
"""

import time

import numpy as np
import scipy.sparse.linalg

import tenferro as tn

SIZE = 10_000
STEPS = 200


def rosenbrock(x):
    return tn.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


value = tn.jit(rosenbrock, executor="numpy")
gradient = tn.jit(tn.grad(rosenbrock), executor="numpy")
hessian = tn.jit(tn.hessian(rosenbrock, sparsity="auto"), executor="numpy")


def minimized(x):
    """The minimum, and the number of steps to it."""
    for step in range(STEPS):
        slope = np.asarray(gradient(x))
        if np.max(np.abs(slope)) < 1e-9:
            return x, step
        direction = -scipy.sparse.linalg.spsolve(hessian(x).to_scipy().tocsc(), slope)
        length, start = 1.0, float(value(x))
        while float(value(x + length * direction)) > start and length > 1e-6:
            length /= 2
        x = x + length * direction
    raise AssertionError(f"no minimum within {STEPS} steps")


def main():
    small = np.random.default_rng(0).normal(size=20)
    dense = np.asarray(tn.jacfwd(tn.grad(rosenbrock))(small))
    assert np.allclose(hessian(small).todense(), dense)

    x = np.full(SIZE, 0.9)
    print(hessian(x))
    start = time.perf_counter()
    minimum, steps = minimized(x)
    seconds = time.perf_counter() - start
    assert np.allclose(minimum, 1.0, atol=1e-6)
    print(f"{SIZE} numbers: {steps} steps of Newton's method, {seconds:.2f} s")


if __name__ == "__main__":
    main()
