"""Fragments: what building, differentiating and transposing produce, and how they print.

One notation throughout: `%n` is a value, `@name` one that another fragment defines, and a line is
`%outputs = op operands  mode  # where it was recorded`.

A fragment owns its local nodes and refers to everything else by `GlobalValKey`. Local ids mean
nothing outside it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, cast

from tenferro.core.keys import (
    PRIMAL,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    OpMode,
    SingleOutputNode,
    input_key,
    op_key,
)
from tenferro.core.primitive import GraphOp, Op
from tenferro.errors import GraphError, class_of, counted

__all__ = [
    "External",
    "Fragment",
    "FragmentBuilder",
    "Local",
    "OpNode",
    "ValNode",
    "ValRef",
    "name_of",
]


# The notation in which fragments, graphs and programs print.

_NAME_DEPTH = 3
_NAME_WIDTH = 4


def name_of(key: GlobalValKey) -> str:
    """A short expression for a value, with `…` for what is deep or wide: `exp(mul(x, a))`.

    >>> from tenferro.core import input_key
    >>> name_of(input_key("x"))
    'x'
    """
    return _name(key, _NAME_DEPTH)


def _name(key: GlobalValKey, depth: int) -> str:
    if isinstance(key, Input):
        return str(key.key)
    assert isinstance(key, Derived)
    if depth == 0:
        return "…"
    operands = ", ".join([_name(operand, depth - 1) for operand in key.op.inputs[:_NAME_WIDTH]])
    if len(key.op.inputs) > _NAME_WIDTH:
        operands += ", …"
    slot = f".{key.slot}" if key.op.primitive.n_outputs > 1 else ""
    call = f"({operands})" if operands else ""
    primitive = key.op.primitive
    return f"{getattr(primitive, 'label', primitive)}{call}{slot}"


def value_list(numbers: Iterable[int]) -> str:
    """`%0, %1, …` for local ids or slots."""
    return ", ".join(f"%{number}" for number in numbers)


def line(
    outputs: Iterable[int],
    op: object,
    operands: Sequence[str],
    mode: OpMode = PRIMAL,
    site: str | None = None,
) -> str:
    """The line of one op."""
    right = f" {', '.join(operands)}" if operands else ""
    tail = "" if mode is PRIMAL else f"  {mode}"
    comment = "" if site is None else f"  # {site}"
    return f"  {value_list(outputs)} = {op}{right}{tail}{comment}"


def block(header: str, lines: Sequence[str], outputs: Iterable[int]) -> str:
    """The header, the lines, and what is returned, in braces."""
    return "\n".join([f"{header} {{", *lines, f"  return {value_list(outputs)}".rstrip(), "}"])


# A fragment: the unit that building, differentiating and transposing produce.


@dataclass(frozen=True, slots=True)
class Local:
    """A reference to value `id` of the same fragment."""

    id: int

    def __str__(self) -> str:
        return f"%{self.id}"


@dataclass(frozen=True, slots=True)
class External:
    """A reference to a value that some other fragment defines."""

    key: GlobalValKey

    def __str__(self) -> str:
        return f"@{name_of(self.key)}"


ValRef = Local | External


@dataclass(frozen=True, slots=True)
class ValNode:
    """A value that a fragment owns.

    `producer` is (local op id, output slot), or None for an input of the fragment.
    """

    key: GlobalValKey
    producer: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class OpNode(Generic[Op]):
    """One application of an op in a fragment; `key` is its identity in every fragment."""

    op: Op
    inputs: tuple[ValRef, ...]
    outputs: tuple[int, ...]
    mode: OpMode
    key: GlobalOpKey


class Fragment(Generic[Op]):
    """Local values and ops in topological order, inputs and outputs.

    `parents` are the fragments in which external references are looked up; nothing is copied from
    them. A fragment stores identities; `vals` and `ops` give them local ids.
    """

    __slots__ = ("_local", "inputs", "keys", "nodes", "output_keys", "parents")

    def __init__(
        self,
        keys: tuple[GlobalValKey, ...],
        nodes: tuple[GlobalOpKey, ...],
        inputs: tuple[int, ...],
        outputs: tuple[GlobalValKey, ...],
        parents: tuple[Fragment[Op], ...],
    ) -> None:
        self.keys = keys
        self.nodes = nodes
        self.inputs = inputs
        self.output_keys = outputs
        self.parents = parents
        self._local: dict[GlobalValKey, int] | None = None  # made when a local id is asked for

    @property
    def vals(self) -> tuple[ValNode, ...]:
        """The values, by local id."""
        producer: dict[GlobalValKey, tuple[int, int]] = {
            key: (op_id, slot)
            for op_id, node in enumerate(self.nodes)
            for slot, key in enumerate(node.outputs)
        }
        return tuple(ValNode(key, producer.get(key)) for key in self.keys)

    @property
    def ops(self) -> tuple[OpNode[Op], ...]:
        """The ops, with references to local and external values."""
        local = self._numbers()
        nodes: list[OpNode[Op]] = []
        for node in self.nodes:
            refs = tuple([Local(local[k]) if k in local else External(k) for k in node.inputs])
            ids = tuple([local[key] for key in node.outputs])
            nodes.append(OpNode(cast(Op, node.primitive), refs, ids, node.mode, node))
        return tuple(nodes)

    def of_nodes(self, nodes: Sequence[GlobalOpKey]) -> Fragment[Op]:
        """The same values with some of the nodes only; the others are taken as given."""
        return Fragment(self.keys, tuple(nodes), self.inputs, self.output_keys, self.parents)

    def key(self, local: int) -> GlobalValKey:
        """Identity of local value number `local`."""
        return self.keys[local]

    def local_id(self, key: GlobalValKey) -> int:
        """Local id of a value of this fragment.

        Raises:
            GraphError: the fragment does not own the value.
        """
        local = self._numbers().get(key)
        if local is None:
            raise _not_owned(key)
        return local

    def local_ids(self, keys: Iterable[GlobalValKey]) -> dict[GlobalValKey, int]:
        """Local ids of some values of this fragment; does not number all values for that."""
        asked = set(keys)
        return {key: local for local, key in enumerate(self.keys) if key in asked}

    @property
    def outputs(self) -> tuple[int, ...]:
        """Local ids of the outputs."""
        return tuple([self.local_id(key) for key in self.output_keys])

    @property
    def input_keys(self) -> tuple[GlobalValKey, ...]:
        """Identities of the inputs, in the order of declaration."""
        return tuple(self.keys[local] for local in self.inputs)

    def _numbers(self) -> dict[GlobalValKey, int]:
        if self._local is None:
            self._local = {key: local for local, key in enumerate(self.keys)}
        return self._local

    def __str__(self) -> str:
        header = ", ".join(f"%{local} = {name_of(self.key(local))}" for local in self.inputs)
        lines = [
            line(node.outputs, node.op, [str(ref) for ref in node.inputs], node.mode, node.key.site)
            for node in self.ops
        ]
        return block(f"fragment({header})", lines, self.outputs)


class FragmentBuilder(Generic[Op]):
    """Builds a `Fragment`; values are handled by their `GlobalValKey`.

    A value that this builder made is local; any other key is an external reference, to be found in
    `parents`.

    Example:
        >>> from tenferro.core import FragmentBuilder
        >>> from tenferro.ops import EXP, MUL
        >>> b = FragmentBuilder()
        >>> x, a = b.input("x"), b.input("a")
        >>> (ax,) = b.add(MUL, [x, a])
        >>> (y,) = b.add(EXP, [ax])
        >>> print(b.build(outputs=[y]))
        fragment(%0 = x, %1 = a) {
          %2 = multiply %0, %1
          %3 = exponential %2
          return %3
        }
    """

    def __init__(self, parents: Iterable[Fragment[Op]] = ()) -> None:
        self._parents = tuple(parents)
        # Each value that the fragment owns, and whether tangents flow through it. Numbers and nodes
        # are computed from it by `build`.
        self._owned: dict[GlobalValKey, bool] = {}
        self.is_active: Callable[[GlobalValKey, bool], bool] = self._owned.get
        """`is_active(key, False)`: whether a tangent flows through a value of the fragment."""

    def input(self, key: Hashable, active: bool = False) -> Input:
        """Declare an input known as `key`; `active` if it is a tangent.

        Raises:
            GraphError: the fragment already has an input of that key.
        """
        value = input_key(key)
        if value in self._owned:
            raise GraphError(f"fragment: input {key!r} is declared twice")
        self._owned[value] = active
        return value

    def add(
        self, op: Op, inputs: Sequence[GlobalValKey], mode: OpMode = PRIMAL, site: str | None = None
    ) -> tuple[GlobalValKey, ...]:
        """Apply `op`; an application that the fragment already has is not repeated.

        Raises:
            GraphError: the number of inputs or the length of the active mask does not fit the op,
                or the op has no outputs.
        """
        if not isinstance(inputs, list | tuple):
            raise GraphError(f"{op}: takes a list of operands, got {class_of(inputs)}")
        operands = tuple(inputs)
        for operand in operands:
            if isinstance(operand, list | tuple):
                raise GraphError(
                    f"{op}: an operand is a tuple of values, as add returns it; write "
                    "(y,) = builder.add(...)"
                )
            if not isinstance(operand, GlobalValKey):
                raise GraphError(f"{op}: {operand!r} is not a value of a graph")
        if isinstance(op, type):
            raise GraphError(f"add: takes an op, got the class {op.__name__}; write an op of it")
        _check(op, operands, mode)
        return self.apply(op, operands, mode, site).outputs

    def apply(
        self, op: Op, operands: tuple[GlobalValKey, ...], mode: OpMode, site: str | None
    ) -> GlobalOpKey:
        """The same without checking the mask, for emitters; returns the node."""
        if len(operands) != op.n_inputs or op.n_outputs != 1:
            _check(op, operands, mode)
        node = op_key(op, operands, mode, site)
        owned = self._owned
        if type(node) is SingleOutputNode:
            if node not in owned:
                owned[node] = type(mode) is Linear
        else:
            for key in node.outputs:
                owned[key] = type(mode) is Linear
        return node

    def owns(self, key: GlobalValKey) -> bool:
        """Whether the value is local to this fragment."""
        return key in self._owned

    def build(self, outputs: Sequence[GlobalValKey]) -> Fragment[Op]:
        """The finished fragment.

        Raises:
            GraphError: an output is not a value of the fragment.
        """
        if not isinstance(outputs, list | tuple):
            shown = class_of(outputs)
            raise GraphError(f"fragment: outputs must be a list of values, got {shown}")
        for key in outputs:
            if isinstance(key, list | tuple):
                raise GraphError(
                    "fragment: an output is a tuple of values, as add returns it; write "
                    "(y,) = builder.add(...)"
                )
            if key not in self._owned:
                raise _not_owned(key)
        keys = tuple(self._owned)
        nodes: list[GlobalOpKey] = []
        inputs: list[int] = []
        for local, key in enumerate(keys):
            if type(key) is SingleOutputNode:
                nodes.append(key)
            elif type(key) is Input:
                inputs.append(local)
            elif isinstance(key, Derived) and key.slot == 0:
                nodes.append(key.op)
        return Fragment(keys, tuple(nodes), tuple(inputs), tuple(outputs), self._parents)


def _not_owned(key: GlobalValKey) -> GraphError:
    return GraphError(f"fragment: {key!r} is not a value of this fragment")


def _check(op: GraphOp, operands: tuple[GlobalValKey, ...], mode: OpMode) -> None:
    count = len(operands)
    if op.n_inputs is not None and count != op.n_inputs:
        raise GraphError(f"{op}: takes {counted(op.n_inputs, 'operand')}, got {count}")
    if op.n_outputs < 1:
        raise GraphError(f"{op}: has no outputs; a node of a graph makes at least one value")
    if isinstance(mode, Linear) and len(mode.active_mask) != count:
        raise GraphError(
            f"{op}: active mask has {counted(len(mode.active_mask), 'entry', 'entries')} for "
            f"{counted(count, 'operand')}"
        )
