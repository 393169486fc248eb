"""How tensors are printed: as text, in format strings, and in notebooks."""

from __future__ import annotations

import html

import numpy as np

from tenferro.errors import ShapeError
from tenferro.exec_ir import Array
from tenferro.shape import TensorMeta

_IMPLIED = (np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128))


def text_of(name: str, array: Array) -> str:
    """The elements with the dtype, if it is not that of Python numbers; `name` is the type.

    >>> text_of("Tensor", np.zeros((0, 3)))
    'Tensor([], shape=(0, 3), dtype=float64)'
    """
    body = np.array2string(array, separator=", ", prefix=f"{name}(")
    shape = f", shape={array.shape}" if array.size == 0 and array.shape != (0,) else ""
    implied = array.dtype in _IMPLIED and array.size > 0
    return f"{name}({body}{shape})" if implied else f"{name}({body}{shape}, dtype={array.dtype})"


def outline_of(name: str, meta: TensorMeta, why: str) -> str:
    """A tensor whose elements cannot be read here; `why` says so.

    >>> from tenferro.shape import make_meta
    >>> outline_of("Tensor", make_meta("float64", (8, 3)), "is on 2 processes")
    'Tensor(shape=(8, 3), dtype=float64, is on 2 processes)'
    """
    return f"{name}(shape={meta.static_shape}, dtype={meta.dtype}, {why})"


def formatted(array: Array, spec: str, meta: TensorMeta) -> str:
    """The array in a format string, as NumPy has it: one number as that number.

    Raises:
        ShapeError: there is a format for numbers, and the array has axes.
    """
    if not array.ndim:
        return format(array.item(), spec)
    if spec:
        raise ShapeError(
            f"format: {spec!r} is for one number, not for {meta}; format its elements, as in "
            f"[f'{{v:{spec}}}' for v in x.tolist()]"
        )
    return str(array)


def page_of(text: str, title: str = "") -> str:
    """Text as HTML, for notebooks.

    >>> page_of("a < b", "f64[2]")
    '<div><code>f64[2]</code><pre>a &lt; b</pre></div>'
    """
    head = f"<code>{html.escape(title)}</code>" if title else ""
    return f"<div>{head}<pre>{html.escape(text)}</pre></div>"
