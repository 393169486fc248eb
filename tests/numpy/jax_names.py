"""The page `docs/jax_names.md`: which names of JAX are there, made from both lists of names.

`python -m tests.numpy.jax_names` writes the page again.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.ad_checkpoint  # once some part of JAX or tenferro imports it, it is a name of `jax`
import jax.extend  # so is this
import jax.flatten_util
import jax.test_util

import tenferro as tn
from tenferro import missing_names
from tenferro.missing_names import LATER

PAGE = Path(__file__).parents[2] / "docs" / "jax_names.md"
NOT_YET = "it is not there yet"
OWN = {
    "errors": "tn.errors has tenferro's own",
    "typing": "tn.typing has other types, Array and ArrayLike among them",
}
"""Names that both libraries have, for things that are not the same."""

NEWER = {
    "jax": "CompilerEffortLevel Inline get_abstract_mesh get_mesh use_abstract_mesh",
    "jax.numpy": "minmax top_k",
    "jax.lax": "log2 one_minus_square polynomial psum_scatter_start",
    "jax.random": "Key",
    "jax.scipy.special": "erfcinv",
}
"""Names that jax 0.12 has, and 0.10.2 does not have."""

HEAD = """# The names of JAX

Which public names of JAX tenferro has, counted in jax {version}. A name that is there is a function
of the same meaning; [coming from JAX](coming_from_jax.md) says what differs. What is left out says
so when it is used, with the reason. Tests compare the lists on every version of JAX.

| of JAX | in tenferro | names | there | left out |
|---|---|---|---|---|
{rows}

The primitives of `jax.lax`, whose names end with `_p`, are not counted. Of `jax`, {own} have
another meaning in `tn`.
"""


@dataclass(frozen=True)
class Home:
    """A module of JAX, the module of tenferro in its place, and why names are left out."""

    theirs: str
    ours: str
    reasons: dict[str, str]

    @property
    def here(self) -> Any:
        module: Any = tn
        for part in self.ours.split(".")[1:]:
            module = getattr(module, part)
        return module

    def names(self) -> list[str]:
        """The public names in JAX."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = importlib.import_module(self.theirs)
            return [name for name in dir(module) if name[0] != "_" and not name.endswith("_p")]

    def missing(self) -> list[str]:
        """Those that are not there, or mean something else."""
        own = OWN if self.theirs == "jax" else {}
        return [name for name in self.names() if name in own or not hasattr(self.here, name)]

    def reason(self, name: str) -> str:
        """Why a name is not there; empty if nothing says so."""
        if self.theirs == "jax" and name in OWN:
            return OWN[name]
        return self.reasons.get(name, NOT_YET if name in LATER else "")


def _of(theirs: str, ours: str) -> Home:
    module = Home(theirs, ours, {}).here
    return Home(theirs, ours, vars(module).get("MISSING", {}))


STATS = [
    f"scipy.stats.{name}"
    for name in tn.scipy.stats.__all__
    if type(getattr(tn.scipy.stats, name)).__name__ == "Distribution"
]
SCIPY = (
    *("cluster", "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage"),
    *("optimize", "signal", "sparse", "sparse.linalg", "special", "stats"),
)
HOMES = [
    Home("jax", "tn", missing_names.JAX),
    Home("jax.numpy", "tn.numpy", missing_names.ARRAYS),
    *(_of(f"jax.numpy.{name}", f"tn.{name}") for name in ("linalg", "fft")),
    *(_of(f"jax.{name}", f"tn.{name}") for name in ("lax", "nn", "nn.initializers", "random")),
    *(_of(f"jax.{name}", f"tn.{name}") for name in ("tree", "tree_util", "scipy")),
    *(_of(f"jax.scipy.{name}", f"tn.scipy.{name}") for name in SCIPY),
    *(_of(f"jax.{name}", f"tn.{name}") for name in ("lax.linalg", "image", "ops")),
]
DISTRIBUTIONS = [_of(f"jax.{name}", f"tn.{name}") for name in STATS]


def page() -> str:
    """The text of the page."""
    rows = [_row([home]) for home in HOMES] + [_row(DISTRIBUTIONS)]
    own = ", ".join(f"`{name}`" for name in OWN)
    parts = [HEAD.format(version=jax.__version__, rows="\n".join(rows), own=own)]
    parts.append(_newer())
    for home in HOMES:
        groups: dict[str, list[str]] = {}
        for name in home.missing():
            groups.setdefault(home.reason(name), []).append(name)
        if groups:
            lines = [
                f"| {' '.join(f'`{name}`' for name in names)} | {reason} |"
                for reason, names in sorted(groups.items())
            ]
            table = "\n".join(["| names | reason |", "|---|---|", *lines])
            parts.append(f"## Left out of `{home.theirs}`\n\n{table}\n")
    return "\n".join(parts)


def _newer() -> str:
    """The names of the newer version: those that are there, and the others."""
    lines = []
    for home in HOMES:
        names = NEWER.get(home.theirs, "").split()
        left = [name for name in names if not hasattr(home.here, name)]
        if names:
            columns = [[name for name in names if name not in left], left]
            lists = [" ".join(f"`{name}`" for name in column) for column in columns]
            lines.append(f"| `{home.theirs}` | {lists[0]} | {lists[1]} |")
    head = ["## What jax 0.12 adds", "", "| of JAX | there | left out |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])


def _row(homes: list[Home]) -> str:
    names = sum(len(home.names()) for home in homes)
    left = sum(len(home.missing()) for home in homes)
    theirs, ours = f"`{homes[0].theirs}`", f"`{homes[0].ours}`"
    if len(homes) > 1:
        theirs, ours = f"the {len(homes)} distributions there", "the same"
    return f"| {theirs} | {ours} | {names} | {names - left} | {left} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
