"""The page `docs/signatures.md`: where parameters differ from NumPy's and JAX's, and why.

`python -m tests.numpy.signatures` writes the page again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tests.numpy.jax_names import HOMES, Home

PAGE = Path(__file__).parents[2] / "docs" / "signatures.md"
VERSION = "0.10.2"
"""The version of JAX whose signatures the page compares; newer ones may have more parameters."""

NUMPY = {"jax.numpy": np, "jax.numpy.linalg": np.linalg, "jax.numpy.fft": np.fft}
"""Modules of NumPy beside those of JAX."""

EVERYWHERE = {
    "out_sharding": "`tn.with_sharding_constraint` and the shardings of `tn.jit` say how results "
    "are divided",
    "sharding": "as `out_sharding`",
    "like": "arrays are those of tenferro",
    "subok": "there are no subclasses of arrays",
    "casting": "`astype` converts, with or without loss",
    "concrete": "it is deprecated in JAX",
}
"""Parameters that are left out wherever JAX or NumPy has them."""

_ORDER = "elements are always in C order"
_PLACE = "NumPy and JAX differ; the place is JAX's"
HERE: dict[str, dict[str, str]] = {
    "jax.numpy": {
        "array.ndmax": "lists are nested as deeply as they say",
        "astype.copy": "arrays cannot be changed, so that a copy is the same",
        "clip.arr": "there must be an array; its name is NumPy's",
        "clip.a_min": "the place is that of `min`, which is the same",
        "clip.a_max": "the place is that of `max`, which is the same",
        "concat.out": _PLACE,
        "concatenate.out": _PLACE,
        "einsum.optimize": "True is the same as 'auto'",
        "einsum_path.optimize": "True is the same as 'auto'",
        "einsum_path.einsum_call": "it belongs to NumPy's implementation",
        **{f"{name}.order": _ORDER for name in ("empty", "eye", "full", "ones", "zeros")},
        **{f"{name}_like.order": _PLACE for name in ("empty", "full", "ones", "zeros")},
        **{f"{name}_like.shape": _PLACE for name in ("empty", "full", "ones", "zeros")},
        **{f"histogram{kind}.density": _PLACE for kind in ("", "2d", "dd")},
        **{f"histogram{kind}.weights": _PLACE for kind in ("", "2d", "dd")},
        **{f"{name}.out": "as of ufuncs" for name in ("isneginf", "isposinf", "modf")},
    },
    "jax.numpy.linalg": {
        "matrix_rank.rtol": "NumPy and JAX differ; the place is NumPy's",
        "matrix_rank.A": "NumPy and JAX differ; the name is JAX's",
        "pinv.rcond": "the second place is that of `rtol`, which is the same",
    },
    "jax.scipy.linalg": {"eigh_tridiagonal.key": "no random numbers are needed"},
    "jax.random": {
        "key.dtype": "keys are of one kind",
        "wrap_key_data.dtype": "keys are of one kind",
    },
}
"""Parameters that differ, by module and `function.parameter`."""


@dataclass(frozen=True)
class Difference:
    """A parameter that a call of NumPy or JAX passes, and that tenferro does not take so.

    Attributes:
        module: of JAX.
        function: in it.
        parameter: its name.
        what: the difference.
    """

    module: str
    function: str
    parameter: str
    what: str

    @property
    def reason(self) -> str:
        """Why; empty if no table says so."""
        own = HERE.get(self.module, {}).get(f"{self.function}.{self.parameter}")
        return EVERYWHERE.get(self.parameter, "") if own is None else own


def differences() -> Iterator[Difference]:
    """All of them, in the order of the modules."""
    for home in HOMES:
        theirs: Any = __import__(home.theirs, fromlist=["_"])
        for name in home.names():
            ours = getattr(home.here, name, None)
            if (
                f"{home.theirs}.{name}" == "jax.vmap"
                or name in home.missing()
                or inspect.isclass(ours)
                or not callable(ours)
            ):
                continue
            for module in (theirs, NUMPY.get(home.theirs)):
                other = getattr(module, name, None)
                if other is not None and not inspect.isclass(other):
                    yield from _between(home, name, ours, other)


def _between(home: Home, name: str, ours: Any, other: Any) -> Iterator[Difference]:
    """The differences of one function from that of NumPy or JAX."""
    here, there = parameters(ours), parameters(other)
    if here is None or there is None:
        return
    is_ufunc = isinstance(other, np.ufunc | jax.numpy.ufunc)
    for place, each in enumerate(there):
        skipped = each.kind in _SEVERAL or each.name.startswith("_")
        if skipped or (is_ufunc and (each.kind in _ONLY or each.name in ("out", "where"))):
            continue
        what = _difference(here, there, place)
        if what:
            yield Difference(home.theirs, name, each.name, what)


def _difference(here: list[inspect.Parameter], there: list[inspect.Parameter], place: int) -> str:
    """How the parameter at a place there differs from the one here; empty if it does not."""
    each = there[place]
    kinds = [parameter.kind for parameter in here]
    by_name = {parameter.name: parameter for parameter in here if parameter.kind in _NAMED}
    by_place = [parameter for parameter in here if parameter.kind in _PLACED]
    same = by_place[place] if place < len(by_place) else None
    takes_names = inspect.Parameter.VAR_KEYWORD in kinds
    if each.kind in _NAMED and each.name not in by_name and not takes_names:
        return "is not there" if same is None else f"is named `{same.name}`"
    takes_places = inspect.Parameter.VAR_POSITIONAL in kinds
    fits = same is not None and (each.kind not in _NAMED or same.name == each.name)
    if each.kind in _PLACED and not takes_places and not fits:
        elsewhere = each.name in [parameter.name for parameter in by_place]
        return "has another place" if elsewhere else "is passed by name only"
    own = by_name.get(each.name, same)
    if own is None or _same_default(own.default, each.default):
        return ""
    if own.default is inspect.Parameter.empty:
        return "must be passed"
    return f"is {own.default!r}, not {each.default!r}, by default"


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ONLY = (inspect.Parameter.KEYWORD_ONLY,)


def parameters(function: Any) -> list[inspect.Parameter] | None:
    """The parameters of a function; None if Python does not know them."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a function written in C
        return None


def _same_default(ours: Any, theirs: Any) -> bool:
    """Whether a parameter that is left out means the same, as far as values say so."""
    if inspect.Parameter.empty in (ours, theirs):
        return ours is not inspect.Parameter.empty or theirs is inspect.Parameter.empty
    plain = bool | int | float | str | tuple
    if not isinstance(ours, plain) or not isinstance(theirs, plain):
        return True  # None and objects stand for values that texts explain
    return bool(ours == theirs)


HEAD = """# Parameters

Functions that NumPy, `jax.numpy` or another module of JAX have too take the same parameters, by the
same names, in the same places and with the same defaults. What differs is listed here. A test
compares the signatures of all of them with those of NumPy and of jax {version}.

Functions may have more parameters than JAX's, by name only. `out=` is there where NumPy has it, and
must be None: results are new arrays. Elementwise functions take their operands alone, without the
parameters of NumPy's ufuncs (`out`, `where`, `casting`, `order`, `dtype`). Lists are operands, as
in NumPy. Where NumPy and JAX differ, the name is JAX's.

## Left out wherever NumPy or JAX has it

| parameter | reason |
|---|---|
{everywhere}
"""


def page() -> str:
    """The text of the page."""
    rows = "\n".join(f"| `{name}` | {reason} |" for name, reason in EVERYWHERE.items())
    parts = [HEAD.format(version=VERSION, everywhere=rows)]
    found: dict[str, dict[tuple[str, str, str], list[str]]] = {}
    for each in dict.fromkeys(differences()):
        if each.parameter in EVERYWHERE and each.reason == EVERYWHERE[each.parameter]:
            continue
        groups = found.setdefault(each.module, {})
        functions = groups.setdefault((each.parameter, each.what, each.reason), [])
        if each.function not in functions:
            functions.append(each.function)
    for module, groups in found.items():
        lines = [
            f"| {' '.join(f'`{name}`' for name in functions)} | `{parameter}` {what} | {reason} |"
            for (parameter, what, reason), functions in groups.items()
        ]
        table = "\n".join(["| functions | parameter | reason |", "|---|---|---|", *lines])
        parts.append(f"## `{module}`\n\n{table}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
