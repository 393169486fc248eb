"""What `lower` and `trace` of compiled functions return, as far as it knows Python's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenferro.errors import PytreeError
from tenferro.ir import PyTree, TensorSpec
from tenferro.runtime import GraphProgram
from tenferro.transforms.trees import TreeDef, flatten, shown, unflatten

__all__ = ["CallForm", "TracedCall"]


@dataclass(frozen=True)
class CallForm:
    """The structures of the arguments and the result of a call, for programs of such calls.

    Attributes:
        in_tree: the structure of the arguments that are not static, and of those by name.
        out_tree: that of the result.
    """

    in_tree: TreeDef
    out_tree: TreeDef

    @cached_property
    def is_flat(self) -> bool:
        """Whether arguments and results are arrays one by one, several results in a tuple."""
        args, kwargs = self.in_tree.children()
        count, out = args.num_leaves, self.out_tree
        several = out.type is tuple and out.num_nodes == out.num_leaves + 1 and out.num_leaves != 1
        return args.num_nodes == count + 1 and kwargs.num_nodes == 1 and (several or out.is_leaf())

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The arrays of arguments; None if they have another structure."""
        leaves, tree = flatten((args, kwargs), in_any_order=True)
        return leaves if tree == self.in_tree else None

    def mismatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PytreeError:
        """The error that says which structure arguments have, and which they should have."""
        return PytreeError(
            f"call: made for arguments of the structure {self.in_tree}, got "
            f"{flatten((args, kwargs))[1]}; static arguments are left out"
        )

    def result(self, outputs: Sequence[Any]) -> Any:
        """The tree of results."""
        return unflatten(self.out_tree, outputs)


class TracedCall:
    """A function traced for arguments of some types: what `f.trace(...)` returns.

    Attributes:
        program: the optimized program.
        out_tree: the structure of the result.
    """

    def __init__(
        self,
        function: Any,
        program: GraphProgram,
        out_tree: TreeDef,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._function, self._args, self._kwargs = function, args, kwargs
        self.program, self.out_tree = program, out_tree

    @property
    def jaxpr(self) -> GraphProgram:
        """The program, which stands in the place of JAX's jaxpr."""
        return self.program

    @property
    def out_info(self) -> PyTree:
        """The types of the results."""
        metas = self.program.exec_program.output_metas
        return unflatten(self.out_tree, [TensorSpec.of(meta) for meta in metas])

    def lower(self) -> Any:
        """What the executor makes of the program; see `jit(f).lower`."""
        return self._function.lower(*self._args, **self._kwargs)

    def __repr__(self) -> str:
        return f"TracedCall({shown(self.out_tree, self.program.exec_program.output_metas)})"
