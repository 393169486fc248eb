"""`jax.test_util`: derivatives checked by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tenferro import tree
from tenferro.errors import ADError, PytreeError, class_of
from tenferro.ir import NumpyArray, PyTree, dtype_kind
from tenferro.missing_names import attributes
from tenferro.runtime import Tensor
from tenferro.transforms import jvp, vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]

STEP = 1e-4
"""Of central differences."""
_TOLERANCES = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "complex64": 1e-3}
_EXACT = 1e-5
"""The tolerance for other dtypes."""

Tolerance = float | None


def check_grads(
    f: Callable[..., PyTree],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives of a function, up to an order, with central differences.

    They are compared along random directions, which are the same in every call.

    Args:
        f: takes and returns trees of arrays.
        args: the arguments; derivatives are taken by all of them.
        order: the highest order.
        modes: "fwd" for the tangents of `tn.jvp`, "rev" for the cotangents of `tn.vjp`, or both.
        atol, rtol: the absolute and relative tolerance; None is one for the dtype.
        eps: the step of the differences.

    Raises:
        AssertionError: derivatives differ; the text says of which mode.
        ADError: `order` is not a positive integer, or a mode is another.

    >>> import tenferro as tn
    >>> tn.test_util.check_grads(lambda x: tn.sum(tn.sin(x) ** 2), (tn.array([0.5, 2.0]),), order=2)
    """
    if isinstance(modes, str):
        modes = (modes,)
    if unknown := [mode for mode in modes if mode not in ("fwd", "rev")]:
        raise ADError(f"check_grads: modes are 'fwd' and 'rev', got {unknown[0]!r}")
    if not callable(f):
        raise ADError(f"check_grads: takes a function, got {class_of(f)}")
    if not isinstance(args, tuple | list):
        raise ADError(f"check_grads: args must be a tuple of arguments, got {args!r}")
    if not isinstance(order, int) or order < 1:
        raise ADError(f"check_grads: order must be a positive integer, got {order!r}")
    leaves, structure = tree.flatten(tuple(args))
    active = [at for at, leaf in enumerate(leaves) if dtype_kind(_array(leaf).dtype) in "fc"]

    def of_active(*moving: Any) -> PyTree:
        whole = list(leaves)
        for at, leaf in zip(active, moving, strict=True):
            whole[at] = leaf
        return f(*tree.unflatten(structure, whole))

    moving = tuple(map(leaves.__getitem__, active))
    _check(of_active, moving, order, tuple(modes), (atol, rtol, eps), "")


def _check(
    f: Callable[..., PyTree],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    tolerances: tuple[Tolerance, Tolerance, float | None],
    path: str,
) -> None:
    atol, rtol, eps = tolerances
    if "fwd" in modes:
        text = f"{path and path + ' of '}jvp"
        check_jvp(f, lambda x, dx: jvp(f, x, dx), args, atol, rtol, eps, text)
        if order > 1:

            def tangents(x: Any, dx: Any) -> Any:
                return jvp(f, x, dx)

            directions = _direction(args)
            _check(tangents, (args, directions), order - 1, modes, tolerances, text)
    if "rev" in modes:
        text = f"{path and path + ' of '}vjp"
        check_vjp(f, lambda *x: vjp(f, *x), args, atol, rtol, eps, text)
        if order > 1:
            value, _ = vjp(f, *args)
            seed = _direction(value)

            def cotangents(*x: Any) -> Any:
                value, pullback = vjp(f, *x)
                return value, pullback(seed)

            _check(cotangents, args, order - 1, modes, tolerances, text)


def check_jvp(
    f: Callable[..., PyTree],
    f_jvp: Callable[..., tuple[PyTree, PyTree]],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare a function for tangents with central differences along a random direction.

    Args:
        f: the function.
        f_jvp: takes a tuple of arguments and one of tangents, as `tn.jvp` after its function does,
            and returns the value and its tangent.
        args: the arguments.
        atol, rtol: the tolerances; None is one for the dtype.
        eps: the step.
        err_msg: what the error says first.

    Raises:
        AssertionError: values or tangents differ.

    >>> import tenferro as tn
    >>> tn.test_util.check_jvp(tn.sin, lambda x, dx: tn.jvp(tn.sin, x, dx), (0.5,))
    """
    args = tuple(args)
    directions = _direction(args)
    value, tangent = f_jvp(args, directions)
    _compare(f(*args), value, atol, rtol, f"{err_msg or 'jvp'}: the value")
    expected = _difference(f, args, directions, eps)
    _compare(expected, tangent, atol, rtol, f"{err_msg or 'jvp'}: the tangent")


def check_vjp(
    f: Callable[..., PyTree],
    f_vjp: Callable[..., tuple[PyTree, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare cotangents with central differences: both give one derivative along directions.

    Args:
        f: the function.
        f_vjp: takes the arguments, as `tn.vjp` after its function does, and returns the value and
            the function for cotangents.
        args: the arguments.
        atol, rtol: the tolerances; None is one for the dtype.
        eps: the step.
        err_msg: what the error says first.

    Raises:
        AssertionError: values or derivatives differ.

    >>> import tenferro as tn
    >>> tn.test_util.check_vjp(tn.sin, lambda x: tn.vjp(tn.sin, x), (0.5,))
    """
    args = tuple(args)
    value, pullback = f_vjp(*args)
    _compare(f(*args), value, atol, rtol, f"{err_msg or 'vjp'}: the value")
    directions = _direction(args)
    tangent = _difference(f, args, directions, eps)
    seed = _direction(value, seed=1)
    cotangents = pullback(seed)
    along = _inner(directions, cotangents)
    expected = _inner(tangent, seed)
    kinds = [_array(leaf).dtype for leaf in tree.leaves((args, value))]
    loosest = max(map(_tolerance, kinds), default=_EXACT)
    scale = max(1.0, abs(expected))
    if not np.isclose(
        along,
        expected,
        rtol=loosest if rtol is None else rtol,
        atol=loosest * scale if atol is None else atol,
        equal_nan=True,
    ):
        raise AssertionError(
            f"{err_msg or 'vjp'}: the derivative along a direction is {along} by cotangents and "
            f"{expected} by differences"
        )


def _array(leaf: Any) -> NumpyArray:
    return np.asarray(leaf if isinstance(leaf, np.ndarray | Tensor) else Tensor(leaf))


def _direction(values: PyTree, seed: int = 0) -> Any:
    """Random tangents of a tree; None for what has no derivative."""
    draw = np.random.RandomState(seed)

    def of_leaf(leaf: Any) -> Any:
        array = _array(leaf)
        if dtype_kind(array.dtype) not in "fc":
            return np.zeros(array.shape, array.dtype)
        direction: Any = draw.standard_normal(array.shape)
        if dtype_kind(array.dtype) == "c":
            direction = direction + 1j * draw.standard_normal(array.shape)
        return Tensor(np.asarray(direction, array.dtype))

    return tree.map(of_leaf, values)


def _difference(
    f: Callable[..., Any], args: tuple[Any, ...], directions: Any, eps: float | None
) -> Any:
    step = STEP if eps is None else eps

    def moved(sign: float) -> Any:
        def of_leaf(value: Any, direction: Any) -> Any:
            array, along = _array(value), _array(direction)
            if dtype_kind(array.dtype) not in "fc":
                return value
            return Tensor((array + array.dtype.type(sign * step) * along).astype(array.dtype))

        return f(*tree.map(of_leaf, args, directions))

    def slope(above: Any, below: Any) -> Any:
        high, low = _array(above), _array(below)
        if dtype_kind(high.dtype) not in "fc":
            return np.zeros(high.shape, high.dtype)
        return ((high - low) * high.dtype.type(0.5 / step)).astype(high.dtype)

    return tree.map(slope, moved(1.0), moved(-1.0))


def _inner(x: Any, y: Any) -> float:
    """The real inner product of two trees; tangents and cotangents of integers count as zero."""
    left, structure = tree.flatten(x)
    try:
        right = structure.flatten_up_to(y)
    except ValueError as error:
        raise PytreeError(f"check_vjp: cotangents have another structure: {error}") from None
    pairs = [(_array(a), _array(b)) for a, b in zip(left, right, strict=True) if b is not None]
    return float(
        sum(
            np.sum((np.conj(a) * b).real)
            for a, b in pairs
            if dtype_kind(a.dtype) in "fc" and a.size
        )
    )


def _tolerance(dtype: np.dtype[Any]) -> float:
    return _TOLERANCES.get(dtype.name, _EXACT)


def _compare(expected: Any, value: Any, atol: Tolerance, rtol: Tolerance, text: str) -> None:
    left, structure = tree.flatten(expected)
    right: Any
    try:
        right = structure.flatten_up_to(value)
    except ValueError as error:
        raise AssertionError(f"{text} has another structure: {error}") from None
    for a, b in zip(left, right, strict=True):
        if b is None:  # the tangent of an integer
            continue
        x, y = _array(a), _array(b)
        loosest = max(_tolerance(x.dtype), _tolerance(y.dtype))
        np.testing.assert_allclose(
            y,
            x,
            rtol=loosest if rtol is None else rtol,
            atol=loosest if atol is None else atol,
            err_msg=f"{text} differs",
        )


__getattr__, __dir__ = attributes("tenferro.test_util", __all__)
