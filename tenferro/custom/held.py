"""Traced functions that other functions call: a residual, a linear map and its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.arrays import convert
from tenferro.autodiff import differentiate, pull_back
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.control import emitted
from tenferro.errors import ADError, ADRuleError
from tenferro.families import STANDARD
from tenferro.family import rules_of
from tenferro.loops import Bodies, Body, Leaves, leaves_of, promoted, shown, weak_leaf
from tenferro.ops import full, shape_context
from tenferro.shape import TensorMeta, fresh_input, type_of
from tenferro.traced import (
    TracedTensor,
    TraceEmitter,
    TreeDef,
    as_key,
    flatten,
    innermost,
    open_scopes,
    unflatten,
    user_site,
)
from tenferro.values import meta_of_value

Keys = Sequence[GlobalValKey]
_RULES = rules_of(STANDARD)


class Held:
    """A function of a tree that returns a tree of the same structure and types, held as a graph.

    Attributes:
        inputs: the values of the graph that stand for the argument.
        outputs: the values of the result; None is a zero.
        called: whether the function has been called.
    """

    def __init__(
        self,
        name: str,
        like: Leaves,
        inputs: Keys,
        outputs: Sequence[GlobalValKey | None],
        known: dict[GlobalValKey, GlobalValKey] | None = None,
        since: int | None = None,
    ) -> None:
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.called = False
        self._like = like
        self._known = known or {}
        self._since = inputs[0].serial if since is None else since

    def __call__(self, tree: Any) -> Any:
        """The result for an argument."""
        self.called = True
        leaves, treedef = flatten(tree)
        if treedef != self._like.tree:
            raise ADError(f"{self.name}: takes {self._like}, got another structure: {treedef}")
        pairs = zip(leaves, self._like.metas, strict=True)
        given = [self._as_key(leaf, meta) for leaf, meta in pairs]
        at = TraceEmitter(user_site(2))
        known = self._known | dict(zip(self.inputs, given, strict=True))
        found = emitted(at, self.outputs, known, self._since)
        scope = innermost(open_scopes())
        results = [
            TracedTensor(full(at, 0, meta) if key is None else key, None, scope)
            for key, meta in zip(found, self._like.metas, strict=True)
        ]
        return unflatten(treedef, results)

    def _as_key(self, leaf: Any, goal: TensorMeta) -> GlobalValKey:
        meta = meta_of_value(leaf)
        meta = meta and TensorMeta(meta.dtype, meta.extents)
        if meta is not None and promoted(meta, weak_leaf(leaf), goal):
            return convert(TraceEmitter(), as_key(leaf), goal.dtype)
        if meta != goal:
            got = f"a {type(leaf).__name__}" if meta is None else str(meta)
            raise ADError(f"{self.name}: takes {goal}, got {got}")
        return as_key(leaf)


def vector_of(caller: str, name: str, tree: Any) -> Leaves:
    """The leaves of an argument, of which there must be one.

    Raises:
        ADError: there is none.
        PytreeError: a leaf is not an array.
    """
    like = leaves_of(tree, f"{caller}: {name}")
    if not like.values:
        raise ADError(f"{caller}: {name} has no arrays")
    return like


def traced_like(
    bodies: Bodies, name: str, function: Any, like: Leaves, has_aux: bool = False, *first: Any
) -> tuple[Body, TreeDef]:
    """A function traced on a tree; it must return a tree of the same structure and types.

    `first` are arguments that come first. With `has_aux` it returns a pair of that and of another
    tree.

    Returns:
        The body, and the structure of all that it returns.

    Raises:
        ADError: it returns something else.
    """

    def call(values: list[TracedTensor]) -> Any:
        return bodies.calling(function, *first, unflatten(like.tree, values))

    weak: list[Any] = [None] * len(like.metas)
    body = bodies.trace(name, function, like.metas, weak, call, like.values)
    tree, metas = body.tree, body.metas
    if has_aux:
        parts = tree.children()
        if tree.type is not tuple or len(parts) != 2:
            raise ADError(
                f"{bodies.caller}: {name} must return a pair (value, aux) with has_aux=True, "
                f"got {body}"
            )
        tree, metas = parts[0], metas[: parts[0].num_leaves]
    _adapt(body, len(metas), like)
    if tree != like.tree or body.metas[: len(metas)] != like.metas:
        raise ADError(
            f"{bodies.caller}: {name} returns {shown(tree, body.metas[: len(metas)])} for {like}; "
            "it must return the same structure and types"
        )
    return body, body.tree


def _adapt(body: Body, count: int, like: Leaves) -> None:
    """Convert Python numbers among the first results to the dtypes that they are to have."""
    for place, goal in enumerate(like.metas[:count]):
        if place < count and promoted(body.metas[place], body.weak[place], goal):
            body.convert(place, goal.dtype)


def transposed(caller: str, body: Body, like: Leaves) -> Held:
    """The transpose of a linear function that has been traced.

    Raises:
        ADRuleError: the function is not linear.
    """
    _, backward = linearized("matvec", body, like, body.inputs)
    view: ResolvedView[Any] = resolve_keys()
    present = [key for key in backward.outputs if key is not None]
    ops, _ = view.topo_order(present, since=body.inputs[0].serial)
    read = {key for op in ops for key in op.inputs}.union(present)
    if not read.isdisjoint(body.inputs):
        raise ADRuleError(
            f"{caller}: matvec is not linear: its derivative depends on where it is taken"
        )
    return backward


def linearized(name: str, body: Body, like: Leaves, point: Keys) -> tuple[Held, Held]:
    """The derivative of a traced function at a point, and its transpose."""
    ctx = shape_context(_RULES.lookup)
    linear = differentiate(resolve_keys(), body.outputs, body.inputs, ctx=ctx)
    seeds = [fresh_input(type_of(key), f"ct{place}") for place, key in enumerate(body.outputs)]
    pulled = pull_back(linear, seeds, ctx=ctx)
    known = dict(zip(body.inputs, point, strict=True))
    since = body.inputs[0].serial
    forward = Held(name, like, linear.input_keys, linear.output_keys, known, since)
    return forward, Held(f"the transpose of {name}", like, seeds, pulled, known, since)
