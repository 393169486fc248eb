"""The op of discrete Fourier transforms along the last axes, its kernel and its derivative."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, V
from tenferro.errors import DTypeError, InvalidConfigError, ShapeError
from tenferro.ir import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    AnyTensor,
    Dim,
    DType,
    NumpyArray,
    ShapeExtent,
    TensorMeta,
    complex_dtype,
    floordiv,
    real_dtype,
)
from tenferro.ops import Iota, full
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    family_id,
    sizes_differ,
)
from tenferro.ops.functions import Expression, elementwise, emit, emit_all, run_body
from tenferro.runtime import family_package

__all__ = ["FFT", "Fft", "exact_size", "points", "spectrum_length"]

KINDS = ("c2c", "c2c inverse", "r2c", "c2r")
SCALES = ("none", "inverse", "root")
_INVERSE = {"c2c": "c2c inverse", "c2c inverse": "c2c", "r2c": "c2r", "c2r": "r2c"}


@family_id(namespace="tenferro-fft", name="fft", version=1)
@dataclass(frozen=True)
class Fft(FamilyOp):
    """The discrete Fourier transform along the last axes.

    `"c2c"` and `"r2c"` have the exponent -2πi jk/n, `"c2c inverse"` and `"c2r"` +2πi jk/n. `"r2c"`
    takes real values, and returns only the frequencies 0 … n//2 of the last axis. `"c2r"` takes
    such frequencies, of values that are real; the imaginary parts of frequencies 0 and n/2 are not
    used. Its second input has a last axis of size n; the elements are not read.

    Attributes:
        kind: one of `KINDS`.
        axes: the number of axes that are transformed, 1, 2 or 3.
        scale: what the sum is divided by: `"none"` for 1, `"inverse"` for the number of points,
            `"root"` for its square root.
    """

    kind: str
    axes: int = 1
    scale: str = "none"

    output_count = 1
    linear_from = 0

    def __post_init__(self) -> None:
        """Check the payload."""
        if self.kind not in KINDS or self.scale not in SCALES or self.axes not in (1, 2, 3):
            raise InvalidConfigError(
                self.family_id,
                f"{self}: kind must be one of {KINDS}, axes 1, 2 or 3, scale one of {SCALES}",
            )

    @property
    def input_count(self) -> int:
        """1; with the source of the length 2."""
        return 2 if self.kind == "c2r" else 1

    @property
    def is_inverse(self) -> bool:
        """Whether the exponent is +2πi jk/n."""
        return self.kind in ("c2c inverse", "c2r")

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, shape = input_dtypes[0], tuple(input_shapes[0])
        expected = (FLOAT32, FLOAT64) if self.kind == "r2c" else (COMPLEX64, COMPLEX128)
        if dtype not in expected:
            names = " or ".join(each.name for each in expected)
            raise DTypeError(f"fft: {self.kind} takes {names}, got {dtype.name}")
        if len(shape) < self.axes:
            meta = TensorMeta.of(dtype, shape)
            raise ShapeError(f"fft: takes at least {self.axes} axes, got {meta}")
        if self.kind == "r2c":
            _check_sizes(dtype, shape, self.axes)
            return [(complex_dtype(dtype), (*shape[:-1], spectrum_length(shape[-1])))]
        if self.kind == "c2r":
            shape = self._real_shape(dtype, shape, tuple(input_shapes[1]))
            dtype = real_dtype(dtype)
        _check_sizes(dtype, shape, self.axes)
        return [(dtype, shape)]

    def _real_shape(
        self, dtype: DType, shape: tuple[Dim, ...], source: tuple[Dim, ...]
    ) -> tuple[Dim, ...]:
        """The shape of the result of `"c2r"`."""
        if not source:
            raise ShapeError("fft: the second input, the source of the length, has no axis")
        if sizes_differ(shape[-1], spectrum_length(source[-1])):
            raise ShapeError(
                f"fft: c2r of length {source[-1]} takes {spectrum_length(source[-1])} frequencies "
                f"along the last axis, got {TensorMeta.of(dtype, shape)}"
            )
        return (*shape[:-1], source[-1])

    def kernel(self, x: NumpyArray, *source: NumpyArray) -> list[NumpyArray]:
        """By `numpy.fft`; single precision stays single."""
        shapes = [x.shape, *(each.shape for each in source)]
        ((dtype, shape),) = self.infer_output_meta([x.dtype] * len(shapes), shapes)
        if not x.size:
            return [np.zeros(tuple(shape), dtype)]
        scales = ("forward", "backward") if self.is_inverse else ("backward", "forward")
        norm: Any = dict(zip(SCALES, (*scales, "ortho"), strict=True))[self.scale]
        axes = tuple(range(-self.axes, 0))
        transform: Any = {
            "c2c": np.fft.fftn,
            "c2c inverse": np.fft.ifftn,
            "r2c": np.fft.rfftn,
            "c2r": np.fft.irfftn,
        }[self.kind]
        sizes = (*x.shape[-self.axes : -1], (source[0] if source else x).shape[-1])
        with np.errstate(all="ignore"):  # infinities give NaN
            return [np.asarray(transform(x, s=sizes, axes=axes, norm=norm), dtype)]

    def jvp(self, at: FormulaSite) -> Terms:
        """The transform of the tangent; the source of the length has none."""
        dx: AnyTensor | None = at.tangents[0]
        return [None] if dx is None else emit_all(Extension(self), dx, *at.operands[1:])

    def vjp(self, at: FormulaSite) -> Terms:
        """The op with the other sign of the exponent.

        `"r2c"` keeps one of each pair of conjugate frequencies. So its adjoint is `"c2r"` of half
        the cotangent at frequencies that have a partner, and the adjoint of `"c2r"` doubles these.
        """
        (x, *source), (ct,) = at.operands, at.cts
        back = Extension(replace(self, kind=_INVERSE[self.kind]))
        if self.kind == "r2c":
            weighted = ct * pair_weights(ct, exact_size("fft", x.meta, -1), 0.5)
            length: Any = Expression(x.emitter, points(x.emitter, x.meta.extents[-1]))
            return emit_all(back, weighted, length)
        result = emit(back, ct)
        if self.kind == "c2r":
            result = result * pair_weights(result, exact_size("fft", ct.meta, -1), 2.0)
        return [result, *[None] * len(source)]

    def batch(self, at: BatchSite[V]) -> Batched[V]:
        """The op itself; only the last axis of the source of the length matters, batched or not."""
        return ((at.emit(Extension(self), *at.inputs), at.batched[0]),)


def _check_sizes(dtype: DType, shape: tuple[Dim, ...], axes: int) -> None:
    for axis in range(-axes, 0):
        if shape[axis] == 0:
            meta = TensorMeta.of(dtype, shape)
            raise ShapeError(f"fft: n must be at least 1, got 0 (axis {axis} of {meta})")


def spectrum_length(n: Dim) -> Dim:
    """The number of frequencies that `"r2c"` of n points returns."""
    return floordiv(n, 2) + 1


def exact_size(name: str, meta: TensorMeta, axis: int) -> Dim:
    """The size of one axis; sizes of the others may be data-dependent.

    Raises:
        UnsupportedDynamicShapeError: the size is data-dependent.
    """
    (size,) = meta.with_extents((meta.extents[axis],)).exact_shape(name, "operand")
    return size


def points(at: Emitter[V], extent: ShapeExtent) -> V:
    """A vector of this size, the second input of `"c2r"`."""
    return full(at, False, TensorMeta(BOOL, (extent,)), "fft")


def pair_weights(like: AnyTensor, n: Dim, weight: float) -> AnyTensor:
    """1 at the frequencies 0 and n/2 of n points, `weight` at others, as precise as `like`."""
    k = run_body(like, emit, (Iota(INT64, spectrum_length(n)),), {})
    paired = (k > 0) & (2 * k < n)
    return elementwise.where(paired, weight, 1.0).astype(real_dtype(like.dtype))


FFT = family_package("tenferro-fft", Fft)
