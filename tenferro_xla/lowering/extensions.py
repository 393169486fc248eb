"""Lowering of extension families: callbacks, FFT, and the table of families that XLA runs.

JAX gives a callback values of 32 bits, unless the thread that it runs in is in 64-bit mode. So
values of 64 bits are passed as pairs of words.

The families' runtimes and `eager_execute` are never used here.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import Any

import jax
import jax.experimental
import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.core import filtered
from tenferro.errors import (
    BackendFailureError,
    ExtensionError,
    ExtensionRegistryError,
    UnsupportedExtensionError,
)
from tenferro.fft.op import Fft, spectrum_length
from tenferro.ir import DType, TensorMeta, dim, dtype_kind, make_meta
from tenferro.ops.extension import (
    Extension,
    ExtensionOp,
    Lowering,
    Package,
    for_platform,
    lowering_of,
    parse_family_id,
    require_class,
)
from tenferro.transforms import Callback, Effect
from tenferro_xla.lowering import linalg

__all__ = ["ExtensionLowerings", "check_callbacks"]


Shape = tuple[int, ...]
_WORD = np.dtype(np.uint32)


def call(op: Callback, *operands: Array) -> tuple[Array, ...]:
    """The function, called on the host while the program runs."""
    return _called(op, jax.pure_callback, operands)


def call_for_effect(op: Effect, *operands: Array) -> tuple[Array, ...]:
    """The same; XLA neither leaves a call out nor moves it. What is before it is an operand."""
    return _called(op, jax.experimental.io_callback, operands)


def _called(
    op: Callback, host_call: Callable[..., Any], operands: Sequence[Array]
) -> tuple[Array, ...]:
    types = [(np.dtype(operand.dtype), operand.shape) for operand in operands]
    results = [
        (dtype, tuple([int(size) for size in shape]))
        for dtype, shape in op.infer_output_meta(*zip(*types, strict=True) if types else ((), ()))
    ]
    passed = [
        jax.ShapeDtypeStruct(*_passed(dtype, shape))  # type: ignore[no-untyped-call]  # JAX has no types there
        for dtype, shape in results
    ]

    def on_host(*arrays: Any) -> Sequence[Any]:
        values = [
            _viewed(np.asarray(array), dtype, shape)
            for array, (dtype, shape) in zip(arrays, types, strict=True)
        ]
        outputs = op.eager_execute(values)
        return [
            _viewed(array, dtype, shape)
            for array, (shape, dtype) in zip(outputs, starmap(_passed, results), strict=True)
        ]

    outputs = host_call(on_host, passed, *map(_as_words, operands))
    return tuple(
        [_of_words(value, dtype) for value, (dtype, _) in zip(outputs, results, strict=True)]
    )


def _passed(dtype: DType, shape: Shape) -> tuple[Shape, DType]:
    """The shape and dtype in which values are passed."""
    if dtype.itemsize < 8 or dtype == np.complex64:
        return shape, dtype
    return (*shape, dtype.itemsize // 4), _WORD


def _viewed(array: Any, dtype: DType, shape: Shape) -> Any:
    """The bytes of an array as one of another type."""
    return np.ascontiguousarray(array).view(np.uint8).view(dtype).reshape(shape)


def _as_words(x: Array) -> Array:
    shape, dtype = _passed(np.dtype(x.dtype), x.shape)
    if dtype == x.dtype:
        return x
    parts = jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x
    return lax.bitcast_convert_type(parts, _WORD).reshape(shape)


def _of_words(x: Array, dtype: DType) -> Array:
    """A value of a type from what was passed."""
    if x.dtype == dtype:
        return x
    if dtype_kind(dtype) != "c":
        return lax.bitcast_convert_type(x, dtype)
    parts = lax.bitcast_convert_type(x.reshape(*x.shape[:-1], 2, 2), np.float64)
    return lax.complex(parts[..., 0], parts[..., 1])


def check_callbacks(error: Exception) -> None:
    """Raise BackendFailureError if what XLA reports is the error of a function of the user."""
    raised = _RAISED.search(str(error))
    if raised is not None:
        raise BackendFailureError(Callback.FAMILY_ID, raised.group(1), "callback") from None


def _as_the_user_raised_it(record: logging.LogRecord) -> bool:
    """Reduce what JAX logs of a failed callback to the error of the user's function."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, BackendFailureError) and error.__cause__ is not None:
        cause = filtered(error.__cause__)
        record.exc_info = type(cause), cause, cause.__traceback__
    return True


logging.getLogger("jax._src.callback").addFilter(_as_the_user_raised_it)
_RAISED = re.compile(r"BackendFailureError: callback: (.*)", re.DOTALL)


# The lowering of the family of Fourier transforms.

_TYPES = {
    "c2c": lax.FftType.FFT,
    "c2c inverse": lax.FftType.IFFT,
    "r2c": lax.FftType.RFFT,
    "c2r": lax.FftType.IRFFT,
}


def transform(op: Fft, x: Array, *source: Array) -> Array:
    last = source[0].shape[-1] if source else x.shape[-1]
    sizes = (*x.shape[x.ndim - op.axes : -1], last)
    if not all(isinstance(size, int) for size in sizes):
        raise UnsupportedExtensionError(
            op.family_id,
            f"{op.family_id}: the transformed axes have sizes {sizes}, and XLA needs numbers; give "
            "the inputs constant sizes along these axes",
        )
    if any(isinstance(size, int) and size == 0 for size in x.shape):
        return _empty(op, x, last)
    factor = _factor(op, math.prod(sizes))
    # The adjoints of transforms of the usual norms have a factor other than a root: before the
    # transform it fuses with what computes the cotangent. After it, it is applied in place.
    before = factor != 1 and op.scale != "root"
    result: Array = lax.fft(x * factor if before else x, _TYPES[op.kind], sizes)
    return result if before or factor == 1 else result * factor


def _factor(op: Fft, total: int) -> float:
    """What is to multiply the transform of XLA, which divides inverse ones by `total`."""
    divisor = {"none": 1.0, "inverse": float(total), "root": math.sqrt(total)}[op.scale]
    return (total if op.is_inverse else 1) / divisor


def _empty(op: Fft, x: Array, last: int) -> Array:
    """The result for an operand without elements."""
    if op.kind == "r2c":
        dtype = jnp.result_type(x.dtype, jnp.complex64)
        return jnp.zeros((*x.shape[:-1], spectrum_length(last)), dtype)
    return jnp.zeros((*x.shape[:-1], last), x.real.dtype) if op.kind == "c2r" else x


# Extension ops on XLA: a registered lowering, else standard ops, else an error.

_BUILTIN: Mapping[type[ExtensionOp], Lowering] = {
    **linalg.LOWERINGS,
    Fft: transform,
    Callback: call,
    Effect: call_for_effect,
}


class ExtensionLowerings:
    """The lowerings of extension families of one executor; the first one of a family counts.

    Those of tenferro's own families are among them.
    """

    def __init__(self, packages: Sequence[Package] = ()) -> None:
        self._rules: dict[str, tuple[Lowering | str, type[ExtensionOp] | None]] = {
            op.FAMILY_ID: (lowering, op)
            for lowerings in (_BUILTIN, *[package.lowerings for package in packages])
            for op, lowering in lowerings.items()
        }

    def register(self, family_id: str, lowering: Lowering) -> None:
        """Make a lowering known. Registering a family again changes nothing.

        Raises:
            MalformedFamilyIdError: the family id is not one.
            ExtensionRegistryError: the lowering is not a function, nor the name of one.
        """
        parse_family_id(family_id)
        value: object = lowering
        if not callable(value) and not isinstance(value, str):
            raise ExtensionRegistryError(
                family_id,
                f"takes a function of an op and its operands as JAX values, got {value!r}",
                "register",
            )
        self._rules.setdefault(family_id, (lowering, None))

    def copy_to(self, other: ExtensionLowerings) -> None:
        """Add the lowerings to another set, which keeps its own where both have one."""
        for family_id, lowering in self._rules.items():
            other._rules.setdefault(family_id, lowering)

    def __contains__(self, family_id: object) -> bool:
        return family_id in self._rules

    def __len__(self) -> int:
        return len(self._rules)

    def __call__(
        self, op: Extension, operands: Sequence[Any], platform: str | None = None
    ) -> tuple[jax.Array, ...]:
        """The outputs of an op, emitted into the JAX trace that is under way.

        `platform` is that of the devices, if it is known; lowerings get it that ask for it.

        Raises:
            BackendFailureError: the lowering failed, or JAX does not have the op on the platform.
            ExtensionRegistryError: it is that of another class of the family.
            InvalidConfigError: its results are not of the types that the op infers.
        """
        named, op_class = self._rules[op.family_id]
        require_class(op.op, op_class, "lowering")
        lowering = lowering_of(named)
        self._rules[op.family_id] = lowering, op_class
        try:
            arrays = map(_as_jax, operands)
            results = for_platform(lowering, platform)(op.op, *arrays)
        except Exception as error:
            if isinstance(error, ExtensionError) and op.family_id in str(error):
                raise
            reason = f"{op.family_id}: its XLA lowering failed: {type(error).__name__}: {error}"
            raise BackendFailureError(op.family_id, reason) from error
        return op.checked_results(op.infer_all([_meta(value) for value in operands]), results)


def _as_jax(value: Any) -> Any:
    """A value as one of JAX: constants are arrays of NumPy, which values of JAX cannot index."""
    return jnp.asarray(value) if isinstance(value, np.ndarray) else value


def _meta(value: Any) -> TensorMeta:
    """The type of a value, whose sizes may be symbols of JAX while a program is exported."""
    if all(isinstance(size, int) for size in value.shape):
        return make_meta(value.dtype, tuple(value.shape))
    sizes = [size if isinstance(size, int) else dim(str(size)) for size in value.shape]
    return TensorMeta.of(value.dtype, sizes)
