"""Importing the packages has no effect beyond the import."""

import importlib
import pydoc
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import STUB, stub


def run(code: str) -> None:
    """Run code in a fresh interpreter, where warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_importing_tenferro_does_not_import_jax() -> None:
    run(
        """
import sys
import tenferro
assert not {"jax", "jaxlib", "tenferro_xla"} & set(sys.modules)
"""
    )


def test_transforms_of_a_compiled_function_import_no_jax_before_it_is_called() -> None:
    run(
        """
import sys
import tenferro as tn
f = tn.jit(lambda x: tn.sum(x * x))
for transform in (tn.grad, tn.value_and_grad, tn.hessian, tn.jacrev, tn.jacfwd, tn.jit):
    transform(f)
assert not {"jax", "jaxlib", "tenferro_xla"} & set(sys.modules)
"""
    )


@pytest.mark.exhaustive
def test_scipy_is_imported_by_the_first_kernel_that_needs_it() -> None:
    run(
        """
import sys
import tenferro as tn
x = tn.Tensor([[2.0, 1.0], [1.0, 2.0]])
for f in (tn.linalg.eigh, tn.linalg.svd, tn.linalg.qr, tn.linalg.cholesky, tn.linalg.pinv):
    f(x)
assert "scipy.linalg" not in sys.modules
tn.linalg.inv(x)
assert "scipy.linalg" in sys.modules
"""
    )


def test_operators_are_planned_where_only_tensors_are_used() -> None:
    run(
        """
import tenferro as tn
x = tn.Tensor([1.0, 2.0])
for _ in range(20):
    x = x * 1.0
from tenferro.runtime import HOST_PLANS
assert len(HOST_PLANS) == 1
"""
    )


def test_importing_tenferro_leaves_numpy_as_it_was() -> None:
    run(
        """
import numpy as np
before = np.geterr(), np.get_printoptions()
import tenferro
assert (np.geterr(), np.get_printoptions()) == before
"""
    )


def test_importing_tenferro_leaves_the_process_as_it_was() -> None:
    run(
        """
import os, sys, warnings
import numpy
before = dict(os.environ), sys.getrecursionlimit(), list(warnings.filters)
import tenferro
assert (dict(os.environ), sys.getrecursionlimit(), list(warnings.filters)) == before
"""
    )


def test_importing_tenferro_xla_leaves_the_configuration_of_jax_as_it_was() -> None:
    run(
        """
import os
import jax
NAMES = [
    "jax_debug_nans", "jax_default_device", "jax_default_dtype_bits",
    "jax_default_matmul_precision", "jax_enable_compilation_cache", "jax_enable_x64",
    "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion", "jax_platforms",
]
def state():
    return {name: getattr(jax.config, name, None) for name in NAMES}, dict(os.environ)
before = state()
import tenferro_xla
assert state() == before
"""
    )


@pytest.mark.exhaustive
def test_functions_from_and_to_jax_are_loaded_when_they_are_first_used() -> None:
    run(
        """
import sys
import tenferro_xla
assert "tenferro_xla.interop" not in sys.modules
assert "to_jax" in dir(tenferro_xla) and "to_jax" in tenferro_xla.__all__
assert tenferro_xla.to_jax is tenferro_xla.interop.to_jax
"""
    )


def test_every_name_of_the_front_door_is_there() -> None:
    run(
        """
import tenferro
assert [name for name in tenferro.__all__ if not hasattr(tenferro, name)] == []
assert set(tenferro.__all__) <= set(dir(tenferro))
"""
    )


def test_type_checkers_read_the_tables_of_the_front_door() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run python -m tests.front_door"


def test_no_public_name_is_lost() -> None:
    stored = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8")
    lost = []
    for line in stored.splitlines():
        if line.startswith("tenferro"):
            there: Any = pydoc.locate(line)
        else:
            names = (name for name in line.split() if not hasattr(there, name))
            lost += [f"{there.__name__}.{name}" for name in names]
    assert lost == []


def test_a_public_function_says_where_it_is_public() -> None:
    stored = Path(__file__).with_name("public_names.txt").read_text(encoding="utf-8")
    homes = [line for line in stored.splitlines() if line.startswith("tenferro")]
    homes += ["tenferro_xla", "tenferro_xla.sharding"]
    wrong = []
    for home in homes:
        module: Any = pydoc.locate(home)
        for name in getattr(module, "__all__", ()):
            function = getattr(module, name)
            where = getattr(function, "__module__", None)
            if not isinstance(function, types.FunctionType) or where.startswith("numpy"):
                continue
            there: Any = importlib.import_module(where)
            for part in function.__qualname__.split("."):
                there = getattr(there, part, None)
            if where not in homes or (there is not function and not name.startswith("__")):
                wrong.append(f"{home}.{name} is {function.__qualname__} of {where}")
    assert wrong == []


@pytest.mark.exhaustive
def test_the_first_use_of_a_process_may_name_the_executor() -> None:
    for first in (
        "tn.jit(lambda x: x + 1, executor='numpy')(1.0)",
        "tn.EagerRuntime('numpy').constant([1.0])",
        "tn.executor_named('numpy')",
        "tn.Tensor([1.0])\ntn.grad\ntn.sum\nassert 'tenferro.random' not in sys.modules",
        "tn.random.normal(tn.random.key(0))",
    ):
        run(f"import sys\nimport tenferro as tn\n{first}\nassert 'jax' not in sys.modules")


@pytest.mark.exhaustive
def test_an_array_function_may_be_called_before_any_tensor_is_made() -> None:
    """Array functions lie below tensors, which enter themselves when they are loaded."""
    run(
        """
import numpy as np
from tenferro.ops.functions.analytic import exp
assert exp(np.zeros(2)).tolist() == [1.0, 1.0]
"""
    )


def test_modules_below_numpy_have_the_paths_of_jax() -> None:
    run(
        """
import tenferro as tn
import tenferro.numpy.linalg as la
from tenferro.numpy.fft import fftn
assert la.norm is tn.linalg.norm is tn.numpy.linalg.norm
assert fftn is tn.fft.fftn is tn.numpy.fft.fftn
"""
    )
