"""Reading numbers that users pass as options: sizes, counts, offsets and axes.

They may be numbers of Python or of NumPy, or arrays without axes.
"""

from __future__ import annotations

import operator
from typing import Any

from tenferro.errors import DTypeError, TenferroError, TracingError
from tenferro.shape.algebra import DimExpr


def integer_of(value: object) -> int | None:
    """The integer that a value is; None if it is another thing, not known yet, or a bool.

    >>> import numpy as np
    >>> integer_of(np.uint8(3)), integer_of(np.array(3)), integer_of(3.0), integer_of(True)
    (3, 3, None, None)
    """
    if type(value) is int:
        return value
    if is_traced_value(value):
        return None
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            return None
    elif getattr(value, "ndim", False) or getattr(dtype, "kind", None) not in ("i", "u"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it may not be an index
    except (TypeError, TracingError):
        return None


def number_of(value: object) -> int | float | None:
    """The real number that a value is; None if it is another thing, not known yet, or a bool.

    >>> import numpy as np
    >>> number_of(np.array(0.5)), number_of(3), number_of(1j), number_of(True)
    (0.5, 3, None, None)
    """
    integer = integer_of(value)
    if integer is not None:
        return integer
    if isinstance(value, float):
        return value
    if is_traced_value(value):
        return None
    dtype: Any = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "ndim", False) or getattr(dtype, "kind", None) != "f":
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # an array without axes
    except TracingError:
        return None


def read_integer(
    name: str,
    field: str,
    value: object,
    error: type[TenferroError] = DTypeError,
    least: int | None = None,
) -> int:
    """The integer that users passed to the function `name` as `field`.

    Raises:
        TracingError: it is not known while tracing.
        TenferroError: it is not an integer, or below `least`; of the class `error`.
    """
    number = integer_of(value)
    if number is None or (least is not None and number < least):
        refuse_traced(name, field, value)
        if isinstance(value, DimExpr):
            raise TracingError(
                f"{name}: {field} must be a constant, got the named size {value}; give the "
                "argument a constant size"
            )
        what = "an integer" if least is None else f"an integer of at least {least}"
        raise error(f"{name}: {field} must be {what}, got {value!r}")
    return number


def refuse_traced(name: str, field: str, value: object) -> None:
    """Raise TracingError if the value of an option is traced."""
    if is_traced_value(value):
        raise TracingError(
            f"{name}: {field} must be known while tracing, got {value!r}; make the argument static "
            "with static_argnames, or take the size of an array, such as x.shape[0]"
            f"{dependence_of(value)}"
        )


def dependence_of(value: object) -> str:
    """What errors add on a traced value: which arguments it depends on. Else nothing."""
    dependence = getattr(value, "dependence", None)
    return f"; {dependence}" if isinstance(dependence, str) else ""


def is_traced_value(value: object) -> bool:
    """Whether a value has no elements yet."""
    return hasattr(value, "scope")
