"""Which lowering belongs to which op."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, TypeVar, get_args, get_type_hints

import jax
from jax.sharding import Mesh

from tenferro.errors import ExecutorError
from tenferro.exec_ir import ExecOp
from tenferro_xla.lowering.families import ExtensionLowerings

Precision = Literal["default", "high", "highest"]
Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True)
class SharedSlices:
    """The devices that share the slices of networks: those along some axes of a mesh.

    Attributes:
        mesh: the mesh.
        axes: the names of the axes.
        ordered: whether what the devices have summed is added in one order, whatever their number.
    """

    mesh: Mesh
    axes: tuple[str, ...]
    ordered: bool = True

    @property
    def workers(self) -> int:
        """The number of devices that share the slices; all others do what one of these does."""
        return prod(self.mesh.shape[axis] for axis in self.axes)


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """What a lowering may depend on besides its op; part of every cache key.

    Attributes:
        precision: of contractions, as in `jax.lax.Precision`.
        extensions: the lowerings of extension families.
        waits_in_branch: whether what is computed again stands in a branch, since the compiler
            drops barriers.
        shared_slices: the devices that share the slices of networks; None if each does all.
        differentiated: whether JAX differentiates what is lowered.
    """

    precision: Precision = "highest"
    extensions: ExtensionLowerings = field(default_factory=ExtensionLowerings)
    waits_in_branch: bool = True
    shared_slices: SharedSlices | None = None
    differentiated: bool = False

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise ExecutorError(
                f"precision: expected one of {', '.join(get_args(Precision))}, "
                f"got {self.precision!r}"
            )


class Lowering:
    """The lowerings by op type. A subclass of an op does not inherit its lowering.

    A rule takes the op and its operands and returns the result, or a tuple of results. One that
    depends on the options takes them as the keyword `options`.
    """

    def __init__(self) -> None:
        self._rules: dict[type[ExecOp], tuple[Rule, bool]] = {}

    def register(self, rule: R) -> R:
        """Make `rule` the lowering of the op type that its first parameter is annotated with."""
        first, *others = inspect.signature(rule).parameters
        op_type = get_type_hints(rule)[first]
        assert op_type not in self._rules, f"{op_type.__name__} has two lowerings"
        self._rules[op_type] = (rule, "options" in others)
        return rule

    def covers(self, op_type: type[ExecOp]) -> bool:
        """Whether there is a lowering for the op type."""
        return op_type in self._rules

    def __call__(
        self, op: ExecOp, operands: Sequence[Any], options: LoweringOptions
    ) -> tuple[jax.Array, ...]:
        """The outputs of `op`, emitted into the JAX trace that is under way.

        Raises:
            ExecutorError: the op has no lowering.
        """
        entry = self._rules.get(type(op))
        if entry is None:
            raise ExecutorError(
                f"{op.name}: {type(op).__name__} has no XLA lowering; "
                "write one with @lower.register"
            )
        rule, takes_options = entry
        result = rule(op, *operands, options=options) if takes_options else rule(op, *operands)
        return result if type(result) is tuple else (result,)


lower = Lowering()
