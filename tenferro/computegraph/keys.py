"""Identity of values across fragments.

A value is known by its `GlobalValKey`: the input it is, or the op that makes it with the keys of
that op's inputs. Keys are structural (two derivations that read alike are one value) and interned
(two keys that read alike are one object), so that comparing them is comparing pointers, however
deep the graph.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Hashable
from dataclasses import dataclass

from tenferro.computegraph.op import GraphOp
from tenferro.errors import GraphError


@dataclass(frozen=True, slots=True)
class Primal:
    """Mode of a node that computes an ordinary value."""

    def __str__(self) -> str:
        return "primal"


@dataclass(frozen=True, slots=True)
class Linear:
    """Mode of a node that is linear in its active operands.

    `active_mask` says of each operand whether it is active (tangent flow) or fixed (a coefficient).
    It is part of the node's identity: `mul(a, dx)` transposes otherwise than `mul(a, b)`, so the
    two must not be one node.
    """

    active_mask: tuple[bool, ...]

    def __str__(self) -> str:
        words = ",".join(["active" if active else "fixed" for active in self.active_mask])
        return f"linear[{words}]"


OpMode = Primal | Linear
PRIMAL = Primal()
_serials = itertools.count()


class GlobalValKey:
    """Identity of one value: `Input` or `Derived`, made by `input_key` and `op_key(...).output`.

    Compared by `is`. `analysis` is a slot for what an op set has worked out about the value (for
    tensors: dtype and extents). It is a function of the key, hence a cache, and never part of the
    identity. `serial` grows with each key made; it gives the operands of a commutative op one
    order.
    """

    __slots__ = ("__weakref__", "analysis", "serial")

    analysis: object
    serial: int


class Input(GlobalValKey):
    """A value that comes from outside, known by a hashable key of the op set's choosing."""

    __slots__ = ("key",)

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.analysis = None
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return f"Input({self.key!r})"


class Derived(GlobalValKey):
    """Output number `slot` of an op."""

    __slots__ = ("op", "slot")

    def __init__(self, op: GlobalOpKey, slot: int) -> None:
        self.op = op
        self.slot = slot
        self.analysis = None
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return f"Derived({self.op.primitive}, slot={self.slot})"


class GlobalOpKey:
    """Identity of one application of an op: primitive, input keys, mode; made by `op_key`.

    Compared by `is`. `site` is where the node was first recorded (`user.py:12`), or None. It is no
    part of the identity.
    """

    __slots__ = ("__weakref__", "_first", "_others", "inputs", "mode", "primitive", "site")

    def __init__(
        self, primitive: GraphOp, inputs: tuple[GlobalValKey, ...], mode: OpMode, site: str | None
    ) -> None:
        self.primitive = primitive
        self.inputs = inputs
        self.mode = mode
        self.site = site
        self._first: weakref.ref[Derived] | None = None
        self._others: dict[int, weakref.ref[Derived]] | None = None

    def output(self, slot: int) -> Derived:
        """The key of output `slot`; the same object for as long as anyone holds it."""
        key = self._held(slot)
        return key if key is not None else self._make_output(slot)

    @property
    def outputs(self) -> tuple[Derived, ...]:
        """The keys of all outputs."""
        count = self.primitive.n_outputs
        if count != 1:
            return tuple([self.output(slot) for slot in range(count)])
        held = None if self._first is None else self._first()
        return (held if held is not None else self._make_output(0),)

    def _held(self, slot: int) -> Derived | None:
        ref = self._first if slot == 0 else self._others and self._others.get(slot)
        return ref() if ref else None

    def _make_output(self, slot: int) -> Derived:
        if not 0 <= slot < self.primitive.n_outputs:
            raise GraphError(f"{self.primitive}: has no output {slot}")
        with _lock:
            key = self._held(slot)
            if key is None:
                key = Derived(self, slot)
                if slot == 0:
                    self._first = weakref.ref(key)
                else:
                    self._others = {**(self._others or {}), slot: weakref.ref(key)}
            return key

    def __repr__(self) -> str:
        return f"GlobalOpKey({self.primitive}, {len(self.inputs)} inputs, {self.mode})"


# Entries go when nothing else holds what they name. That takes no lock, since it may happen at any
# moment and in any thread; only making does, so that no two threads make one identity twice.
# Re-entrant, because the garbage collector may run, inside the lock, a finalizer that makes keys.
_lock = threading.RLock()
_inputs: weakref.WeakValueDictionary[Hashable, Input] = weakref.WeakValueDictionary()
_ops: weakref.WeakValueDictionary[Hashable, GlobalOpKey] = weakref.WeakValueDictionary()


def input_key(key: Hashable) -> Input:
    """The interned identity of the input known as `key`.

    >>> input_key("x") is input_key("x")
    True
    """
    table_key = (type(key), key)  # 1, 1.0 and True are equal in Python, but are not one name
    with _lock:
        found = _inputs.get(table_key)
        if found is None:
            _inputs[table_key] = found = Input(key)
        return found


def op_key(
    primitive: GraphOp,
    inputs: tuple[GlobalValKey, ...],
    mode: OpMode = PRIMAL,
    site: str | None = None,
) -> GlobalOpKey:
    """The interned identity of `primitive` applied to `inputs` in `mode`.

    A node that exists keeps its first `site`.
    """
    table_key = (primitive.identity, inputs, mode.active_mask if isinstance(mode, Linear) else None)
    found = _ops.get(table_key)
    if found is not None:
        return found
    made = GlobalOpKey(primitive, inputs, mode, site)
    with _lock:
        found = _ops.get(table_key)
        if found is None:
            _ops[table_key] = found = made
        return found


def interned_count() -> int:
    """How many inputs and ops are alive."""
    return len(_inputs) + len(_ops)
