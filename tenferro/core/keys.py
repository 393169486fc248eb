"""Identity of values across fragments.

A value is identified by its `GlobalValKey`: an input, or an op with the keys of its inputs. Keys
are structural (equal derivations are one value) and interned (equal keys are one object). So
comparing two keys is comparing pointers, however deep the graph is.

Almost every op has one output. The application of such an op and its output are one object, a
`SingleOutputNode`: graphs have 100 000 nodes, and as a graph grows Python's garbage collector
visits each object again and again.
"""

from __future__ import annotations

import itertools
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]  # see `_forget_op`
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar
from weakref import ref

from tenferro.core.primitive import GraphOp
from tenferro.errors import GraphError, counted

__all__ = [
    "PRIMAL",
    "Derived",
    "GlobalOpKey",
    "GlobalValKey",
    "Input",
    "Linear",
    "OpMode",
    "Primal",
    "SingleOutputNode",
    "input_key",
    "interned_count",
    "op_key",
]


@dataclass(frozen=True, slots=True)
class Primal:
    """Mode of a node that computes an ordinary value."""

    active_mask: ClassVar[None] = None

    def __str__(self) -> str:
        return "primal"


@dataclass(frozen=True, slots=True)
class Linear:
    """Mode of a node that is linear in its active operands.

    `active_mask` says of each operand whether it is active (tangent flow) or fixed (a coefficient).
    It is part of the node's identity: `mul(a, dx)` and `mul(a, b)` transpose differently, so they
    must not be one node.
    """

    active_mask: tuple[bool, ...]

    def __str__(self) -> str:
        words = ",".join(["active" if active else "fixed" for active in self.active_mask])
        return f"linear[{words}]"


OpMode = Primal | Linear
PRIMAL = Primal()
T = TypeVar("T")
_serials = itertools.count()


class GlobalValKey:
    """Identity of one value: `Input` or `Derived`, made by `input_key` and `op_key(...).output`.

    Compared by `is`. `analysis` is a slot for what an op set has inferred about the value (for
    tensors: dtype and extents). It is a function of the key, hence a cache, and never part of the
    identity. One module of a process writes it: for tensors, `tenferro.ir.inference`. Another op
    set keeps what it knows in its own context. `serial` grows with each key, and no two keys
    of a process share one; it gives the operands of a commutative op one order.
    """

    __slots__ = ("__weakref__", "analysis", "serial")

    analysis: object
    serial: int


class Input(GlobalValKey):
    """A value that comes from outside, identified by a hashable key that the op set chooses."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.analysis = None
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return f"Input({self.key!r})"


class Derived(GlobalValKey):
    """Output number `slot` of an op."""

    __slots__ = ()

    slot: int

    @property
    def op(self) -> GlobalOpKey:
        """The application of the op that makes the value."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Derived({self.op.primitive}, slot={self.slot})"


class GlobalOpKey:
    """Identity of one application of an op: primitive, input keys, mode; made by `op_key`.

    Compared by `is`. `site` is where the node was first recorded (`user.py:12`), or None. It is not
    a part of the identity.
    """

    __slots__ = ()

    primitive: GraphOp
    inputs: tuple[GlobalValKey, ...]
    mode: OpMode
    site: str | None

    def output(self, slot: int) -> Derived:
        """The key of output `slot`; the same object for as long as anyone holds it."""
        raise NotImplementedError

    @property
    def outputs(self) -> tuple[Derived, ...]:
        """The keys of all outputs."""
        raise NotImplementedError


class SingleOutputNode(Derived, GlobalOpKey):
    """An application of an op that has one output, and that output."""

    __slots__ = ("inputs", "mode", "primitive", "site")

    slot = 0

    def __init__(
        self, primitive: GraphOp, inputs: tuple[GlobalValKey, ...], mode: OpMode, site: str | None
    ) -> None:
        self.primitive = primitive
        self.inputs = inputs
        self.mode = mode
        self.site = site
        self.analysis = None
        self.serial = next(_serials)

    @property
    def op(self) -> GlobalOpKey:
        """The value itself."""
        return self

    def output(self, slot: int) -> Derived:
        """The application itself, which is its output 0."""
        if slot != 0:
            raise GraphError(f"{self.primitive}: has no output {slot}")
        return self

    @property
    def outputs(self) -> tuple[Derived, ...]:
        """The application itself, which is its only output."""
        return (self,)


class MultiOutputNode(GlobalOpKey):
    """An application of an op with several outputs, which are separate objects."""

    __slots__ = ("__weakref__", "_outputs", "inputs", "mode", "primitive", "site")

    def __init__(
        self, primitive: GraphOp, inputs: tuple[GlobalValKey, ...], mode: OpMode, site: str | None
    ) -> None:
        self.primitive = primitive
        self.inputs = inputs
        self.mode = mode
        self.site = site
        self._outputs: _Table[NodeOutput] = {}

    def output(self, slot: int) -> Derived:
        """The key of output `slot`; the same object for as long as anyone holds it."""
        if not 0 <= slot < self.primitive.n_outputs:
            raise GraphError(f"{self.primitive}: has no output {slot}")
        entry = self._outputs.get(slot)
        key = None if entry is None else entry()
        return key or _interned(self._outputs, slot, NodeOutput(self, slot), None)

    @property
    def outputs(self) -> tuple[Derived, ...]:
        """The keys of all outputs."""
        return tuple(map(self.output, range(self.primitive.n_outputs)))

    def __repr__(self) -> str:
        return f"GlobalOpKey({self.primitive}, {counted(len(self.inputs), 'input')}, {self.mode})"


class NodeOutput(Derived):
    """One of several outputs of an op. It holds its op; the op does not hold it."""

    __slots__ = ("_op", "slot")

    def __init__(self, op: MultiOutputNode, slot: int) -> None:
        self._op = op
        self.slot = slot
        self.analysis = None
        self.serial = next(_serials)

    @property
    def op(self) -> GlobalOpKey:
        """The application that makes this value and its siblings."""
        return self._op


class _Entry(ref[T]):
    """A weak reference with the key of its entry in a table."""

    __slots__ = ("key",)

    key: Hashable


_Table = dict[Hashable, _Entry[T]]
_inputs: _Table[Input] = {}
_nodes: _Table[GlobalOpKey] = {}


# An entry is removed when its node is freed. That may happen at any moment and in any thread, so it
# must not take a lock: `_remove_dead_weakref` compares and deletes in one step, and so does not
# remove an equal key that was made in the meantime. `weakref.WeakValueDictionary` does the same.
def _forget_input(entry: _Entry[Input], remove: Any = _remove_dead_weakref) -> None:
    remove(_inputs, entry.key)


def _forget_node(entry: _Entry[GlobalOpKey], remove: Any = _remove_dead_weakref) -> None:
    remove(_nodes, entry.key)


def _interned(
    table: _Table[T], key: Hashable, node: T, forget: Callable[[_Entry[T]], None] | None
) -> T:
    """`node`, or the node that another thread has interned under an equal key before.

    `dict.setdefault` looks up and stores in one step, so that this needs no lock. A lock would
    double the time to make a node.
    """
    entry = _Entry(node, forget)
    entry.key = key
    while True:
        stored = table.setdefault(key, entry)
        if stored is entry:
            return node
        if (first := stored()) is not None:
            return first
        _remove_dead_weakref(table, key)  # the entry that was there has been freed


def input_key(key: Hashable) -> Input:
    """The interned identity of the input known as `key`.

    >>> input_key("x") is input_key("x")
    True
    """
    table_key = (type(key), key)  # 1, 1.0 and True are equal in Python, but are not one name
    entry = _inputs.get(table_key)
    key_in_use = None if entry is None else entry()
    return key_in_use or _interned(_inputs, table_key, Input(key), _forget_input)


def op_key(
    primitive: GraphOp,
    inputs: tuple[GlobalValKey, ...],
    mode: OpMode = PRIMAL,
    site: str | None = None,
) -> GlobalOpKey:
    """The interned identity of `primitive` applied to `inputs` in `mode`.

    A node that exists keeps its first `site`. A node without inputs has none, because functions
    that have nothing else in common share it.
    """
    # Serials stand for the inputs, since the garbage collector does not track tuples of numbers.
    # One and two inputs have branches of their own because nearly all nodes have so many.
    mask = mode.active_mask
    table_key: tuple[Hashable, ...]
    if len(inputs) == 2:
        table_key = (primitive.identity, mask, inputs[0].serial, inputs[1].serial)
    elif len(inputs) == 1:
        table_key = (primitive.identity, mask, inputs[0].serial)
    else:
        table_key = (primitive.identity, mask, *[key.serial for key in inputs])
    entry = _nodes.get(table_key)
    if entry is not None and (known := entry()) is not None:
        return known
    node_class = SingleOutputNode if primitive.n_outputs == 1 else MultiOutputNode
    node: GlobalOpKey = node_class(primitive, inputs, mode, site if inputs else None)
    entry = _Entry(node, _forget_node)
    entry.key = table_key
    if _nodes.setdefault(table_key, entry) is entry:  # nearly always; a call would take longer
        return node
    return _interned(_nodes, table_key, node, _forget_node)


def interned_count() -> int:
    """The number of inputs and ops that are alive."""
    return len(_inputs) + len(_nodes)
