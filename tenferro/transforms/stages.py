"""What `lower` and `trace` of compiled functions return, as far as it knows Python's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tenferro.errors import PytreeError
from tenferro.ir import DType, PyTree, TensorSpec
from tenferro.runtime import Form, GraphProgram
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
    """The structures of the arguments and the result of a call, for programs of such calls.

    Attributes:
        in_tree: the structure of the arguments that are not static, and of those by name.
        out_tree: that of the result.
        types: those of the arguments, where a compiled function was lowered for them.
        donated: the positions of those that are donated.
    """

    in_tree: TreeDef
    out_tree: TreeDef
    types: tuple[TensorSpec, ...] | None = None
    donated: tuple[int, ...] = ()

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
            f"call: compiled for arguments of the structure {self.in_tree}, got "
            f"{flatten((args, kwargs))[1]}; static arguments are left out"
        )

    def result(self, outputs: Sequence[Any]) -> Any:
        """The tree of results."""
        return unflatten(self.out_tree, outputs)


class Stage:
    """What a compiled function says of its calls, before and after it is compiled.

    Attributes:
        form: the arguments and the result of the function that was lowered, if they are known.
    """

    form: Form | None = None

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
        form = self.form
        return None if form is None or form.types is None else self.of_arguments(form.types)

    @property
    def args_info(self) -> Any:
        """An `ArgInfo` for each argument, and for those by name."""
        form = self.form
        if form is None or form.types is None:
            return None
        infos = [
            ArgInfo(spec.shape, spec.dtype, place in form.donated)
            for place, spec in enumerate(form.types)
        ]
        return self.of_arguments(infos)

    def of_arguments(self, inputs: Sequence[Any]) -> Any:
        """The trees of the arguments, which are the first inputs; a tuple if it is no function."""
        form = self.form
        if form is None:
            return tuple(inputs)
        return unflatten(form.in_tree, inputs[: form.in_tree.num_leaves])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The positions, among the arrays of the arguments, of those that are donated."""
        return () if self.form is None else self.form.donated


class TracedCall(Stage):
    """A function traced for arguments of some types: what `f.trace(...)` returns.

    Attributes:
        program: the optimized program.
    """

    form: CallForm

    def __init__(
        self,
        function: Any,
        program: GraphProgram,
        form: CallForm,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self._function, self._args, self._kwargs = function, args, kwargs
        self.program, self.form = program, form

    @property
    def fun_name(self) -> str:
        """The name of the function."""
        return getattr(self._function, "__name__", repr(self._function))

    @property
    def jaxpr(self) -> GraphProgram:
        """The program, which stands in the place of JAX's jaxpr."""
        return self.program

    @property
    def out_info(self) -> PyTree:
        """The types of the results."""
        metas = self.program.exec_program.output_metas
        return self.form.result([TensorSpec.of(meta) for meta in metas])

    @property
    def out_avals(self) -> PyTree:
        """The types of the results, which are `out_info`."""
        return self.out_info

    def lower(self) -> Any:
        """What the executor makes of the program; see `jit(f).lower`."""
        return self._function.lower(*self._args, **self._kwargs)

    def __repr__(self) -> str:
        return f"TracedCall({shown(self.form.out_tree, self.program.exec_program.output_metas)})"
