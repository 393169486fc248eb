"""ShardMap: a program that each device of a mesh runs on its blocks of arrays.

Named axes of the mesh are bound in the program. Each of its values differs along some of them, or
is the same for all devices along an axis: inputs that are divided differ, and sums over an axis do
not. Derivatives need to know it: the cotangent of a value that is the same for several devices is
the sum of theirs. So before a program is transposed, `PVary` makes copies of such a value where it
is read together with one that differs; the transpose of the copies is the sum.

What an executor without such a mesh computes is `by_blocks`: all blocks at once, by batch rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from math import prod
from typing import Any, Self, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    ResolvedView,
    SingleOutputNode,
    Slots,
    TransposeSite,
    V,
    batch,
    differentiate,
    pull_back,
    resolve_keys,
)
from tenferro.errors import ControlFlowError
from tenferro.ir import (
    INT32,
    Body,
    Dim,
    Exact,
    ExecProgram,
    NumpyArray,
    Pruned,
    Steps,
    TensorMeta,
    fresh_input,
    is_inexact,
    payload,
    restricted,
    type_of,
)
from tenferro.ir import run as run_program
from tenferro.ops import (
    MUL,
    Collective,
    Exchange,
    Iota,
    PSame,
    PSum,
    PVary,
    Reshape,
    Slice,
    StdTensorOp,
    Transpose,
    full_like,
    load_named,
    repeated,
    shape_context,
)
from tenferro.ops.control_flow.base import (
    Called,
    ControlOp,
    inputs_read,
    plain,
    positions,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    Keys,
    batched_body,
    dependencies,
    fill_slots,
    fresh_like,
    graph_of,
    inner_context,
    inner_emitter,
    linear_in,
    program_of,
)
from tenferro.ops.control_flow.custom_derivatives import Custom
from tenferro.ops.control_flow.scan import Scan
from tenferro.ops.control_flow.switch import Switch
from tenferro.ops.control_flow.while_loop import While

__all__ = ["Axes", "ShardMap", "axes_of", "axes_of_values", "with_copies"]


# The axes along which values differ.

Axes = frozenset[str]
NONE: Axes = frozenset()


def axes_of(program: ExecProgram, inputs: Sequence[Axes]) -> list[Axes]:
    """For each output of a program the axes along which it differs, if the inputs do along some."""
    return run_program(program, inputs, lambda step, operands: _of_op(step.op, operands))


def _of_op(op: Any, operands: Sequence[Axes]) -> list[Axes]:
    """The axes along which the outputs of an op differ."""
    match op:
        case PVary() | Exchange():
            return [NONE.union(*operands)]  # the place along each axis is among them
        case Collective():
            return [operands[0].difference(op.names)]
        case Scan():
            return _of_loop(op.body, operands, op.consts, op.carry)
        case While():
            return _of_while(op, operands)
        case Switch():
            branches = [axes_of(branch, operands[1:]) for branch in op.branches]
            return [operands[0].union(*each) for each in zip(*branches, strict=True)]
        case Custom():
            return _of_custom(op, operands)
        case Called() if not isinstance(op, ShardMap):
            return axes_of(op.body, operands)
        case _:
            return [NONE.union(*operands)] * op.n_outputs


def _of_custom(op: Custom, operands: Sequence[Axes]) -> list[Axes]:
    """Those of the body; of an op that is only transposed, which has none, of its operands."""
    metas = op.body.input_metas
    inexact = [axes for axes, meta in zip(operands, metas, strict=True) if is_inexact(meta.dtype)]
    reached = op.body.reached([True] * len(operands))
    return [
        axes if depends else NONE.union(*inexact)
        for axes, depends in zip(axes_of(op.body, operands), reached, strict=True)
    ]


def _of_loop(
    body: ExecProgram, operands: Sequence[Axes], start: int, carry: int, also: Axes = NONE
) -> list[Axes]:
    """The axes of the outputs of a body, whose first ones are its inputs from `start` on."""
    inputs = list(operands)
    while True:
        outputs = axes_of(body, inputs)
        wider = list(inputs)
        for leaf, axes in enumerate(outputs[:carry]):
            wider[start + leaf] |= axes | also
        if wider == inputs:
            return [*wider[start : start + carry], *outputs[carry:]]
        inputs = wider


def _of_while(op: While, operands: Sequence[Axes]) -> list[Axes]:
    """Those of the carry, and of the condition: it may end at other iterations elsewhere."""
    consts, rest = operands[: op.cond_consts], list(operands[op.cond_consts :])
    also = NONE
    while True:
        carry = _of_loop(op.body, rest, op.body_consts, op.n_outputs, also)
        (goes_on,) = axes_of(op.cond, [*consts, *carry])
        if goes_on <= also:
            return carry
        also |= goes_on


# Copies of what is the same for all devices, where it is read together with what differs.


class _Copying:
    """Emits a graph again with copies, and notes along which axes its values differ.

    Only values that depend on the leaves are copied: others have no cotangent.
    """

    def __init__(
        self,
        emitter: KeyEmitter,
        axes: dict[GlobalValKey, Axes],
        places: Mapping[str, GlobalValKey],
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        """The sizes of the axes are needed where results of loops may be the same for devices."""
        self.emitter = emitter
        self.axes = axes
        self.places = places
        self.sizes = sizes
        self.active: set[GlobalValKey] = set()
        self.leaves: set[GlobalValKey] = set()

    def lift(self, key: GlobalValKey, axes: Axes) -> GlobalValKey:
        """A value that differs along all of these axes at least.

        Of a value that only repeats or moves another one, that one is copied: the sum of the
        cotangents is then one of fewer numbers.
        """
        if axes <= self.axes.get(key, NONE):
            return key
        moves: list[Any] = []
        while key not in self.leaves and type(key) is SingleOutputNode and len(key.inputs) == 1:
            op: Any = key.primitive
            if not (op.repeats or op.moves) or key.inputs[0] not in self.active:
                break
            moves.append(op)
            key = key.inputs[0]
        missing = tuple(sorted(axes - self.axes.get(key, NONE)))
        if missing and key in self.active and is_inexact(type_of(key).dtype):
            key = self.emitter.emit(PVary(missing), key, *map(self.places.__getitem__, missing))
            self._note(key, axes)
        for op in reversed(moves):
            key = self.emitter.emit(op, key)
            self._note(key, axes)
        return key

    def _note(self, key: GlobalValKey, axes: Axes) -> None:
        self.axes[key] = self.axes.get(key, NONE) | axes
        self.active.add(key)

    def emit(self, op: Any, operands: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
        """The outputs of an op on values that are made to differ along the same axes."""
        known = [self.axes.get(key, NONE) for key in operands]
        if isinstance(op, PVary):
            return [self.lift(operands[0], NONE.union(*known))]
        common = NONE.union(*known)
        if isinstance(op, Collective):
            known[0] = common
        of_outputs = _of_op(op, known)
        if isinstance(op, Custom) and not op.is_collective:  # its rule may use all places
            places = set(self.places.values())
            values = [axes for key, axes in zip(operands, known, strict=True) if key not in places]
            common = NONE.union(*values, *of_outputs)
        if isinstance(op, ControlOp) and op.is_collective:
            op = op.with_bodies(
                {
                    label: self._inside(cast(ExecProgram, body), common)
                    for label, body in op.bodies.items()
                }
            )
        lifted = [self.lift(key, common) for key in operands]
        outputs = self.emitter.emit_all(op, *lifted)
        self.active.update(outputs)
        if isinstance(op, ControlOp):
            self.axes.update(dict.fromkeys(outputs, common))
            return list(map(self._lowered, outputs, of_outputs))
        self.axes.update(zip(outputs, of_outputs, strict=True))
        return outputs

    def _lowered(self, key: GlobalValKey, axes: Axes) -> GlobalValKey:
        """A value that differs along these axes only, of which devices have equal copies."""
        missing = tuple(sorted(self.axes[key] - axes))
        if not missing or not is_inexact(type_of(key).dtype) or self.sizes is None:
            return key
        count = prod([self.sizes[name] for name in missing])
        op = PSame(missing, count)
        result = self.emitter.emit(op, key, *map(self.places.__getitem__, missing))
        self.axes[result] = axes
        self.active.add(result)
        return result

    def _inside(self, body: ExecProgram, axes: Axes) -> ExecProgram:
        """A program inside an op, with copies; inputs and outputs differ along the axes."""
        inputs, outputs = graph_of(body)
        places = self._places_in(body, inputs)
        inner = _Copying(KeyEmitter(self.emitter.ctx), dict.fromkeys(inputs, axes), places)
        results = inner.graph(outputs, inputs)
        return program_of(inputs, [inner.lift(key, axes) for key in results])

    def _places_in(self, body: ExecProgram, inputs: Keys) -> dict[str, GlobalValKey]:
        """The places along the axes that the ops of a program read, among its inputs."""
        found: dict[str, GlobalValKey] = {}
        view: ResolvedView[Any] = resolve_keys()
        _, outputs = graph_of(body)
        ops, _ = view.topo_order(outputs, leaves=inputs)
        for op in ops:
            if isinstance(op.primitive, Collective):
                found.update(zip(op.primitive.names, op.inputs[1:], strict=True))
        return found

    def graph(self, outputs: Keys, leaves: Keys) -> list[GlobalValKey]:
        """The outputs, of which what depends on the leaves is emitted again."""
        view: ResolvedView[StdTensorOp] = resolve_keys()
        ops, _ = view.topo_order(outputs, leaves=leaves)
        values: dict[GlobalValKey, GlobalValKey] = {key: key for key in leaves}
        self.active.update(leaves)
        self.leaves.update(leaves)
        for op in ops:
            if values.keys().isdisjoint(op.inputs):
                known = [self.axes.get(key, NONE) for key in op.inputs]
                self.axes.update(zip(op.outputs, _of_op(op.primitive, known), strict=True))
                continue
            self.emitter.site = op.site
            results = self.emit(op.primitive, [values.get(key, key) for key in op.inputs])
            values.update(zip(op.outputs, results, strict=True))
        return [values.get(key, key) for key in outputs]


def axes_of_values(values: Keys, inputs: Mapping[GlobalValKey, Axes]) -> dict[GlobalValKey, Axes]:
    """The axes along which values of a graph differ, and those that they depend on."""
    axes = dict(inputs)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order(values, leaves=tuple(axes))
    for op in ops:
        known = [axes.get(key, NONE) for key in op.inputs]
        axes.update(zip(op.outputs, _of_op(op.primitive, known), strict=True))
    return axes


def with_copies(
    outputs: Keys,
    wrt: Keys,
    axes: Mapping[GlobalValKey, Axes],
    places: Mapping[str, GlobalValKey],
    sizes: Mapping[str, int],
    emitter: KeyEmitter,
) -> tuple[list[GlobalValKey], list[Axes]]:
    """A graph to be transposed, with copies of what is the same for several devices.

    Args:
        outputs: values that depend on `wrt`.
        wrt: the values that it is linear in, or is differentiated by.
        axes: for inputs of the graph the axes along which they differ; others do along none.
        places: the place of a device along each axis.
        sizes: the sizes of the axes.

    Returns:
        The outputs, and the axes along which each differs.
    """
    copying = _Copying(emitter, axes_of_values(wrt, axes), places, sizes)
    results = copying.graph(outputs, wrt)
    return results, [copying.axes.get(key, NONE) for key in results]


# ShardMap: the op.

Spec = tuple[tuple[str, ...], ...]


@payload
class ShardMap(Called, name="shard_map"):
    """Runs `body` on each device of a mesh, on the blocks that it has of the operands.

    The body takes a block of each operand, and then the place of the device along each of the axes
    of the mesh. It returns blocks of the results.

    Attributes:
        body: what a device computes.
        axes: the names and sizes of the axes of the mesh.
        in_specs: for each operand and each of its axes, the names of the axes that divide it.
        out_specs: the same for each result.
        varies: whether the cotangent of what is the same for several devices is the sum of theirs;
            if not, each device has a cotangent of its own.

    Raises:
        ControlFlowError: a field does not fit the body.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    axes: tuple[tuple[str, int], ...]
    in_specs: tuple[Spec, ...]
    out_specs: tuple[Spec, ...]
    varies: bool = True

    def __post_init__(self) -> None:
        self._read_field("varies", "True or False")
        super().__post_init__()
        count = len(self.in_specs)
        metas = self.body.input_metas[:count]
        if len(self.body.input_slots) != count + len(self.axes):
            raise ControlFlowError(
                f"shard_map: the body takes {len(self.body.input_slots)} values; it must take a "
                f"block of each of {count} operands and {len(self.axes)} places"
            )
        if len(self.out_specs) != len(self.body.output_slots):
            raise ControlFlowError(
                f"shard_map: the body returns {len(self.body.output_slots)} values, but out_specs "
                f"has {len(self.out_specs)}"
            )
        pairs = [*zip(metas, self.in_specs, strict=True)]
        pairs += zip(self.body.output_metas, self.out_specs, strict=True)
        for meta, spec in pairs:
            names = list(chain(*spec))
            if len(spec) != meta.rank or len({*names}) < len(names) or {*names} - {*self.sizes}:
                raise ControlFlowError(
                    f"shard_map: {spec} does not divide {meta}: it must have an entry for each "
                    f"axis, and names of {[*self.sizes]}, each once"
                )
        self._set(n_inputs=count)
        self._check_sizes("the body", self.body)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the axes."""
        return dict(self.axes)

    @property
    def const_places(self) -> dict[str, range]:
        """None: the operands are divided."""
        return {"body": range(0)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with another body, which takes consts first that are not divided."""
        body = cast(ExecProgram, bodies["body"])
        consts = tuple([((),) * meta.rank for meta in body.input_metas[: counts["body"]]])
        return replace(self, body=body, in_specs=(*consts, *self.in_specs))

    def whole(self, block: TensorMeta, spec: Spec) -> TensorMeta:
        """The type of an array of which a device has a block of this type."""
        sizes: list[Dim] = []
        for size, names in zip(block.exact_shape(self.name), spec, strict=True):
            sizes.append(size * prod([self.sizes[name] for name in names]))
        return TensorMeta.of(block.dtype, tuple(sizes))

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        blocks = self.body.input_metas[: len(self.in_specs)]
        self._check_operands(metas, list(map(self.whole, blocks, self.in_specs)))
        return plain(map(self.whole, self.body.output_metas, self.out_specs))

    @cached_property
    def _steps(self) -> Steps:
        """All blocks at once, prepared to run."""
        return Steps(self.by_blocks)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        values = self._steps.values(inputs)
        self._steps.run(values)
        return tuple(self._steps.outputs(values))

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        read = inputs_read(self.body, live)[: len(self.in_specs)]
        if all(live) and all(read):
            return None
        outputs, operands = positions(live), positions(read)
        places = range(len(self.in_specs), len(self.body.input_slots))
        op = replace(
            self,
            body=restricted(self.body, [*operands, *places], outputs),
            in_specs=tuple([self.in_specs[place] for place in operands]),
            out_specs=tuple([self.out_specs[place] for place in outputs]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        return self.body.reached([*active, *[False] * len(self.axes)])

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents, which each device computes from its blocks of the operands."""
        inputs, outputs = graph_of(self.body)
        active = [tangent is not None for tangent in at.tangent]
        operands = inputs[: len(active)]
        wrt = [key for key, on in zip(operands, active, strict=True) if on]
        linear = differentiate(resolve_keys(), outputs, wrt, ctx=inner_context(at.ctx))
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        known = dict(zip(operands, at.primal, strict=True))
        return self._emitted(
            at.emitter,
            known,
            [*zip(linear.input_keys, tangents, self._chosen(active), strict=True)],
            linear.output_keys,
            self.out_specs,
        )

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands, which each device computes from its blocks."""
        ctx, emitter = inner_context(at.ctx), inner_emitter(at.emitter)
        inputs, outputs = graph_of(self.body)
        count = len(self.in_specs)
        everywhere = frozenset(self.sizes)
        of_inputs = [frozenset(chain(*spec)) for spec in self.in_specs]
        of_outputs = [everywhere] * len(outputs)
        if self.varies:
            axes = dict(zip(inputs, [*of_inputs, *map(_single, self.sizes)], strict=True))
            places = dict(zip(self.sizes, inputs[count:], strict=True))
            wrt = [inputs[place] for place in positions(at.active)]
            outputs, of_outputs = with_copies(outputs, wrt, axes, places, self.sizes, emitter)
        linear = linear_in(inputs, outputs, positions(at.active), ctx)
        arriving = positions([ct is not None for ct in at.ct])
        seeds = fresh_like([outputs[place] for place in arriving], "ct")
        shares = [
            self._share(emitter, seed, of_outputs[place].difference(chain(*self.out_specs[place])))
            for seed, place in zip(seeds, arriving, strict=True)
        ]
        present = [ct is not None for ct in at.ct]
        pulled = list(pull_back(linear, fill_slots(shares, present), ctx=ctx))
        for number, place in enumerate(positions(at.active)):
            key = pulled[number]
            if key is not None and not self.varies:
                pulled[number] = self._total(emitter, key, everywhere - of_inputs[place], inputs)
        known = {
            key: value
            for key, value, on in zip(inputs[:count], at.inputs, at.active, strict=True)
            if not on
        }
        cts = [ct for ct in at.ct if ct is not None]
        specs = [self.out_specs[place] for place in arriving]
        results = self._emitted(
            at.emitter,
            known,
            [*zip(seeds, cts, specs, strict=True)],
            pulled,
            self._chosen(at.active),
        )
        return fill_slots(results, at.active)

    def _chosen(self, active: Sequence[bool]) -> list[Spec]:
        """How the active operands are divided."""
        return [spec for spec, on in zip(self.in_specs, active, strict=True) if on]

    def _share(self, emitter: KeyEmitter, ct: GlobalValKey, axes: Axes) -> GlobalValKey:
        """The share of a device in the cotangent of a result that others have too."""
        count = prod([self.sizes[name] for name in axes])
        return ct if count == 1 else emitter.emit(MUL, ct, full_like(emitter, 1 / count, ct))

    def _total(
        self, emitter: KeyEmitter, key: GlobalValKey, axes: Axes, inputs: Keys
    ) -> GlobalValKey:
        """The sum of the cotangents of an operand that several devices have."""
        names = tuple([name for name in self.sizes if name in axes])
        if not names:
            return key
        places = dict(zip(self.sizes, inputs[len(self.in_specs) :], strict=True))
        return emitter.emit(PSum(names), key, *[places[name] for name in names])

    def _emitted(
        self,
        at: Emitter[V],
        known: Mapping[GlobalValKey, V],
        seeds: Sequence[tuple[GlobalValKey, V, Spec]],
        outputs: Sequence[GlobalValKey | None],
        out_specs: Sequence[Spec],
    ) -> Slots[V]:
        """The outputs, which are linear in some further operands, by one op."""
        present = [key is not None for key in outputs]
        results = [key for key in outputs if key is not None]
        if not results:
            return (None,) * len(outputs)
        inputs, _ = graph_of(self.body)
        count = len(self.in_specs)
        needed = dependencies(results, known)
        read = [place for place, key in enumerate(inputs[:count]) if key in needed]
        keys = [*(inputs[place] for place in read), *(key for key, _, _ in seeds)]
        op = replace(
            self,
            body=program_of([*keys, *inputs[count:]], results),
            in_specs=(*(self.in_specs[place] for place in read), *(spec for _, _, spec in seeds)),
            out_specs=tuple([spec for spec, on in zip(out_specs, present, strict=True) if on]),
        )
        values = [*(known[inputs[place]] for place in read), *(value for _, value, _ in seeds)]
        return fill_slots(at.emit_all(op, *values), present)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The body on blocks of all entries; the new axis is not divided."""
        flags = [*at.batched, *[False] * len(self.axes)]
        whole = batched_body(self.body, flags, at.size, inner_emitter(at.emitter))
        op = replace(
            self,
            body=whole.program(),
            in_specs=_with_axis(self.in_specs, at.batched),
            out_specs=_with_axis(self.out_specs, whole.batched),
        )
        return tuple(zip(at.emitter.emit_all(op, *at.inputs), whole.batched, strict=True))

    def in_words(self) -> str:
        mesh = ", ".join(f"{name}={size}" for name, size in self.axes)
        return f"on mesh({mesh}): {size_in_words(self.body)}"

    @cached_property
    def by_blocks(self) -> ExecProgram:
        """The program of all operands that computes all blocks of the results, by batch rules."""
        emitter = KeyEmitter(shape_context(load_named("tenferro.runtime:builtin_rule")))
        inputs, outputs = graph_of(self.body)
        count = len(self.in_specs)
        blocks, places = list(inputs[:count]), dict(zip(self.sizes, inputs[count:], strict=True))
        for name, size in reversed(self.axes):
            whole: dict[GlobalValKey, GlobalValKey] = {}
            for number, spec in enumerate(self.in_specs):
                if name in chain(*spec):
                    meta = type_of(blocks[number])
                    stack = fresh_input(meta.with_extents([Exact(size), *meta.extents]), "blocks")
                    whole[blocks[number]] = stack
                    blocks[number] = stack
            whole[places[name]] = emitter.emit(Iota(INT32, size))
            results = batch(resolve_keys(), outputs, whole, size, ctx=emitter.ctx, emitter=emitter)
            outputs = [
                _stacked(emitter, key, on, size, name in chain(*spec))
                for (key, on), spec in zip(results, self.out_specs, strict=True)
            ]
        metas = map(self.whole, self.body.input_metas[:count], self.in_specs)
        operands = [fresh_input(meta, f"operand{place}") for place, meta in enumerate(metas)]
        divided = {
            block: self._divided(emitter, operand, spec)
            for block, operand, spec in zip(blocks, operands, self.in_specs, strict=True)
        }
        return program_of(operands, self._joined(emitter, outputs, blocks, divided))

    def _order(self, spec: Spec) -> tuple[list[str], list[int]]:
        """The names of a spec in the order of the mesh, and the axes of blocks behind each other.

        The axes are those of an array in which the axis of each name stands before the axis that it
        divides, in the order in which they are in a stack of blocks.
        """
        names = [name for name in self.sizes if name in chain(*spec)]
        apart = [each for entry in spec for each in (*entry, None)]
        return names, [
            *(apart.index(name) for name in names),
            *(place for place, each in enumerate(apart) if each is None),
        ]

    def _divided(self, emitter: KeyEmitter, key: GlobalValKey, spec: Spec) -> GlobalValKey:
        """The stack of the blocks of an array, with an axis for each name, in front."""
        _, order = self._order(spec)
        sizes: list[Dim] = []
        for size, names in zip(type_of(key).exact_shape(self.name), spec, strict=True):
            parts = [self.sizes[name] for name in names]
            sizes += [*parts, size // prod(parts)]
        return emitter.emit(Transpose(tuple(order)), emitter.emit(Reshape(tuple(sizes)), key))

    def _joined(
        self,
        emitter: KeyEmitter,
        outputs: Keys,
        blocks: Keys,
        divided: Mapping[GlobalValKey, GlobalValKey],
    ) -> list[GlobalValKey]:
        """The arrays of which the outputs are stacks of blocks, for blocks of the operands."""
        program = program_of(blocks, outputs)
        stacks = run_program(
            program,
            [divided[block] for block in blocks],
            lambda step, operands: emitter.emit_all(cast(StdTensorOp, step.op), *operands),
        )
        joined: list[GlobalValKey] = []
        for key, spec, meta in zip(stacks, self.out_specs, self.body.output_metas, strict=True):
            _, order = self._order(spec)
            apart = emitter.emit(Transpose(tuple(map(order.index, range(len(order))))), key)
            shape = self.whole(meta, spec).exact_shape(self.name)
            joined.append(emitter.emit(Reshape(shape), apart))
        return joined


def _single(name: str) -> Axes:
    return frozenset([name])


def _with_axis(specs: Sequence[Spec], batched: Collection[bool]) -> tuple[Spec, ...]:
    """The specs of arrays of which some have a new first axis, which is not divided."""
    return tuple([((), *spec) if on else spec for spec, on in zip(specs, batched, strict=True)])


def _stacked(
    emitter: KeyEmitter, key: GlobalValKey, on: bool, size: int, wanted: bool
) -> GlobalValKey:
    """A result of all devices along an axis: a stack of blocks, or the block that all have."""
    if on == wanted:
        return key
    if wanted:
        return repeated(emitter, key, size)
    shape = type_of(key).exact_shape("shard_map")
    first = Slice((0,) * len(shape), (1, *shape[1:]), (1,) * len(shape))
    return emitter.emit(Reshape(shape[1:]), emitter.emit(first, key))
