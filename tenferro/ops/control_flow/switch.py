"""Switch: the op, jvp, transpose, batch rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import NamedTuple, Self

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    residuals,
    resolve_keys,
)
from tenferro.errors import ControlFlowError, class_of
from tenferro.ir import (
    INT32,
    Body,
    ExecProgram,
    NumpyArray,
    Pruned,
    Steps,
    TensorMeta,
    dtype_kind,
    fresh_input,
    payload,
    restricted,
    type_of,
)
from tenferro.ops import AND, Compare, Convert, Select, broadcast_like, full, scalar, shape_context
from tenferro.ops.control_flow.base import (
    ControlOp,
    Interpreter,
    T,
    inputs_read,
    plain,
    positions,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    CotangentMask,
    Keys,
    batched_body,
    batched_where,
    dependent,
    entries_like,
    fill_slots,
    filled,
    fresh_like,
    graph_of,
    inner_context,
    inner_emitter,
    linear_in,
    noted,
    program_of,
    without_cheap,
)

__all__ = ["BRANCHES_RUN", "Switch"]

BRANCHES_RUN = "branches run (vmap)"
"""What the sites of selected results say, after `both` or their number."""


@payload
class Switch(ControlOp, name="switch"):
    """Runs the one of its `branches` that the first operand, a rank-0 integer, has the number of.

    A number below 0 chooses the first branch, one that is too large the last. The other operands
    are those of the branches, which all take and return the same types.

    Attributes:
        branches: the programs; at least one.

    Raises:
        ControlFlowError: a field is of another type, or the branches take or return other types.
        UnsupportedDynamicShapeError: data decide a size in a branch.
    """

    branches: tuple[ExecProgram, ...]

    body_fields = ("branches",)
    is_loop = False
    takes_mask = True

    def __post_init__(self) -> None:
        branches: object = self.branches
        if not isinstance(branches, tuple):
            kind = class_of(branches)
            raise ControlFlowError(f"switch: branches must be a tuple of programs, got {kind}")
        if not branches:
            raise ControlFlowError("switch: branches is empty; there must be one at least")
        checked = [self._as_body(f"branch {i}", branch) for i, branch in enumerate(branches)]
        self._set(branches=tuple(checked))
        super().__post_init__()
        first = checked[0]
        self._set(n_inputs=1 + len(first.input_slots), n_outputs=len(first.output_slots))
        roles = [self._role(1 + position) for position in range(len(first.input_slots))]
        for number, branch in enumerate(checked):
            self._check_alike(number, "takes", first.input_metas, branch.input_metas)
            self._check_alike(number, "returns", first.output_metas, branch.output_metas)
            self._check_sizes(f"branch {number}", branch, roles)

    def _check_alike(
        self, number: int, verb: str, first: Sequence[TensorMeta], other: Sequence[TensorMeta]
    ) -> None:
        """Raise ControlFlowError unless a branch has the types of the first one."""
        if first != other:
            raise ControlFlowError(
                f"switch: branch {number} {verb} {_types(other)} and branch 0 {_types(first)}; "
                "branches must take and return the same types"
            )

    @property
    def const_places(self) -> dict[str, range]:
        """All operands but the index, for each branch."""
        return dict.fromkeys(self.bodies, range(1, 1 + len(self.branches[0].input_slots)))

    @property
    def passed_on(self) -> Mapping[int, int]:
        """The results that are the same operand in all branches."""
        ways: list[list[int | None]] = []
        for branch in self.branches:
            places = {slot: 1 + place for place, slot in enumerate(branch.input_slots)}
            ways.append([places.get(slot) for slot in branch.output_slots])
        return {
            result: way[0]
            for result, way in enumerate(zip(*ways, strict=True))
            if way[0] is not None and len(set(way)) == 1
        }

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        return self.with_bodies(bodies)

    def _kinds_of_operands(self) -> str:
        return " (the index and those of the branches)"

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        first = self.branches[0]
        self._check_operands(metas, (*metas[:1], *first.input_metas))
        index = metas[0]
        if index.rank or dtype_kind(index.dtype) not in "iu":
            raise ControlFlowError(f"switch: the index must be a rank-0 integer, got {index}")
        return plain(first.output_metas)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        index, *operands = inputs
        number = min(max(int(index), 0), len(self.branches) - 1)
        steps = self._steps[number]
        values = steps.values(operands)
        steps.run(values)
        return tuple(steps.outputs(values))

    @cached_property
    def _steps(self) -> tuple[Steps, ...]:
        """The branches, prepared to run."""
        return tuple(map(Steps, self.branches))

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        in_branches = [inputs_read(branch, live) for branch in self.branches]
        read = [any(flags) for flags in zip(*in_branches, strict=True)]
        if all(live) and all(read):
            return None
        outputs, inputs = positions(live), positions(read)
        branches = tuple(restricted(branch, inputs, outputs) for branch in self.branches)
        operands = (0, *(1 + position for position in inputs))
        return Pruned(replace(self, branches=branches), operands, tuple(outputs))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which results depend on the active operands in some branch; all, on an active index."""
        if active[0]:
            return [True] * self.n_outputs
        in_branches = [branch.reached(active[1:]) for branch in self.branches]
        return [any(flags) for flags in zip(*in_branches, strict=True)]

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """What any of the branches returns."""
        results = [at.run(branch, values[1:]) for branch in self.branches]
        return [at.either(each) for each in zip(*results, strict=True)]

    def like(self, branches: Sequence[ExecProgram]) -> Switch:
        """A switch between as many other programs."""
        return replace(self, branches=tuple(branches))

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents of the results: those that the chosen branch has."""
        these, ctx = Branches.of(self), inner_context(at.ctx)
        wrt = [
            key
            for key, tangent in zip(these.inputs, at.tangent[1:], strict=True)
            if tangent is not None
        ]
        linear = [differentiate(resolve_keys(), outputs, wrt, ctx=ctx) for outputs in these.outputs]
        reached = _in_any([part.output_keys for part in linear])
        if not any(reached):
            return (None,) * len(reached)
        emitter = KeyEmitter(ctx)
        parts = [
            BranchPart(filled(emitter, part.output_keys, outputs, reached), part.input_keys)
            for part, outputs in zip(linear, these.outputs, strict=True)
        ]
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        return fill_slots(chosen_part(self, at.emitter, at.primal, these, parts, tangents), reached)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands: those that the chosen branch gives."""
        these, ctx = Branches.of(self), inner_context(at.ctx)
        active = at.active[1:]
        arriving = [ct is not None for ct in at.ct]
        seeds = fresh_like(compress(these.outputs[0], arriving), "ct")
        pulled = [
            pull_back(
                linear_in(these.inputs, outputs, positions(active), ctx),
                fill_slots(seeds, arriving),
                ctx=ctx,
            )
            for outputs in these.outputs
        ]
        reached = _in_any(pulled)
        if not any(reached):
            return (None,) * len(at.active)
        emitter = KeyEmitter(ctx)
        like = list(compress(these.inputs, active))
        parts = [BranchPart(filled(emitter, cts, like, reached), seeds) for cts in pulled]
        cts = [ct for ct in at.ct if ct is not None]
        results = chosen_part(self, at.emitter, at.inputs, these, parts, cts, active)
        return (None, *fill_slots(fill_slots(results, reached), active))

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        """One switch for all entries; if the index is batched, all branches run, one is selected.

        No cotangent then flows to entries that do not take a branch. Otherwise it could give NaN
        for an entry that another branch is there for.
        """
        if at.batched[0] and len(self.branches) > 1:
            return self._select_branches(at, valid)
        emitter = inner_emitter(at.emitter)
        index = at.emit(scalar(0, INT32)) if at.batched[0] else at.inputs[0]
        mask = None if valid is None else CotangentMask.of_size(at.size)
        graphs = [
            batched_body(branch, at.batched[1:], at.size, emitter, mask) for branch in self.branches
        ]
        wanted = [any(flags) for flags in zip(*(graph.batched for graph in graphs), strict=True)]
        operands = at.inputs[1:] if valid is None else (valid, *at.inputs[1:])
        choice = self.like([graph.program(wanted) for graph in graphs])
        return tuple(zip(at.emitter.emit_all(choice, index, *operands), wanted, strict=True))

    def _select_branches(self, at: BatchSite[V], counts: V | None) -> Batched[V]:
        """All branches on all entries, and for each entry the results of the branch it takes."""
        index, count = at.inputs[0], len(self.branches)
        if at.ctx.meta(index).dtype.itemsize < INT32.itemsize:  # it need not hold their number
            index = at.emit(Convert(INT32), index)
        meta = at.ctx.meta(index)
        results: list[V] = []
        for number in reversed(range(count)):
            direction = "LE" if number == 0 else "GE" if number == count - 1 else "EQ"
            limit = broadcast_like(
                at.emitter, at.emit(scalar(number, meta.dtype)), meta, (), "vmap"
            )
            valid = at.emit(Compare(direction), index, limit)
            both = valid if counts is None else at.emit(AND, valid, counts)
            branch, operands = self.branches[number], at.inputs[1:]
            values = batched_where(at.emitter, both, branch, operands, at.batched[1:], at.size)
            if results:
                text = f"{'both' if count == 2 else f'all {count}'} {BRANCHES_RUN}"
                with noted(at.emitter, text):
                    values = [
                        at.emit(Select(), entries_like(at.emitter, valid, new), new, old)
                        for new, old in zip(values, results, strict=True)
                    ]
            results = values
        return tuple([(result, True) for result in results])

    def in_words(self) -> str:
        return f"switch: {' or '.join(map(size_in_words, self.branches))}"

    def _role(self, position: int) -> str:
        return f"branch operand [{position - 1}]"

    def _reader(self, position: int) -> str:
        return "the branches take"


def _types(metas: Sequence[TensorMeta]) -> str:
    """Types as a tuple."""
    inner = ", ".join(map(str, metas))
    return f"({inner},)" if len(metas) == 1 else f"({inner})"


def _in_any(values: Sequence[Sequence[GlobalValKey | None]]) -> list[bool]:
    """For each place whether some branch has a value there."""
    return [any(key is not None for key in keys) for keys in zip(*values, strict=True)]


# The graphs of the branches, and what a derivative reads of them.

_TYPES = shape_context()


class Branches(NamedTuple):
    """The graphs of the branches; equal types have made their inputs the same values."""

    inputs: Keys
    outputs: list[Keys]

    @classmethod
    def of(cls, op: Switch) -> Branches:
        """The graphs of the branches of `op`."""
        graphs = [graph_of(branch) for branch in op.branches]
        return cls(graphs[0][0], [outputs for _, outputs in graphs])


class BranchPart(NamedTuple):
    """What a derivative computes in one branch: `outputs`, which are linear in `seeds`."""

    outputs: Keys
    seeds: Keys


def chosen_part(
    op: Switch,
    at: Emitter[V],
    operands: Sequence[V],
    these: Branches,
    parts: Sequence[BranchPart],
    seeds: Sequence[V],
    active: Sequence[bool] = (),
) -> tuple[V, ...]:
    """The outputs of the part of the chosen branch, for the values `seeds` of its seeds.

    The parts read operands of `op`, and values that `op` has computed on the way. The latter are
    further results of `op`, of which one more is emitted for that; branches share results by type.
    Operands that are `active` have no values, and no part reads them.
    """
    index, *values = operands
    fixed = [not on for on in active] or [True] * len(values)
    reads = [_read(part, these.inputs) for part in parts]
    shared = [key for key in these.inputs if any(key in read for read in reads)]
    slots: list[TensorMeta] = []
    places = [_placed(read, shared, slots) for read in reads]
    made: Sequence[V] = ()
    if slots:
        positions = list(compress(range(len(fixed)), fixed))
        whole = [program_of(these.inputs, _filled(place, slots)) for place in places]
        programs = [restricted(program, positions, range(len(slots))) for program in whole]
        made = at.emit_all(op.like(programs), index, *compress(values, fixed))
    bodies = []
    for part, place in zip(parts, places, strict=True):
        stored = [place.get(slot) or fresh_input(meta, "unread") for slot, meta in enumerate(slots)]
        bodies.append(program_of([*shared, *stored, *part.seeds], part.outputs))
    known = dict(zip(these.inputs, values, strict=True))
    passed = [known[key] for key in shared]
    return at.emit_all(op.like(bodies), index, *passed, *made, *seeds)


def _read(part: BranchPart, inputs: Keys) -> Keys:
    """The values of its branch that a part reads."""
    read = residuals(part.outputs, part.seeds)
    return without_cheap(read, inputs, dependent(read, inputs))


def _placed(read: Keys, shared: Keys, slots: list[TensorMeta]) -> dict[int, GlobalValKey]:
    """The values that are not operands, by the number of a result of their type.

    `slots` are the types of these results; it grows where it has too few of a type.
    """
    placed: dict[int, GlobalValKey] = {}
    for key in read:
        if key in shared:
            continue
        meta = type_of(key)
        free = [slot for slot, known in enumerate(slots) if known == meta and slot not in placed]
        if not free:
            free.append(len(slots))
            slots.append(meta)
        placed[free[0]] = key
    return placed


def _filled(place: dict[int, GlobalValKey], slots: Sequence[TensorMeta]) -> Keys:
    """A value for each slot: zeros where the branch has none."""
    emitter = KeyEmitter(_TYPES)
    return [
        place[slot] if slot in place else full(emitter, 0, meta) for slot, meta in enumerate(slots)
    ]
