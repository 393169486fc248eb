"""Differentiate a graph into a linear fragment; transpose it; its residuals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

from tenferro.core.emitters import Cotangent, FragmentEmitter, KeyEmitter, Tangent, fresh_pass_id
from tenferro.core.fragment import Fragment, FragmentBuilder, name_of
from tenferro.core.graph import ResolvedView, require_values, require_view, resolve_keys
from tenferro.core.keys import (
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    SingleOutputNode,
    input_key,
    op_key,
)
from tenferro.core.primitive import JvpSite, Op, RuleContext, Slots, TransposeSite
from tenferro.errors import ADError, ADRuleError, GraphError, class_of, counted

__all__ = [
    "LinearFragment",
    "active_operands",
    "check_closure",
    "differentiate",
    "finish",
    "pull_back",
    "push_forward",
    "residuals",
    "transpose",
]


# A fragment that is linear in its tangent inputs.


@dataclass(frozen=True, slots=True, eq=False)
class LinearFragment(Generic[Op]):
    """What `differentiate` and `transpose` return.

    Attributes:
        fragment: the nodes; coefficients are `Primal`, tangent flow is `Linear`.
        tangent_inputs: key and local id of each fresh tangent input.
        tangent_outputs: local id of each tangent output; None, a symbolic zero, where no tangent
            arrives.
    """

    fragment: Fragment[Op]
    tangent_inputs: tuple[tuple[Hashable, int], ...]
    tangent_outputs: tuple[int | None, ...]

    @property
    def input_keys(self) -> tuple[GlobalValKey, ...]:
        """Identities of the tangent inputs."""
        keys = self.fragment.keys
        return tuple([keys[local] for _, local in self.tangent_inputs])

    @property
    def output_keys(self) -> tuple[GlobalValKey | None, ...]:
        """Identities of the tangent outputs."""
        keys = self.fragment.keys
        return tuple([None if local is None else keys[local] for local in self.tangent_outputs])

    def live_nodes(self) -> list[GlobalOpKey]:
        """The ops by which tangents get from the inputs to the outputs, each after its operands."""
        wanted = {key for key in self.output_keys if key is not None}
        live: list[GlobalOpKey] = []
        for node in reversed(self.fragment.nodes):
            if isinstance(node.mode, Linear) and not wanted.isdisjoint(node.outputs):
                live.append(node)
                wanted.update(active_operands(node))
        return live[::-1]

    def until(self, cut: Sequence[GlobalValKey]) -> LinearFragment[Op]:
        """The front part: the values of `cut` as linear functions of the inputs.

        `transpose` of it is a partial transpose: it does not go past `cut`.
        """
        local = self.fragment.local_ids(cut)
        return LinearFragment(
            self.fragment, self.tangent_inputs, tuple([local[key] for key in cut])
        )

    def since(self, cut: Sequence[GlobalValKey]) -> LinearFragment[Op]:
        """The rest: the outputs as linear functions of the values of `cut`.

        All tangents that the outputs read must get there through `cut`.
        """
        local = self.fragment.local_ids(cut)
        inner = set(cut)
        wanted = {key for key in self.output_keys if key is not None} - inner
        nodes: list[GlobalOpKey] = []
        for node in reversed(self.fragment.nodes):
            if not isinstance(node.mode, Linear):
                nodes.append(node)
            elif not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                wanted.update(key for key in active_operands(node) if key not in inner)
        rest = self.fragment.of_nodes(nodes[::-1])
        return LinearFragment(rest, tuple([(key, local[key]) for key in cut]), self.tangent_outputs)

    def __str__(self) -> str:
        return str(self.fragment)


def active_operands(node: GlobalOpKey) -> list[GlobalValKey]:
    """The operands of a linear op that tangents come by; one that it reads twice comes twice."""
    mask = node.mode.active_mask
    return [] if mask is None else list(compress(node.inputs, mask))


def finish(
    builder: FragmentBuilder[Any], inputs: Sequence[Input], outputs: Sequence[GlobalValKey | None]
) -> LinearFragment[Any]:
    """Close a fragment under construction into a `LinearFragment`."""
    present = [output for output in outputs if output is not None]
    fragment = builder.build(present)
    local = fragment.local_ids([*inputs, *present])
    return LinearFragment(
        fragment,
        tuple([(tangent.key, local[tangent]) for tangent in inputs]),
        tuple([None if output is None else local[output] for output in outputs]),
    )


# Apply one derivative rule, and check what it returns.


def transpose_op(
    node: GlobalOpKey, mode: Linear, ct: Slots[GlobalValKey], emitter: KeyEmitter
) -> Slots[GlobalValKey]:
    """Cotangents of the active operands of a linear op from those of its outputs.

    Raises:
        ADRuleError: the op has no transpose rule, or the rule breaks its arity or gives a fixed
            operand a cotangent.
    """
    rule = getattr(node.primitive, "transpose_rule", None)
    if rule is None:
        raise ADRuleError(f"{node.primitive}: has no transpose rule")
    mask = mode.active_mask
    try:
        result = rule(TransposeSite(emitter, ct, node.inputs, mask))
        terms = _checked(node.primitive, "transpose", result, len(mask), "operand")
    except ADRuleError as error:
        if node.site is not None and not getattr(error, "__notes__", None):
            error.add_note(f"recorded at {node.site}")
        raise
    for place, (term, active) in enumerate(zip(terms, mask, strict=True)):
        if term is not None and not active:
            raise ADRuleError(
                f"{node.primitive}: its transpose rule returns a cotangent for operand {place}, "
                "which is fixed; return None there"
            )
    return terms


def require_zero(op: Any, rule: str, value: GlobalValKey, emitter: KeyEmitter) -> None:
    """Check that a value which a rule returned, and which does not depend on its seeds, is zero.

    Raises:
        ADRuleError: it is not.
    """
    if emitter.is_stray(value):
        raise ADRuleError(
            f"{op}: its {rule} rule returns a value that does not depend on those it is given; "
            "it must be linear in them: return None for a zero"
        )


def _checked(op: Any, rule: str, result: Any, count: int, place: str) -> Slots[GlobalValKey]:
    if isinstance(result, tuple) and len(result) == count:
        return result
    kind = type(result).__name__
    got = counted(len(result), "value") if isinstance(result, tuple) else f"one {kind}"
    raise ADRuleError(
        f"{op}: its {rule} rule returns {got}; return a tuple of {count}, one for each {place}"
    )


# The only derivative-producing transform: from a resolved view to a linear fragment.

Tangents = dict[GlobalValKey, GlobalValKey]


def differentiate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey | Hashable],
    *,
    ctx: RuleContext,
) -> LinearFragment[Any]:
    """Tangents of `outputs` as linear functions of fresh tangents of `wrt`.

    Primal values are referred to, not copied. `wrt` are values of the view (or the keys of its
    inputs); nothing behind them is differentiated. An output that no tangent reaches is None.

    Raises:
        ADRuleError: an op on the way has no linearize rule, or a rule breaks its arity.
        ADError: `wrt` names a value twice.
        GraphError: `view` is not a view, or outputs or `wrt` not a list.

    Source: AD architecture, section III.
    """
    require_view("differentiate", view)
    require_values("differentiate", "outputs", outputs)
    require_values("differentiate", "wrt", wrt, keys=True)
    sources = _distinct(
        [value if isinstance(value, GlobalValKey) else input_key(value) for value in wrt]
    )
    emitter = FragmentEmitter(FragmentBuilder(parents=view.roots), ctx)
    pass_id = fresh_pass_id()
    inputs = [emitter.active_input(Tangent(source, pass_id), source) for source in sources]
    tangents: Tangents = dict(zip(sources, inputs, strict=True))
    _propagate(view, outputs, sources, tangents, emitter)
    results = list(map(tangents.get, outputs))
    for output, tangent in zip(outputs, results, strict=True):
        if tangent is not None:
            ctx.declare_like(tangent, output)  # otherwise inferred through the whole fragment
    return finish(emitter.builder, inputs, results)


def push_forward(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey],
    tangents: Sequence[GlobalValKey | None],
    *,
    ctx: RuleContext,
) -> list[GlobalValKey | None]:
    """Tangents of `outputs` for given tangents of `wrt`: the JVP with its seeds filled in.

    The result is an ordinary value of the graph, simplified as it is built.

    Raises:
        ADRuleError: an op on the way has no linearize rule, or a rule breaks its arity.
        ADError: `wrt` names a value twice, or the number of tangents is not that of values.
    """
    if len(tangents) != len(wrt):
        raise ADError(
            f"push_forward: {counted(len(tangents), 'tangent')} for {counted(len(wrt), 'value')} "
            "of wrt"
        )
    seeds = zip(_distinct(wrt), tangents, strict=True)
    known = {source: tangent for source, tangent in seeds if tangent is not None}
    _propagate(view, outputs, wrt, known, KeyEmitter(ctx))
    return [known.get(output) for output in outputs]


def _propagate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    leaves: Sequence[GlobalValKey],
    tangents: Tangents,
    emitter: KeyEmitter,
) -> None:
    order, _ = view.topo_order(outputs, leaves=leaves)
    get, may_flow = tangents.get, emitter.may_flow
    for op in order:
        incoming = tuple(map(get, op.inputs))
        if not any(incoming):
            continue
        rule = getattr(op.primitive, "linearize", None)
        if rule is None:
            raise ADRuleError(f"{op.primitive}: has no linearize rule")
        produced = op.outputs
        emitter.site = op.site
        result = rule(JvpSite(emitter, op.inputs, produced, incoming))
        results = _checked(op.primitive, "linearize", result, len(produced), "output")
        for key, tangent in zip(produced, results, strict=True):
            if tangent is None:
                continue
            if may_flow(tangent):
                tangents[key] = tangent
            else:
                require_zero(op.primitive, "linearize", tangent, emitter)


def _distinct(sources: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
    if len(set(sources)) != len(sources):
        twice = next(source for source in sources if sources.count(source) > 1)
        raise ADError(f"differentiate: wrt names {name_of(twice)} twice; name each value once")
    return sources


# Transposition: reverse the active flow of a linear fragment. No new derivative is taken.

Cotangents = dict[GlobalValKey, GlobalValKey]


def transpose(linear: LinearFragment[Any], *, ctx: RuleContext) -> LinearFragment[Any]:
    """Cotangents of the tangent inputs from fresh cotangents of the tangent outputs.

    Contributions to one tangent are summed by its `GlobalValKey` with the op set's `add`. A tangent
    output that is None has no cotangent input; a tangent input that nothing reaches has output
    None, a symbolic zero.

    Raises:
        ADRuleError: an op on the active path has no transpose rule, or a rule breaks its arity.

    Source: AD architecture, section III; Radul et al., "You Only Linearize Once", arXiv:2204.10923.
    """
    if not isinstance(linear, LinearFragment):
        raise GraphError(
            f"transpose: takes a linear fragment, got {class_of(linear)}; "
            "pass what differentiate returned, not its .fragment"
        )
    emitter = FragmentEmitter(FragmentBuilder(parents=(linear.fragment,)), ctx)
    pass_id = fresh_pass_id()
    seeds = [
        None if tangent is None else emitter.active_input(Cotangent(slot, pass_id), tangent)
        for slot, tangent in enumerate(linear.output_keys)
    ]
    outputs = _reverse(linear, seeds, emitter)
    return finish(emitter.builder, [seed for seed in seeds if seed is not None], outputs)


def pull_back(
    linear: LinearFragment[Any], cotangents: Sequence[GlobalValKey | None], *, ctx: RuleContext
) -> list[GlobalValKey | None]:
    """Cotangents of the tangent inputs for given cotangents of the outputs.

    This is the VJP with its seeds filled in. The result is an ordinary value of the graph,
    simplified as it is built.

    Raises:
        ADRuleError: an op on the active path has no transpose rule, or a rule breaks its arity.
        ADError: the number of cotangents is not that of outputs.
    """
    if len(cotangents) != len(linear.tangent_outputs):
        raise ADError(
            f"pull_back: {counted(len(cotangents), 'cotangent')} for "
            f"{counted(len(linear.tangent_outputs), 'output')}"
        )
    return _reverse(linear, cotangents, KeyEmitter(ctx))


def _reverse(
    linear: LinearFragment[Any], seeds: Sequence[GlobalValKey | None], emitter: KeyEmitter
) -> list[GlobalValKey | None]:
    total: Cotangents = {}
    for key, seed in zip(linear.output_keys, seeds, strict=True):
        if key is not None and seed is not None:
            _accumulate(total, key, seed, emitter)
    for node in reversed(linear.fragment.nodes):
        if not isinstance(node.mode, Linear):
            continue  # a coefficient, which does not depend on the tangents
        if type(node) is SingleOutputNode:
            ct: Slots[GlobalValKey] = (total.pop(node, None),)
        else:
            ct = tuple([total.pop(key, None) for key in node.outputs])
        if not any(ct):
            continue
        emitter.site = node.site
        terms = transpose_op(node, node.mode, ct, emitter)
        for key, term in zip(node.inputs, terms, strict=True):
            if term is not None and not _accumulate(total, key, term, emitter):
                require_zero(node.primitive, "transpose", term, emitter)
    return [total.get(key) for key in linear.input_keys]


def _accumulate(
    total: Cotangents, key: GlobalValKey, term: GlobalValKey, emitter: KeyEmitter
) -> bool:
    """Add a term to the cotangent of a value; False if it does not depend on any cotangent."""
    ct = total.pop(key, None)
    if ct is not None:
        term = emitter.emit(emitter.ctx.adder, ct, term)
    if emitter.may_flow(term):
        total[key] = term
        return True
    return ct is not None  # terms may cancel


# Residuals: what the linear part of a graph reads of the rest of it.


def residuals(outputs: Sequence[GlobalValKey], seeds: Iterable[GlobalValKey]) -> list[GlobalValKey]:
    """The values that ops which depend on `seeds` read of the other ops, and outputs of the latter.

    Values that depend on no input, such as constants, are left out: they are computed again.
    """
    view: ResolvedView[Any] = resolve_keys()
    ops, inputs = view.topo_order(outputs)
    active: set[GlobalValKey] = set(seeds)
    variable: set[GlobalValKey] = set(inputs)
    read: dict[GlobalValKey, None] = {}
    for op in ops:
        if any(key in active for key in op.inputs):
            active.update(op.outputs)
            read.update((key, None) for key in op.inputs if key not in active and key in variable)
        elif any(key in variable for key in op.inputs):
            variable.update(op.outputs)
    read.update((key, None) for key in outputs if key not in active and key in variable)
    return list(read)


# A check that the ops an op set's rules emit have rules themselves.


def check_closure(
    applications: Iterable[tuple[Any, Sequence[GlobalValKey], Sequence[GlobalValKey]]],
    *,
    ctx: RuleContext,
) -> set[type]:
    """Run every rule that the given ops can lead to; returns the types of all ops that occur.

    Each application is an op, its input keys, and those of them to differentiate by. The op is
    linearized and transposed; then the results are differentiated in turn, by their tangents too,
    until no op of a new type turns up.

    Raises:
        ADRuleError: some op that a rule emitted lacks a rule; the error names it.
    """
    view: ResolvedView[Any] = resolve_keys()
    met: set[type] = set()
    pending: list[tuple[GlobalValKey, Sequence[GlobalValKey]]] = []
    for op, inputs, wrt in applications:
        met.add(type(op))
        pending.extend((output, wrt) for output in op_key(op, tuple(inputs)).outputs)
    while pending:
        output, wrt = pending.pop()
        linear = differentiate(view, [output], wrt, ctx=ctx)
        if linear.tangent_outputs == (None,):
            continue
        reverse = transpose(linear, ctx=ctx)
        emitted = _op_types(linear.fragment) | _op_types(reverse.fragment)
        if emitted <= met:
            continue
        met |= emitted
        further = (*wrt, *linear.input_keys, *reverse.input_keys)
        results = (*linear.output_keys, *reverse.output_keys)
        pending.extend((key, further) for key in results if key is not None)
    return met


def _op_types(fragment: Fragment[Any]) -> set[type]:
    return {type(node.primitive) for node in fragment.nodes}
