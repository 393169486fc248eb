"""Plans for tensors on the host that no runtime tracks.

A function is planned once it has been applied often to operands of the same types, since a plan
costs as much as several applications op by op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import is_number
from tenferro.computegraph import BoundedCache, Capacity
from tenferro.config import config
from tenferro.derivatives import AD
from tenferro.eager.kernels import Kernels
from tenferro.eager.kinds import OperandKind, kind_of, number_key, with_options
from tenferro.eager.plan import EagerPlan, EagerPlanner, lasts, program_of_function
from tenferro.errors import TenferroError
from tenferro.runtime import NUMPY_EXECUTOR, SHORTCUT, Tensor

OFTEN = 8
"""Applications op by op that cost about as much as a plan."""


class HostPlans:
    """Plans of array functions on tensors on the host and numbers, by function and types."""

    def __init__(self) -> None:
        kernels = Kernels(NUMPY_EXECUTOR, (), has_runtimes=False)
        self.capacity = Capacity(config.cache_entries)
        self._planner = EagerPlanner(
            kernels, NUMPY_EXECUTOR, AD.shapes, BoundedCache(self.capacity)
        )
        self._found: dict[Any, int | EagerPlan | None] = {}

    def __call__(
        self, function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """The result; None if it has to be computed op by op."""
        parts: list[Any] = [function]
        buffers: list[Any] = []
        for operand in operands:
            if type(operand) is Tensor and operand.executor is None:
                buffer = operand._buffer
                buffers.append(buffer)
                parts += (buffer.dtype, buffer.shape)
            elif is_number(operand):
                parts.append(number_key(operand))
            else:
                return None
        key = with_options(parts, options) if options else tuple(parts)
        if key is None:
            return None
        found = self._found.get(key, 0)
        if type(found) is EagerPlan:
            values = buffers + found.kernel(buffers)
            if found.single:
                return Tensor.wrap(values[found.results[0].value], None)
            return tuple([Tensor.wrap(values[result.value], None) for result in found.results])
        if type(found) is int:
            if len(self._found) >= self.capacity.entries:
                self.clear()
            often = found == OFTEN
            self._found[key] = self._planned(function, operands, options) if often else found + 1
        return None

    def __len__(self) -> int:
        """The number of functions and types that were met."""
        return len(self._found)

    def clear(self) -> None:
        """Forget the plans, and how often functions were applied."""
        self._found.clear()

    def _planned(
        self, function: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> EagerPlan | None:
        """The plan; None if there is none."""
        if not lasts(function):
            return None
        arguments = [
            kind_of(operand._buffer.dtype, operand.shape) if type(operand) is Tensor else operand
            for operand in operands
        ]
        kinds = [argument for argument in arguments if type(argument) is OperandKind]
        try:
            traced = program_of_function(function, arguments, options)
            return None if traced is None else self._planner.plan(traced[0], kinds, traced[1])
        except TenferroError:
            return None  # the function raises it again, in its own words


HOST_PLANS = HostPlans()
SHORTCUT.apply = HOST_PLANS
