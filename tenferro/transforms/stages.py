"""What `lower` and `trace` of compiled functions return, as far as it knows Python's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.errors import PytreeError
from tenferro.ir import PyTree, TensorSpec
from tenferro.runtime import GraphProgram
from tenferro.transforms.trees import TreeDef, flatten, shown, unflatten

__all__ = ["CallForm", "TracedCall"]


@dataclass(frozen=True)
class CallForm:
    """The arguments and the result of a call, for what is compiled for such calls.

    Attributes:
        in_tree: the structure of the arguments that are not static, and of those by name.
        out_tree: that of the result.
        names: the inputs of the program that are arguments.
    """

    in_tree: TreeDef
    out_tree: TreeDef
    names: tuple[str, ...]

    def bindings(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arrays by the names of inputs.

        Raises:
            PytreeError: the arguments have another structure.
        """
        leaves, tree = flatten((args, kwargs))
        if tree != self.in_tree:
            raise PytreeError(
                f"call: compiled for arguments of the structure {self.in_tree}, got {tree}; "
                "static arguments are left out"
            )
        return dict(zip(self.names, leaves, strict=True))

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
