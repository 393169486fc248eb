"""What `lower` and `trace` of compiled functions return, as far as it knows Python's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.errors import PytreeError
from tenferro.ir import DType, PyTree, TensorSpec
from tenferro.runtime import GraphProgram
from tenferro.transforms.trees import TreeDef, flatten, shown, unflatten

__all__ = ["ArgInfo", "CallForm", "Stage", "TracedCall"]


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """The type of an argument, and whether its memory is passed on to the program."""

    shape: tuple[Any, ...]
    dtype: DType
    donated: bool


@dataclass(frozen=True)
class CallForm:
    """The arguments and the result of a call, for what is compiled for such calls.

    Attributes:
        in_tree: the structure of the arguments that are not static, and of those by name.
        out_tree: that of the result.
        names: the inputs of the program that are arguments.
        types: their types.
        donated: the positions of those that are donated.
    """

    in_tree: TreeDef
    out_tree: TreeDef
    names: tuple[str, ...]
    types: tuple[TensorSpec, ...]
    donated: tuple[int, ...]

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


class Stage:
    """What a compiled function says of its calls, before and after it is compiled.

    Attributes:
        form: the arguments and the result of the function that was lowered; None of a program.
    """

    form: CallForm | None = None

    @property
    def in_tree(self) -> TreeDef | None:
        """The structure of the arguments."""
        return None if self.form is None else self.form.in_tree

    @property
    def out_tree(self) -> TreeDef | None:
        """The structure of the result."""
        return None if self.form is None else self.form.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, and of those by name."""
        return None if self.form is None else unflatten(self.form.in_tree, self.form.types)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each argument, and for those by name."""
        form = self.form
        if form is None:
            return None
        infos = [
            ArgInfo(spec.shape, spec.dtype, place in form.donated)
            for place, spec in enumerate(form.types)
        ]
        return unflatten(form.in_tree, infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the arrays of the arguments, of those that are donated."""
        return () if self.form is None else self.form.donated


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
