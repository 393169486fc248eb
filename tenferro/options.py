"""Values of options, checked where a user gives them."""

from __future__ import annotations

import math

from tenferro.errors import ConfigError


def flag(option: str, value: object) -> bool:
    """A value that must be True or False; `option` names it in errors.

    Raises:
        ConfigError: it is another value, such as `"yes"`, which would count as True.

    >>> flag("jit: tiers", True)
    True
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{option} must be True or False, got {value!r}")
    return value


def count(option: str, value: object, least: int, what: str = "an integer") -> int:
    """A value that must be an integer, and at least so large.

    Raises:
        ConfigError: it is not.

    >>> count("initialize: processes", 2, 1)
    2
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{option} must be {what}, at least {least}, got {value!r}")
    return value


def seconds(option: str, value: object) -> float:
    """A value that must be a time in seconds, longer than none.

    Raises:
        ConfigError: it is not.

    >>> seconds("initialize: call_timeout", 600)
    600.0
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]  # it is a number
        raise ConfigError(f"{option} must be a number of seconds above 0, got {value!r}")
    return float(value)  # type: ignore[arg-type]
