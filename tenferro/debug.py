"""Looking at values while a program runs: `print`, `callback` and `tap`; and where arrays are.

`print` and `callback` belong to the results of the function that is traced: if none of them is
needed, they are not called. `tap` belongs to the value that it returns.
"""

from __future__ import annotations

import builtins
import functools
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from tenferro.config import flag
from tenferro.errors import ShardingError, TracingError, class_of
from tenferro.ir import DType, NumpyArray
from tenferro.missing_names import missing
from tenferro.runtime import Tensor, executor_module, meta_of_value
from tenferro.transforms import (
    Callback,
    HostFunction,
    TracedTensor,
    called,
    called_for_effect,
    custom_jvp,
    flatten,
    is_differentiable,
    leaf_meta,
    unflatten,
)

__all__ = ["callback", "inspect_array_sharding", "print", "tap", "visualize_array_sharding"]

T = TypeVar("T")


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values when a program comes to this line.

    In a loop they are printed in each iteration, within `vmap` for each entry, and in a branch if
    the branch is taken. In a derivative the values of the function are printed. Without a format it
    returns the function with its options, as in `print(ordered=True)("x = {}", x)`.

    Args:
        fmt: a format with fields for the values, such as `"x = {}"` or `"x = {x:.3f}"`.
        args, kwargs: the values: trees of arrays, or any Python values.
        ordered: whether prints come in the order in which they stand in the program.
        partitioned: must be False: what is divided among devices is printed whole.

    Raises:
        TracingError: `fmt` is not a string, its fields are not those of the values, or
            `partitioned` is True.

    >>> import tenferro as tn
    >>> @tn.jit
    ... def f(x):
    ...     tn.debug.print("x = {}", x)
    ...     return x * 2
    >>> f(3.0)
    x = 3.0
    Tensor(6.)
    """
    _refuse_parts("print", partitioned)
    if fmt is None and not (args or kwargs):
        return functools.partial(print, ordered=ordered)
    if not isinstance(fmt, str):
        raise TracingError(
            f"debug.print: takes a text with fields such as 'x = {{}}', got {class_of(fmt)}"
        )
    try:
        _Fields().vformat(fmt, args, kwargs)
    except (IndexError, KeyError) as error:
        raise TracingError(
            f"debug.print: the text {fmt!r} has a field without a value ({error})"
        ) from None
    except ValueError as error:
        raise TracingError(f"debug.print: the text {fmt!r} is no format: {error}") from None

    def show(*args: Any, **kwargs: Any) -> None:
        builtins.print(fmt.format(*args, **kwargs))  # noqa: T201  # what it is for

    _call(f"debug.print {fmt!r}", show, args, kwargs, ordered, scalars=True)
    return None


class _Fields(string.Formatter):
    """Finds the values of fields, without formatting them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return ""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first = field_name.partition(".")[0].partition("[")[0]
        key = int(first) if first.isdecimal() else first
        return self.get_value(key, args, kwargs), key

    def check_unused_args(
        self, used_args: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        unused = [key for key in (*range(len(args)), *kwargs) if key not in used_args]
        if unused:
            raise TracingError(
                f"debug.print: the text has no field for the value {unused[0]!r}; write {{}} for "
                "values by place and {name} for those by name, and no f-string"
            )


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a function with values when a program comes to this line.

    It is called as `print` prints. What it returns is not used. Without a function, `callback`
    returns itself with its options, as `print` does.

    Args:
        callback: takes the values with NumPy arrays in the place of arrays.
        args, kwargs: the values: trees of arrays, or any Python values.
        ordered: whether calls come in the order in which they stand in the program.
        partitioned: must be False: the function gets whole arrays.

    Raises:
        BackendFailureError: the function failed. It may be raised later than the call.
        TracingError: `callback` is not a function, or `partitioned` is True.

    >>> import tenferro as tn
    >>> shown = []
    >>> def f(x):
    ...     tn.debug.callback(shown.append, x)
    ...     return tn.sin(x)
    >>> tn.grad(f)(0.0), [x.item() for x in shown]
    (Tensor(1.), [0.0])
    """
    _refuse_parts("callback", partitioned)
    if callback is None and not (args or kwargs):
        return functools.partial(_OWN_CALLBACK, ordered=ordered)
    function: Any = callback
    if not callable(function):
        raise TracingError(f"debug.callback: takes a function, got {class_of(function)}")
    name = getattr(function, "__name__", type(function).__name__)
    _call(f"debug.callback {name}", function, args, kwargs, ordered)
    return None


_OWN_CALLBACK = callback  # its parameter has its name, which is JAX's


def _refuse_parts(name: str, partitioned: bool) -> None:
    if flag(f"debug.{name}: partitioned", partitioned):
        raise TracingError(
            f"debug.{name}: partitioned=True: functions on the host get whole arrays; call it in "
            "tn.shard_map for each part"
        )


def _call(
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    ordered: bool,
    scalars: bool = False,
) -> None:
    """Call a function on trees in which arrays are those of NumPy, or numbers if `scalars`."""
    leaves, tree = flatten((args, kwargs))
    places = [at for at, leaf in enumerate(leaves) if meta_of_value(leaf) is not None]

    def on_host(*arrays: NumpyArray) -> Sequence[NumpyArray]:
        for at, array in zip(places, arrays, strict=True):
            leaves[at] = array[()] if scalars else array
        own, named = unflatten(tree, leaves)
        function(*own, **named)
        return []

    is_ordered = flag(f"{name.split()[0]}: ordered", ordered)
    called_for_effect(HostFunction(name, on_host), [leaves[at] for at in places], (), is_ordered)


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
            f"tap: takes a text and a value, or a function and a value, got {class_of(text)}"
        )
    fields = [field for _, field, _, _ in string.Formatter().parse(text) if field is not None]
    of_value = all(field.partition("[")[0] == "0" for field in fields)
    if not fields or (fields != [""] and not of_value):
        raise TracingError(
            f"tap: the text {text!r} must have one field, as in 'x = {{}}'; or, for the parts of a "
            "tree, fields as in '{0[a]} and {0[b]}'"
        )
    return lambda value: builtins.print(text.format(value))  # noqa: T201  # what it is for


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call `callback` with the sharding of a tensor: `x.sharding`, None for one on the host.

    Raises:
        ShardingError: the tensor is traced, and so not yet anywhere.

    >>> import tenferro as tn
    >>> found = []
    >>> tn.debug.inspect_array_sharding(tn.device_put(tn.ones(2), "host"), callback=found.append)
    >>> found
    [None]
    """
    callback(_placed("inspect_array_sharding", value).sharding)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which device has which part of a tensor of one or two axes, as JAX does.

    Args:
        arr: a tensor on a device or a mesh.
        kwargs: those of `jax.debug.visualize_array_sharding`.

    Raises:
        ShardingError: it is traced, on the host, or of another rank; or JAX cannot draw it, which
            needs the package `rich`.
    """
    tensor = _placed("visualize_array_sharding", arr)
    if tensor.sharding is None:
        raise ShardingError(
            "visualize_array_sharding: the tensor is on the host, which has all of it; "
            "tn.device_put(x, sharding) divides it"
        )
    executor_module("xla").sharding.draw(tensor.data, kwargs)


def _placed(name: str, value: Any) -> Tensor:
    if isinstance(value, TracedTensor):
        raise ShardingError(
            f"{name}: XLA places a traced value when it compiles the function; call this with the "
            "result of the compiled function, or see f.lower(...).compile().as_text()"
        )
    return value if isinstance(value, Tensor) else Tensor(value)


def __dir__() -> list[str]:
    return [*__all__]


_REASONS = {
    "breakpoint": "look at values with tn.debug.print or tn.debug.callback; or run the function "
    "within tn.disable_jit(), where Python's breakpoint() shows numbers",
    "visualize_sharding": "x.sharding says how an array is divided; use visualize_array_sharding",
    "log": "use tn.debug.callback with the function of a logger",
    **dict.fromkeys(("DebugEffect", "OrderedDebugEffect"), "it is an internal of JAX"),
}


def __getattr__(name: str) -> Any:
    raise missing("tenferro.debug", name, __dir__, _REASONS)
