"""Where gather and scatter read and write, if sizes are rounded up."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.exec_ir import MaskSite
from tenferro.ops.dimension_numbers import DimensionNumbers
from tenferro.shape import Exact, ShapeExtent, TensorMeta, same_size


def refuse_padded_places(
    at: MaskSite, numbers: DimensionNumbers, window: Sequence[ShapeExtent]
) -> None:
    """Refuse ops that index into padding, or whose index vectors contain padding.

    `window` are the extents of a window along the axes of the operand. A window as large as its
    axis starts at the front, and batching axes are matched with axes that have the same padding.

    Raises:
        PadSafetyError: the op does so.
    """
    x, indices = at.operand_metas[:2]
    padded = {**at.padded_axes(TensorMeta(x.dtype, window)), **at.padded(0)}
    for axis, leaf in padded.items():
        whole = same_size(window[axis], x.extents[axis])
        if not whole and axis not in numbers.operand_batching:
            raise at.refuse(f"it indexes into {x}", leaf)
    if numbers.index_vector_dim in at.padded(1):
        raise at.refuse(f"it is the length of the indices in {indices}")


def window_of_updates(
    numbers: DimensionNumbers, rank: int, updates: TensorMeta
) -> list[ShapeExtent]:
    """The extents of a window of a scatter along each of the `rank` axes of its operand."""
    window: list[ShapeExtent] = [Exact(1)] * rank
    for axis, of_updates in zip(numbers.window_axes(rank), numbers.window_dims, strict=True):
        window[axis] = updates.extents[of_updates]
    return window
