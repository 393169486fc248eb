"""custom_vmap: a function whose batches a rule computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import optree

from tenferro.core import (
    Batched,
    BatchSite,
    GlobalValKey,
    JvpSite,
    Slots,
    V,
    differentiate,
    resolve_keys,
)
from tenferro.errors import BatchingError
from tenferro.ir import Exact, fresh_input, same_size, type_of
from tenferro.ops.control_flow import Custom, emitted, graph_of, inner_emitter
from tenferro.runtime import TraceContext, named_axes
from tenferro.transforms.custom_jvp import CallRule, CustomFunction, RuledCall, described
from tenferro.transforms.scan import map as map_entries
from tenferro.transforms.trace import traced_values
from tenferro.transforms.traced_tensor import as_key
from tenferro.transforms.trees import NAMESPACE, flatten, unflatten, with_known_classes

__all__ = ["CustomVmap", "custom_vmap", "sequential_vmap"]

P = ParamSpec("P")
R = TypeVar("R")
VmapRule = Callable[..., tuple[Any, Any]]


class CustomVmap(CustomFunction[P, R]):
    """A function whose batches a rule computes; what `custom_vmap` returns."""

    caller = "custom_vmap"
    _rule: VmapRule | None = None

    def def_vmap(self, vmap_rule: VmapRule) -> VmapRule:
        """Define the rule `rule(axis_size, in_batched, *args) -> (result, out_batched)`.

        It takes the number of entries; a list with, for each argument, a bool, or a tree of bools:
        whether it is batched, with the batch as axis 0; and the arguments. It returns the results,
        and a tree of bools that says which of them are batched. It is returned itself.

        Raises:
            ADError: `vmap_rule` cannot be called.
        """
        self._defined(rule=vmap_rule)
        self._rule = vmap_rule
        return vmap_rule

    @property
    def _has_rule(self) -> bool:
        return self._rule is not None

    @property
    def _advice(self) -> str:
        return "define one with .def_vmap(rule)"

    def _new_rule(self, form: RuledCall) -> CallRule:
        assert self._rule is not None
        return _BatchRule(form, self._rule)


class _BatchRule(CallRule):
    def __init__(self, form: RuledCall, rule: VmapRule) -> None:
        super().__init__(form)
        self._rule = rule

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The tangents of what the function computes."""
        inputs, outputs = graph_of(op.body)
        wrt = [key for key, tangent in zip(inputs, at.tangent, strict=True) if tangent is not None]
        linear = differentiate(resolve_keys(), outputs, wrt, ctx=inner_emitter(at.emitter).ctx)
        known = dict(zip(inputs, at.primal, strict=True))
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        known.update(zip(linear.input_keys, tangents, strict=True))
        return emitted(at.emitter, linear.output_keys, known, inputs[0].serial)

    def batch_by_hand(self, op: Custom, at: BatchSite[V]) -> Batched[V] | None:
        """The results of the user's rule; None if what the function closes over is batched."""
        form, count = self.form, op.consts
        over = {key for key, on in zip(form.closed, at.batched, strict=False) if on}
        places = {axis.index for axis in named_axes(form.traces).values()}
        if over - places:
            return None
        metas = [at.emitter.ctx.meta(value) for value in at.inputs[count:]]
        arguments = [fresh_input(meta, f"batch{place}") for place, meta in enumerate(metas)]
        flags = list(unflatten(form.in_tree, at.batched[count:]))

        def read(result: Any) -> tuple[list[GlobalValKey], list[bool]]:
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise BatchingError(
                    f"{form.name}: the rule must return a pair (result, out_batched), got "
                    f"{described(result)}"
                )
            value, batched = result
            leaves, tree = flatten(value)
            if tree != form.out_tree:
                raise BatchingError(
                    f"{form.name}: the rule returns {described(value)}, which does not have the "
                    "structure that the function returns"
                )
            try:
                prefix = with_known_classes(batched)
                spread = optree.broadcast_prefix(prefix, value, namespace=NAMESPACE)
            except ValueError as error:
                raise BatchingError(
                    f"{form.name}: out_batched does not fit the result: {error}"
                ) from None
            return list(map(as_key, leaves)), list(map(bool, spread))

        def passed(scope: TraceContext) -> tuple[Any, ...]:
            values = unflatten(form.in_tree, traced_values(arguments, scope))
            return (at.size, flags, *form.arguments.with_arrays(values))

        keys, batched = form.trace("the rule", self._rule, passed, read, over)
        for key, on, meta in zip(keys, batched, op.body.output_metas, strict=True):
            found = type_of(key)
            extents = (Exact(at.size), *meta.extents) if on else meta.extents
            if found.dtype != meta.dtype or not _alike(found.extents, extents):
                expected = meta.with_extents(extents)
                raise BatchingError(
                    f"{form.name}: the rule returns {found} in the place of {expected}"
                )
        known = dict(zip([*form.closed, *arguments], at.inputs, strict=True))
        since = min((key.serial for key in arguments), default=0)
        results = emitted(at.emitter, keys, known, since, f"rule of {self}")
        return tuple(zip(results, batched, strict=True))  # type: ignore[arg-type]  # none is None


def _alike(found: Any, expected: Any) -> bool:
    return len(found) == len(expected) and all(
        not (isinstance(one, Exact) and isinstance(other, Exact)) or same_size(one, other)
        for one, other in zip(found, expected, strict=True)
    )


def custom_vmap(fun: Callable[P, R]) -> CustomVmap[P, R]:
    """A function whose batches within `vmap` a rule computes, which `.def_vmap` defines.

    Its derivatives are those of the function itself, also of its batches where `vmap` is applied to
    a derivative; a derivative of a batch is that of what the rule computes.

    Raises:
        ADError: `fun` cannot be called.
        BatchingError: the rule returns another structure, or other types.

    >>> import tenferro as tn
    >>> @tn.custom_batching.custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, x, y):
    ...     print(axis_size, in_batched)
    ...     return x + y, True
    >>> tn.vmap(f, in_axes=(0, None))(tn.arange(3), 1)
    3 [True, False]
    Tensor([1, 2, 3])
    """
    return CustomVmap(fun)


def sequential_vmap(f: Callable[P, R]) -> CustomVmap[P, R]:
    """A function that `vmap` calls for one entry after another, in a loop, and not for all at once.

    >>> import tenferro as tn
    >>> tn.vmap(tn.custom_batching.sequential_vmap(tn.sin))(tn.zeros(2))
    Tensor([0., 0.])
    """
    sequential: CustomVmap[P, R] = CustomVmap(f)

    def rule(axis_size: Any, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, tree = flatten(args)
        prefix: Any = tuple(in_batched)
        whole: Any = args
        flags: list[Any] = optree.broadcast_prefix(prefix, whole, namespace=NAMESPACE)
        moving = [leaf for leaf, on in zip(leaves, flags, strict=True) if on]

        def one(entries: list[Any]) -> Any:
            own = iter(entries)
            merged = [next(own) if on else leaf for leaf, on in zip(leaves, flags, strict=True)]
            return f(*unflatten(tree, merged))  # type: ignore[call-arg]  # as the function

        result = map_entries(one, moving)
        return result, optree.tree_map(lambda _: True, result, namespace=NAMESPACE)

    sequential.def_vmap(rule)
    return sequential
