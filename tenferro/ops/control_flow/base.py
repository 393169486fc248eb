"""What ops that hold programs share: their interfaces, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np

from tenferro.core import JvpSite, V
from tenferro.errors import ControlFlowError, UnsupportedDynamicShapeError, class_of, counted
from tenferro.ir import (
    Body,
    Category,
    Exact,
    ExecProgram,
    NumpyArray,
    Pruned,
    Steps,
    TensorMeta,
    describe,
    integer_of,
    verify_once,
    with_last_use,
)
from tenferro.ops import COLLECTIVES, StdTensorOp

__all__ = ["ControlOp", "Interpreter", "plain"]


# What ops that hold programs have in common, and the checks that they share.

T = TypeVar("T")
_GUESSED_ITERATIONS = 10


class Interpreter(Protocol[T]):
    """Runs programs on values of some kind, which stand for arrays."""

    def run(self, program: ExecProgram, values: Sequence[T]) -> list[T]:
        """The outputs of a program."""

    def entry(self, value: T, number: int) -> T:
        """An entry along the first axis."""

    def stacked(self, values: Sequence[T]) -> T:
        """The values, of one type, along a new first axis; at least one."""

    def either(self, values: Sequence[T]) -> T:
        """What may be any of the values, of one type; at least one."""


class ControlOp(StdTensorOp):
    """An op that holds programs, on as many operands as they take.

    A subclass checks its fields when it is made, and the types of its operands in `infer_all`.
    """

    category = Category.BOUNDARY
    n_inputs = None
    is_loop: ClassVar[bool] = True
    """Whether it runs its programs in iterations."""
    takes_mask: ClassVar[bool] = False
    """Whether its batch rule also takes for each entry whether it counts; see `CotangentMask`."""
    is_open: ClassVar[bool] = False
    """Whether one of its programs, `cond`, says when the iterations end."""

    @property
    def one_mode(self) -> bool:
        """Whether its derivatives, apart from those of its programs, exist in one mode only."""
        return False

    @property
    def in_one_mode(self) -> bool:
        """Whether derivatives of the op or of one inside its programs exist in one mode only."""
        return any(op.one_mode for op in self.nested())

    def nested(self) -> Iterator[ControlOp]:
        """The op, and those that hold programs inside its own, at any depth."""
        yield self
        for body in self.bodies.values():
            for part in cast(ExecProgram, body).walk():
                yield from part.ops_of(ControlOp)

    @property
    def is_collective(self) -> bool:
        """Whether there is an op on a named axis in its programs, at any depth."""
        return any(map(on_named_axes, self.bodies.values()))

    @property
    def const_places(self) -> dict[str, range]:
        """For each program, the operands that it takes first, and that no iteration changes.

        They are all operands but for those that come after them, or before them.
        """
        raise AssertionError(f"{self.name}: does not say where its consts are")

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with other programs, of which each takes that number of consts."""
        raise AssertionError(f"{self.name}: does not say where its consts are")

    @property
    def passed_on(self) -> Mapping[int, int]:
        """For each result that is an operand as it is, the position of that operand."""
        return {}

    def without_fixed(self) -> Pruned | None:
        """The loop that carries only what iterations change; None if that is the whole carry.

        What it does not carry it reads as consts. The results that it leaves out are the operands
        in their place; see `overwrites`.
        """
        return None

    def linear(self, at: JvpSite[V]) -> bool:
        """Assumed here, and checked when it is transposed: of each op of the programs."""
        return True

    def check_arity(self, count: int) -> None:
        if count != self.n_inputs:
            kinds = self._kinds_of_operands()
            raise ControlFlowError(
                f"{self.name}: takes {counted(self.n_inputs, 'operand')}{kinds}, got {count}"
            )

    def _kinds_of_operands(self) -> str:
        """What the operands are, for errors."""
        return ""

    def surely_runs(self, label: str) -> bool:
        """Whether a program certainly runs, whatever the operands are."""
        return False

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """The results for operands of any kind, its programs run iteration by iteration.

        None if it cannot be run so.
        """
        return None

    def in_words(self) -> str:
        """What a report says of it: how often it runs its programs, and how large they are."""
        raise AssertionError(f"{self.name}: has no text for reports")

    def work(self, operands: Sequence[TensorMeta], results: Sequence[TensorMeta]) -> int:
        """The work of its programs, as often as they run."""
        bodies = [cast(ExecProgram, body).work() for body in self.bodies.values()]
        return self.iterations * sum(bodies) if self.is_loop else max(bodies)

    @property
    def iterations(self) -> int:
        """How often a loop runs its programs; a guess if that is not known."""
        return _GUESSED_ITERATIONS

    def _as_body(self, field: str, value: object) -> ExecProgram:
        """The value of a field, such as `the body`: a program, with its last uses marked."""
        if not isinstance(value, ExecProgram):
            name, kind = field.removeprefix("the "), class_of(value)
            raise ControlFlowError(f"{self.name}: {name} must be an ExecProgram, got {kind}")
        if not set(value.written_slots()).issuperset(value.output_slots):
            raise ControlFlowError(f"{self.name}: {field} returns a slot that it does not write")
        return with_last_use(value)

    def _set(self, **values: object) -> None:
        """Set fields, and what follows from them."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _read_field(self, field: str, expected: str = "an integer") -> None:
        """Make the value of a field an `int`, or a `bool` if `expected` is `True or False`."""
        value: object = getattr(self, field)
        if expected != "True or False":
            plain: object = integer_of(value)
        else:
            plain = bool(value) if isinstance(value, bool | np.bool_) else None
        if plain is None:
            kind = type(value).__name__
            raise ControlFlowError(
                f"{self.name}: {field} must be {expected}, got {value!r} of type {kind}"
            )
        object.__setattr__(self, field, plain)

    def _check_sizes(self, field: str, body: ExecProgram, roles: Sequence[str] = ()) -> None:
        """Raise UnsupportedDynamicShapeError if data decide a size in a body.

        `roles` are the names of the inputs, those of the operands by default.
        """
        places: list[tuple[str, TensorMeta]] = []
        for place, meta in enumerate(body.input_metas):
            places.append((roles[place] if roles else self._role(place), meta))
        for step, meta in body.results():
            if meta.dims is None:
                where = "" if step.site is None else f" at {step.site}"
                places.append((f"in {field}, {step.op.name}{where}", meta))
        for name, meta in places:
            for axis, extent in enumerate(meta.extents):
                if not isinstance(extent, Exact):
                    error = UnsupportedDynamicShapeError(
                        self.name, f"{name}: shape[{axis}]", describe(extent)
                    )
                    error.add_note("keep the size and mask, or take the loop out of the program")
                    raise error

    def _check_carry(self, goes_in: Sequence[TensorMeta], comes_out: Sequence[TensorMeta]) -> None:
        """Raise ControlFlowError unless each leaf of the carry keeps its type."""
        for leaf, (before, after) in enumerate(zip(goes_in, comes_out, strict=True)):
            if before != after:
                raise ControlFlowError(
                    f"{self.name}: carry leaf [{leaf}] goes into the body as {before} and comes "
                    f"out as {after}; it must keep its type"
                )

    def _check_operands(self, metas: Sequence[TensorMeta], expected: Sequence[TensorMeta]) -> None:
        """Raise what is wrong of the operands, or of the programs, on whose types this relies.

        Raises:
            ControlFlowError: the number of operands or the type of one is another than expected.
            VerifyError: a program is malformed.
        """
        for body in self.bodies.values():
            verify_once(cast(ExecProgram, body))
        self.check_arity(len(metas))
        for position, (meta, wanted) in enumerate(zip(metas, expected, strict=True)):
            if meta != wanted:
                raise self._misfit(position, meta, wanted)

    def _misfit(self, position: int, meta: TensorMeta, expected: TensorMeta) -> ControlFlowError:
        """The error for an operand of another type than its program takes."""
        role, reader = self._role(position), self._reader(position)
        return ControlFlowError(
            f"{self.name}: operand {position} ({role}) is {meta}, but {reader} {expected}"
        )

    def _role(self, position: int) -> str:
        """What an operand is, for errors."""
        return f"operand [{position}]"

    def _reader(self, position: int) -> str:
        """What takes an operand, for errors."""
        return "the body takes"

    def _check_arrays(self, arrays: Sequence[NumpyArray]) -> None:
        """Raise what `infer_all` raises, unless the op takes arrays of these types."""
        types = [(array.dtype, array.shape) for array in arrays]
        if types != getattr(self, "_accepted", None):
            self.infer_all([TensorMeta.of(dtype, shape) for dtype, shape in types])
            object.__setattr__(self, "_accepted", types)

    @property
    def written_inside(self) -> Collection[int]:
        """All results are those of the programs; a loop may stack what iterations return."""
        return range(self.n_outputs)


def on_named_axes(body: Body) -> bool:
    """Whether there is an op on a named axis in a program, at any depth."""
    return any(part.has_op(COLLECTIVES) for part in cast(ExecProgram, body).walk())


def plain(metas: Iterable[TensorMeta]) -> tuple[TensorMeta, ...]:
    """The types without what is known of the numbers: an iteration or branch may return others."""
    return tuple(
        [meta if meta.as_size is None else TensorMeta(meta.dtype, meta.extents) for meta in metas]
    )


def positions(flags: Sequence[bool]) -> list[int]:
    """The positions that are set."""
    return list(compress(range(len(flags)), flags))


def inputs_read(program: ExecProgram, needed: Sequence[bool]) -> list[bool]:
    """For each input of a program, whether the needed ones among its outputs depend on it."""
    alive = program.needed_by(compress(program.output_slots, needed))
    return [slot in alive for slot in program.input_slots]


def in_all_iterations(
    initial: Sequence[bool],
    start: int,
    carry: int,
    iteration_of: Callable[[list[bool]], T],
    outputs_of: Callable[[T], Sequence[bool]],
) -> tuple[list[bool], T]:
    """Which inputs of a body are set in any iteration, and what `iteration_of` makes of these.

    `outputs_of` says which outputs of that are set. The first `carry` outputs are what the inputs
    from `start` on are in the next iteration.
    """
    flags = list(initial)
    while True:
        made = iteration_of(flags)
        wider = list(flags)
        for leaf, on in enumerate(outputs_of(made)[:carry]):
            wider[start + leaf] |= on
        if wider == flags:
            return flags, made
        flags = wider


def reached_in_iterations(
    body: ExecProgram, active: Sequence[bool], start: int, carry: int
) -> list[bool]:
    """For each output of a body whether it depends on an active input, in any iteration.

    The first `carry` outputs are what the inputs from `start` on are in the next iteration.
    """
    flags, reached = in_all_iterations(active, start, carry, body.reached, lambda reached: reached)
    return [on or (place < carry and flags[start + place]) for place, on in enumerate(reached)]


def fixed_leaves(body: ExecProgram, consts: int, carry: int) -> list[int]:
    """The leaves of the carry that a body returns as it takes them."""
    carried = body.input_slots[consts : consts + carry]
    return [leaf for leaf, slot in enumerate(carried) if body.output_slots[leaf] == slot]


def size_in_words(body: ExecProgram) -> str:
    """The number of instructions of a program."""
    count = len(body.instructions)
    return f"{count} instruction{'' if count == 1 else 's'}"


# Called: what ops have in common that run one program once.


class Called(ControlOp):
    """An op that runs its `body` once, on all of its operands."""

    body: ExecProgram

    body_fields = ("body",)
    is_loop = False

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        self._set(body=body)
        super().__post_init__()
        self._set(n_inputs=len(body.input_slots), n_outputs=len(body.output_slots))

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        self._check_operands(metas, self.body.input_metas)
        return plain(self.body.output_metas)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        values = self._steps.values(inputs)
        self._steps.run(values)
        return tuple(self._steps.outputs(values))

    @cached_property
    def _steps(self) -> Steps:
        """The body, prepared to run."""
        return Steps(self.body)


# The body of a loop, prepared to run many times on NumPy arrays.


class PreparedBody(Steps):
    """A body whose first inputs are `consts` values for all iterations, and then `carry` values.

    Its first outputs are the next carry. An iteration drops the carry that it took after the
    last step that reads it.
    """

    def __init__(self, body: ExecProgram, consts: int, carry: int) -> None:
        super().__init__(body, range(consts))
        self._from = body.output_slots[:carry]
        self._to = body.input_slots[consts : consts + carry]
        retained = self.retained.union(self._to)
        self._cleared = tuple([slot for slot in set(body.output_slots) if slot not in retained])

    def advance(self, values: list[Any]) -> None:
        """Put the carry that an iteration has returned in the place of the one that it took."""
        if len(self._to) == 1:
            values[self._to[0]] = values[self._from[0]]
        else:
            for slot, value in zip(self._to, [values[i] for i in self._from], strict=True):
                values[slot] = value
        for slot in self._cleared:
            values[slot] = None

    def carry(self, values: list[Any]) -> list[NumpyArray]:
        """The carry that the next iteration would take."""
        return [values[slot] for slot in self._to]
