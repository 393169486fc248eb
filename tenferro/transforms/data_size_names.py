"""Loops, branches and vmap of sizes that data decide, traced for named sizes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from tenferro.core import GlobalValKey, user_site
from tenferro.errors import UnsupportedDynamicShapeError
from tenferro.ir import DimExpr
from tenferro.transforms.data_sizes import for_named_sizes, named
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import flatten, unflatten

__all__ = ["also_for_data_sizes"]

P = ParamSpec("P")
R = TypeVar("R")


def also_for_data_sizes(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which is called again for named sizes if it needs one that data decide.

    See `for_named_sizes`; the function may take and return trees of arrays.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UnsupportedDynamicShapeError as error:
            try:
                return _called(function, args, kwargs)
            except UnsupportedDynamicShapeError:
                raise error from None

    return called


def _called(function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    def call() -> R:
        return function(*named(args), **named(kwargs))

    def split(result: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        leaves, tree = flatten(result)
        parts = [leaf.key if isinstance(leaf, TracedTensor) else leaf for leaf in leaves]
        places = [
            place for place, part in enumerate(parts) if isinstance(part, GlobalValKey | DimExpr)
        ]

        def whole(found: list[Any]) -> Any:
            values = list(leaves)
            for place, part in zip(places, found, strict=True):
                leaf = leaves[place]
                if isinstance(leaf, TracedTensor):
                    part = TracedTensor(part, leaf.weak, leaf.scope)
                values[place] = part
            return unflatten(tree, values)

        return [parts[place] for place in places], whole

    return cast(R, for_named_sizes(call, split, user_site(), (args, kwargs)))
