"""Fragments as a header and blobs, and back.

A file contains the fragment and everything it refers to: a flat table of inputs and nodes, in which
operands precede their readers, and for each fragment the entries that it owns. Reading makes new
keys for inputs. Numbers that are valid in one process only (such as that of the pass that made a
tangent) are renumbered; equal ones stay equal.

Nodes are interned, and a node that already exists keeps its own source line. Therefore source lines
are not written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tenferro.core import (
    PRIMAL,
    Cotangent,
    Derived,
    Fragment,
    FragmentBuilder,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    LinearFragment,
    OpMode,
    Tangent,
    fresh_pass_id,
    input_key,
    op_key,
)
from tenferro.errors import FileError
from tenferro.ir import TensorInput, TensorMeta, annotate, declare, fresh_input, type_of
from tenferro.ops import StdTensorOp, shape_context
from tenferro.runtime import Tensor
from tenferro.serialization.container import Json
from tenferro.serialization.missing_extension import MissingExtension
from tenferro.serialization.ops import OpReader, read_op, write_bodies, write_op
from tenferro.serialization.schema import items, number, numbers, reading, record, text
from tenferro.serialization.types import (
    check_payload,
    check_types,
    parse_meta,
    read_types,
    write_meta,
)
from tenferro.serialization.values import BlobWriter
from tenferro.transforms import CapturedArray

_KEYS = frozenset({"kind", "identity", "entries", "fragments", "tangents", "blobs"})
_TANGENT_KEYS = frozenset({"inputs", "outputs"})
_OWNED_KEYS = frozenset({"entries", "outputs", "parents"})
_NODE_KEYS = frozenset({"op", "payload", "in", "mode", "types"})
_INPUT_KEYS = frozenset({"input", "type"})
_KINDS = {
    "tensor": frozenset({"kind", "name", "shared"}),
    "captured": frozenset({"kind", "default"}),
    "tangent": frozenset({"kind", "of", "pass"}),
    "cotangent": frozenset({"kind", "slot", "pass"}),
}

_context = shape_context()

AnyFragment = Fragment[StdTensorOp] | LinearFragment[StdTensorOp]
_Owner = GlobalOpKey | Input


def write_fragment(value: AnyFragment, blobs: BlobWriter) -> dict[str, Json]:
    """The header of a fragment, without the table of blobs and the identity."""
    root = value.fragment if isinstance(value, LinearFragment) else value
    writer = _FragmentTableWriter(blobs)
    fragments = _with_parents(root)
    position = {id(fragment): i for i, fragment in enumerate(fragments)}
    owned = [
        {
            "entries": [writer.entry_of(x) for x in dict.fromkeys(map(_owner, fragment.keys))],
            "outputs": [writer.value_of(key) for key in fragment.output_keys],
            "parents": [position[id(parent)] for parent in fragment.parents],
        }
        for fragment in fragments
    ]
    tangents = None
    if isinstance(value, LinearFragment):
        tangents = {
            "inputs": [local for _, local in value.tangent_inputs],
            "outputs": list(value.tangent_outputs),
        }
    return {
        "kind": "fragment",
        "entries": writer.entries,
        "fragments": owned,
        "tangents": tangents,
    }


def read_fragment(header: Json, reader: OpReader) -> AnyFragment:
    """The fragment of a header."""
    fields = record(header, _KEYS, "the header of a fragment")
    table = _FragmentTableReader(reader)
    for position, entry in enumerate(items(fields["entries"], "entries")):
        table.read(entry, f"entry {position}")
    fragments: list[Fragment[StdTensorOp]] = []
    for position, entry in enumerate(items(fields["fragments"], "fragments")):
        fragments.append(_read_owned(entry, table, fragments, f"fragment {position}"))
    if not fragments:
        raise FileError("file: it contains no fragment")
    root = fragments[-1]
    if fields["tangents"] is None:
        return root
    tangents = record(fields["tangents"], _TANGENT_KEYS, "the tangents")
    locals_ = numbers(tangents["inputs"], "a tangent input", len(root.keys))
    with reading("the tangent inputs"):
        inputs = [(_key(root.key(local)), local) for local in locals_]
    outputs = [
        None if entry is None else number(entry, "a tangent output", len(root.keys))
        for entry in items(tangents["outputs"], "the tangent outputs")
    ]
    return LinearFragment(root, tuple(inputs), tuple(outputs))


def _read_owned(
    entry: Json, table: _FragmentTableReader, before: Sequence[Fragment[StdTensorOp]], where: str
) -> Fragment[StdTensorOp]:
    fields = record(entry, _OWNED_KEYS, where)
    parents = numbers(fields["parents"], f"a parent of {where}", len(before))
    builder: FragmentBuilder[StdTensorOp] = FragmentBuilder([before[i] for i in parents])
    owned = numbers(fields["entries"], f"an entry of {where}", len(table.owners))
    outputs = numbers(fields["outputs"], f"an output of {where}", len(table.values))
    with reading(where):
        for owner in [table.owners[i] for i in owned]:
            if isinstance(owner, Input):
                builder.input(owner.key)
            else:
                primitive: Any = owner.primitive
                builder.add(primitive, owner.inputs, owner.mode)
        return builder.build([table.values[i] for i in outputs])


@dataclass(slots=True)
class _FragmentTableWriter:
    """Numbers inputs and nodes, values, and passes, in the order of their first use."""

    blobs: BlobWriter
    entries: list[Json] = field(default_factory=list)
    _entry: dict[_Owner, int] = field(default_factory=dict)
    _value: dict[GlobalValKey, int] = field(default_factory=dict)
    _pass: dict[int, int] = field(default_factory=dict)

    def value_of(self, key: GlobalValKey) -> int:
        """The number of a value."""
        self.entry_of(_owner(key))
        return self._value[key]

    def entry_of(self, owner: _Owner) -> int:
        """The number of an input or node, which is written after everything it refers to."""
        stack = [owner]
        while stack:
            top = stack[-1]
            waiting = [] if top in self._entry else self._waiting(top)
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if top not in self._entry:
                self._add(top)
        return self._entry[owner]

    def _waiting(self, owner: _Owner) -> list[_Owner]:
        needed = (_owner(key) for key in _references(owner))
        return [
            needed_owner
            for needed_owner in dict.fromkeys(needed)
            if needed_owner not in self._entry
        ]

    def _add(self, owner: _Owner) -> None:
        self._entry[owner] = len(self.entries)
        for key in (owner,) if isinstance(owner, Input) else owner.outputs:
            self._value[key] = len(self._value)
        if isinstance(owner, Input):
            self.entries.append({"input": self._key(owner.key), "type": _type(owner)})
        else:
            self.entries.append(self._node(owner))

    def _node(self, node: Any) -> Json:
        write_bodies([node.primitive], self.blobs, sites=False)
        name, payload = write_op(node.primitive, self.blobs)
        return {
            "op": name,
            "payload": payload,
            "in": [self._value[key] for key in node.inputs],
            "mode": list(node.mode.active_mask) if isinstance(node.mode, Linear) else None,
            "types": [_type(key) for key in node.outputs],
        }

    def _key(self, key: Any) -> Json:
        match key:
            case TensorInput(name=name, uid=uid):
                return {"kind": "tensor", "name": name, "shared": uid is None}
            case CapturedArray():
                return {"kind": "captured", "default": self.blobs.add(key.tensor.numpy())}
            case Tangent(of=of, pass_id=own):
                return {"kind": "tangent", "of": self._value[of], "pass": self._number(own)}
            case Cotangent(slot=slot, pass_id=own):
                return {"kind": "cotangent", "slot": slot, "pass": self._number(own)}
            case _:
                raise FileError(
                    f"file: an input with the key {key!r} cannot be saved; "
                    "make it with TensorInput(name, meta)"
                )

    def _number(self, pass_id: int) -> int:
        return self._pass.setdefault(pass_id, len(self._pass))


@dataclass(slots=True)
class _FragmentTableReader:
    """Makes inputs and nodes from the entries of the table, in order."""

    ops: OpReader
    owners: list[_Owner] = field(default_factory=list)
    values: list[GlobalValKey] = field(default_factory=list)
    _passes: dict[int, int] = field(default_factory=dict)

    def read(self, entry: Json, where: str) -> None:
        """Make one input or node."""
        if isinstance(entry, dict) and "input" in entry:
            fields = record(entry, _INPUT_KEYS, where)
            meta = parse_meta(fields["type"], where)
            value = self._input(fields["input"], meta, where)
            self.owners.append(value)
            self.values.append(value)
            return
        fields = record(entry, _NODE_KEYS, where)
        operands = numbers(fields["in"], f"an operand of {where}", len(self.values))
        types = read_types(fields["types"], where)
        op = read_op(fields["op"], fields["payload"], len(operands), types, self.ops, where)
        check_payload(op, where)
        mode = _mode(fields["mode"], len(operands), where)
        with reading(f"{where}: {op.name}"):
            node = op_key(op, tuple([self.values[i] for i in operands]), mode)
            outputs = node.outputs if isinstance(op, MissingExtension) else annotate(node)
        if isinstance(op, MissingExtension):
            for key, written in zip(outputs, types, strict=True):
                declare(key, parse_meta(written, where))
        else:
            check_types(op, types, [_context.meta(key) for key in outputs], where)
        self.owners.append(node)
        self.values.extend(outputs)

    def _input(self, entry: Json, meta: TensorMeta, where: str) -> Input:
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or kind not in _KINDS:
            raise FileError(f"file: {where} is an input of an unknown kind")
        fields = record(entry, _KINDS[kind], where)
        match kind:
            case "tensor":
                return self._tensor(fields, meta, where)
            case "captured":
                return self._captured(fields, meta, where)
            case "tangent":
                of = self.values[number(fields["of"], where, len(self.values))]
                if type_of(of) != meta:
                    raise FileError(f"file: {where} is {meta}, the tangent of {type_of(of)}")
                key = input_key(Tangent(of, self._pass(fields, where)))
                _context.declare_like(key, of)
                return key
            case _:
                slot = number(fields["slot"], where)
                key = input_key(Cotangent(slot, self._pass(fields, where)))
                declare(key, meta)
                return key

    def _tensor(self, fields: dict[str, Json], meta: TensorMeta, where: str) -> Input:
        name = text(fields["name"], f"the name of {where}")
        if not isinstance(fields["shared"], bool):
            raise FileError(f"file: whether {where} is shared must be true or false")
        return input_key(TensorInput(name, meta)) if fields["shared"] else fresh_input(meta, name)

    def _captured(self, fields: dict[str, Json], meta: TensorMeta, where: str) -> Input:
        tensor = Tensor(self.ops.blobs.array(fields["default"], f"the default of {where}"))
        if tensor.meta != meta:
            raise FileError(f"file: {where} is {meta}, but its default is {tensor.meta}")
        return input_key(CapturedArray(tensor, tensor.data))

    def _pass(self, fields: dict[str, Json], where: str) -> int:
        written = number(fields["pass"], f"the pass of {where}")
        if written not in self._passes:
            self._passes[written] = fresh_pass_id()
        return self._passes[written]


def _mode(value: Json, count: int, where: str) -> OpMode:
    if value is None:
        return PRIMAL
    mask = items(value, f"the mode of {where}")
    if len(mask) != count or not all(isinstance(active, bool) for active in mask) or not any(mask):
        raise FileError(
            f"file: the mode of {where} must have one boolean for each operand, at least one true"
        )
    return Linear(tuple(mask))


def _key(value: GlobalValKey) -> Any:
    if not isinstance(value, Input):
        raise FileError("file: a tangent input is not an input of its fragment")
    return value.key


def _type(key: GlobalValKey) -> str:
    return write_meta(_context.meta(key), str(key))


def _owner(key: GlobalValKey) -> _Owner:
    if isinstance(key, Derived):
        return key.op
    assert isinstance(key, Input)
    return key


def _references(owner: _Owner) -> tuple[GlobalValKey, ...]:
    """The values that the definition of an input or node refers to."""
    if isinstance(owner, Input):
        return (owner.key.of,) if isinstance(owner.key, Tangent) else ()
    return owner.inputs


def _with_parents(root: Fragment[StdTensorOp]) -> list[Fragment[StdTensorOp]]:
    """A fragment and the fragments it refers to, each once and after those it refers to."""
    done: dict[Fragment[StdTensorOp], None] = {}
    stack = [root]
    while stack:
        waiting = [parent for parent in stack[-1].parents if parent not in done]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            done.setdefault(stack.pop())
    return list(done)
