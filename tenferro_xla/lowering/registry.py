"""Which lowering belongs to which op."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, Literal, TypeVar, get_args, get_type_hints

import jax
from jax.sharding import Mesh

from tenferro.compiler import give_way
from tenferro.errors import ExecutorError, ShardingError
from tenferro.ir import BFLOAT16, FLOAT32, ExecInstruction, ExecOp, ExecProgram, run
from tenferro.ops.extension import Extension
from tenferro_xla.lowering.extensions import ExtensionLowerings

__all__ = [
    "JaxFunction",
    "LoweringOptions",
    "Lowerings",
    "Precision",
    "SharedSlices",
    "jax_function",
    "lower",
]


Precision = Literal["default", "high", "highest"]
LoweringRule = Callable[..., Any]
R = TypeVar("R", bound=LoweringRule)


@dataclass(frozen=True, slots=True)
class SharedSlices:
    """The devices that share the slices of networks: those along some axes of a mesh.

    Attributes:
        axes: the names of the axes.
        workers: the number of these devices; all others do what one of these does.
        ordered: whether what the devices have summed is added in one order, whatever their number.
    """

    axes: tuple[str, ...]
    workers: int
    ordered: bool

    @classmethod
    def over(cls, mesh: Mesh | None, axes: object, ordered: bool) -> SharedSlices | None:
        """The devices along an axis, or several, that a user names; None for None.

        Raises:
            ShardingError: there is no mesh, or it does not have such an axis.
        """
        if axes is None:
            return None
        names = (axes,) if isinstance(axes, str) else axes
        if mesh is None:
            raise ShardingError(f"slices over {axes!r} need a mesh; pass mesh=")
        if not isinstance(names, tuple | list) or not names or len({*names}) < len(names):
            raise ShardingError(
                f"slices go over an axis of the mesh, or a tuple of different ones, not {axes!r}"
            )
        for name in names:
            if name not in mesh.axis_names:
                raise ShardingError(f"slices: the mesh has axes {mesh.axis_names}, not {name!r}")
        return cls(tuple(names), prod(mesh.shape[name] for name in names), ordered)


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """What a lowering may depend on besides its op; part of every cache key.

    Attributes:
        precision: of contractions, as in `jax.lax.Precision`.
        extensions: the lowerings of extension families.
        waits_in_branch: whether what is computed again stands in a branch, since the compiler
            drops barriers.
        mesh: the devices that values are divided among; None on one device.
        shared_slices: the devices that share the slices of networks; None if each does all.
        drops_nan: whether the compiler's extremum of many numbers may lose a NaN.
        ordered_scatters: whether updates of one element take place in the order of their windows.
        reduces_singly: whether the compiler reduces one number after the other, where it takes no
            library.
        differentiated: whether JAX differentiates what is lowered.
        small_loops: whether loops of small values are marked, to be compiled as one function.
        awaits_loops: whether the device waits for the host before each iteration of a loop whose
            number of iterations is not constant.
        platform: the platform of the devices; None where the user of JAX's function chooses it.
    """

    precision: Precision = "highest"
    extensions: ExtensionLowerings = field(default_factory=ExtensionLowerings)
    waits_in_branch: bool = True
    mesh: Mesh | None = None
    shared_slices: SharedSlices | None = None
    differentiated: bool = False
    drops_nan: bool = True
    reduces_singly: bool = False
    small_loops: bool = False
    ordered_scatters: bool = False
    awaits_loops: bool = False
    platform: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision):
            raise ExecutorError(
                f"precision: expected one of {', '.join(get_args(Precision))}, "
                f"got {self.precision!r}"
            )


class Lowerings:
    """The lowerings by op type. A subclass of an op does not inherit its lowering.

    A row of `tenferro.ops` that has no rule is lowered by the function of `jax.lax` that it names.
    A rule takes the op and its operands and returns the result, or a tuple of results. One that
    depends on the options takes them as the keyword `options`.
    """

    def __init__(self) -> None:
        self._rules: dict[type[ExecOp], tuple[LoweringRule, bool]] = {}

    def register(self, rule: R) -> R:
        """Make `rule` the lowering of the op types that its first parameter is annotated with."""
        first, *others = inspect.signature(rule).parameters
        annotated = get_type_hints(rule)[first]
        self._add(get_args(annotated) or (annotated,), rule, "options" in others)
        return rule

    def register_all(self, rules: Mapping[type[ExecOp], LoweringRule]) -> None:
        """Add a rule without options for each of these op types."""
        for op_type, rule in rules.items():
            self._add((op_type,), rule, takes_options=False)

    def _add(
        self, op_types: Iterable[type[ExecOp]], rule: LoweringRule, takes_options: bool
    ) -> None:
        for op_type in op_types:
            assert op_type not in self._rules, f"{op_type.__name__} has two lowerings"
            self._rules[op_type] = rule, takes_options

    def covers(self, op_type: type[ExecOp]) -> bool:
        """Whether there is a lowering for the op type."""
        return op_type in self._rules or vars(op_type).get("lax") is not None

    def __call__(
        self, options: LoweringOptions, step: ExecInstruction, operands: Sequence[Any]
    ) -> tuple[jax.Array, ...]:
        """The outputs of an instruction, emitted into the JAX trace that is under way.

        Raises:
            ExecutorError: the op has no lowering.
        """
        give_way()
        op = step.op
        result: Any
        if (entry := self._rules.get(type(op))) is not None:
            rule, takes_options = entry
            call = partial(rule, op, options=options) if takes_options else partial(rule, op)
            narrow = any(x.dtype == BFLOAT16 for x in operands) and _computes(op)
            result = in_single(call, operands) if narrow else call(*operands)
        elif (name := vars(type(op)).get("lax")) is not None:
            result = getattr(jax.lax, name)(*operands)
        else:
            raise ExecutorError(
                f"{op.name}: {type(op).__name__} has no XLA lowering; "
                "write one with @lower.register"
            )
        return result if type(result) is tuple else (result,)


def _computes(op: ExecOp) -> bool:
    """Whether a rule for the op is written for numbers of 32 and 64 bits."""
    return not (op.own_precision or op.contracts or op.body_fields or op.family)


def in_single(call: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """The results, where operands of bfloat16 are computed with in float32, and rounded at the end.

    XLA does this for each of its own ops. A rule of several ops would round between them.
    """
    wide = [
        jax.lax.convert_element_type(x, FLOAT32) if x.dtype == BFLOAT16 else x for x in operands
    ]
    results = call(*wide)
    several = results if type(results) is tuple else (results,)
    return tuple(
        [jax.lax.convert_element_type(x, BFLOAT16) if x.dtype == FLOAT32 else x for x in several]
    )


lower = Lowerings()


@lower.register
def _(op: Extension, *operands: Any, options: LoweringOptions) -> tuple[jax.Array, ...]:
    return options.extensions(op, operands, options.platform)


# A program as one function of JAX arrays.

JaxFunction = Callable[..., tuple[jax.Array, ...]]
BodyFunction = Callable[[Sequence[Any]], list[Any]]


def jax_function(program: ExecProgram, options: LoweringOptions) -> JaxFunction:
    """The program as a function of arrays, one for each input, to be traced by JAX.

    Every extent of the program must be an integer. A value is dropped after its last use. Constants
    among the outputs may be NumPy arrays.
    """

    body = body_function(program, options)

    def tenferro_program(*arrays: Any) -> tuple[jax.Array, ...]:
        with jax.default_matmul_precision(options.precision):  # of products in functions of JAX too
            return tuple(body(arrays))

    return tenferro_program


def body_function(program: ExecProgram, options: LoweringOptions) -> BodyFunction:
    """The same for a program inside an op, as a function of a sequence of arrays."""
    return partial(run, program, handler=partial(lower, options))
