"""What is kept of a compiled function: its programs, and their executables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro.family import Package
from tenferro.traced import TreeDef
from tenferro.values import Buffer, Executable, GraphProgram


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
class CompiledVersion:
    """A traced function, compiled by its executor for arguments of certain sizes.

    Attributes:
        traced: the function.
        executable: its program for these sizes.
        is_leaf: whether the result is a single array and not a tree.
    """

    traced: TracedFunction
    executable: Executable
    is_leaf: bool
