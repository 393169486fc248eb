"""JAX as it is installed: refused in one sentence if it is missing, broken or too old.

The package imports this before all else, so that every way to it raises the same error.
"""

from __future__ import annotations

import re
import sys

from tenferro.errors import MissingDependencyError

LEAST = "0.10.2"
"""The oldest JAX that has what the lowerings call; `pyproject.toml` has the same bound."""

_OR_NUMPY = "or use NumPy: executor='numpy', or TENFERRO_EXECUTOR=numpy in the environment"
_INSTALL = f"run pip install --upgrade 'jax>={LEAST}' jaxlib, {_OR_NUMPY}"


def refusal(reason: BaseException) -> MissingDependencyError:
    """The error for a JAX that cannot be imported.

    >>> print(refusal(OSError("no space left")))
    executor: 'xla' needs jax, which cannot be imported (OSError: no space left); run pip install...
    """
    if isinstance(reason, ModuleNotFoundError) and reason.name == "jax":
        return MissingDependencyError(
            f"executor: 'xla' needs jax, which is not installed; {_INSTALL}"
        )
    first, *_ = str(reason).strip().splitlines() or [""]
    return MissingDependencyError(
        f"executor: 'xla' needs jax, which cannot be imported ({type(reason).__name__}: {first}); "
        f"{_INSTALL}"
    )


def check_version(version: str) -> None:
    """Refuse a JAX that is too old.

    Raises:
        MissingDependencyError: it is.

    >>> check_version("0.12.0.1")
    """
    if _numbers(version) < _numbers(LEAST):
        raise MissingDependencyError(
            f"executor: 'xla' needs jax>={LEAST}, and {version} is installed; {_INSTALL}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


_before = set(sys.modules)
try:
    import jax
except Exception as error:
    for name in set(sys.modules) - _before:  # what is imported in part gives other errors later
        if name.partition(".")[0] in ("jax", "jaxlib"):
            del sys.modules[name]
    raise refusal(error) from error

check_version(jax.__version__)
