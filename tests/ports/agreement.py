"""Programs written for JAX give the same numbers when their imports are rewritten."""

import jax
import numpy as np
import pytest

import tenferro as tn
from tests.ports.ported_programs import NAMES, load

TOLERANCE = {"gaussian_process": 1e-4, "ray_marcher": 1e-3}
"""Of the largest number: the least eigenvalues of a kernel, the last steps to a surface."""


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_the_numbers_of_jax(name: str) -> None:
    with jax.enable_x64(False):
        function, arguments = load(name, rewritten=False)
        expected = jax.tree.leaves(function(*arguments))
    with tn.config.using(promotion="jax", default_float="float32"):
        function, arguments = load(name, rewritten=True)
        found = tn.tree.leaves(function(*arguments))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        reference = np.asarray(other)
        scale = np.max(np.abs(reference), initial=1e-6)
        atol = TOLERANCE.get(name, 3e-5) * scale
        np.testing.assert_allclose(np.asarray(one), reference, rtol=0, atol=atol)
