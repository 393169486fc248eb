"""Plans of eager calls, by operand types: a kernel, and what a tape records of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tenferro.compiler import without_rules
from tenferro.config import config
from tenferro.core import BoundedCache, Derivative, GlobalValKey, Origin, Record, op_key
from tenferro.ir import (
    ExecInstruction,
    ExecProgram,
    ShapeGuardContext,
    TensorMeta,
    check_size,
    fresh_input,
    is_inexact,
    run,
    with_last_use,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.control_flow import Custom
from tenferro.ops.extension import Package
from tenferro.runtime import (
    BoundaryDispatch,
    Buffer,
    Executor,
    GraphExecutor,
    Kernel,
    NumpyBackend,
    prepared,
    sealed,
    tensor_owner,
)
from tenferro.transforms.eager_tensor import EagerTensor, EagerType, Recorder, eager_type

Constants = tuple[GlobalValKey | None, ...]


class OpDerivative(Derivative):
    """The derivative of a tensor op; `kinds` are those of the saved values, if known.

    `constants` are the operands that depend on no input, which records need not save.
    """

    def __init__(
        self,
        op: StdTensorOp,
        metas: Sequence[TensorMeta],
        active: tuple[bool, ...],
        constants: Constants,
        ctx: ShapeGuardContext,
        lasting: bool,
    ) -> None:
        operands = [
            fresh_input(meta, f"x{i}") if constant is None else constant
            for i, (meta, constant) in enumerate(zip(metas, constants, strict=True))
        ]
        super().__init__(op, operands, active, ctx, lasting)
        types = (*metas, *op.infer_all(metas))
        self.kinds = tuple([_kind(types[read]) for read in self.reads])


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """The record of one op.

    `sources` are numbers of origins, `saved` are numbers of values; see `EagerPlan.run`.
    """

    derivative: OpDerivative
    sources: tuple[int, ...]
    saved: tuple[int, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class ResultNumbers:
    """The numbers of a result's value and origin, and its kind if that is known."""

    value: int
    origin: int
    kind: EagerType | None


@dataclass(frozen=True, slots=True, eq=False)
class EagerPlan:
    """A program for operands of given kinds, ready to run.

    Attributes:
        kernel: computes the values.
        unsealed: numbers of NumPy arrays that the kernel returns for users.
        steps: the ops to record.
        results: numbers of the results.
        single: whether to return one result, and not a tuple.
        tracked: whether a result is tracked.
        executor: the owner of the buffers, as `Tensor.executor` returns it.
        lasting: whether later calls have the same plan: no rule by hand is recorded, which may read
            other values then.
        short: the kind of the result if `run` can take the fast path: there is one value, and at
            most one recorded op, which reads the operands in order.
    """

    kernel: Kernel
    unsealed: tuple[int, ...]
    steps: tuple[RecordedStep, ...]
    results: tuple[ResultNumbers, ...]
    single: bool
    tracked: bool
    executor: Executor | None
    lasting: bool
    short: EagerType | None

    def run(self, operands: list[EagerTensor], runtime: Recorder) -> list[EagerTensor]:
        """Run the kernel and return the results, with records of those that are tracked.

        Values are numbered: the operands, then the outputs of the kernel. Origins are numbered:
        None, those of the operands, then those of each step's outputs.
        """
        buffers = [operand._buffer for operand in operands]
        values = buffers + self.kernel(buffers)
        for i in self.unsealed:
            values[i] = sealed(values[i], True)
        if self.short is not None:
            origin: Origin | None = None
            if self.tracked:
                (step,) = self.steps
                sources = tuple([operand._origin for operand in operands])
                saved = tuple([values[i] for i in step.saved])
                origin = Record(step.derivative, sources, saved)
            return [EagerTensor.attach(values[-1], self.executor, self.short, origin, runtime)]
        origins: list[Origin | None] = [None]
        if self.tracked:
            origins += [operand._origin for operand in operands]
            for step in self.steps:
                record = Record(
                    step.derivative,
                    tuple([origins[i] for i in step.sources]),
                    tuple([values[i] for i in step.saved]),
                )
                if step.single:
                    origins.append(record)
                else:
                    origins += record.outputs
        attach, executor = EagerTensor.attach, self.executor
        return [
            attach(
                values[result.value],
                executor,
                result.kind or _kind_of_buffer(values[result.value], result.origin),
                origins[result.origin],
                runtime,
            )
            for result in self.results
        ]


class EagerPlanner:
    """Makes plans for one executor, and derivatives of ops, which `cache` holds by types.

    `boundary` runs ops of extension families on a native backend, with the runtimes of `packages`
    and those that are registered later. It is None for executors without a native backend, which
    run such ops in their own way.
    """

    def __init__(
        self,
        executor: Executor,
        packages: Sequence[Package],
        ctx: ShapeGuardContext,
        cache: BoundedCache[Any, Any],
    ) -> None:
        backend = executor.backend if isinstance(executor, GraphExecutor) else None
        self.boundary = None if backend is None else BoundaryDispatch(backend, packages, "runtime")
        self._on_host = type(backend) is NumpyBackend
        self.owner = tensor_owner(executor)
        self._executor = executor
        self._ctx = ctx
        self._cache = cache

    def plan(
        self, program: ExecProgram, kinds: Sequence[EagerType], single: bool = False
    ) -> EagerPlan | None:
        """The plan of `program`; None if it can only be computed op by op.

        This is the case if the size of an intermediate value is not known in advance.

        Raises:
            TenferroError: a value is too large.
        """
        for step, meta in program.results():
            check_size(meta, step.op.name, config.max_bytes)
        if len(program.instructions) > 1 and not is_static(program):
            return None
        count, outputs = len(kinds), program.output_slots
        metas = cast("list[TensorMeta]", program.slot_metas())
        origins = {slot: slot + 1 for slot, kind in enumerate(kinds) if kind.tracked}
        of_operands = tuple([origins.get(slot, 0) for slot in range(count)])
        n_origins = count + 1
        constants: dict[int, GlobalValKey] = {}
        recorded: list[tuple[OpDerivative, tuple[int, ...], list[int]]] = []
        for step in program.instructions:
            op, slots = cast(StdTensorOp, step.op), (*step.input_slots, *step.output_slots)
            active = tuple([slot in origins for slot in step.input_slots])
            known = tuple([constants.get(slot) for slot in step.input_slots])
            if not any(active):
                if op.n_outputs == 1 and None not in known and (op.source or op.repeats):
                    (slot,) = step.output_slots
                    constants[slot] = op_key(op, cast("tuple[GlobalValKey, ...]", known)).output(0)
                continue
            types = tuple([metas[slot] for slot in step.input_slots])
            derivative = self._derivative(op, types, active, known)
            moving = [
                (slot, n_origins + number)
                for number, slot in enumerate(step.output_slots)
                if derivative.reaches[number] and is_inexact(metas[slot].dtype)
            ]
            if moving:
                sources = tuple([origins.get(slot, 0) for slot in step.input_slots])
                recorded.append((derivative, sources, [slots[read] for read in derivative.reads]))
                origins.update(moving)
                n_origins += len(step.output_slots)
        tracked = any(slot in origins for slot in outputs)
        if not tracked:
            recorded.clear()
        saved = [slot for _, _, slots in recorded for slot in slots]
        returned = [slot for slot in dict.fromkeys([*outputs, *saved]) if slot >= count]
        value = {slot: number for number, slot in enumerate([*range(count), *returned])}
        steps = tuple(
            RecordedStep(
                derivative,
                sources,
                tuple([value[slot] for slot in slots]),
                derivative.op.n_outputs == 1,
            )
            for derivative, sources, slots in recorded
        )
        results = []
        for slot in outputs:
            kind, origin = _kind(metas[slot]), origins.get(slot, 0)
            results.append(
                ResultNumbers(value[slot], origin, kind and (kind.active if origin else kind))
            )
        in_order = [(step.single, step.sources) for step in steps] == [(True, of_operands)]
        short = len(returned) == len(results) == 1 and (not tracked or in_order)
        return EagerPlan(
            self._kernel(replace(program, output_slots=tuple(returned))),
            tuple([value[slot] for slot in returned if slot in outputs and self._on_host]),
            steps,
            tuple(results),
            single,
            tracked,
            self.owner,
            all(step.derivative.lasting for step in steps),
            results[0].kind if short else None,
        )

    def _kernel(self, program: ExecProgram) -> Kernel:
        """A program that has one instruction, or constant sizes, as a function of buffers."""
        if not program.output_slots:
            return lambda buffers: []
        if self._on_host:
            return prepared(program, self.boundary)
        compiled = with_last_use(without_rules(program))
        by_runtimes = self.boundary is not None and any(
            op.family is not None for op in compiled.ops()
        )
        if by_runtimes or not is_static(compiled):
            return lambda buffers: run(compiled, buffers, self._step)
        executable = self._executor.compile_exec(compiled)
        return lambda buffers: list(executable(*buffers))

    def _step(self, step: ExecInstruction, operands: list[Buffer]) -> Sequence[Buffer]:
        """The results of one instruction."""
        if step.op.family is None or self.boundary is None:
            return self._executor.run_op(step.op, *operands)
        return self.boundary(step.op, operands)

    def _derivative(
        self,
        op: StdTensorOp,
        metas: tuple[TensorMeta, ...],
        active: tuple[bool, ...],
        constants: Constants,
    ) -> OpDerivative:
        """The derivative of an op; one by hand is not cached, since it may read other values."""
        programs = [cast(ExecProgram, body) for body in op.bodies.values()]
        by_hand = isinstance(op, Custom) or any(
            part.has_op(Custom) for program in programs for part in program.walk()
        )
        if by_hand:
            return OpDerivative(op, metas, active, constants, self._ctx, lasting=False)
        derivative: OpDerivative = self._cache.get_or_make(
            (op, metas, active, constants),
            lambda: OpDerivative(op, metas, active, constants, self._ctx, lasting=True),
        )
        return derivative


def is_static(program: ExecProgram) -> bool:
    """Whether all extents are integers."""
    return all(meta is not None and meta.static_shape is not None for meta in program.slot_metas())


def _kind(meta: TensorMeta) -> EagerType | None:
    """The kind of untracked values of type `meta`; None if an extent is not known."""
    return None if meta.static_shape is None else eager_type(meta.dtype, meta.static_shape)


def _kind_of_buffer(buffer: Buffer, origin: int) -> EagerType:
    kind = eager_type(buffer.dtype, tuple(buffer.shape))
    return kind.active if origin else kind
