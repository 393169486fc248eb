"""JAX as it is installed: refused in one sentence if it is missing, broken or too old.

The package checks this before all else, so that every way to it raises the same error.
"""

from __future__ import annotations

import re

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


REFUSAL: MissingDependencyError | None = None
"""Why there is no JAX to use. It is found once: a process can load parts of jaxlib but once, so
that JAX, imported again, fails with another error, or ends the process."""

try:
    import jax

    check_version(jax.__version__)
except MissingDependencyError as error:
    REFUSAL = error
except Exception as error:
    REFUSAL = refusal(error)
    REFUSAL.__cause__ = error


def check() -> None:
    """Raise the error that says why there is no JAX, each time the same one.

    Raises:
        MissingDependencyError: JAX is missing, broken or too old.
    """
    if REFUSAL is not None:
        raise REFUSAL.with_traceback(None)
