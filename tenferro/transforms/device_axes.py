"""Derivatives within `shard_map`: what is the same for several devices, and what differs."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.core import GlobalValKey, KeyEmitter
from tenferro.ir import ShapeGuardContext
from tenferro.ops.control_flow import Axes, axes_of_values, with_copies
from tenferro.runtime import named_axes, open_traces
from tenferro.transforms.traced_tensor import TracedTensor


def with_copies_for_devices(
    outputs: Sequence[GlobalValKey], wrt: Sequence[GlobalValKey], ctx: ShapeGuardContext
) -> Sequence[GlobalValKey]:
    """The outputs of a graph to be differentiated by `wrt`; elsewhere than in `shard_map`, as is.

    Where a value that all devices have in common is read together with one that differs, it is
    copied, so that its cotangent is the sum of those of all devices; see `with_copies`.
    """
    bound = [axis for axis in named_axes().values() if axis.varies]
    if not bound:
        return outputs
    axes: dict[GlobalValKey, Axes] = {}
    for axis in bound:
        for key in (axis.index, *axis.differing):
            axes[key] = axes.get(key, frozenset()) | {axis.name}
    for trace in open_traces():
        for key, passed in trace.arguments:
            if key not in axes and isinstance(passed, TracedTensor):
                axes[key] = axes_of_values([passed.key], axes).get(passed.key, frozenset())
    places = {axis.name: axis.index for axis in bound}
    return with_copies(outputs, wrt, axes, places, KeyEmitter(ctx))[0]
