"""Programs written for JAX, and optax, give the same numbers when their imports are rewritten."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.cli import main as tenferro
from tenferro_xla import from_jax
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


STEPS = """
import numpy as np
import optax
import tenferro as tn

adam = optax.adam(0.1)
params = {"w": tn.asarray(np.arange(3.0)), "b": tn.asarray(2.0)}

def step(params, state):
    grads = tn.grad(lambda p: tn.sum((p["w"] - p["b"]) ** 2))(params)
    updates, state = adam.update(grads, state, params)
    return optax.apply_updates(params, updates), state

for step in (step, tn.jit(step)):
    found, state = params, adam.init(params)
    for _ in range(5):
        found, state = step(found, state)
    print(found["w"].dtype, found["w"].tolist(), float(found["b"]))
"""


def test_optax_takes_tensors_where_it_is_rewritten_or_read_by_from_jax(tmp_path: Path) -> None:
    optax = pytest.importorskip("optax")
    adam = optax.adam(0.1)
    params = {"w": np.arange(3.0), "b": np.array(2.0)}

    def loss(p: dict[str, tn.typing.AnyTensor]) -> tn.typing.AnyTensor:
        return tn.sum((p["w"] - p["b"]) ** 2)

    grads = tn.grad(loss)(params)
    with jax.enable_x64(True):
        state = adam.init(params)
        for refusing in (adam.update, tn.jit(adam.update)):  # the original, which computes with JAX
            with pytest.raises(TypeError, match=r"not a valid JAX type|no value yet"):
                refusing(grads, tn.tree.map(np.asarray, state))

    update = from_jax(adam.update, grads, state)
    found = params
    for _ in range(5):
        updates, state = update(tn.grad(loss)(found), state)
        found = tn.tree.map(tn.add, found, updates)
    expected = f"float64 {found['w'].tolist()} {float(found['b'])}"

    tenferro(["port", str(Path(optax.__file__).parent), "-o", str(tmp_path / "optax")])
    search_path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    ran = subprocess.run(
        [sys.executable, "-c", STEPS],
        env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True,
        text=True,
        check=True,
    )
    for line in ran.stdout.splitlines():
        numbers = [float(each.strip("[],")) for each in line.split()[1:]]
        assert line.split()[0] == "float64"
        wanted = [float(each.strip("[],")) for each in expected.split()[1:]]
        np.testing.assert_allclose(numbers, wanted, rtol=1e-9)
    assert len(ran.stdout.splitlines()) == 2
