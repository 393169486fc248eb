"""Calls of types seen before: their compiled versions, found without what a first call needs."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.traced import TreeDef
from tenferro.transforms.versions import CompiledVersion
from tenferro.values import Buffer, Executor, RefusesTypes

Types = tuple[Hashable, ...]
"""The types of arguments, as `ready` and `leaf_types` give them."""


@dataclass(frozen=True, slots=True)
class Sole:
    """The version for the only types of arguments so far, all of them arrays.

    Its executable refuses others before it runs, so nobody else needs to look at the types.

    Attributes:
        structure: of the arguments; None if each is an array itself.
    """

    types: Types
    owner: Executor
    structure: Structure | None
    executable: RefusesTypes
    captured: tuple[Buffer, ...]
    is_leaf: bool
    rebuild: Callable[[Sequence[Any]], Any]

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The leaves of a call; something that is not an array if it has another structure."""
        leaves = None if self.structure is None else self.structure.leaves(args, kwargs)
        return _NO_ARRAYS if leaves is None else leaves

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> None:
        """Raise the error of a run, unless it is that the types are others."""
        own = buffers[: len(buffers) - len(self.captured)]
        types = [each for buffer in own for each in (buffer.shape, buffer.dtype)]
        if (*types,) == self.types:
            self.executable.explain(error, buffers)
            raise error


_NO_ARRAYS = (None,)


class Seen:
    """What one compiled function has seen.

    Attributes:
        sole: as long as there is one.
        hits: how many calls it has shortened.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.clear()

    def clear(self) -> None:
        """Forget all versions."""
        self.sole: Sole | None = None
        self._versions: dict[Hashable, CompiledVersion] = {}

    def version(self, treedef: TreeDef | None, types: Sequence[Hashable]) -> CompiledVersion | None:
        """The version for arguments of these types; without a `treedef` they are no trees."""
        found = self._versions.get((treedef, *types))
        if found is not None:
            self.hits += 1
        return found

    def remember(
        self,
        treedef: TreeDef | None,
        types: Types,
        version: CompiledVersion,
        executor: Executor,
        most: int,
    ) -> None:
        """Keep a version of the executor; more than `most` are not kept."""
        if len(self._versions) >= most:
            self._versions.clear()
        self.sole = None if self._versions else _sole(treedef, types, version, executor)
        self._versions[treedef, *types] = version


def _sole(
    treedef: TreeDef | None, types: Types, version: CompiledVersion, executor: Executor
) -> Sole | None:
    executable, traced = version.executable, version.traced
    structure = None if treedef is None else Structure.of(treedef)
    if treedef is not None and structure is None:
        return None
    if not isinstance(executable, RefusesTypes) or not _are_arrays(types):
        return None
    rebuild = traced.out_tree.unflatten
    return Sole(types, executor, structure, executable, traced.captured, version.is_leaf, rebuild)


def _are_arrays(types: Types) -> bool:
    """Whether no argument is a number, of which the program has another type."""
    return all(isinstance(dtype, np.dtype) for dtype in types[1::2])


class Structure:
    """The structure of the arguments of one call; takes calls like it apart.

    That is ten times as fast as to find out the structure of each call.
    """

    def __init__(
        self, treedef: TreeDef, dicts: Sequence[tuple[Any, ...]], count: int, names: int
    ) -> None:
        self._flatten: Callable[[Any], list[Any]] = treedef.flatten_up_to
        self._dicts = dicts
        self._count, self._names = count, names

    @classmethod
    def of(cls, treedef: TreeDef) -> Structure | None:
        """The structure of positional and named arguments; None if it cannot tell all others."""
        dicts = _dicts(treedef, ())
        if dicts is None:
            return None
        dicts.remove((1,))  # the named arguments themselves
        count, names = (each.num_children for each in treedef.children())
        return cls(treedef, dicts, count, names)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any] | None:
        """The leaves of a call of this structure, of which some may be trees; None of another."""
        if len(args) != self._count or len(kwargs) != self._names:
            return None
        call = args, kwargs
        try:
            for path in self._dicts:
                node: Any = call
                for key in path:
                    node = node[key]
                if type(node) is not dict:
                    return None  # `flatten_up_to` takes other mappings for dicts
            return self._flatten(call)
        except (ValueError, LookupError, TypeError):
            return None


def _dicts(treedef: TreeDef, path: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
    """Where the dicts in a tree are, by index and key; None if there is what cannot be reached."""
    if treedef.is_leaf() or treedef.type in (OrderedDict, defaultdict, deque):
        return [] if treedef.is_leaf() else None
    found = [path] if treedef.type is dict else []
    reached = treedef.type in (dict, tuple, list)
    for entry, child in zip(treedef.entries(), treedef.children(), strict=True):
        below = _dicts(child, (*path, entry))
        if below is None or (below and not reached):
            return None
        found += below
    return found
