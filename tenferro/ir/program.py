"""The SSA program: instructions over slots, last uses, canonical slot numbers, text."""

from __future__ import annotations

import hashlib
import itertools
import operator
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from tenferro.core import statically_frozen
from tenferro.errors import InvalidConfigError
from tenferro.ir.dims import Dim, Leaf
from tenferro.ir.dtypes import DType
from tenferro.ir.op import ExecOp
from tenferro.ir.payloads import Body, Sizes, has_token
from tenferro.ir.types import ShapeExtent, TensorMeta, name_sizes

__all__ = ["ExecInstruction", "ExecProgram", "last_uses", "renumber", "with_last_use", "with_slots"]


# One op on slots.


@statically_frozen
class ExecInstruction:
    """One op on slots.

    Attributes:
        op: what to do.
        input_slots: the operands.
        output_slots: where the results go; each slot of a program is written once.
        output_metas: dtype and extents of each output.
        last_use: for each operand, whether no later instruction and no output reads it.
        site: where the op was first recorded, `user.py:12`.
    """

    op: ExecOp
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    output_metas: tuple[TensorMeta, ...]
    last_use: tuple[bool, ...] = ()
    site: str | None = None

    @property
    def dtype(self) -> DType:
        """Dtype of the first output, representative for single-output ops."""
        return self.output_metas[0].dtype

    @property
    def output_dtypes(self) -> tuple[DType, ...]:
        """Dtype of each output."""
        return tuple(meta.dtype for meta in self.output_metas)

    @property
    def output_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """For each output the sizes of its axes, or their upper bounds where not exact."""
        return tuple(meta.bound_shape(self.op.name, "output") for meta in self.output_metas)

    @property
    def output_extents(self) -> tuple[tuple[ShapeExtent, ...], ...]:
        """For each output the extent of each axis, with its guarantee."""
        return tuple(meta.extents for meta in self.output_metas)

    def computing(self, slots: Container[int], operands: bool = False) -> ExecInstruction:
        """The instruction without results that are not among `slots`, as far as its op can.

        Operands that it then does not read are left out too; if `operands`, also where all results
        are among `slots`.
        """
        live = tuple([slot in slots for slot in self.output_slots])
        pruned = None if all(live) and not operands else self.op.pruned(live)
        if pruned is None:
            return self
        return ExecInstruction(
            pruned.op,
            tuple([self.input_slots[position] for position in pruned.operands]),
            tuple([self.output_slots[position] for position in pruned.outputs]),
            tuple([self.output_metas[position] for position in pruned.outputs]),
            (),
            self.site,
        )

    def __str__(self) -> str:
        results = ", ".join(
            f"%{slot}: {meta}"
            for slot, meta in zip(self.output_slots, self.output_metas, strict=True)
        )
        uses = self.last_use or (False,) * len(self.input_slots)
        operands = ", ".join(
            f"%{slot}!" if last else f"%{slot}"
            for slot, last in zip(self.input_slots, uses, strict=True)
        )
        applied = f"{self.op} {operands}" if operands else str(self.op)
        comment = "" if self.site is None else f"  # {self.site}"
        return f"{results} = {applied}{comment}"


# The execution program: what every executor runs.

_OP = operator.attrgetter("op")
_BASES = operator.attrgetter("__mro__")
OpT = TypeVar("OpT", bound=ExecOp)


@dataclass(frozen=True, slots=True, eq=False)
class ExecProgram(Body):
    """Instructions over SSA slots; `input_metas` are the types of `input_slots`.

    Programs are equal if they have the same types, ops and slots, wherever they were recorded. So
    a program is equal to the one that is parsed from its text.

    Attributes:
        verified: whether the verifier has found the program correct.
    """

    instructions: tuple[ExecInstruction, ...]
    input_slots: tuple[int, ...]
    input_metas: tuple[TensorMeta, ...]
    output_slots: tuple[int, ...]
    n_slots: int
    verified: bool = field(default=False, init=False, repr=False)
    _op_classes: frozenset[type] | None = field(default=None, init=False, repr=False)
    _bodies: tuple[ExecProgram, ...] | None = field(default=None, init=False, repr=False)

    @property
    def op_classes(self) -> frozenset[type]:
        """The classes of its ops and their bases; computed once, since passes ask for them."""
        if self._op_classes is None:
            own = map(type, self.ops())
            classes = frozenset(itertools.chain.from_iterable(map(_BASES, set(own))))
            object.__setattr__(self, "_op_classes", classes)
            return classes
        return self._op_classes

    def slot_metas(self) -> list[TensorMeta | None]:
        """Type of each slot, by number; None for a slot that nothing writes."""
        metas: list[TensorMeta | None] = [None] * self.n_slots
        for slot, meta in zip(self.input_slots, self.input_metas, strict=True):
            metas[slot] = meta
        for step in self.instructions:
            slots = step.output_slots
            if len(slots) == 1:  # nearly always, and a loop takes longer
                metas[slots[0]] = step.output_metas[0]
            else:
                for slot, meta in zip(slots, step.output_metas, strict=True):
                    metas[slot] = meta
        return metas

    @property
    def output_metas(self) -> tuple[TensorMeta, ...]:
        """Types of the outputs."""
        metas = self.slot_metas()
        return tuple([meta for slot in self.output_slots if (meta := metas[slot]) is not None])

    @property
    def holds_unknown_shapes(self) -> bool:
        """Whether data decide a size of an input or of a result."""
        return any(meta.dims is None for meta in self.input_metas) or any(
            meta.dims is None for _, meta in self.results()
        )

    @property
    def portable(self) -> bool:
        """Whether it means the same in every process: no op holds a Python object."""
        return not any(has_token(op.identity) for part in self.walk() for op in part.ops())

    def ops(self) -> list[ExecOp]:
        """The op of each instruction, in order."""
        return list(map(_OP, self.instructions))

    def has_op(self, op_class: type[ExecOp] | tuple[type[ExecOp], ...]) -> bool:
        """Whether some instruction has an op of a class, or of one of several."""
        classes = op_class if isinstance(op_class, tuple) else (op_class,)
        return not self.op_classes.isdisjoint(classes)

    def ops_of(self, op_class: type[OpT]) -> list[OpT]:
        """The ops of a class, in order."""
        return [op for op in self.ops() if isinstance(op, op_class)]

    def steps_of(self, op_class: type[ExecOp]) -> list[ExecInstruction]:
        """The instructions whose op is of a class, in order."""
        return [step for step in self.instructions if isinstance(step.op, op_class)]

    def results(self) -> Iterator[tuple[ExecInstruction, TensorMeta]]:
        """For each result of an instruction, the instruction and the result's type, in order."""
        for step in self.instructions:
            for meta in step.output_metas:
                yield step, meta

    def work(self) -> int:
        """About how many operations a run takes; see `ExecOp.work`."""
        return sum(self.work_of())

    def work_of(self) -> list[int]:
        """About how many operations each instruction takes."""
        metas = self.slot_metas()
        return [
            step.op.work(
                [meta for slot in step.input_slots if (meta := metas[slot]) is not None],
                step.output_metas,
            )
            for step in self.instructions
        ]

    def makers(self) -> dict[int, ExecInstruction]:
        """For each slot that an instruction writes, that instruction."""
        return {slot: step for step in self.instructions for slot in step.output_slots}

    def written_slots(self) -> list[int]:
        """The inputs, then the slots that instructions write, in order."""
        written = [*self.input_slots]
        for step in self.instructions:
            written += step.output_slots
        return written

    def read_slots(self) -> list[int]:
        """The operands of all instructions, in order; a slot that is read twice comes twice."""
        return [slot for step in self.instructions for slot in step.input_slots]

    def read_counts(self) -> dict[int, int]:
        """How often each slot is read; being an output of the program counts once."""
        counts: dict[int, int] = {}
        for slot in [*self.read_slots(), *self.output_slots]:
            counts[slot] = counts.get(slot, 0) + 1
        return counts

    def needed_by(self, slots: Iterable[int]) -> set[int]:
        """The given slots, and all slots that instructions read to compute them."""
        needed = set(slots)
        for step in reversed(self.instructions):
            if not needed.isdisjoint(step.output_slots):
                needed.update(step.computing(needed).input_slots)
        return needed

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """For each output whether it depends on one of the inputs that are active."""
        dependent = dict(zip(self.input_slots, active, strict=True))
        for step in self.instructions:
            flags = [dependent[slot] for slot in step.input_slots]
            results = step.op.reached(flags) if any(flags) else flags[:0]
            for place, slot in enumerate(step.output_slots):
                dependent[slot] = bool(results) and results[place]
        return [dependent[slot] for slot in self.output_slots]

    def with_ops(self, rewrite: Callable[[ExecOp], ExecOp]) -> ExecProgram:
        """The program with each op replaced by what `rewrite` returns; types are not inferred."""
        steps = [
            step if (op := rewrite(step.op)) is step.op else replace(step, op=op)
            for step in self.instructions
        ]
        return replace(self, instructions=tuple(steps))

    def symbols(self) -> set[Leaf]:
        """The symbols that the inputs' extents mention."""
        return set().union(*map(TensorMeta.symbols, self.input_metas))

    def mentioned(self) -> set[Leaf]:
        """The symbols that the inputs' extents and the ops' payloads mention."""
        return self.symbols().union(*(op.symbols() for op in self.ops()))

    def walk(self, unverified: bool = False) -> list[ExecProgram]:
        """The program, and every program inside its ops, each before those inside it.

        A program that several ops hold comes once, after all of them. If `unverified`, those that
        are `verified` are left out, with what is inside them.
        """
        innermost_first: list[ExecProgram] = []
        visited: set[int] = set()
        stack = [(self, reversed(self.bodies()))]
        while stack:
            program, inner = stack[-1]
            body = next(inner, None)
            if body is None:
                stack.pop()
                innermost_first.append(program)
            elif id(body) not in visited and not (unverified and body.verified):
                visited.add(id(body))
                stack.append((body, reversed(body.bodies())))
        return innermost_first[::-1]

    def bodies(self) -> tuple[ExecProgram, ...]:
        """The programs inside its ops, in order; found once, since passes ask for them."""
        if self._bodies is None:
            bodies: list[Body] = []
            for op in self.ops():
                if op.body_fields:
                    bodies += op.bodies.values()
            object.__setattr__(self, "_bodies", tuple(bodies))
        return cast("tuple[ExecProgram, ...]", self._bodies)

    def map_bodies(
        self, rewrite: Callable[[ExecProgram], ExecProgram], wanted: tuple[type[ExecOp], ...] = ()
    ) -> ExecProgram:
        """The program with each program inside its ops rewritten, innermost first.

        `rewrite` keeps the types of inputs and outputs. It is not applied to the program itself,
        nor, if classes are `wanted`, to programs that have no op of one of these.
        """
        if not self.bodies():
            return self
        rewritten: dict[int, ExecProgram] = {}
        for program in reversed(self.walk()):
            filled = _with_bodies(program, rewritten) if program.bodies() else program
            if program is not self and (not wanted or filled.has_op(wanted)):
                filled = rewrite(filled)
            rewritten[id(program)] = filled
        return rewritten[id(self)]

    def bind(self, sizes: Sizes) -> ExecProgram:
        """The program for given sizes of its symbols; all types are inferred again."""
        if not sizes:
            return self
        inside = self.map_bodies(lambda body: _bound(body, sizes))
        return _bound(inside, sizes)

    @property
    def digest(self) -> str:
        """SHA-256 of the program's structure, in hex; the same in every process and version."""
        sha = hashlib.sha256()
        for slot, meta in zip(self.input_slots, self.input_metas, strict=True):
            sha.update(f"%{slot}:{meta};".encode())
        for step in self.instructions:
            encoded = step.op.encoded
            sha.update(b"%d:%s%r%r;" % (len(encoded), encoded, step.input_slots, step.output_slots))
        sha.update(b"%r" % (self.output_slots,))
        return sha.hexdigest()

    @property
    def classes(self) -> bytes:
        """Tokens of the classes of its extension ops, in order; see `Payload.classes`."""
        return b"".join([op.classes for op in self.ops()])

    @property
    def identity(self) -> str:
        """The digest and the classes of extension ops: the key of caches of this process."""
        return self.digest + self.classes.decode()

    def __eq__(self, other: object) -> bool:
        """Whether the programs have one identity: sites, which it leaves out, do not matter."""
        if self is other:
            return True
        return isinstance(other, ExecProgram) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash((self.input_slots, self.output_slots, len(self.instructions)))

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _with_bodies(program: ExecProgram, rewritten: dict[int, ExecProgram]) -> ExecProgram:
    """The program with the programs inside its ops replaced; itself if they stay."""
    if all(rewritten[id(body)] is body for body in program.bodies()):
        return program

    def rewrite(op: ExecOp) -> ExecOp:
        if not op.body_fields:
            return op
        return op.with_bodies({label: rewritten[id(body)] for label, body in op.bodies.items()})

    return program.with_ops(rewrite)


def _bound(program: ExecProgram, sizes: Sizes) -> ExecProgram:
    """The program for given sizes; the programs inside its ops are bound already."""
    metas: dict[int, TensorMeta] = {
        slot: with_slots(meta.bind(sizes), slot, ())
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
    }
    steps: list[ExecInstruction] = []
    for step in program.instructions:
        op = step.op.bind_outside(sizes)
        inferred = op.infer_all([metas[slot] for slot in step.input_slots])
        if op.family is not None:
            _check_inferred(op, step, inferred, sizes)
        named = tuple(
            [
                with_slots(meta, slot, step.input_slots)
                for slot, meta in zip(step.output_slots, inferred, strict=True)
            ]
        )
        metas.update(zip(step.output_slots, named, strict=True))
        steps.append(replace(step, op=op, output_metas=named))
    inputs = tuple([metas[slot] for slot in program.input_slots])
    return with_last_use(replace(program, instructions=tuple(steps), input_metas=inputs))


def _check_inferred(
    op: ExecOp, step: ExecInstruction, inferred: Sequence[TensorMeta], sizes: Sizes
) -> None:
    """Raise InvalidConfigError if an op infers other types for numbers than for names of sizes."""
    for slot, (named, now) in enumerate(zip(step.output_metas, inferred, strict=True)):
        before = named.bind(sizes)
        known = before.static_shape is not None and now.static_shape is not None
        if before.dtype != now.dtype or (known and before.static_shape != now.static_shape):
            family = str(op.family)
            raise InvalidConfigError(
                family,
                f"family_id={family}: infer_output_meta says that output {slot} is {named}, which "
                f"is {before} for these sizes, but {now} where it gets these sizes themselves",
            )


def with_slots(meta: TensorMeta, slot: int, operands: Sequence[int]) -> TensorMeta:
    """An inferred type, with sizes that data decide named by the slots of a program."""
    return name_sizes(meta, slot, operands, lambda axis: None)


def with_last_use(program: ExecProgram) -> ExecProgram:
    """The program with `last_use` filled in; itself if it is filled in already.

    An operand read twice by one instruction is marked at its last place.
    """
    steps = list(program.instructions)
    changed = False
    for place, mark in enumerate(last_uses(program)):
        step = steps[place]
        if step.last_use != mark:
            changed = True
            op, inputs, outputs = step.op, step.input_slots, step.output_slots
            steps[place] = ExecInstruction(op, inputs, outputs, step.output_metas, mark, step.site)
    return replace(program, instructions=tuple(steps)) if changed else program


def last_uses(program: ExecProgram) -> list[tuple[bool, ...]]:
    """For each instruction which of its operands are not read after it.

    Equal marks are one object, since there are many instructions and few different marks.
    """
    alive = set(program.output_slots)
    marks: list[tuple[bool, ...]] = []
    for step in reversed(program.instructions):
        slots = step.input_slots
        if len(slots) == 1:
            mark: tuple[bool, ...] = _READ_AGAIN if slots[0] in alive else _READ_LAST
        elif len(slots) == 2:
            one, two = slots
            mark = _PAIRS[one not in alive and one != two, two not in alive]
        else:  # of operands that are one slot, the last
            later = [slots[place + 1 :] for place in range(len(slots))]
            mark = tuple(
                [
                    slot not in alive and slot not in rest
                    for slot, rest in zip(slots, later, strict=True)
                ]
            )
        alive.update(slots)
        marks.append(mark)
    marks.reverse()
    return marks


_READ_AGAIN, _READ_LAST = (False,), (True,)
_PAIRS = {pair: pair for pair in itertools.product((False, True), repeat=2)}


def _lines(program: ExecProgram) -> Iterator[str]:
    """The text of a program, line by line; programs inside its ops are indented blocks."""
    stack = [_block("exec_program", program, "")]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, str):
            yield item
        else:
            stack.append(item)


def _block(label: str, program: ExecProgram, indent: str) -> Iterator[str | Iterator[str]]:
    """The lines of one program; in place of a program inside an op, the iterator of its lines."""
    header = ", ".join(
        f"%{slot}: {meta}"
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
    )
    yield f"{indent}{label}({header}) {{"
    for step in program.instructions:
        if not step.op.body_fields:
            yield f"{indent}  {step}"
            continue
        line, hash_, site = str(step).partition("  # ")
        yield f"{indent}  {line} {{{hash_}{site}"
        for inner, body in step.op.bodies.items():
            yield _block(inner, cast(ExecProgram, body), f"{indent}    ")  # type: ignore[misc]  # blocks nest
        yield f"{indent}  }}"
    returned = ", ".join(f"%{slot}" for slot in program.output_slots)
    yield f"{indent}  return {returned}".rstrip()
    yield f"{indent}}}"


# Slots in one canonical numbering.


def renumber(program: ExecProgram, marked: bool = False) -> ExecProgram:
    """The program with its slots numbered in the order in which they are written, without gaps.

    Its last uses are also marked if `marked`. It is the program itself where that is so already.
    """
    order = program.written_slots()
    if order == list(range(program.n_slots)):
        return with_last_use(program) if marked else program
    number = dict(zip(order, range(len(order)), strict=True))
    steps = program.instructions
    marks = last_uses(program) if marked else [step.last_use for step in steps]
    return ExecProgram(
        tuple(
            [
                ExecInstruction(
                    step.op,
                    tuple([number[slot] for slot in step.input_slots]),
                    tuple([number[slot] for slot in step.output_slots]),
                    step.output_metas,
                    mark,
                    step.site,
                )
                for step, mark in zip(steps, marks, strict=True)
            ]
        ),
        tuple([number[slot] for slot in program.input_slots]),
        program.input_metas,
        tuple([number[slot] for slot in program.output_slots]),
        len(order),
    )
