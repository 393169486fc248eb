"""Calls of a function with derivatives by hand: the op, and the values that rules are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tenferro.arrays import Number, convert
from tenferro.computegraph import GlobalValKey, Input
from tenferro.control import Custom, Rule, program_of
from tenferro.custom.arguments import Arguments
from tenferro.eager import EagerTensor
from tenferro.errors import ADRuleError
from tenferro.loops import leaves_of, operands_of, promoted, run, shown, tracing_bodies, weak_leaf
from tenferro.ops import full
from tenferro.shape import TensorMeta, is_complex, is_inexact
from tenferro.traced import (
    Scope,
    TracedTensor,
    TraceEmitter,
    TrackedTensor,
    TreeDef,
    as_key,
    captured_before,
    flatten,
    is_tracing,
    open_scopes,
    reopened,
    tracing,
    unflatten,
)
from tenferro.values import meta_of_value

FLOAT0 = np.dtype([("float0", np.void, 0)])
"""What JAX calls the tangents of integers; here they are None."""


def is_differentiable(arrays: Sequence[Any]) -> bool:
    """Whether a derivative may be asked for of a function of these arguments."""
    leaves = flatten(arrays)[0]
    traced = any(isinstance(leaf, TracedTensor) for leaf in leaves)
    return traced or is_tracing() or any(_is_tracked(leaf) for leaf in leaves)


def _is_tracked(leaf: Any) -> bool:
    return isinstance(leaf, EagerTensor) and leaf.tracked


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What calls of a function have in common that differ in the values of arrays only.

    Attributes:
        name: what errors call the function: `custom_jvp f`.
        arguments: the arguments of these calls, with None in place of the arrays.
        in_tree: the structure of the arrays among them, which is a tuple.
        weak: for each of their leaves whose dtype yields to that of arrays a zero of its kind, else
            None.
        out_tree: the structure of the result.
        closed: the graph values that the function closes over, which are the first operands.
        scopes: the traces around the call, whose values rules may read.
    """

    name: str
    arguments: Arguments
    in_tree: TreeDef
    weak: tuple[Number | None, ...]
    out_tree: TreeDef
    closed: tuple[GlobalValKey, ...]
    scopes: tuple[Scope, ...]

    @property
    def identity(self) -> Hashable | None:
        """What tells apart the rules of two forms of a function; None if nothing does."""
        static = tuple([(type(value), value) for value in self.arguments.static.values()])
        try:
            hash(static)
        except TypeError:
            return None
        kinds = tuple(map(type, self.weak))
        return static, self.in_tree, kinds, self.out_tree, self.closed

    @contextmanager
    def tracing(self, rule: str) -> Iterator[Scope]:
        """A context for calling a rule of the user and reading its result."""
        scope = Scope(f"{rule} of {self.name}")
        sources = [key.key for key in self.closed if isinstance(key, Input)]
        tracked = [source for source in sources if isinstance(source, TrackedTensor)]
        with (
            reopened(self.scopes),
            captured_before(tracked, f"{self.name}: {rule}"),
            tracing(scope),
        ):
            try:
                yield scope
            except Exception as error:
                error.add_note(f"raised in {rule} of {self.name}")
                raise

    def refuse_closed_over(self) -> NoReturn:
        """Raise the error of a derivative by what the function closes over."""
        raise ADRuleError(
            f"{self.name}: a derivative is asked for by a value that the function closes over, of "
            "which its rule knows nothing; make the value an argument"
        )

    def check_value(self, what: str, result: Any, metas: Sequence[TensorMeta]) -> None:
        """Raise ADRuleError unless a rule returned a value like that of the function."""
        if None in self.matched(what, result, self.out_tree, metas):
            raise ADRuleError(f"{self.name}: {what} is None in a place")

    def arguments_of(self, keys: Sequence[GlobalValKey | None], scope: Scope) -> list[Any]:
        """Values like the arrays among the arguments, as users see them. None stays None."""
        return [
            None if key is None else TracedTensor(key, number, scope)
            for key, number in zip(keys, self.weak, strict=True)
        ]

    def matched(
        self,
        what: str,
        result: Any,
        tree: TreeDef,
        metas: Sequence[TensorMeta],
        converted: bool = False,
    ) -> list[GlobalValKey | None]:
        """The graph values of a tree that a rule returned, which has a structure and types.

        None stands for a zero, and for what belongs to an integer. If they are to be `converted`,
        the dtypes may be others, except for complex ones in the place of real ones.

        Raises:
            ADRuleError: the structure or a type differs.
        """
        flatten(result)  # registers dataclasses
        try:
            leaves = tree.flatten_up_to(result)
        except ValueError:
            raise ADRuleError(
                f"{self.name}: {what} is {described(result)}, which must have the structure of "
                f"{shown(tree, metas)}"
            ) from None
        return [
            self._key(what, leaf, meta, converted) for leaf, meta in zip(leaves, metas, strict=True)
        ]

    def _key(self, what: str, leaf: Any, goal: TensorMeta, converted: bool) -> GlobalValKey | None:
        """The graph value of one leaf; None for a zero."""
        if leaf is None or getattr(leaf, "dtype", None) == FLOAT0:
            return None
        meta = meta_of_value(leaf)
        if meta is None:
            raise ADRuleError(
                f"{self.name}: {what} is a {type(leaf).__name__} in the place of {goal}; "
                "return an array, or None for a zero"
            )
        if not isinstance(leaf, TracedTensor):
            leaf = TracedTensor(as_key(leaf), weak_leaf(leaf))
        key: GlobalValKey = leaf.in_use(what)
        meta = TensorMeta(meta.dtype, meta.extents)
        alike = meta.extents == goal.extents and is_complex(meta.dtype) <= is_complex(goal.dtype)
        if promoted(meta, leaf.weak, goal) or (converted and alike and is_inexact(goal.dtype)):
            return convert(TraceEmitter(), key, goal.dtype)
        if meta != goal:
            raise ADRuleError(
                f"{self.name}: {what} is {meta} in the place of {goal}; return that type"
            )
        return key


def filled(keys: Sequence[GlobalValKey | None], like: Sequence[TensorMeta]) -> list[Any]:
    """Graph values with zeros for those that are None; None for those of integers."""
    return [
        full(TraceEmitter(), 0, meta) if key is None and is_inexact(meta.dtype) else key
        for key, meta in zip(keys, like, strict=True)
    ]


def call(
    name: str,
    function: Callable[..., Any],
    arguments: Arguments,
    rule_of: Callable[[Form], Rule],
) -> Any:
    """The result of a function as that of an op with a rule.

    Raises:
        PytreeError: a leaf of the result is not an array.
        UnsupportedDynamicShapeError: data decide the size of an argument or of a result.
    """
    label = getattr(function, "__name__", "f")
    passed = leaves_of(arguments.arrays, f"{name}: arguments")
    scopes = open_scopes()

    def called(values: list[TracedTensor]) -> Any:
        return bodies.calling(function, *arguments.joined(unflatten(passed.tree, values)))

    with tracing_bodies(name.split()[0]) as bodies:
        body = bodies.trace(label, function, passed.metas, passed.weak, called, passed.values)
        closed = bodies.closed_over(body)
        program = program_of([*closed, *body.inputs], body.outputs)
    weak = tuple([None if number is None else type(number)() for number in passed.weak])
    static = Arguments(arguments.static, (None,) * len(arguments.arrays))
    form = Form(name, static, passed.tree, weak, body.tree, tuple(closed), scopes)
    op = Custom(program, rule_of(form), len(closed))
    return unflatten(body.tree, run(op, [*operands_of(closed), *passed.typed()], bodies))


def described(tree: Any) -> str:
    """A tree of types, also of one whose leaves are not all arrays."""
    leaves, treedef = flatten(tree)
    return repr(unflatten(treedef, [_Described(leaf) for leaf in leaves]))


class _Described:
    """The type of a leaf in its place."""

    def __init__(self, leaf: Any) -> None:
        self._leaf = leaf

    def __repr__(self) -> str:
        meta = meta_of_value(self._leaf)
        return f"a {type(self._leaf).__name__}" if meta is None else str(meta)


def values_of(keys: Sequence[GlobalValKey | None], scope: Scope | None) -> list[Any]:
    """Graph values as users see them. None stays None."""
    return [None if key is None else TracedTensor(key, None, scope) for key in keys]
