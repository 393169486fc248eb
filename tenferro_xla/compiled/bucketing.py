"""Running a program at sizes that are rounded up, so that one executable serves many of them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jax
import numpy as np

from tenferro.compiler.device import Axes, Buckets, Masked, Rounding
from tenferro.core import BoundedCache, Capacity
from tenferro.errors import BindingError, TenferroError
from tenferro.ir import ExecProgram, Leaf, NumpyArray, SymDim, make_meta
from tenferro.ops import Pad, Slice
from tenferro_xla.compiled.executable import Buffers, LoadedExecutable, Upload

__all__ = ["BucketedExecutable", "buckets_of"]


# Running a program at sizes that are rounded up, so that one executable serves many of them.

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

    def run_host(self, *values: jax.Array | NumpyArray) -> Buffers:
        """The same for inputs that may be NumPy arrays, which are padded before the upload."""
        with jax.enable_x64(True):
            return self._run(values)

    def _run(self, values: Sequence[jax.Array | NumpyArray]) -> Buffers:
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

    def _check(self, values: Sequence[jax.Array | NumpyArray]) -> None:
        """Raise BindingError unless the arrays have the types of the inputs."""
        if len(values) != len(self._metas):
            raise BindingError(
                f"run: the program takes {len(self._metas)} inputs, got {len(values)}"
            )
        for position, (meta, value) in enumerate(zip(self._metas, values, strict=True)):
            actual = make_meta(value.dtype, value.shape)
            if actual != meta:
                raise BindingError(f"run: input {position} is {meta}, but is given {actual}")

    def _padded(self, value: jax.Array | NumpyArray, axes: Axes) -> jax.Array:
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


# Which sizes of a program share an executable without being asked to.

EXACT = 4
"""A program is compiled for each of its first so many sizes; further ones are rounded up."""
OPERATION = 1e-9
"""Seconds of an operation, about."""
CALLS = 100
"""Calls whose work on padding, together, may take as long as to compile for the exact size."""
STEPS = (1, 8)
"""Steps from a power of two to the next, coarsest first; the first that costs little is taken."""
LEAST = 4
"""A shared program has at least so many instructions for each array that is padded or cut."""
KEPT = 4096


def buckets_of(
    bucketing: Mapping[str, Rounding] | Literal["auto"] | None, may_choose: bool
) -> Buckets | None:
    """The buckets that a user asks for; None to choose them. On a mesh parts have exact sizes."""
    if bucketing == "auto":
        return None if may_choose else Buckets({})
    return Buckets({} if bucketing is None else bucketing)


@dataclass
class Known:
    """What is known of a program: the sizes it was compiled for, and those that no padding fits."""

    exact: int = 0
    refused: set[str] = field(default_factory=set)


class SizeSharing:
    """Rounds sizes up where a program has been compiled for several, and padding costs little.

    What it chooses follows from the program and the order of its sizes, not from a clock.

    Args:
        kernel_seconds: about how long compiling takes for each instruction.
    """

    def __init__(self, kernel_seconds: float) -> None:
        self._kernel_seconds = kernel_seconds
        self._lock = threading.Lock()
        self._known: BoundedCache[str, Known] = BoundedCache(Capacity(KEPT))

    def sizes(
        self, program: ExecProgram, digest: str, sizes: Mapping[Leaf, int]
    ) -> dict[Leaf, int] | None:
        """The sizes to compile for, those that may be rounded up; None for the exact ones."""
        with self._lock:
            known = self._known.get_or_make(digest, Known)
            free: dict[Leaf, int] = {
                leaf: size
                for leaf, size in sizes.items()
                if isinstance(leaf, SymDim) and leaf.name not in known.refused and size > 0
            }
            if free and known.exact >= EXACT and _mostly_inside(program, free):
                most = program.bind(dict(sizes)).work() + self._granted(program)
                for larger in _rounded(free):
                    if _work(program, {**sizes, **larger}) <= most:
                        return larger
            known.exact += 1
            return None

    def refuse(self, digest: str, symbol: str) -> None:
        with self._lock:
            self._known.get_or_make(digest, Known).refused.add(symbol)

    def clear(self) -> None:
        self._known.clear()

    def _granted(self, program: ExecProgram) -> float:
        """The operations on padding in a call that cost little beside compiling for its sizes."""
        return len(program.instructions) * self._kernel_seconds / (OPERATION * CALLS)


def _rounded(sizes: Mapping[Leaf, int]) -> Iterator[dict[Leaf, int]]:
    for steps in STEPS:
        yield {leaf: _up(size, steps) for leaf, size in sizes.items()}


def _up(size: int, steps: int) -> int:
    """The least size not below `size` of those that divide each octave into equal steps."""
    octave = (1 << (size - 1).bit_length()) // 2
    step = max(1, octave // steps)
    return -(-size // step) * step


def _work(program: ExecProgram, sizes: Mapping[Leaf, int]) -> float:
    """The operations for these sizes; infinitely many if the program does not allow them."""
    try:
        return program.bind(dict(sizes)).work()
    except TenferroError:
        return math.inf


def _mostly_inside(program: ExecProgram, sizes: Mapping[Leaf, int]) -> bool:
    """Whether a program computes much beside padding its inputs and cutting its outputs."""
    metas = (*program.input_metas, *program.output_metas)
    touched = sum(not meta.symbols().isdisjoint(sizes) for meta in metas)
    return len(program.instructions) >= LEAST * touched


SizesKey = tuple[tuple[str, int], ...]
"""Names of symbols, in order, and their sizes."""


def sizes_key(sizes: Mapping[Any, int]) -> SizesKey:
    """Sizes as part of a key: the names of the symbols in order."""
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def sizes_text(sizes: Mapping[Leaf, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes_key(sizes)) or "no symbols"
