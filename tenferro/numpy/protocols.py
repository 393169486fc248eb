"""NumPy's functions on tensors: what `__array_function__` and `__array_ufunc__` compute.

`numpy.sum(x)` and `numpy.add(x, y)` compute with tenferro's function of that name, so their results
are tensors, and they can be traced and differentiated. What tenferro has no function or keyword for
is NumPy's own on the elements of tensors, and refused for values that have no elements yet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Any, NamedTuple

import numpy as np

from tenferro.errors import ADError, DTypeError, ShapeError, TracingError
from tenferro.ir import as_dtype
from tenferro.numpy.creation import asarray, full
from tenferro.numpy.manipulation import concat, stack
from tenferro.ops.functions import ArrayOperators, normal_axis
from tenferro.ops.functions.elementwise import where as chosen_where
from tenferro.ops.functions.manipulation import moveaxis, permute_dims
from tenferro.runtime import Tensor
from tenferro.transforms import scan

__all__: list[str] = []  # NumPy calls them


def array_function(
    function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """What a function of NumPy makes of arguments among which are tensors."""
    name = _names().get(function)
    if name in _WRITERS:
        _refuse_writing(_called_as(function), [*args, *options.values()][:1])
    meant = None if name is None or name in _OF_NUMPY else _named(name)
    leaves = list(_leaves((args, options)))
    by_numpy = any(map(_is_special, leaves)) or (name in _FOR_NUMPY and _all_known(leaves))
    if meant is None or by_numpy:
        return _computed_by_numpy(function, args, options)
    try:
        translated = _translated(function, meant, args, options)
    except TypeError:
        function(*_elements(function, args), **_elements(function, options))  # its own error
        raise
    if isinstance(translated, str):
        return _computed_by_numpy(function, args, options, f"tenferro's has no {translated}=")
    positional, named, out = translated
    _refuse_writing(_called_as(function), [out], _NO_OUT)
    result = meant(*positional, **named)
    if name in _PREDICATES and isinstance(result, Tensor) and not result.tracked:
        return bool(result)
    return result if out is None else _written(function, result, (out,))


def array_ufunc(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]
) -> Any:
    """What a universal function of NumPy, or a method of it, makes of inputs with tensors."""
    if method == "__call__" and not options and all(map(_is_plain, inputs)):  # most often
        usual = _ufunc_named(ufunc)
        if usual is not None:
            return usual(*inputs)
    out = options.pop("out", None)
    for each in ("subok", "order"):
        options.pop(each, None)
    meant = _ufunc_named(ufunc)
    _refuse_writing(_called_as(ufunc), out or (), _NO_OUT)
    if meant is None or any(map(_is_special, _leaves((inputs, out, options)))):
        own = options if out is None else {**options, "out": out}
        return _computed_by_numpy(ufunc, inputs, own, method=method)
    if method == "__call__":
        result = _called(ufunc, meant, inputs, out, options)
    elif method == "outer":
        result = _outer(ufunc, meant, inputs, out, options)
    elif method == "at":
        _refuse_writing(f"{_called_as(ufunc)}.at", inputs[:1])
        return _computed_by_numpy(ufunc, inputs, options, method=method)
    else:
        result = _folded(ufunc, meant, method, inputs, options)
    if result is NotImplemented:
        own = options if out is None else {**options, "out": out}
        return _computed_by_numpy(ufunc, inputs, own, "tenferro's has no such option", method)
    return result if out is None else _written(ufunc, result, out)


# Which function of tenferro a function of NumPy is.

_WRITERS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""What writes to its first argument."""

_NO_OUT = "leave out= away: the result is a new array"

_FOR_NUMPY = frozenset(
    {"atleast_1d", "atleast_2d", "atleast_3d", "copy"}
    | {"empty_like", "full_like", "ones_like", "zeros_like"}
)
"""What programs call to have an array of NumPy, often to write to it: they do, as from `asarray`.

While a tensor is traced, tenferro's function makes a tensor.
"""

_PREDICATES = frozenset({"allclose", "array_equal", "array_equiv"})
"""What gives True or False, and no array."""

_OF_NUMPY = frozenset(
    {*_WRITERS, "array2string", "array_repr", "array_str", "common_type", "may_share_memory"}
    | {"min_scalar_type", "save", "savetxt", "savez", "savez_compressed", "shares_memory"}
)
"""What makes no arrays of its arguments: it shows, writes or describes them."""


@cache
def _names() -> dict[Any, str]:
    """The functions of NumPy that dispatch, with their names."""
    spaces = {"": np, "linalg.": np.linalg, "fft.": np.fft}
    found: dict[Any, str] = {}
    for prefix, space in spaces.items():
        for name in dir(space):
            each = getattr(space, name)
            if callable(each) and not isinstance(each, type) and not name.startswith("_"):
                found.setdefault(each, prefix + name)
    return found


def _named(name: str) -> Callable[..., Any] | None:
    """The function of tenferro of a name."""
    at: Any = sys.modules["tenferro"]
    for part in name.split("."):
        at = getattr(at, part, None)
    return at if callable(at) else None


@cache
def _ufunc_named(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function of tenferro for a ufunc of NumPy or of `scipy.special`."""
    name = _names().get(ufunc)
    if name is not None:
        return _named(name)
    special = sys.modules.get("scipy.special")
    of_scipy = getattr(special, ufunc.__name__, None) is ufunc
    return _named(f"scipy.special.{ufunc.__name__}") if of_scipy else None


# Arguments: those of NumPy as those of tenferro, and as NumPy's own.


class _Translation(NamedTuple):
    """The arguments of a function of tenferro, and the array to write to."""

    args: list[Any]
    options: dict[str, Any]
    out: Any


_LAYOUTS = ("C", "F", "A", "K", None)
_WITHOUT_EFFECT = frozenset({"casting", "copy", "kind", "like", "overwrite_input", "subok"})
"""Options of NumPy that do not change the elements of the result."""


def _translated(
    function: Callable[..., Any],
    meant: Callable[..., Any],
    args: Sequence[Any],
    options: Mapping[str, Any],
) -> _Translation | str:
    """The arguments for tenferro's function, or the name of an option that it does not have.

    Raises:
        TypeError: they are no arguments of NumPy's function.
    """
    own = _signature(function)
    if own is None:
        return _Translation(list(args), dict(options), None)
    bound = own.bind(*args, **options)
    result = _Translation([], {}, bound.arguments.pop("out", None))
    for name, value in bound.arguments.items():
        parameter = own.parameters[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            result.options.update(value)
        elif parameter.kind is Parameter.VAR_POSITIONAL:
            result.args.extend(value)
        elif value is not np._NoValue:
            place, target = _counterpart(function, meant, name)
            if target is None:
                without_effect = name in _WITHOUT_EFFECT or (name == "order" and value in _LAYOUTS)
                if not without_effect and not _is_default(value, parameter.default):
                    return name
            elif target.kind is not Parameter.KEYWORD_ONLY and place == len(result.args):
                result.args.append(value)
            else:
                result.options[target.name] = value
    return result


@cache
def _counterpart(
    function: Callable[..., Any], meant: Callable[..., Any], name: str
) -> tuple[int, Parameter | None]:
    """The parameter of tenferro's function for one of NumPy's: of that name, or at that place."""
    own = _signature(function)
    assert own is not None
    targets = list(signature(meant).parameters.values())
    wanted = _RENAMED.get(name, name)
    for place, target in enumerate(targets):
        if target.name in (name, wanted):
            return place, target
    place = list(own.parameters).index(name)
    if place < len(targets) and targets[place].name not in own.parameters:
        return place, targets[place]
    return place, None


_RENAMED = {"a_min": "min", "a_max": "max", "rcond": "rtol"}


@cache
def _signature(function: Callable[..., Any]) -> Signature | None:
    try:
        return signature(function)
    except ValueError:  # NumPy's text of it is not Python's
        return None


def _is_default(value: Any, default: Any) -> bool:
    plain = value is None or isinstance(value, bool | int | float | str)
    return plain and type(value) is type(default) and bool(value == default)


def _leaves(tree: Any) -> Iterator[Any]:
    """The arguments, and those in lists, tuples and dicts."""
    stack = [tree]
    while stack:
        each = stack.pop()
        if type(each) in (list, tuple):
            stack.extend(each)
        elif type(each) is dict:
            stack.extend(each.values())
        else:
            yield each


def _is_plain(value: Any) -> bool:
    """Whether a value is a tensor, an array of NumPy, or a number."""
    return isinstance(value, ArrayOperators) or type(value) in (np.ndarray, int, float, complex)


def _is_special(value: Any) -> bool:
    """Whether a value is an array of NumPy of another class, such as a masked array."""
    return isinstance(value, np.ndarray) and type(value) is not np.ndarray


def _all_known(leaves: Sequence[Any]) -> bool:
    """Whether no tensor is traced or tracked."""
    return not any(
        isinstance(each, ArrayOperators) and (not isinstance(each, Tensor) or each.tracked)
        for each in leaves
    )


def _elements(function: Any, tree: Any, why: str = "") -> Any:
    """The arguments with NumPy arrays for tensors.

    Raises:
        TracingError, ADError: the elements of a tensor are not known, or may not be read.
    """
    if type(tree) in (list, tuple):
        return type(tree)([_elements(function, each, why) for each in tree])
    if isinstance(tree, Mapping):
        return {name: _elements(function, each, why) for name, each in tree.items()}
    if not isinstance(tree, ArrayOperators):
        return tree
    try:
        return np.asarray(tree)
    except (ADError, TracingError) as error:
        lacking = why or "tenferro has no such function"
        raise type(error)(f"{_called_as(function)}: {lacking}; {error}") from None


def _called_as(function: Any) -> str:
    """What errors call a function of NumPy."""
    return f"numpy.{_names().get(function) or getattr(function, '__name__', 'a function')}"


def _computed_by_numpy(
    function: Any, args: Any, options: Any, why: str = "", method: str = "__call__"
) -> Any:
    """What NumPy's own function makes of the elements."""
    own = function if method == "__call__" else getattr(function, method)
    return own(*_elements(function, tuple(args), why), **_elements(function, dict(options), why))


# Results in arrays of NumPy.


def _refuse_writing(
    name: str, targets: Sequence[Any], advice: str = "make a changed copy with x.at[...]"
) -> None:
    """Raise DTypeError if a target is a tensor."""
    for each in targets:
        if isinstance(each, ArrayOperators):
            raise DTypeError(f"{name}: {each.meta} cannot be written to; {advice}")


def _written(function: Any, result: Any, out: Sequence[Any]) -> Any:
    """Arrays of NumPy that are written to."""
    results = result if isinstance(result, tuple) else (result,)
    made = [
        each if target is None else _filled(function, target, each)
        for each, target in zip(results, out, strict=True)
    ]
    return tuple(made) if isinstance(result, tuple) else made[0]


def _filled(function: Any, target: Any, result: Any) -> Any:
    values = np.asarray(_elements(function, result, "out= needs the elements"))
    if target.shape != values.shape:
        raise ShapeError(
            f"{_called_as(function)}: the result has the shape {values.shape}, and out= has "
            f"{target.shape}"
        )
    np.copyto(target, values, casting="same_kind")
    return target


# Universal functions and their methods.


def _called(
    ufunc: np.ufunc,
    meant: Callable[..., Any],
    inputs: Sequence[Any],
    out: Sequence[Any] | None,
    options: dict[str, Any],
) -> Any:
    """A call: `dtype`, `signature` and `casting` choose NumPy's loop, `where` the elements."""
    where = options.pop("where", True)
    chosen = {key: each for key, each in options.items() if key in _CHOICES and each is not None}
    others = {key: each for key, each in options.items() if key not in _CHOICES}
    if others and not others.keys() <= set(signature(meant).parameters):
        return NotImplemented
    dtypes = _loop(ufunc, inputs, chosen) if chosen else None
    if dtypes is not None:
        inputs = [_as(each, dtype) for each, dtype in zip(inputs, dtypes, strict=False)]
    result = meant(*inputs, **others)
    results = list(result) if isinstance(result, tuple) else [result]
    if dtypes is not None:
        results = [_as(each, to) for each, to in zip(results, dtypes[ufunc.nin :], strict=True)]
    if where is not True:
        elsewhere = out or (None,) * len(results)
        results = [
            chosen_where(where, each, each.dtype.type(0) if other is None else other)
            for each, other in zip(results, elsewhere, strict=True)
        ]
        if out is not None:
            results = [
                _as(each, other.dtype, of=ufunc) if other is not None else each
                for each, other in zip(results, out, strict=True)
            ]
    return tuple(results) if isinstance(result, tuple) else results[0]


_CHOICES = ("dtype", "signature", "casting")
"""Options that choose the loop."""


def _loop(ufunc: np.ufunc, inputs: Sequence[Any], chosen: dict[str, Any]) -> tuple[Any, ...]:
    """The dtypes of operands and results that NumPy computes in.

    Raises:
        TypeError: there is no such loop, or the casting is not allowed.
    """
    kinds = [_kind(each) for each in inputs]
    wanted = chosen.get("signature")
    if wanted is None:
        to = chosen.get("dtype")
        wanted = (None,) * ufunc.nin + (to and as_dtype(to),) * ufunc.nout
    casting = chosen.get("casting", "same_kind")
    operands = (*kinds, *(None,) * ufunc.nout)
    return ufunc.resolve_dtypes(operands, signature=wanted, casting=casting)


def _kind(value: Any) -> Any:
    """The dtype of an input; of a Python number its type."""
    if isinstance(value, ArrayOperators):
        return value.dtype
    if type(value) in (int, float, complex):
        return type(value)
    return np.asarray(value).dtype


def _as(value: Any, dtype: Any, of: Any = None) -> Any:
    """A value in a dtype."""
    if isinstance(value, ArrayOperators):
        if of is not None and not np.can_cast(value.dtype, dtype, "same_kind"):
            raise DTypeError(f"numpy.{of.__name__}: {value.meta} cannot be written as {dtype}")
        return value.astype(dtype, copy=False)
    return np.asarray(value).astype(dtype)


def _outer(
    ufunc: np.ufunc,
    meant: Callable[..., Any],
    inputs: Sequence[Any],
    out: Sequence[Any] | None,
    options: dict[str, Any],
) -> Any:
    """The function of each element of one array and each of the other."""
    first, second = map(asarray, inputs)
    wide = first.reshape((*first.shape, *(1,) * second.ndim))
    return _called(ufunc, meant, (wide, second), out, options)


_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_and: "all",
    np.logical_or: "any",
}
_ACCUMULATIONS = {np.add: "cumsum", np.multiply: "cumprod"}


def _folded(
    ufunc: np.ufunc,
    meant: Callable[..., Any],
    method: str,
    inputs: Sequence[Any],
    options: dict[str, Any],
) -> Any:
    """`reduce`, `accumulate` and `reduceat`."""
    if (ufunc.nin, ufunc.nout) != (2, 1):
        return NotImplemented  # NumPy refuses it
    names = _FOLDS[method]
    options = {**dict(zip(names, inputs[1:], strict=False)), **options}
    options = {key: each for key, each in options.items() if each is not np._NoValue}
    if not options.keys() <= set(names):
        return NotImplemented
    x: Any = asarray(inputs[0])
    wanted = options.pop("dtype", None)
    loop = (None if wanted is None else as_dtype(wanted), None, None)
    dtypes = ufunc.resolve_dtypes((None, x.dtype, None), signature=loop, reduction=True)
    if len(set(dtypes)) != 1:
        return NotImplemented  # NumPy refuses it
    dtype = dtypes[0]
    x = x.astype(dtype, copy=False)
    result = _FOLDED[method](ufunc, meant, x, **options)
    return result if result is NotImplemented else result.astype(dtype, copy=False)


def _reduced(
    ufunc: np.ufunc,
    meant: Callable[..., Any],
    x: Any,
    axis: Any = 0,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    if ufunc in _REDUCTIONS:
        given = {} if initial is None else {"initial": initial}
        if where is not True:
            given["where"] = where
        return getattr(x, _REDUCTIONS[ufunc])(axis=axis, keepdims=keepdims, **given)
    if where is not True:
        return NotImplemented
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    places = sorted(normal_axis(ufunc.__name__, each, x.ndim) for each in axes)
    rest = [each for each in range(x.ndim) if each not in places]
    rows = permute_dims(x, (*places, *rest)).reshape((-1, *(x.shape[each] for each in rest)))
    if initial is None and isinstance(x.size, int) and x.size == 0:
        initial = ufunc.identity
    result = _running(meant, rows, initial)[0]
    if not keepdims:
        return result
    return result.reshape([1 if i in places else size for i, size in enumerate(x.shape)])


def _accumulated(ufunc: np.ufunc, meant: Callable[..., Any], x: Any, axis: int = 0) -> Any:
    if ufunc in _ACCUMULATIONS:
        return getattr(x, _ACCUMULATIONS[ufunc])(axis=axis)
    return moveaxis(_running(meant, moveaxis(x, axis, 0))[1], 0, axis)


def _at_segments(
    ufunc: np.ufunc, meant: Callable[..., Any], x: Any, indices: Any, axis: int = 0
) -> Any:
    """The fold of each part of an axis that starts at an index and ends before the next one."""
    starts = np.asarray(_elements(ufunc, indices, "reduceat needs the indices")).tolist()
    rows = moveaxis(x, axis, 0)
    parts = [
        _reduced(ufunc, meant, rows[start:stop]) if start < stop else rows[start]
        for start, stop in zip(starts, [*starts[1:], rows.shape[0]], strict=True)
    ]
    return moveaxis(stack([part.astype(x.dtype, copy=False) for part in parts]), 0, axis)


_FOLDS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("indices", "axis", "dtype", "out"),
}
"""The parameters of a method, after the array."""

_FOLDED: dict[str, Callable[..., Any]] = {
    "reduce": _reduced,
    "accumulate": _accumulated,
    "reduceat": _at_segments,
}


def _running(meant: Callable[..., Any], rows: Any, initial: Any = None) -> tuple[Any, Any]:
    """The last and all values of a left fold over axis 0."""
    if initial is None and isinstance(rows.shape[0], int) and rows.shape[0] == 0:
        raise ShapeError(f"{meant.__name__}: {rows.meta} has no elements, and there is no initial=")
    first = rows[0] if initial is None else full(rows.shape[1:], initial, dtype=rows.dtype)
    others = rows[1:] if initial is None else rows
    dtype = asarray(meant(first, first)).dtype
    start = first.astype(dtype)

    def step(carry: Any, row: Any) -> tuple[Any, Any]:
        value = meant(carry, row).astype(dtype)
        return value, value

    last, every = scan(step, start, others)
    return last, concat([start[None], every])
