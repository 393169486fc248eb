"""The tape of an eager runtime: derivatives of recorded ops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from tenferro.core import (
    Adder,
    BatchSite,
    CompiledProgram,
    Emitter,
    LeafOrigin,
    LocalProgram,
    Mask,
    Origin,
    PrimitiveOp,
    Record,
    Slots,
    only_output,
    pull_records,
    push_records,
)
from tenferro.errors import ADError, GaugeError
from tenferro.ir import TensorMeta
from tenferro.ops import ADD, repeated
from tenferro.ops.extension import Extension
from tenferro.ops.functions import outside
from tenferro.transforms.ad_context import Derivatives, check_active, check_scalar, listed
from tenferro.transforms.eager_plan import OpDerivative
from tenferro.transforms.eager_tensor import EagerTensor, OperandKind, pausing

# An emitter that computes each op immediately, for functions that cannot be planned as a whole.


class Invoker(Protocol):
    """Computes single ops."""

    def invoke(self, op: Any, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """The outputs of one op."""


class EagerContext:
    """Metadata of eager tensors: their types."""

    adder: Adder = ADD

    def meta(self, value: EagerTensor) -> TensorMeta:
        """The type of a tensor."""
        return value.meta

    def declare_like(self, value: EagerTensor, like: EagerTensor) -> None:
        """Does nothing: a tensor has its type."""

    def registered_rule(self, family_id: str) -> None:
        """None: this emitter does not apply derivative rules."""
        return


class EagerEmitter(Emitter["EagerTensor"]):
    """Computes each op as it is emitted, and records it like any other op."""

    def __init__(self, invoker: Invoker) -> None:
        self._invoker = invoker

    @property
    def ctx(self) -> EagerContext:
        """The metadata of values."""
        return _CONTEXT

    def emit(self, op: PrimitiveOp, *operands: EagerTensor) -> EagerTensor:
        """The output of a single-output op."""
        return only_output(op, self.emit_all(op, *operands))

    def emit_all(self, op: PrimitiveOp, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """All outputs of the op."""
        with outside():
            return self._invoker.invoke(op, *operands)


_CONTEXT = EagerContext()


# Derivatives of recorded computations.

Values = Sequence[EagerTensor]
Optional = list[EagerTensor | None]
T = TypeVar("T")
Entries = tuple[EagerTensor, bool]
"""A value for all directions, and whether it is batched."""


class Differentiator(Derivatives[EagerTensor]):
    """The part of a runtime that takes derivatives.

    Gradients stored in variables do not change. Results are recorded like any other value.
    """

    @abstractmethod
    def constant(self, value: Any, dtype: object = None) -> EagerTensor:
        """An untracked tensor."""

    @abstractmethod
    def invoke(self, op: Any, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """The outputs of one op."""

    @abstractmethod
    def run_local(self, local: LocalProgram, operands: Values) -> list[EagerTensor]:
        """The outputs of a derivative on values of the runtime."""

    @abstractmethod
    def check_local(self, local: LocalProgram, operands: Values, results: Values) -> None:
        """Raise GaugeError if a derivative does not exist, and the runtime checks that."""

    @abstractmethod
    def restored(self, buffer: Any, kind: OperandKind | None, origin: Origin | None) -> EagerTensor:
        """A tensor around a buffer that a record saved."""

    @abstractmethod
    def _check_own(self, operand: EagerTensor, name: str) -> None:
        """Raise ContextMismatch unless the tensor is attached to this runtime."""

    def _pulled(
        self, name: str, ys: Values, wrt: Values, cts: Sequence[EagerTensor | None]
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = [
            (y._origin, ct)
            for y, ct in zip(ys, cts, strict=True)
            if y._origin is not None and ct is not None
        ]
        pulled = pull_records(seeds, origins, RecordApplier(self))
        return [pulled.get(origin) for origin in origins]

    def _pushed(
        self, name: str, ys: Values, wrt: Values, tangents: Sequence[EagerTensor | None]
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = {
            origin: tangent
            for origin, tangent in zip(origins, tangents, strict=True)
            if tangent is not None
        }
        return push_records([y._origin for y in ys], seeds, RecordApplier(self))

    def _pushed_many(
        self,
        name: str,
        ys: Values,
        wrt: Values,
        tangents: Sequence[EagerTensor | None],
        size: int,
    ) -> Optional:
        origins = self._independent(name, wrt)
        seeds = {
            origin: (tangent, True)
            for origin, tangent in zip(origins, tangents, strict=True)
            if tangent is not None
        }
        at = EagerEmitter(self)
        pushed = push_records([y._origin for y in ys], seeds, BatchApplier(self, at, size))
        return [
            None if entry is None else entry[0] if entry[1] else repeated(at, entry[0], size)
            for entry in pushed
        ]

    def _of_leaves(self, y: EagerTensor, seed: Any) -> dict[LeafOrigin, EagerTensor]:
        """Cotangents of all leaves, computed without recording."""
        self._metas("backward", [y])
        if y._origin is None:
            raise ADError(
                f"backward: {y.meta} is not tracked: it does not depend on a variable, or was "
                "computed within no_grad"
            )
        if seed is None:
            check_scalar(y.meta)
        (ct,) = [self._unit(y)] if seed is None else self._seeds("backward", "seed", [seed], [y])
        assert ct is not None, "backward_with refuses None"
        with pausing(self):
            pulled = pull_records([(y._origin, ct)], None, RecordApplier(self))
        return cast("dict[LeafOrigin, EagerTensor]", pulled)

    def _independent(self, name: str, wrt: Values) -> list[Origin]:
        """The origins of the values to differentiate by."""
        origins: list[Origin] = []
        for value, meta in zip(wrt, self._metas(name, wrt), strict=True):
            check_active(meta, f"{name} by {meta}")
            if value._origin is None:
                raise ADError(
                    f"{name}: {value.meta} is not tracked, so computations on it are not recorded; "
                    "make it with runtime.variable"
                )
            if value._origin in origins:
                raise ADError(f"{name}: {value.meta} is passed twice; pass each value once")
            origins.append(value._origin)
        return origins

    def _metas(self, name: str, values: Values) -> list[TensorMeta]:
        listed(name, "eager tensors", values)
        for value in values:
            if not isinstance(value, EagerTensor):
                raise ADError(f"{name}: takes eager tensors, got a {type(value).__name__}")
            self._check_own(value, name)
        return [value.meta for value in values]

    def _value(self, name: str, array: Any) -> EagerTensor:
        if not isinstance(array, EagerTensor):
            return self.constant(array)
        self._check_own(array, name)
        return array

    def _unit(self, y: EagerTensor) -> EagerTensor:
        return self.constant(np.ones((), y.dtype))

    def _zeros_like(self, value: EagerTensor) -> EagerTensor:
        return self.constant(np.zeros(value.shape, value.dtype))


class RecordApplier:
    """Evaluates derivatives of records on tensors of a runtime."""

    def __init__(self, runtime: Differentiator) -> None:
        self._runtime = runtime

    def push(self, record: Record, tangents: Slots[EagerTensor]) -> Slots[EagerTensor]:
        """Tangents of the record's outputs."""
        moving = tuple([tangent is not None for tangent in tangents])
        return self._run(record, record.derivative.push(moving), tangents)

    def pull(self, record: Record, cts: Slots[EagerTensor], wanted: Mask) -> Slots[EagerTensor]:
        """Cotangents of the operands that `wanted` selects."""
        nonzero = tuple([ct is not None for ct in cts])
        return self._run(record, record.derivative.pull(wanted, nonzero), cts)

    def add(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """The sum, computed by the addition of the op set."""
        emitter = EagerEmitter(self._runtime)
        return emitter.emit(emitter.ctx.adder, a, b)

    def _run(
        self, record: Record, local: LocalProgram, seeds: Slots[EagerTensor]
    ) -> Slots[EagerTensor]:
        operands = [_saved(self._runtime, record, number) for number in local.saved]
        operands += [seed for seed in seeds if seed is not None]
        outputs = self._runtime.run_local(local, operands)
        return tuple([None if place is None else outputs[place] for place in local.results])


class BatchApplier:
    """Pushes batches of tangents forward: values with whether they are batched."""

    def __init__(self, runtime: Differentiator, emitter: EagerEmitter, size: int) -> None:
        self._runtime = runtime
        self._emitter = emitter
        self._size = size

    def push(self, record: Record, tangents: Slots[Entries]) -> Slots[Entries]:
        """Tangents of the record's outputs for all directions."""
        local = record.derivative.push(tuple([tangent is not None for tangent in tangents]))
        operands = [(_saved(self._runtime, record, number), False) for number in local.saved]
        operands += [tangent for tangent in tangents if tangent is not None]
        outputs = in_turn(local.program, operands, self._apply)
        first = [[value for value, _ in values] for values in (operands, outputs)]
        self._runtime.check_local(local, *first)
        return tuple([None if place is None else outputs[place] for place in local.results])

    def _apply(self, op: Any, operands: Sequence[Entries]) -> Sequence[Entries]:
        """The outputs of one op, by its batch rule if an operand is batched."""
        values = tuple([value for value, _ in operands])
        mask = tuple([is_batched for _, is_batched in operands])
        if True in mask:
            site = BatchSite(self._emitter, values, mask, self._size)
            return op.batch_rule(site)  # type: ignore[no-any-return]  # an op of any set
        return [(value, False) for value in self._emitter.emit_all(op, *values)]


def in_turn(
    program: CompiledProgram[Any],
    operands: Sequence[T],
    apply: Callable[[Any, list[T]], Sequence[T]],
) -> list[T]:
    """The outputs of a program, one op after another."""
    slots: list[Any] = [*operands, *[None] * program.n_slots]
    for step in program.instructions:
        outputs = apply(step.op, [slots[slot] for slot in step.inputs])
        for slot, value in zip(step.outputs, outputs, strict=True):
            slots[slot] = value
    return [slots[slot] for slot in program.output_slots]


def _saved(runtime: Differentiator, record: Record, number: int) -> EagerTensor:
    """A value that a record saved, with its origin."""
    derivative = cast(OpDerivative, record.derivative)
    read, count = derivative.reads[number], len(record.sources)
    if read < count:
        origin = record.sources[read]
    else:
        origin = record.output(read - count) if derivative.reaches[read - count] else None
    return runtime.restored(record.saved[number], derivative.kinds[number], origin)


def check_defined(local: LocalProgram, operands: Values, results: Values) -> None:
    """Check that no result of a derivative is NaN for a reason that its family knows.

    Raises:
        GaugeError: one is; the text is that of the family.
    """
    ops = local.program.columns.ops
    families = [op for op in ops if isinstance(op, Extension)]
    texts = [family.op.undefined for family in families if family.op.undefined is not None]
    if texts and any(map(_has_nan, results)) and not any(map(_has_nan, operands)):
        raise GaugeError(texts[0])


def _has_nan(value: EagerTensor) -> bool:
    return bool(np.isnan(value.numpy()).any())
