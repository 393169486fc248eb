"""Calls of types seen before: their compiled versions, found without what a first call needs."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.traced import TreeDef
from tenferro.transforms.versions import CompiledVersion, Plain
from tenferro.values import Buffer, RefusesTypes

Types = tuple[Hashable, ...]
"""The types of arguments, as `ready` and `leaf_types` give them."""
KIND = operator.attrgetter("shape", "dtype")
"""The type of an array."""
Kinds = tuple[tuple[Hashable, Hashable], ...]
"""The `KIND` of each array."""


@dataclass(frozen=True, slots=True)
class Known:
    """A version, ready to run on the arrays of a call, which are all it takes.

    Attributes:
        kinds: of the arrays.
        executable: of the version. If it does not refuse other types, `Plain`.
    """

    kinds: Kinds
    executable: RefusesTypes | Plain
    captured: tuple[Buffer, ...]
    is_leaf: bool
    rebuild: Callable[[Sequence[Any]], Any]

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> Sequence[Buffer] | None:
        """Raise the error of a run, unless it is that the types are others: then None.

        The results, if the executable can be run all the same.
        """
        own = buffers[: len(buffers) - len(self.captured)]
        if (*map(KIND, own),) != self.kinds:
            return None
        results = self.executable.explain(error, buffers)
        if results is None:
            raise error
        return results


class Seen:
    """What one compiled function has seen.

    Attributes:
        latest: the structure of arguments that was met last.
        hits: how many calls had a version.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.clear()

    def clear(self) -> None:
        """Forget all versions."""
        self.latest = Structure(None)
        self._structures: dict[TreeDef | None, Structure] = {None: self.latest}
        self._count = 0

    def version(self, treedef: TreeDef | None, types: Sequence[Hashable]) -> CompiledVersion | None:
        """The version for arguments of these types; without a `treedef` they are no trees."""
        structure = self._structures.get(treedef)
        found = None if structure is None else structure.versions.get((*types,))
        if structure is not None and found is not None:
            self.latest = structure
            self.hits += 1
        return found

    def remember(
        self,
        treedef: TreeDef | None,
        types: Sequence[Hashable],
        version: CompiledVersion,
        most: int,
    ) -> None:
        """Keep a version; more than `most` are not kept."""
        if self._count >= most:
            self.clear()
        self._count += 1
        structure = self._structures.get(treedef)
        if structure is None:
            structure = self._structures[treedef] = Structure(treedef)
        structure.add((*types,), version)
        self.latest = structure


class Structure:
    """The structure of the arguments of calls, and the versions for them.

    It takes calls apart ten times as fast as their structure is found out.

    Attributes:
        plain: whether there are positional arguments only, and each is a leaf.
        versions: those for the types of the leaves.
        known: those for leaves that are arrays, by the `KIND` of each.
        sole: the only version, if its executable refuses arrays of other types before it runs, so
            that nobody else needs to look at the types.
    """

    def __init__(self, treedef: TreeDef | None) -> None:
        self.plain = treedef is None
        self.versions: dict[Types, CompiledVersion] = {}
        self.sole: Known | None = None
        self.known: dict[Kinds, Known] = {}
        self._nodes: list[Node] | None = None
        if treedef is not None:
            self._flatten: Callable[[Any], list[Any]] = treedef.flatten_up_to
            self._nodes = _nodes(treedef, ())
            self._count, self._names = (each.num_children for each in treedef.children())

    def add(self, types: Types, version: CompiledVersion) -> None:
        """Take a version for leaves of these types."""
        self.versions[types] = version
        self.sole = None
        if not all(isinstance(dtype, np.dtype) for dtype in types[1::2]):
            return  # a number has another type in the program than an array of its dtype
        traced, runs = version.traced, version.runs
        kinds = tuple(zip(types[::2], types[1::2], strict=True))
        known = Known(kinds, runs, traced.captured, version.is_leaf, traced.out_tree.unflatten)
        self.known[kinds] = known
        if not isinstance(runs, Plain) and len(self.versions) == 1:
            self.sole = known

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves of a call of this structure; what is not an array if it is of another one.

        A tree may also be among them where this structure has a leaf.
        """
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
    found = [(path, treedef.type)] if treedef.type is dict or is_argument else []
    reached = treedef.type in (dict, tuple, list)
    for entry, child in zip(treedef.entries(), treedef.children(), strict=True):
        below = _nodes(child, (*path, entry))
        if below is None or (below and not reached):
            return None
        found += below
    return found if path else [(place, kind) for place, kind in found if place != (1,)]
