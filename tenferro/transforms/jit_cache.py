"""Cache of compiled versions by signature."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.ops.extension import Package
from tenferro.runtime import (
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    RefusesTypes,
    Tensor,
    place,
    wrap_all,
)
from tenferro.transforms.trace import Trace
from tenferro.transforms.trees import TreeDef

# What is kept of a compiled function: its programs, and their executables.


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

    @classmethod
    def of(
        cls, trace: Trace, program: GraphProgram, donated: tuple[int, ...], executor: Executor
    ) -> TracedFunction:
        """The function of a trace with its program; what it has captured goes to the executor."""
        captured = [
            place("jit", declared.default, executor)
            for declared in program.inputs[len(trace.inputs) :]
            if declared.default is not None
        ]
        return cls(program, tuple(captured), donated, trace.out_tree, trace.packages)


@dataclass(frozen=True, slots=True)
class Plain:
    """An executable whose errors need no explanation."""

    direct: Callable[..., Sequence[Buffer]]
    direct_host: Callable[..., Sequence[Buffer]]

    def explain(self, error: Exception, buffers: Sequence[Buffer]) -> None:
        """None: nothing is known of the error."""


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """A traced function, compiled by its executor for arguments of certain sizes.

    Attributes:
        traced: the function.
        executable: its program for these sizes.
        runs: the same as what runs it. If it does not refuse other types, `Plain`.
        is_leaf: whether the result is a single array and not a tree.
    """

    traced: TracedFunction
    executable: Executable
    runs: RefusesTypes | Plain
    is_leaf: bool

    @classmethod
    def of(cls, traced: TracedFunction, executable: Executable) -> CompiledVersion:
        """The version of a traced function that an executable runs."""
        refuses = isinstance(executable, RefusesTypes)
        own: Any = executable if refuses else Plain(executable.__call__, executable.run_host)
        return cls(traced, executable, own, traced.out_tree.is_leaf())

    def results(self, buffers: Sequence[Buffer], on_host: bool, owner: Executor | None) -> Any:
        """The tree of results for these arrays, of which some may be NumPy arrays if `on_host`."""
        buffers = (*buffers, *self.traced.captured)
        run = self.runs.direct_host if on_host else self.runs.direct
        try:
            results = run(*buffers)
        except Exception as error:
            explained = self.runs.explain(error, buffers)
            if explained is None:
                raise
            results = explained
        if self.is_leaf:
            return Tensor.wrap(results[0], owner)
        return self.traced.out_tree.unflatten(wrap_all(results, owner))


# Calls of types seen before: their compiled versions, found without what a first call needs.

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
