"""Derivatives within `shard_map`: what is the same for several devices, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tenferro.core import GlobalValKey, KeyEmitter, residuals
from tenferro.ir import ShapeGuardContext
from tenferro.ops import PVary
from tenferro.ops.control_flow import Axes, axes_of_values, linear_in, with_copies
from tenferro.ops.functions import OpFunction, apply
from tenferro.runtime import NamedAxis, named_axes, open_traces, scope_of_axis
from tenferro.transforms.linear_part import LinearGraph
from tenferro.transforms.traced_tensor import TracedTensor


def with_copies_for_devices(
    linear: LinearGraph, wrt: Sequence[GlobalValKey], ctx: ShapeGuardContext
) -> LinearGraph:
    """A derivative by `wrt` to be transposed.

    Where the tangent of a value that all devices have in common is read together with what differs,
    it is copied, so that its cotangent is the sum of those of all devices; see `with_copies`.
    """
    bound = _bound()
    axes = _axes_of_inputs(bound)
    of_wrt = axes_of_values(wrt, axes)
    tangents = list(linear.input_keys)
    for tangent, source in zip(tangents, wrt, strict=True):
        axes[tangent] = of_wrt.get(source, frozenset())
    present = [key for key in linear.output_keys if key is not None]
    places = {axis.name: axis.index for axis in bound}
    sizes: dict[str, Any] = {axis.name: axis.size for axis in bound}
    outputs, _ = with_copies(present, tangents, axes, places, sizes, KeyEmitter(ctx))
    read = residuals(outputs, tangents)
    copied = linear_in([*tangents, *read], outputs, range(len(tangents)), ctx)
    locals_of = iter(copied.tangent_outputs)
    return replace(
        copied,
        tangent_outputs=tuple(
            [None if key is None else next(locals_of) for key in linear.output_keys]
        ),
    )


def axes_within(values: Sequence[GlobalValKey]) -> Sequence[Axes]:
    """The axes along which values of devices differ; none of them elsewhere than in `shard_map`."""
    bound = _bound()
    if not bound:
        return ()
    known = axes_of_values(values, _axes_of_inputs(bound))
    return [known.get(value, frozenset()) for value in values]


def differing(value: Any, axes: Axes) -> Any:
    """A value of devices that differs along these axes too; itself if it does."""
    own = axes_within([value.key])[0] if isinstance(value, TracedTensor) else frozenset()
    missing = [axis for axis in _bound() if axis.name in axes - own]
    if not missing:
        return value
    places = [TracedTensor(axis.index, None, scope_of_axis(axis)) for axis in missing]
    op = PVary(tuple([axis.name for axis in missing]))
    return apply(OpFunction(op), value, *places)


def _bound() -> list[NamedAxis]:
    return [axis for axis in named_axes().values() if axis.varies]


def _axes_of_inputs(bound: Sequence[NamedAxis]) -> dict[GlobalValKey, Axes]:
    """For arguments of the functions that are traced, the axes along which they differ."""
    axes: dict[GlobalValKey, Axes] = {}
    for axis in bound:
        for key in (axis.index, *axis.differing):
            axes[key] = axes.get(key, frozenset()) | {axis.name}
    for trace in open_traces():
        for key, passed in trace.arguments:
            if key not in axes and isinstance(passed, TracedTensor):
                axes[key] = axes_of_values([passed.key], axes).get(passed.key, frozenset())
    return axes
