"""Running a program at sizes that are rounded up, so that one executable serves many of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np

from tenferro.compiler import Axes, Masked
from tenferro.errors import BindingError
from tenferro.exec_ir import Array, ExecProgram
from tenferro.ops import Pad, Slice
from tenferro.shape import Leaf, make_meta
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable, Upload

RunOp = Callable[..., Buffers]
"""Runs one op on device arrays."""


class BucketedExecutable:
    """A program for its true sizes, run by an executable for larger ones.

    Inputs are padded with zeros, and outputs are sliced on the device.
    """

    code_size = 0
    """The cache counts the code of the inner executable, which is an entry of its own."""

    def __init__(
        self,
        bound: ExecProgram,
        masked: Masked,
        true_sizes: Mapping[Leaf, int],
        bucket_sizes: Mapping[Leaf, int],
        executable: LoadedExecutable,
        run_op: RunOp,
        upload: Upload,
    ) -> None:
        self._metas = bound.input_metas
        self._masked = masked
        self._buckets = bucket_sizes
        self._executable = executable
        self._run_op = run_op
        self._upload = upload
        with jax.enable_x64(True):
            self._sizes = [self._upload(np.asarray(true_sizes[leaf])) for leaf in masked.sizes]
            zeros = {meta.dtype: np.zeros((), meta.dtype) for meta in self._metas}
            self._zeros = {dtype: self._upload(zero) for dtype, zero in zeros.items()}
        self._cuts = _cuts(bound, masked, bucket_sizes)

    def __call__(self, *buffers: jax.Array) -> Buffers:
        """Run on buffers of the true sizes.

        Raises:
            BindingError: a buffer is of another type.
        """
        return self._run(buffers)

    def run_host(self, *values: jax.Array | Array) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are padded before the upload."""
        with jax.enable_x64(True):
            return self._run(values)

    def _run(self, values: Sequence[jax.Array | Array]) -> Buffers:
        self._check(values)
        padded = [
            self._padded(value, axes)
            for value, axes in zip(values, self._masked.inputs, strict=True)
        ]
        results = self._executable(*padded, *self._sizes)
        return tuple(
            [
                result if cut is None else self._run_op(cut, result)[0]
                for result, cut in zip(results, self._cuts, strict=True)
            ]
        )

    def _check(self, values: Sequence[jax.Array | Array]) -> None:
        """Raise BindingError unless the arrays have the types of the inputs."""
        if len(values) != len(self._metas):
            raise BindingError(
                f"run: the program takes {len(self._metas)} inputs, got {len(values)}"
            )
        for position, (meta, value) in enumerate(zip(self._metas, values, strict=True)):
            actual = make_meta(value.dtype, value.shape)
            if actual != meta:
                raise BindingError(f"run: input {position} is {meta}, but is given {actual}")

    def _padded(self, value: jax.Array | Array, axes: Axes) -> jax.Array:
        """An input at the sizes that are compiled for, on the device."""
        missing = [
            self._buckets[axes[axis]] - size if axis in axes else 0
            for axis, size in enumerate(value.shape)
        ]
        if isinstance(value, np.ndarray):
            pads = [(0, more) for more in missing]
            return self._upload(np.pad(value, pads) if any(missing) else value)
        if not any(missing):
            return value
        none = (0,) * len(missing)
        return self._run_op(Pad(none, tuple(missing), none), value, self._zeros[value.dtype])[0]


def _cuts(bound: ExecProgram, masked: Masked, buckets: Mapping[Leaf, int]) -> list[Slice | None]:
    """For each output the slice that removes its padding; None if it has no padding."""
    cuts: list[Slice | None] = []
    for meta, axes in zip(bound.output_metas, masked.outputs, strict=True):
        shape = meta.static_shape
        assert shape is not None, "the program is bound"
        exact = all(buckets[leaf] == shape[axis] for axis, leaf in axes.items())
        cuts.append(None if exact else Slice((0,) * len(shape), shape, (1,) * len(shape)))
    return cuts
