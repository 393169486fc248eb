"""Where JAX is missing, broken or too old, one sentence says what to install; NumPy answers."""

import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import tenferro as tn
from tenferro.errors import ExecutorError, MissingDependencyError

WHAT_TO_DO = (
    "run pip install --upgrade 'jax>=0.10.2' jaxlib, or use NumPy: executor='numpy', or "
    "TENFERRO_EXECUTOR=numpy in the environment"
)
CALLS = """
import tenferro as tn
from tenferro.errors import DeviceError, MissingDependencyError, TenferroError

def square(x):
    return tn.sum(x * x)

x = tn.Tensor([1.0, 2.0])
assert tn.jit(square, executor="numpy")(x).item() == 5
assert tn.grad(square)(x).tolist() == [2, 4]
texts = []
for call in (
    lambda: tn.jit(square)(x),
    lambda: tn.executor_named("xla"),
    lambda: __import__("tenferro_xla"),
):
    try:
        call()
    except MissingDependencyError as error:
        assert isinstance(error, TenferroError) and isinstance(error, ImportError)
        texts.append(str(error))
print(*dict.fromkeys(texts), sep="\\n")
try:
    x.to_device("cpu:0")
except DeviceError as error:
    assert texts[0] in str(error), error
"""
needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="its jax is what fails")


def run(code: str, first: Path, **environ: str) -> str:
    """What a fresh process prints that finds modules in `first` before all others."""
    path = os.pathsep.join(map(str, [first, Path(tn.__file__).parents[1]]))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        package = folder / name
        package.mkdir()
        (package / "__init__.py").write_text(source)
    return folder


def test_a_missing_jax_is_named_with_what_to_install(tmp_path: Path) -> None:
    hidden = "" if find_spec("jax") is None else "import sys\nsys.modules['jax'] = None\n"
    said = run(hidden + CALLS, tmp_path)
    assert said == f"executor: 'xla' needs jax, which is not installed; {WHAT_TO_DO}\n"


def test_a_jax_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    said = run(CALLS, write(tmp_path, jax="__version__ = '0.10.1'\n"))
    assert said == f"executor: 'xla' needs jax>=0.10.2, and 0.10.1 is installed; {WHAT_TO_DO}\n"


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "raise RuntimeError('jaxlib is version 0.9.0, but 0.10.1 is needed.\\nSee there.')",
            "RuntimeError: jaxlib is version 0.9.0, but 0.10.1 is needed.",
        ),
        (
            "raise ImportError('libgomp.so.1: cannot open shared object file')",
            "ImportError: libgomp.so.1: cannot open shared object file",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_broken_jax_is_named_with_its_reason(tmp_path: Path, source: str, reason: str) -> None:
    said = run(CALLS, write(tmp_path, jax=source))
    assert said == (
        f"executor: 'xla' needs jax, which cannot be imported ({reason}); {WHAT_TO_DO}\n"
    )


@needs_jax
def test_a_jaxlib_that_jax_refuses_is_named_with_the_reason_of_jax(tmp_path: Path) -> None:
    write(tmp_path, jaxlib="")
    (tmp_path / "jaxlib/version.py").write_text("__version__ = '0.4.0'\n")
    said = run(CALLS, tmp_path)
    first = said.splitlines()[0]
    assert first.startswith("executor: 'xla' needs jax, which cannot be imported (RuntimeError: ")
    assert "jaxlib" in first
    assert "0.4.0" in first
    assert first.endswith(WHAT_TO_DO)


@pytest.mark.exhaustive
@needs_jax
def test_what_fails_late_is_named_again_by_each_attempt(tmp_path: Path) -> None:
    """Parts of jaxlib are loaded by then, which a process can load but once."""
    (tmp_path / "opt_einsum").mkdir()
    (tmp_path / "opt_einsum/__init__.py").write_text("raise ImportError('a broken opt_einsum')")
    said = run(CALLS, tmp_path)
    assert said == (
        "executor: 'xla' needs jax, which cannot be imported (ImportError: a broken opt_einsum); "
        f"{WHAT_TO_DO}\n"
    )


def test_numpy_answers_where_the_environment_asks_for_it(tmp_path: Path) -> None:
    code = "import sys\nsys.modules['jax'] = None\nimport tenferro as tn\n"
    code += "print(tn.jit(tn.value_and_grad(lambda x: tn.sum(x * x)))(tn.Tensor([1.0, 2.0])))"
    said = run(code, tmp_path, TENFERRO_EXECUTOR="numpy")
    assert said == "(Tensor(5.), Tensor([2., 4.]))\n"


@pytest.mark.skipif(find_spec("jax") is not None, reason="jax is there")
def test_without_jax_the_first_call_says_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match="needs jax, which is not installed"):
        tn.jit(lambda x: x + 1)(1.0)
    with pytest.raises(ExecutorError, match="TENFERRO_EXECUTOR=numpy"):
        tn.executor_named("xla")


def test_the_bound_of_jax_is_that_of_the_package() -> None:
    project = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    assert {"jax>=0.10.2", "jaxlib>=0.10.2"} <= set(project["dependencies"])
    cuda = project["optional-dependencies"]
    assert cuda["cuda12"] == ["jax[cuda12]>=0.10.2"]
    assert cuda["cuda13"] == ["jax[cuda13]>=0.10.2"]
