"""A trial of the package as it is installed: `python -I tests/trial.py`, outside of the tree.

`nox -s package` runs it with the wheel. What a new user does first, wrong inputs included; it knows
nothing of the tests, and needs only what the package itself needs.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import entry_points, files, version
from pathlib import Path

import numpy as np

import tenferro as tn
import tenferro_xla
from tenferro.errors import TenferroError

SOURCE = """\
import tenferro as tn

def energy(x):
    return tn.sum(tn.exp(x) * x)
"""


def main() -> None:
    """Run all of it; the first thing that is wrong ends it."""
    installed_whole()
    with tempfile.TemporaryDirectory() as folder:
        functions(Path(folder))
        commands(Path(folder))
    print(f"tenferro {tn.__version__} works as it is installed in {sys.prefix}")


def installed_whole() -> None:
    """Both packages are those that were installed, with types and entry points."""
    for module in (tn, tenferro_xla):
        assert module.__file__ is not None
        assert Path(module.__file__).is_relative_to(sys.prefix), module.__file__
    assert tn.__version__ == version("tenferro")
    names = {str(name) for name in files("tenferro") or ()}
    assert {"tenferro/py.typed", "tenferro_xla/py.typed", "tenferro/__init__.pyi"} <= names
    assert not any(name.startswith(("tests/", "docs/", "examples/")) for name in names)
    assert {point.name for point in entry_points(group="tenferro.executors")} == {"xla"}
    assert [name for name in tn.__all__ if not hasattr(tn, name)] == []


def functions(folder: Path) -> None:
    """Values, derivatives and files, on both executors."""

    def energy(x: tn.TracedTensor) -> tn.TracedTensor:
        return tn.sum(tn.exp(x) * x)

    x = np.array([0.0, 0.5, -1.0])
    slope = np.exp(x) * (x + 1)
    for executor in ("numpy", "xla"):
        value, gradient = tn.jit(tn.value_and_grad(energy), executor=executor)(x)
        np.testing.assert_allclose(value, np.sum(np.exp(x) * x), rtol=1e-14)
        np.testing.assert_allclose(gradient, slope, rtol=1e-14)
    hessian = tn.jit(tn.hessian(energy))(x)
    np.testing.assert_allclose(hessian, np.diag(np.exp(x) * (x + 2)), rtol=1e-14)
    values = tn.jit(tn.linalg.eigvals)(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    np.testing.assert_allclose(np.sort(np.asarray(values).imag), [-1, 1], rtol=1e-14)
    program = tn.make_program(tn.grad(energy), tn.TensorSpec(("n",), "float64"))
    tn.save(program, folder / "slope.tenferro")
    np.testing.assert_allclose(tn.load(folder / "slope.tenferro")(x), slope, rtol=1e-14)
    try:
        tn.jit(energy)(np.array(["a"]))
    except TenferroError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) == 1, refusal


def commands(folder: Path) -> None:
    """The command, where all is well and where it is not."""
    (folder / "energy.py").write_text(SOURCE, encoding="utf-8")
    np.save(folder / "x.npy", np.array([0.0, 1.0]))
    assert tn.__version__ in said(folder, "--version")
    assert "all gradients agree" in said(folder, "demo")
    assert json.loads(said(folder, "doctor", "--json"))["well"] is True
    shape = ("energy.py:energy", "--shape", "3")
    assert "stablehlo" in said(folder, "inspect", *shape, "--grad")
    assert "tensor<3xf64>" in said(folder, "lower", *shape)
    assert "2.718281828" in said(folder, "run", "energy.py:energy", "x.npy")
    assert "slope" in said(folder, "verify", "slope.tenferro")
    for status, wrong in (
        (2, ["inspect", "nothing.py:energy", "--shape", "3"]),
        (2, ["inspect", "energy.py:nothing", "--shape", "3"]),
        (2, ["inspect", "energy.py:energy", "--shape", "3,x,-1"]),
        (2, ["run", "energy.py:energy", "nothing.npy"]),
        (2, ["verify", "nothing.tenferro"]),
        (1, ["verify", "energy.py"]),
    ):
        text = said(folder, *wrong, status=status)
        assert text.startswith(("tenferro ", "usage: ")), text
        assert "Traceback" not in text, text


def said(folder: Path, *arguments: str, status: int = 0) -> str:
    """What the command prints; it must exit with `status`."""
    command: Sequence[str] = [str(Path(sys.prefix, "bin", "tenferro")), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.stdout[-500:], done.stderr)
    return done.stderr if status else done.stdout


if __name__ == "__main__":
    main()
