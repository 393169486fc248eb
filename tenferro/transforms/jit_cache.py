"""Caches of compiled versions and traced programs by signature, and how later calls find them."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from tenferro.config import DEFAULT_RULES, RULES_OF_PROCESS, rules_here
from tenferro.core import BoundedCache, Capacity
from tenferro.ir import DType, TensorMeta, as_dtype
from tenferro.ops.extension import Package
from tenferro.runtime import (
    MESH_OF_THREAD,
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    RefusesTypes,
    Tensor,
    current_trace,
    named_axes,
    wrap_all,
)
from tenferro.transforms.ad_context import context_of
from tenferro.transforms.program import wraps
from tenferro.transforms.trace import RecordedCall
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import TreeDef, flatten, require_hashable, unflatten


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A function traced for arguments of certain types, whose extents may be symbolic.

    Attributes:
        program: the program of the function.
        captured: buffers of arrays in the function's closure, passed after the arguments.
        donated: the inputs of the program that belong to donated arguments.
        out_tree: structure of the result.
    """

    program: GraphProgram
    captured: tuple[Buffer, ...]
    donated: tuple[int, ...]
    out_tree: TreeDef
    packages: Sequence[Package]


@dataclass(frozen=True, slots=True)
class AcceptsTypes:
    """An executable that does not refuse other types by itself, and explains no errors."""

    direct: Callable[..., Sequence[Buffer]]
    direct_host: Callable[..., Sequence[Buffer]]

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> None:
        """None: nothing is known of the error."""


KIND = operator.attrgetter("shape", "dtype")
"""The type of an array."""
NUMBERS = (float, int, bool, complex)
"""Python's numbers, which are weaker in promotion than arrays of their dtypes."""
Kinds = tuple[Hashable, ...]
"""The `KIND` of each leaf as an array; then the place and the class of each that is a number."""


@dataclass(frozen=True, slots=True, eq=False)
class CacheEntry:
    """A function compiled by its executor for arguments of one signature.

    Attributes:
        traced: the function.
        executable: its program for these sizes.
        runs: the executable, or its adapter if it does not refuse other types.
        captured: arrays to pass after the arguments.
        is_leaf: whether the result is a single array and not a tree.
        rebuild: makes the tree of results.
    """

    traced: TracedFunction
    executable: Executable
    runs: RefusesTypes | AcceptsTypes
    captured: tuple[Buffer, ...]
    is_leaf: bool
    rebuild: Callable[[Sequence[Any]], Any]

    @classmethod
    def of(cls, traced: TracedFunction, executable: Executable) -> CacheEntry:
        """The entry for a traced function that an executable runs."""
        runs: Any = executable
        if not isinstance(executable, RefusesTypes):
            runs = AcceptsTypes(executable.__call__, executable.run_host)
        out = traced.out_tree
        is_flat = out.type is tuple and out.num_nodes == out.num_leaves + 1
        # `unflatten` takes several times as long
        rebuild: Callable[[Sequence[Any]], Any] = tuple if is_flat else out.unflatten
        return cls(traced, executable, runs, traced.captured, out.is_leaf(), rebuild)

    def results(self, buffers: Sequence[Buffer], on_host: bool, owner: Executor | None) -> Any:
        """The tree of results for these arrays, of which some may be NumPy arrays if `on_host`."""
        buffers = [*buffers, *self.captured]
        try:
            results = (self.runs.direct_host if on_host else self.runs.direct)(*buffers)
        except Exception as error:
            results = self.recovered(error, buffers)
        if self.is_leaf:
            return Tensor.wrap(results[0], owner)
        return self.rebuild(wrap_all(results, owner))

    def recovered(self, error: Exception, buffers: Sequence[Buffer]) -> Sequence[Buffer]:
        """The results, if the program can be run in spite of an error; else raise the error."""
        results = self.runs.explain(error, buffers)
        if results is None:
            raise error
        return results


class SignatureCache(BoundedCache[Hashable, CacheEntry]):
    """The compiled versions of one function by the signature of its arguments, and its programs.

    Versions for arrays and numbers stand also with the structure of their arguments, where calls of
    the structure met last find them without a lock, and without finding out their structure.

    Attributes:
        traces: the traced programs, by signatures with names for symbolic sizes.
        recorded: calls in other traces, by the types of their arguments.
        has_recorded: whether there has been one.
        rules: how dtypes are chosen in the versions that stand with structures.
        number_dtypes: the dtypes of numbers by these rules, where NumPy has others.
        latest: the structure that was met last.
        sole: its only version, if it has one, no trees, and nothing to pass after the arguments.
    """

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity)
        self.traces: BoundedCache[Hashable, TracedFunction] = BoundedCache(capacity)
        self.recorded: BoundedCache[Hashable, RecordedCall] = BoundedCache(capacity)
        self.has_recorded = False
        self.rules = DEFAULT_RULES
        self.number_dtypes: dict[type, DType] = {}
        self._forget_structures()

    def clear(self) -> None:
        """Remove all versions and programs."""
        super().clear()
        self.traces.clear()
        self.recorded.clear()
        self._forget_structures()

    def _forget_structures(self) -> None:
        self.latest = TreeSignature(None)
        self.sole: CacheEntry | None = None
        self._structures: dict[Structure, TreeSignature] = {(None, None, 0): self.latest}
        self._count = 0

    def inlined(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        static: Hashable,
    ) -> Any:
        """The result of a call within the enclosing trace.

        As in JAX the function is called once for arguments of the same types, and its ops are
        repeated for those of later calls. It is called each time where these would be others: if it
        reads values of the enclosing trace, has effects, or gets arrays that are known. `static` is
        the key of the arguments that are bound in the function.
        """
        leaves, treedef = flatten((args, kwargs))
        if (key := _key_of_call(leaves, treedef, static)) is not None:
            recorded = self.recorded.get(key)
            is_new = recorded is None
            if recorded is None:
                require_hashable(treedef)
                recorded = RecordedCall.of(function, args, kwargs)
                self.recorded.put(key, recorded.stored())
                self.has_recorded = True
            if not recorded.in_place and (is_new or recorded.is_closed):
                return recorded.on([leaf for leaf in leaves if isinstance(leaf, TracedTensor)])
        args, kwargs = unflatten(treedef, leaves)  # as a traced function gets them
        return function(*args, **kwargs)

    def repeating(self, function: Callable[..., Any], static: Hashable) -> Callable[..., Any]:
        """The function, which is not called for types for which other traces have recorded it."""

        def repeated(*args: Any, **kwargs: Any) -> Any:
            leaves, treedef = flatten((args, kwargs))
            key = _key_of_call(leaves, treedef, static)
            recorded = None if key is None else self.recorded.get(key)
            if recorded is None or recorded.in_place or not recorded.is_closed:
                return function(*args, **kwargs)
            return recorded.on([leaf for leaf in leaves if isinstance(leaf, TracedTensor)])

        return wraps(function, repeated)

    def remember(
        self,
        treedef: TreeDef | None,
        types: Sequence[Hashable],
        entry: CacheEntry,
        statics: Statics | None = None,
        count: int = 0,
    ) -> None:
        """Let calls of this structure find a version; without a `treedef` they have no trees.

        `types` has the shape and dtype of each leaf, or the class of a number and None. `statics`
        are the static arguments if the function has such, and `count` how many are positional then.
        """
        if self.rules is not (rules := rules_here.get() or RULES_OF_PROCESS[0]):
            self._forget_structures()
            self.rules = rules
            self.number_dtypes = {
                kind: as_dtype(kind) for kind in NUMBERS if as_dtype(kind) != np.dtype(kind)
            }
        kinds: list[Hashable] = []
        numbers: list[Hashable] = []
        for position, (shape, dtype) in enumerate(zip(types[::2], types[1::2], strict=True)):
            if shape in NUMBERS and dtype is None:
                kinds.append(((), self.number_dtypes.get(shape) or np.dtype(shape)))
                numbers += (position, shape)
            elif isinstance(dtype, np.dtype) and dtype.isnative:
                kinds.append((shape, dtype))
            else:
                return  # other arguments might have the same kinds
        if self._count >= self.capacity.entries:
            self._forget_structures()
        self._count += 1
        structure = treedef, statics, count
        self.latest = signature = self._structures.get(structure) or TreeSignature(*structure)
        self._structures[structure] = signature
        signature.entries[*kinds, *numbers] = entry
        if len(signature.entries) > 1 or isinstance(entry.runs, AcceptsTypes):
            signature.sole = None
        else:
            signature.numbers = tuple(numbers)  # first: other threads compare it, then read `sole`
            signature.sole = entry
        arrays_alone = signature.plain and not (numbers or entry.captured)
        self.sole = signature.sole if arrays_alone else None


def key_of_recorded(
    tree: Hashable,
    static: Hashable,
    metas: Iterable[TensorMeta | None],
    numbers: Iterable[Hashable],
) -> Hashable | None:
    """What decides what a function records of arguments, besides what it closes over.

    `static` is the key of arguments that are Python values. Each leaf of the others has its type,
    and what is known of it as a number. None if a size has a name, or there are named axes.
    """
    around = current_trace()
    if (around is not None and around.varies) or named_axes():
        return None
    types = tuple(metas)
    if any(meta is not None and meta.static_shape is None for meta in types):
        return None
    rules, mesh = rules_here.get() or RULES_OF_PROCESS[0], MESH_OF_THREAD.mesh
    return (rules, mesh, context_of(None), static, tree, types, tuple(numbers))


def _key_of_call(leaves: Sequence[Any], tree: TreeDef, static: Hashable) -> Hashable | None:
    """The key of a call with traced values and numbers; None if there is anything else."""
    metas: list[TensorMeta | None] = []
    numbers: list[Any] = []
    for leaf in leaves:
        kind: Any = type(leaf)
        if kind is TracedTensor:
            metas.append(leaf.meta)
            numbers.append(type(leaf.weak))
        elif kind in NUMBERS:
            metas.append(None)
            numbers.append((kind, repr(leaf)))
        else:
            return None
    return key_of_recorded(tree, static, metas, numbers) if current_trace() is not None else None


class TreeSignature:
    """The structure of the arguments of calls, and the versions for them.

    It takes calls apart ten times as fast as their structure is found out.

    Attributes:
        plain: whether there are positional arguments only, and each is a leaf.
        entries: the versions for leaves of these kinds.
        sole: the only version, if its executable refuses arrays of other types before it runs, so
            that nobody else needs to look at the types.
        numbers: the places and classes of the numbers among the leaves that `sole` is for.
    """

    def __init__(
        self, treedef: TreeDef | None, statics: Statics | None = None, count: int = 0
    ) -> None:
        self.plain = treedef is None and statics is None
        self._statics, self._positional = statics, count
        self._is_flat = treedef is None
        self.entries: dict[Kinds, CacheEntry] = {}
        self.sole: CacheEntry | None = None
        self.numbers: Kinds | None = None
        self._nodes: list[Node] | None = None
        if treedef is not None:
            self._flatten: Callable[[Any], list[Any]] = treedef.flatten_up_to
            self._nodes = _nodes(treedef, ())
            self._count, self._names = (each.num_children for each in treedef.children())

    def recovered(
        self, error: Exception, entry: CacheEntry, buffers: Sequence[Buffer], numbers: Kinds
    ) -> Sequence[Buffer] | None:
        """`CacheEntry.recovered`; None if the entry is for other types, which it has refused."""
        own = buffers[: len(buffers) - len(entry.captured)]
        if self.entries.get((*map(KIND, own), *numbers)) is not entry:
            return None
        return entry.recovered(error, buffers)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves of a call of this structure; what is not an array if it is of another one.

        A tree may also be among them where this structure has a leaf.
        """
        if self._statics is not None:
            others = self._others(self._statics, args, kwargs)
            if others is None:
                return _NO_ARRAYS
            args, kwargs = others
            if self._is_flat:
                return _NO_ARRAYS if kwargs else args
        nodes = self._nodes
        if nodes is None or len(args) != self._count or len(kwargs) != self._names:
            return _NO_ARRAYS
        call = args, kwargs
        try:
            for path, kind in nodes:
                node: Any = call
                for key in path:
                    node = node[key]
                if type(node) is not kind:
                    return _NO_ARRAYS
            return self._flatten(call)
        except ValueError:
            self._nodes = None  # the next one would print the whole call into its text, too
        except (LookupError, TypeError):
            pass
        return _NO_ARRAYS

    def _others(
        self, statics: Statics, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments that are not static; None if the static ones are others."""
        if len(args) != self._positional:
            return None
        others, options = [*args], kwargs
        for where, kind, value in reversed(statics):
            if isinstance(where, int):
                arg = others.pop(where)
            elif where in kwargs:
                options = options.copy() if options is kwargs else options
                arg = options.pop(where)
            else:
                return None
            if arg is not value and (type(arg) is not kind or arg != value):
                return None
        return tuple(others), options


Statics = tuple[tuple[int | str, type, Any], ...]
"""The static arguments of a call: the place, in ascending order, or then the name, the class, and
the value of each. None of them can change."""
Structure = tuple[TreeDef | None, Statics | None, int]
_NO_ARRAYS = (None,)
Node = tuple[tuple[Any, ...], type | None]
"""Where a node of a tree is, by index and key, and what it is."""


def _nodes(treedef: TreeDef, path: tuple[Any, ...]) -> list[Node] | None:
    """The nodes whose types are to be compared; None if there is one that cannot be reached.

    `flatten_up_to` takes other mappings for dicts. Where an argument is of another type, it would
    print it.
    """
    if treedef.is_leaf():
        return []
    if treedef.type in (OrderedDict, defaultdict, deque):
        return None
    is_argument = len(path) == 2
    nodes = [(path, treedef.type)] if treedef.type is dict or is_argument else []
    reached = treedef.type in (dict, tuple, list) or treedef.kind == optree.PyTreeKind.NAMEDTUPLE
    for entry, child in zip(treedef.entries(), treedef.children(), strict=True):
        below = _nodes(child, (*path, entry))
        if below is None or (below and not reached):
            return None
        nodes += below
    return nodes if path else [(place, kind) for place, kind in nodes if place != (1,)]
