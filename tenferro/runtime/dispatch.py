"""Running an ExecProgram on a backend.

In segments, or one instruction at a time. Both give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

import numpy as np

from tenferro.exec_ir import Category, ExecInstruction, ExecOp, ExecProgram, check_size
from tenferro.runtime.backend import BackendSession, TensorBackend
from tenferro.runtime.extensions import Boundary
from tenferro.runtime.segment import Segment
from tenferro.shape import TensorMeta, make_meta
from tenferro.values import Buffer

Slots = list[Buffer | None]
Reclaim = Callable[[Buffer], None]


def run_segmented(
    program: ExecProgram,
    segments: Sequence[Segment],
    backend: TensorBackend,
    inputs: Sequence[Buffer],
    boundary: Boundary | None = None,
    max_bytes: int | None = None,
) -> list[Buffer]:
    """Run segment by segment; a session is opened once for all instructions of its segment.

    `boundary` runs instructions of category BOUNDARY; by default the backend does, which does not
    run extensions. `max_bytes` bounds values whose size data decide; None if there are none.

    Raises:
        ExtentError: a value would be larger than `max_bytes`.
    """
    boundary = boundary or backend.execute_boundary
    slots = _filled(program, inputs)
    for segment in segments:
        match segment.category:
            case Category.SESSION:
                with backend.with_backend_session() as session:
                    for step in segment.instructions:
                        _store(step, _executed(step, session, slots, max_bytes), slots)
                        _release(step, slots, session.reclaim_buffer)
            case Category.HOST | Category.BOUNDARY:
                (step,) = segment.instructions
                _run_alone(step, backend, boundary, slots, max_bytes)
            case _:
                assert_never(segment.category)
    return [slots[slot] for slot in program.output_slots]


def run_unsegmented(
    program: ExecProgram,
    backend: TensorBackend,
    inputs: Sequence[Buffer],
    boundary: Boundary | None = None,
    max_bytes: int | None = None,
) -> list[Buffer]:
    """Run one instruction at a time, each session instruction in a session of its own.

    For parity checks.
    """
    boundary = boundary or backend.execute_boundary
    slots = _filled(program, inputs)
    for step in program.instructions:
        if step.op.category is Category.SESSION:
            with backend.with_backend_session() as session:
                _store(step, _executed(step, session, slots, max_bytes), slots)
                _release(step, slots, session.reclaim_buffer)
        else:
            _run_alone(step, backend, boundary, slots, max_bytes)
    return [slots[slot] for slot in program.output_slots]


def _executed(
    step: ExecInstruction, session: BackendSession, slots: Slots, max_bytes: int | None
) -> tuple[Buffer, ...]:
    """The results of one session instruction; sizes that follow operands are resolved first."""
    op, operands = step.op, _operands(step, slots)
    if op.follows_shapes:
        op, sources = op.resolved([_meta_of(operand) for operand in operands])
        operands = [
            operands[source] if isinstance(source, int) else session.execute(source, ())[0]
            for source in sources
        ]
    if max_bytes is not None:
        _check_late(step, op, operands, max_bytes)
    return session.execute(op, operands)


def _check_late(
    step: ExecInstruction, op: ExecOp, operands: Sequence[Buffer], max_bytes: int
) -> None:
    """Raise ExtentError if a result whose size data decide would be too large."""
    if all(meta.dims is not None for meta in step.output_metas):
        return
    for meta in op.infer_all([_meta_of(operand) for operand in operands]):
        check_size(meta, op.name, max_bytes)


def _meta_of(buffer: Buffer) -> TensorMeta:
    return make_meta(buffer.dtype, tuple(buffer.shape))


def _run_alone(
    step: ExecInstruction,
    backend: TensorBackend,
    boundary: Boundary,
    slots: Slots,
    max_bytes: int | None,
) -> None:
    if max_bytes is not None:
        _check_late(step, step.op, _operands(step, slots), max_bytes)
    if step.op.category is Category.HOST:
        results = _on_host(step.op, _operands(step, slots), backend)
    else:
        op, operands = step.op, _operands(step, slots)
        if op.follows_shapes:  # an op on the same operands, which holds a program
            op = op.resolved([_meta_of(operand) for operand in operands]).op
        results = boundary(op, operands)
    _store(step, results, slots)
    _release(step, slots, backend.reclaim_buffer)


def _on_host(op: ExecOp, operands: Sequence[Buffer], backend: TensorBackend) -> tuple[Buffer, ...]:
    """The results of an instruction that looks at sizes, for which only scalars are downloaded.

    Once the sizes are known, what moves elements is an op that the backend runs.
    """
    metas = [_meta_of(operand) for operand in operands]
    if op.follows_shapes or op.size_operand is not None:
        scalars = None
        if op.size_operand is not None:
            scalars = {op.size_operand: backend.download_to_host(operands[op.size_operand])}
        resolved, sources = op.resolved(metas, scalars)
        inputs = [_source(each, operands, backend) for each in sources]
        with backend.with_backend_session() as session:
            return session.execute(resolved, inputs)
    host = [
        np.broadcast_to(np.zeros((), meta.dtype), operand.shape)
        if op.reads_shape_only(place)
        else backend.download_to_host(operand)
        for place, (meta, operand) in enumerate(zip(metas, operands, strict=True))
    ]
    return tuple([backend.upload_host_tensor(value) for value in op.evaluate(host)])


def _source(source: int | ExecOp, operands: Sequence[Buffer], backend: TensorBackend) -> Buffer:
    """An operand of a resolved op: one of those before, or a constant."""
    if isinstance(source, int):
        return operands[source]
    return backend.upload_host_tensor(source.evaluate(())[0])


def _filled(program: ExecProgram, inputs: Sequence[Buffer]) -> Slots:
    slots: Slots = [None] * program.n_slots
    for slot, value in zip(program.input_slots, inputs, strict=True):
        slots[slot] = value
    return slots


def _operands(step: ExecInstruction, slots: Slots) -> list[Buffer]:
    return [slots[slot] for slot in step.input_slots]


def _store(step: ExecInstruction, results: Sequence[Buffer], slots: Slots) -> None:
    for slot, value in zip(step.output_slots, results, strict=True):
        slots[slot] = value


def _release(step: ExecInstruction, slots: Slots, reclaim: Reclaim) -> None:
    for slot, last in zip(step.input_slots, step.last_use, strict=True):
        if last:
            reclaim(slots[slot])
            slots[slot] = None
