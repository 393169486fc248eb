"""Calls that JAX marks for compilers: composite functions, and functions by platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tenferro.errors import ConfigError, ControlFlowError, class_of
from tenferro.transforms import default_backend

__all__ = ["composite", "platform_dependent"]

P = ParamSpec("P")
R = TypeVar("R")


def composite(decomposition: Callable[P, R], name: str, version: int = 0) -> Callable[P, R]:
    """The function itself: its name and version do not reach the compiler.

    >>> tn.lax.composite(tn.sin, "my.sine")(0.0)
    Tensor(0.)
    """
    function: object = decomposition
    if not callable(function):
        kind = class_of(function)
        raise ControlFlowError(f"composite: takes a function, got {kind}")
    if not isinstance(name, str) or not isinstance(version, int):
        raise ConfigError("composite: name must be a string and version an integer")
    return decomposition


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Any
) -> Any:
    """The result of the function for the platform of `tn.default_backend()`, or of `default`.

    It is chosen when the function around it is traced; all are to give the same values.

    Raises:
        ConfigError: there is no function for the platform.

    >>> tn.lax.platform_dependent(0.0, cpu=tn.cos, default=tn.cos)
    Tensor(1.)
    """
    here = default_backend()
    names = {"host": ["cpu"], "cpu": ["cpu"], "gpu": ["gpu", "cuda"]}.get(here, [here, "gpu"])
    for name in names:
        if name in per_platform:
            return per_platform[name](*args)
    if default is None:
        raise ConfigError(
            f"platform_dependent: there is no function for {here!r}, and default= is None"
        )
    return default(*args)
