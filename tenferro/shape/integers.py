"""Reading integers that users pass: sizes, counts, offsets and axes.

They may be integers of Python or of NumPy, or arrays of integers without axes.
"""

from __future__ import annotations

import operator

from tenferro.errors import DTypeError, TenferroError, TracingError


def integer_of(value: object) -> int | None:
    """The integer that a value is; None if it is another thing, not known yet, or a bool.

    >>> import numpy as np
    >>> integer_of(np.uint8(3)), integer_of(np.array(3)), integer_of(3.0), integer_of(True)
    (3, 3, None, None)
    """
    if type(value) is int:
        return value
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            return None
    elif getattr(value, "ndim", 0) or getattr(dtype, "kind", None) not in ("i", "u"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it may not be an index
    except (TypeError, TracingError):
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
        TenferroError: it is not an integer, not known while tracing, or below `least`; of the class
            `error`.
    """
    number = integer_of(value)
    if number is None or (least is not None and number < least):
        what = "an integer" if least is None else f"an integer of at least {least}"
        raise error(f"{name}: {field} must be {what}, got {value!r}{advice_on(value)}")
    return number


def advice_on(value: object) -> str:
    """What to do about a value that is no integer because it is traced; else nothing."""
    if getattr(value, "scope", None) is None:
        return ""
    return (
        ", a value of a trace, which is not known yet; make the argument that it is static "
        "(static_argnames), or take the size of an array, such as x.shape[0]"
    )
