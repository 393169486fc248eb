"""What a primitive is: arity, derivative and batch rules, the sites they are called with.

A rule is written against `Emitter`, so that its values may be graph keys or runtime values. The
combinators at the end (`chain`, `multilinear`, `each_active` and others) handle None, the symbolic
zero, so that rules do not have to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, Generic, Protocol, TypeVar

from tenferro.errors import GraphError, counted

__all__ = [
    "Adder",
    "BatchSite",
    "Batched",
    "Emitter",
    "GraphOp",
    "JvpSite",
    "Op",
    "PrimitiveOp",
    "RuleContext",
    "Slots",
    "TransposeSite",
    "V",
    "add_terms",
    "chain",
    "each_active",
    "jointly_linear",
    "multilinear",
    "only_output",
]


# The interface of ops for graphs: an identity, an arity, and a meaning on runtime values.


class GraphOp(Protocol):
    """One operation of an op set.

    Two ops with equal `identity` are the same op: applied to the same inputs they make the same
    graph node. Everything that changes a result belongs to the identity; nothing else does.
    """

    @property
    def identity(self) -> Hashable:
        """The identity of the op, as a hashable value that is only compared."""

    @property
    def n_outputs(self) -> int:
        """Number of values that one application makes; at least one."""

    @property
    def n_inputs(self) -> int | None:
        """Number of operands, or None when the op takes any number."""

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of one application to runtime values."""


Op = TypeVar("Op", bound=GraphOp)


# The derivative and batch rules of an op, and the sites that they are called with.

V = TypeVar("V")

Slots = tuple[V | None, ...]
"""One entry for each operand or output; None is a symbolic zero."""

Batched = tuple[tuple[V, bool], ...]
"""For each output its value, and whether it is batched."""


class RuleContext(Protocol):
    """What rules and transforms use of an op set: metadata of values, how to add and to repeat."""

    @property
    def adder(self) -> Adder:
        """The addition of the op set, which also makes batches of one value."""

    def meta(self, value: Any) -> Any:
        """Metadata of a value: for tensors, its `TensorMeta`."""

    def declare_like(self, value: Any, like: Any) -> None:
        """Give `value` the metadata of `like`; declaring an input twice must give the same type."""

    def registered_rule(self, name: str) -> object | None:
        """The derivative rules registered under a name, for ops without rules of their own."""


class Emitter(Protocol[V]):
    """Emits ops on values of type `V`, and tells local simplifications what made a value.

    `KeyEmitter` records a graph and `FragmentEmitter` a fragment; `ProgramEmitter` writes a program
    and `Rewriter` rewrites one; `RunEmitter` and `EagerEmitter` run each op as it is emitted. What
    is defined here is right for emitters that do not look back.
    """

    @property
    def ctx(self) -> RuleContext:
        """The metadata of values."""

    def emit(self, op: PrimitiveOp, *operands: V) -> V:
        """The output of a single-output op; GraphError for one with several."""

    def emit_all(self, op: PrimitiveOp, *operands: V) -> tuple[V, ...]:
        """All outputs of `op` on `operands`."""

    def producer(self, value: V) -> tuple[Any, tuple[V, ...]] | None:
        """The op and operands that make `value`.

        None when it is an input, the op has several outputs, or nobody has noted it.
        """
        return None

    def order(self, value: V) -> int:
        """A number by which the operands of a commutative op are sorted; 0 keeps their order."""
        return 0


def only_output(op: PrimitiveOp, outputs: Sequence[V]) -> V:
    """The output of an op that has one, for `Emitter.emit`.

    Raises:
        GraphError: the op has several outputs, of which `emit` would drop all but one.
    """
    if len(outputs) != 1:
        raise GraphError(f"emit: {op} has {counted(len(outputs), 'output')}; use emit_all")
    return outputs[0]


class _Site(Generic[V]):
    """One application of an op, as a rule sees it.

    Attributes:
        emitter: what ops are emitted with.
        emit: the emitter's `emit`.
    """

    __slots__ = ("emit", "emitter")

    emitter: Emitter[V]
    emit: Callable[..., V]

    @property
    def ctx(self) -> RuleContext:
        """The metadata of values."""
        return self.emitter.ctx


class JvpSite(_Site[V]):
    """The argument of a linearization rule: the values around one application of its op.

    Attributes:
        primal: the operands.
        out: the outputs.
        tangent: the tangents of the operands; None is a symbolic zero. At least one is not None.
    """

    __slots__ = ("out", "primal", "tangent")

    def __init__(
        self, emitter: Emitter[V], primal: tuple[V, ...], out: tuple[V, ...], tangent: Slots[V]
    ) -> None:
        self.emitter = emitter
        self.emit = emitter.emit
        self.primal = primal
        self.out = out
        self.tangent = tangent


class TransposeSite(_Site[V]):
    """The argument of a transpose rule: the values around one application of its op.

    Attributes:
        ct: the cotangents of the outputs; None is a symbolic zero. At least one is not None.
        inputs: the operands of the linear op. Only the fixed ones have values; rules may use only
            the metadata of an active one.
        active: which operands are active. The rule returns None for the others.
    """

    __slots__ = ("active", "ct", "inputs")

    def __init__(
        self, emitter: Emitter[V], ct: Slots[V], inputs: tuple[V, ...], active: tuple[bool, ...]
    ) -> None:
        self.emitter = emitter
        self.emit = emitter.emit
        self.ct = ct
        self.inputs = inputs
        self.active = active


class BatchSite(_Site[V]):
    """The argument of a batch rule: one application of its op to entries of batches.

    Attributes:
        inputs: the operands; those that are batched have the batch as their axis 0.
        batched: which operands are batched, at least one of them. The others are the same for all
            entries.
        size: the number of entries, as the op set writes sizes.
    """

    __slots__ = ("batched", "inputs", "size")

    def __init__(
        self, emitter: Emitter[V], inputs: tuple[V, ...], batched: tuple[bool, ...], size: Any
    ) -> None:
        self.emitter = emitter
        self.emit = emitter.emit
        self.inputs = inputs
        self.batched = batched
        self.size = size

    def repeated(self, operand: int) -> V:
        """An operand for all entries: one that is not batched is repeated."""
        value = self.inputs[operand]
        if self.batched[operand]:
            return value
        return self.emitter.ctx.adder.repeat(self.emitter, value, self.size)


class PrimitiveOp(GraphOp, Protocol):
    """A graph op with derivative rules and a batch rule.

    The rules may emit only ops that have rules themselves; `autodiff.check_closure` tests that.
    """

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Tangents of the outputs, linear in `at.tangent`.

        The rule may use `at.primal` and `at.out` as coefficients.
        """

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active operands, None for the fixed ones."""

    def linear(self, at: JvpSite[V]) -> bool:
        """Whether the op is linear in the operands that have tangents, which are these operands.

        `own_derivative` answers for most ops. Rules may emit on tangents only what is linear.
        """

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The outputs for all entries of a batch, and for each whether it is batched.

        The batch is axis 0 of a batched output. An output that is the same for all entries need
        not be batched.
        """

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """A value equal to this op on `operands`, or None; it may look at what made the operands.

        This is the cheap, local part of simplification (`x * 1`, `neg(neg x)`, constants); it runs
        whenever a rule emits, and again in the compiler.
        """


class Adder(PrimitiveOp, Protocol):
    """The sum of two values, by which terms of tangents and of cotangents are added."""

    def repeat(self, emitter: Emitter[V], value: V, size: Any) -> V:
        """A batch of `size` entries that are all `value`."""


# Rules that many ops share.


def add_terms(emitter: Emitter[V], terms: Iterable[V | None]) -> V | None:
    """The sum of the terms that are not None, by the op set's addition; None if none is left."""
    total: V | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else emitter.emit(emitter.ctx.adder, total, term)
    return total


def multilinear(at: JvpSite[V], op: PrimitiveOp) -> Slots[V]:
    """Linearization of a single-output op that is linear in each operand alone, such as a product.

    One term for each active operand: the op itself with that operand replaced by its tangent.
    """
    terms = [
        at.emit(op, *at.primal[:index], tangent, *at.primal[index + 1 :])
        for index, tangent in enumerate(at.tangent)
        if tangent is not None
    ]
    return (add_terms(at.emitter, terms),)


def jointly_linear(at: JvpSite[V], op: PrimitiveOp, zeros_like: Callable[[V], V]) -> Slots[V]:
    """Linearization of an op that is linear in all operands together, such as a concatenation.

    The op itself on the tangents, with explicit zeros for those that are None.
    """
    tangents = [
        zeros_like(primal) if tangent is None else tangent
        for primal, tangent in zip(at.primal, at.tangent, strict=True)
    ]
    return at.emitter.emit_all(op, *tangents)


def chain(at: JvpSite[V], *partials: Callable[[V], V]) -> Slots[V]:
    """Linearization of a single-output op as a sum of one term for each operand.

    `partials[i]` takes the tangent of operand i to its contribution; it is not called for a
    symbolic zero, so that its coefficients are only built where they are needed.
    """
    emitter = at.emitter
    total: V | None = None
    for partial, tangent in zip(partials, at.tangent, strict=True):
        if tangent is not None:
            term = partial(tangent)
            total = term if total is None else emitter.emit(emitter.ctx.adder, total, term)
    return (total,)


def each_active(at: TransposeSite[V], *pullbacks: Callable[[V], V | None] | None) -> Slots[V]:
    """Transposition of a single-output op.

    `pullbacks[i]` takes the cotangent to that of operand i, if that is active. Operands whose
    pullback is None, or which come after the last one, have no cotangent.
    """
    ct = at.ct[0]
    if ct is None:
        return (None,) * len(at.active)
    return tuple(
        [
            pullback(ct) if active and pullback is not None else None
            for pullback, active in zip_longest(pullbacks, at.active)
        ]
    )
