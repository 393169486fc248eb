"""Looking at values while a program runs: `tap`.

There is no `debug.print`: an effect without a value has no place in a graph, which has no order
but that of values.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from tenferro.errors import TracingError
from tenferro.ir import DType, NumpyArray
from tenferro.missing_names import missing
from tenferro.runtime import Tensor
from tenferro.transforms import (
    Callback,
    HostFunction,
    called,
    custom_jvp,
    flatten,
    is_differentiable,
    leaf_meta,
    unflatten,
)

__all__ = ["tap"]

T = TypeVar("T")


def tap(text: str | Callable[[Any], object], x: T) -> T:
    """`x`, which is printed when it is computed.

    Use the result: a value that nothing needs is not computed, and not printed. In a loop it is
    printed in each round, within `vmap` for each entry. Nothing orders the prints of values that do
    not depend on each other. Derivatives are those of `x`.

    Args:
        text: a format with one field, such as `"x = {}"` or `"x = {:.3f}"`, or with fields for
            parts of a tree, such as `"{0[a]} and {0[b]}"`; or a function, which gets the value.
        x: a tree of arrays. The field or function gets it with NumPy arrays.

    Raises:
        PytreeError: a leaf of `x` is not an array.
        TracingError: `text` has other fields, or none.

    >>> import tenferro as tn
    >>> tn.jit(lambda x: tn.debug.tap("x = {}", x) * 2)(3.0)
    x = 3.0
    Tensor(6.)
    """
    show = _checked(text)
    leaves, tree = flatten(x)
    metas = [leaf_meta(leaf, f"tap: leaf {place}") for place, leaf in enumerate(leaves)]

    def on_host(*arrays: NumpyArray) -> Sequence[NumpyArray]:
        show(unflatten(tree, [array[()] for array in arrays]))  # of rank 0: a number
        return arrays

    if not is_differentiable((x,)):
        on_host(*[np.asarray(Tensor(leaf)) for leaf in leaves])
        return x
    name = repr(text) if isinstance(text, str) else getattr(text, "__name__", type(text).__name__)
    on_leaves = HostFunction(f"debug.tap {name}", on_host)
    types: list[tuple[DType, Any]] = [(meta.dtype, meta.exact_shape("tap")) for meta in metas]

    @custom_jvp
    def tap(x: T) -> T:
        op = Callback(on_leaves, len(types), tuple(types))
        return cast(T, unflatten(tree, called(op, flatten(x)[0])))

    @tap.defjvp
    def rule(primals: tuple[T], tangents: tuple[T]) -> tuple[T, T]:
        return tap(*primals), tangents[0]

    return tap(x)


def _checked(text: str | Callable[[Any], object]) -> Callable[[Any], object]:
    """The function that shows a value."""
    if callable(text):
        return text
    if not isinstance(text, str):
        raise TracingError(
            f"tap: takes a text and a value, or a function and a value, got a {type(text).__name__}"
        )
    fields = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    of_value = all(field.partition("[")[0] == "0" for field in fields)
    if not fields or (fields != [""] and not of_value):
        raise TracingError(
            f"tap: the text {text!r} must have one field, as in 'x = {{}}'; or, for the parts of a "
            "tree, fields as in '{0[a]} and {0[b]}'"
        )
    return lambda value: print(text.format(value))  # noqa: T201  # what it is for


def __dir__() -> list[str]:
    return [*__all__]


_REASONS = dict.fromkeys(
    ("print", "callback", "breakpoint"),
    "a node must make a value: write x = tn.debug.tap('x = {}', x), and use x; "
    "tap takes a function, too",
)


def __getattr__(name: str) -> Any:
    raise missing("tenferro.debug", name, __dir__, _REASONS)
