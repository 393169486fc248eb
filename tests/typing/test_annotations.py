"""What the annotations of public array functions say."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import tenferro as tn
from tenferro.ops.functions import ArrayOperators

TRANSFORMS = [
    "derivative",
    "disable_jit",
    "eval_shape",
    "grad",
    "grad_optional",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_program",
    "value_and_grad",
    "vjp",
    "vmap",
]
PUBLIC = {
    "tn": {name: getattr(tn, name) for name in tn.numpy.__all__},
    "lax": {name: getattr(tn.lax, name) for name in tn.lax.__all__},
    "tensor": vars(ArrayOperators),
    "transforms": {name: getattr(tn, name) for name in TRANSFORMS},
}
"""The homes of public array functions. Further ones need only an entry here."""

LOOPS = "the user's function takes trees, whose types nobody knows"
MAY_BE_ANY: dict[str, str] = {
    f"lax.{name}": LOOPS
    for name in (
        "associative_scan",
        "map",
        "platform_dependent",
        "reduce",
        "reduce_window",
    )
}
MAY_BE_ANY |= dict.fromkeys(
    ("tensor.__array_function__", "tensor.__array_ufunc__"), "NumPy's protocols"
)
MAY_BE_ANY |= {
    f"tn.{name}": "users' functions and lists, and NumPy's options"
    for name in (
        *("apply_along_axis", "apply_over_axes", "block", "choose", "delete", "einsum"),
        *("einsum_path", "frombuffer", "fromfunction", "fromiter", "gradient", "histogram2d"),
        *("histogramdd", "indices", "insert", "mask_indices", "pad", "piecewise", "polyfit"),
        "vectorize",
    )
}
"""Functions with `Any` in their annotations, and why there is no type to put there."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public functions, methods, operators and getters of properties."""
    for home, members in PUBLIC.items():
        for name, member in members.items():
            function = member.fget if isinstance(member, property) else member
            private = name.startswith("_") and not name.startswith("__")
            ours = getattr(function, "__module__", "").startswith("tenferro")
            if isinstance(function, types.FunctionType) and ours and not private:
                yield f"{home}.{name}", function


FUNCTIONS = dict(functions())


def test_there_are_functions_of_every_home() -> None:
    assert {name.split(".")[0] for name in FUNCTIONS} == set(PUBLIC)


def test_functions_are_annotated_without_any() -> None:
    for name, function in FUNCTIONS.items():
        annotations = dict(function.__annotations__)
        parameters = set(inspect.signature(function).parameters) - {"self"}
        assert parameters | {"return"} == set(annotations) - {"self"}, name
        with_any = [part for part, hint in annotations.items() if re.search(r"\bAny\b", str(hint))]
        assert bool(with_any) == (name in MAY_BE_ANY), f"{name}: {with_any}"


def test_annotations_can_be_evaluated() -> None:
    for name, function in FUNCTIONS.items():
        assert typing.get_type_hints(function).keys() == function.__annotations__.keys(), name
