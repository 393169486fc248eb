"""The names of JAX: each is there, or left out for a reason that errors and the docs give."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tests.numpy.composite_calls import COMPOSITE
from tests.numpy.jax_names import DISTRIBUTIONS, HOMES, OWN, PAGE, Home, page


@pytest.mark.skipif(jax.__version__ != "0.10.2", reason="they count names of this version")
def test_the_status_and_the_readme_say_what_the_page_counts() -> None:
    status = (PAGE.parent / "status.md").read_text("utf-8")
    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    counts = {home.theirs: (len(home.names()), len(home.missing())) for home in HOMES}
    for theirs, text in (
        ("jax.numpy", "{} of the {} names of `jax.numpy`"),
        ("jax.lax", "{} of the {} functions and types of `jax.lax`"),
        ("jax.nn", "{} of {} of `jax.nn`"),
        ("jax.scipy.special", "{} of {} of `jax.scipy.special`"),
    ):
        names, missing = counts[theirs]
        count = text.format(names - missing, names)
        assert count in status
        assert count in readme or theirs != "jax.numpy"
    for theirs in ("jax.numpy.linalg", "jax.numpy.fft", "jax.scipy.stats"):
        assert counts[theirs][1] == 0


STANDARD = {"where"}
"""Functions whose arguments are named as in the array API."""
NAMES = [name for name in dir(jnp) if not name.startswith("_")]


@pytest.mark.parametrize("home", [*HOMES, *DISTRIBUTIONS], ids=lambda home: home.theirs)
def test_a_name_is_there_or_left_out_with_a_reason(home: Home) -> None:
    assert [name for name in home.missing() if not home.reason(name)] == []
    assert [name for name in home.reasons if hasattr(home.here, name)] == []
    for name in home.missing():
        if name not in OWN:
            with pytest.raises(AttributeError, match=re.escape(home.reason(name))):
                getattr(home.here, name)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.theirs)
def test_what_can_be_called_there_can_be_called_here(home: Home) -> None:
    theirs: Any = importlib.import_module(home.theirs)
    for name in set(home.names()) - {*home.missing(), "ndarray", "Array", "config"}:
        assert callable(getattr(home.here, name)) or not callable(getattr(theirs, name)), name


@pytest.mark.skipif(jax.__version__ != "0.10.2", reason="the page counts names of this version")
def test_the_page_lists_what_is_there_and_what_is_not() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.numpy.jax_names"


@pytest.mark.parametrize("name", sorted(set(NAMES) & COMPOSITE - STANDARD))
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
