"""The names of `jax.numpy`: each is in `tn`, or left out for a reason that the docs give."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn

NAMES = [name for name in dir(jnp) if not name.startswith("_")]
PAGE = Path(__file__).parents[2] / "docs" / "functions.md"


def left_out() -> dict[str, str]:
    """The names that the page lists as left out, with their reasons."""
    section = PAGE.read_text("utf-8").split("that are left out\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| (\S.*) \|$", section, re.MULTILINE)
    return {name: reason for names, reason in rows for name in re.findall(r"`(\w+)`", names)}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_or_left_out_with_a_reason(name: str) -> None:
    assert hasattr(tn, name) != (name in left_out())


def test_what_is_left_out_is_not_there() -> None:
    assert len(left_out()) < 40
    assert [name for name in left_out() if hasattr(tn, name)] == []


def test_arguments_are_in_the_order_of_jax() -> None:
    """A call without keywords means the same: the names of later arguments agree up to `dtype`."""
    wrong = []
    for name in NAMES:
        ours, theirs = getattr(tn, name, None), getattr(jnp, name)
        if inspect.isfunction(ours) and callable(theirs) and name not in OTHER_ARGUMENTS:
            for one, other in zip(placed(ours), placed(theirs), strict=False):
                if one != other and not {one, other} <= FIRST:
                    wrong.append((name, one, other))
                    break
    assert wrong == []


FIRST = {
    *("a", "x", "arr", "ar", "y", "x1", "x2", "m", "v", "p", "ary", "array", "fun", "object", "z"),
    *("value", "ar1", "ar2", "b", "mask", "condition", "fill_value", "element", "func1d", "f"),
    *("n_rows", "n_cols", "N", "M", "real", "imag", "tensor", "source", "start", "stop", "filt"),
}
OTHER_ARGUMENTS: set[str] = set()


def placed(function: object) -> list[str]:
    """The arguments that can be given by place."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except ValueError:
        return []
    return [each.name for each in parameters if each.kind in (0, 1)]


def test_dtypes_and_groups_are_numpys() -> None:
    assert tn.issubdtype(tn.float_, tn.floating)
    assert tn.issubdtype(tn.complex_, tn.inexact)
    assert not tn.issubdtype(tn.int_, tn.unsignedinteger)
    assert (tn.single, tn.double, tn.csingle, tn.cdouble) == tuple(map(np.dtype, "fdFD"))
    assert (tn.bool_, tn.uint) == (np.dtype(bool), np.dtype("uint64"))
    assert isinstance(tn.ones(2), tn.ndarray)
    assert tn.ones(2).dtype == tn.dtype("float64")
