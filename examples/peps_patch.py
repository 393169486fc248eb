"""A patch of projected entangled pairs: norm and environments under a memory limit.

The norm of a 3 × 3 patch is a network of 18 tensors. Its gradient with respect to one tensor is
twice that tensor's environment, which a variational update of the patch needs. One backward pass
gives all environments. If intermediates are too large, the plan is sliced into one loop with the
same result.
"""

import sys

import numpy as np

import tenferro as tn

ROWS, COLUMNS, BOND = 3, 3, 3


def patch(generator):
    """Random tensors `[up, left, down, right, physical]`; bonds at the border have size 1."""
    return [
        generator.normal(
            size=(
                BOND if row else 1,
                BOND if column else 1,
                BOND if row < ROWS - 1 else 1,
                BOND if column < COLUMNS - 1 else 1,
                2,
            )
        )
        / 3
        for row in range(ROWS)
        for column in range(COLUMNS)
    ]


def terms():
    """Labels of the two layers, which share the physical ones."""
    vertical, horizontal = (ROWS + 1) * COLUMNS, ROWS * (COLUMNS + 1)
    layers = []
    for layer in range(2):
        base = layer * (vertical + horizontal)
        for row in range(ROWS):
            for column in range(COLUMNS):
                up = base + row * COLUMNS + column
                left = base + vertical + row * (COLUMNS + 1) + column
                site = 2 * (vertical + horizontal) + row * COLUMNS + column
                layers.append([up, left, up + COLUMNS, left + 1, site])
    return layers, []


def norm(tensors, **how):
    """⟨ψ|ψ⟩ of a patch."""
    return tn.einsum(terms(), *tensors, *tensors, **how)


def main():
    tensors = patch(np.random.default_rng(0))
    specs = [tn.TensorSpec(each.shape) for each in tensors]
    plan = tn.einsum_plan(terms(), *specs, *specs)
    limit = plan.peak_bytes // 2
    sliced = tn.einsum_plan(terms(), *specs, *specs, memory_limit=limit)
    for name, each in (("whole", plan), ("sliced", sliced)):
        print(
            f"{name:6}  {each.flops:.2e} flops, {each.peak_bytes:7} bytes at once, "
            f"{each.slice_count} slices"
        )

    value, environments = tn.jit(tn.value_and_grad(norm))(tensors)
    print(f"norm {float(value):.6f}")
    for environment, tensor in zip(environments, tensors, strict=True):
        closed = np.vdot(np.asarray(environment), tensor)
        np.testing.assert_allclose(closed, 2 * float(value), rtol=1e-10)
    print(f"each of {len(tensors)} environments, closed with its tensor, gives twice the norm")

    looped = tn.jit(tn.value_and_grad(lambda x: norm(x, memory_limit=limit)))
    again, others = looped(tensors)
    np.testing.assert_allclose(float(again), float(value), rtol=1e-10)
    for one, other in zip(environments, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)
    print("sliced, value and environments are the same")
    assert sliced.peak_bytes <= limit


if __name__ == "__main__":
    sys.exit(main())
