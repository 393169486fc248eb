"""Every primitive of the installed JAX is read by `from_jax`, or refused with a reason."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import defaultdict

import jax._src
from jax.extend.core import Primitive

from tenferro_xla.interop.jaxprs import REFUSED, REFUSED_MODULES, TABLE

_AWAY = (
    *("cloud_tpu", "clusters", "mosaic", "pallas", "test", "tpu"),
    "internal_test_util",
)
"""Parts of the names of modules that need another machine, or are tests."""


def primitives() -> dict[str, set[str]]:
    """The modules in which each primitive has a name."""
    for module in pkgutil.walk_packages(jax._src.__path__, "jax._src."):
        if not any(part in module.name for part in _AWAY):
            importlib.import_module(module.name)
    found = defaultdict(set)
    for name, module in [*sys.modules.items()]:
        if name.startswith("jax."):
            for value in [*vars(module).values()]:
                if isinstance(value, Primitive):
                    found[value.name].add(name)
    return found


def test_every_primitive_of_jax_is_read_or_refused_with_a_reason() -> None:
    known = primitives()
    assert len(known) > 250
    prefixes = tuple(REFUSED_MODULES)
    unknown = {
        name
        for name, homes in known.items()
        if name not in {*TABLE, *REFUSED}
        and not all(home.startswith(prefixes) for home in homes if home.startswith("jax._src."))
    }
    assert unknown == set()
    assert not {*TABLE} & {*REFUSED}
