"""The names of `jax.numpy`: each is in `tn`, or left out for a reason that the docs give."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro import composed

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


@pytest.mark.parametrize("name", sorted(set(NAMES) & set(dir(tn))))
def test_what_can_be_called_there_can_be_called_here(name: str) -> None:
    ours = getattr(tn, name)
    assert callable(ours) or not callable(getattr(jnp, name)) or ours is tn.ndarray


def test_what_is_left_out_is_not_there() -> None:
    assert len(left_out()) < 40
    assert [name for name in left_out() if hasattr(tn, name)] == []


@pytest.mark.parametrize("name", sorted(set(NAMES) & set(composed.__all__)))
def test_options_given_by_place_are_those_of_jax(name: str) -> None:
    ours, theirs = (placed(getattr(home, name)) for home in (tn, jnp))
    for (one, default), (other, _) in zip(ours, theirs, strict=False):
        assert one == other or default is inspect.Parameter.empty


def placed(function: Any) -> list[tuple[str, Any]]:
    """Names and defaults of the arguments that can be given by place."""
    if not inspect.isroutine(function):
        return []
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # of a function written in C
        return []
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [(each.name, each.default) for each in parameters if each.kind in by_place]


def test_dtypes_and_groups_are_numpys() -> None:
    assert tn.issubdtype(tn.float_, tn.floating)
    assert tn.issubdtype(tn.complex_, tn.inexact)
    assert not tn.issubdtype(tn.int_, tn.unsignedinteger)
    assert (tn.single, tn.double, tn.csingle, tn.cdouble) == tuple(map(np.dtype, "fdFD"))
    assert (tn.bool_, tn.uint) == (np.dtype(bool), np.dtype("uint64"))
    assert isinstance(tn.ones(2), tn.ndarray)
    assert tn.ones(2).dtype == tn.dtype("float64")
