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
from tenferro.ops.control_flow import ControlOp, Custom
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
from tenferro.transforms.eager_tensor import EagerTensor, OperandKind, Recorder, kind_of

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
class Result:
    """The numbers of a result's value and origin, and its kind if that is known."""

    value: int
    origin: int
    kind: OperandKind | None


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
    results: tuple[Result, ...]
    single: bool
    tracked: bool
    executor: Executor | None
    lasting: bool
    short: OperandKind | None

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
        self.on_host = type(backend) is NumpyBackend
        self.owner = tensor_owner(executor)
        self._executor = executor
        self._ctx = ctx
        self._cache = cache

    def plan(
        self, program: ExecProgram, kinds: Sequence[OperandKind], single: bool = False
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
        return _PlanBuilder(self, program, kinds).plan(single)

    def kernel(self, program: ExecProgram) -> Kernel:
        """A program that has one instruction, or constant sizes, as a function of buffers."""
        if not program.output_slots:
            return lambda buffers: []
        if self.on_host:
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

    def derivative(
        self,
        op: StdTensorOp,
        metas: tuple[TensorMeta, ...],
        active: tuple[bool, ...],
        constants: Constants,
    ) -> OpDerivative:
        """The derivative of an op on operands of types `metas`."""
        if is_ruled_by_hand(op):
            return OpDerivative(op, metas, active, constants, self._ctx, lasting=False)
        derivative: OpDerivative = self._cache.get_or_make(
            (op, metas, active, constants),
            lambda: OpDerivative(op, metas, active, constants, self._ctx, lasting=True),
        )
        return derivative


class _PlanBuilder:
    """A plan under construction."""

    def __init__(
        self,
        planner: EagerPlanner,
        program: ExecProgram,
        kinds: Sequence[OperandKind],
    ) -> None:
        self._planner = planner
        self._program = program
        self._metas = cast("list[TensorMeta]", program.slot_metas())
        self._origin = {slot: slot + 1 for slot, kind in enumerate(kinds) if kind.tracked}
        self._n_operands = len(kinds)
        self._operand_origins = tuple([self._origin.get(slot, 0) for slot in range(len(kinds))])
        self._n_origins = len(kinds) + 1
        self._steps: list[tuple[OpDerivative, tuple[int, ...], list[int]]] = []
        self._constant: dict[int, GlobalValKey] = {}

    def plan(self, single: bool) -> EagerPlan:
        """The plan."""
        for step in self._program.instructions:
            self._add(cast(StdTensorOp, step.op), step.input_slots, step.output_slots)
        n_operands = self._n_operands
        outputs = self._program.output_slots
        tracked = any(slot in self._origin for slot in outputs)
        if not tracked:
            self._steps.clear()
        saved = [slot for _, _, slots in self._steps for slot in slots]
        returned = [slot for slot in dict.fromkeys([*outputs, *saved]) if slot >= n_operands]
        value = {slot: slot for slot in range(n_operands)}
        value |= {slot: n_operands + place for place, slot in enumerate(returned)}
        results = tuple(self._result(slot, value[slot]) for slot in outputs)
        short = len(returned) == len(results) == 1 and (not tracked or self._is_one_step())
        return EagerPlan(
            self._planner.kernel(replace(self._program, output_slots=tuple(returned))),
            tuple([value[slot] for slot in returned if slot in outputs and self._planner.on_host]),
            tuple(
                RecordedStep(
                    derivative,
                    sources,
                    tuple([value[slot] for slot in slots]),
                    derivative.op.n_outputs == 1,
                )
                for derivative, sources, slots in self._steps
            ),
            results,
            single,
            tracked,
            self._planner.owner,
            all(derivative.lasting for derivative, _, _ in self._steps),
            results[0].kind if short else None,
        )

    def _is_one_step(self) -> bool:
        """Whether only one op is recorded, which takes the operands in order and has one result."""
        if len(self._steps) != 1:
            return False
        ((derivative, sources, _),) = self._steps
        return derivative.op.n_outputs == 1 and sources == self._operand_origins

    def _add(self, op: StdTensorOp, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        active = tuple([slot in self._origin for slot in inputs])
        constants = tuple([self._constant.get(slot) for slot in inputs])
        if not any(active):
            if op.n_outputs == 1 and None not in constants and (op.source or op.repeats):
                self._constant[outputs[0]] = op_key(
                    op, cast("tuple[GlobalValKey, ...]", constants)
                ).output(0)
            return
        metas = tuple([self._metas[slot] for slot in inputs])
        derivative = self._planner.derivative(op, metas, active, constants)
        reaches = [
            reached and is_inexact(self._metas[slot].dtype)
            for slot, reached in zip(outputs, derivative.reaches, strict=True)
        ]
        if not any(reaches):
            return
        slots = (*inputs, *outputs)
        sources = tuple([self._origin.get(slot, 0) for slot in inputs])
        self._steps.append((derivative, sources, [slots[read] for read in derivative.reads]))
        for number, (slot, reached) in enumerate(zip(outputs, reaches, strict=True)):
            if reached:
                self._origin[slot] = self._n_origins + number
        self._n_origins += len(outputs)

    def _result(self, slot: int, value: int) -> Result:
        origin = self._origin.get(slot, 0)
        kind = _kind(self._metas[slot])
        return Result(value, origin, kind and (kind.active if origin else kind))


def is_ruled_by_hand(op: StdTensorOp) -> bool:
    """Whether a rule gives the derivatives of the op, or of one in the programs inside it."""
    if not isinstance(op, ControlOp):
        return False
    programs = [cast(ExecProgram, body) for body in op.bodies.values()]
    return isinstance(op, Custom) or any(
        part.has_op(Custom) for program in programs for part in program.walk()
    )


def is_static(program: ExecProgram) -> bool:
    """Whether all extents are integers."""
    return all(meta is not None and meta.static_shape is not None for meta in program.slot_metas())


def _kind(meta: TensorMeta) -> OperandKind | None:
    """The kind of untracked values of type `meta`; None if an extent is not known."""
    return None if meta.static_shape is None else kind_of(meta.dtype, meta.static_shape)


def _kind_of_buffer(buffer: Buffer, origin: int) -> OperandKind:
    kind = kind_of(buffer.dtype, tuple(buffer.shape))
    return kind.active if origin else kind
