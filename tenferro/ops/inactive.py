"""Values through which no tangent flows: counters, and values that the user declares constant."""

from __future__ import annotations

import numpy as np

from tenferro.errors import DTypeError
from tenferro.exec_ir import Array, MaskSite, payload
from tenferro.ops.base import Inactive, Unchanged
from tenferro.shape import Dim, DType, TensorMeta, short_name


@payload
class Iota(Inactive, name="iota"):
    """0, 1, 2, … along one axis of the given size."""

    dtype: DType
    size: Dim

    n_inputs = 0

    def infer(self) -> TensorMeta:
        """One axis of `size`."""
        if self.dtype.kind not in "iufc":
            raise DTypeError(f"iota: the dtype must be numeric, got {short_name(self.dtype)}")
        return TensorMeta.of(self.dtype, (self.size,))

    def masked(self, at: MaskSite) -> None:
        """The padding holds further counts."""
        at.keep()

    def numpy(self) -> Array:
        """`numpy.arange`."""
        if self.dtype.kind in "iu" and self.dtype.itemsize >= 4:
            return np.arange(self.size, dtype=self.dtype)  # type: ignore[arg-type]  # sizes are bound
        return np.arange(self.size).astype(self.dtype)  # type: ignore[arg-type]  # sizes are bound


@payload
class StopGradient(Inactive, Unchanged, name="stop_gradient"):
    """The operand; derivatives treat it as constant."""

    pointwise = True
    moves = True
    view = True
    for_derivatives = True


STOP_GRADIENT = StopGradient()
