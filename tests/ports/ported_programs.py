"""The programs of `programs`, as they are and as `tenferro port` rewrites them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenferro.cli.port import ported

FOLDER = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
Loaded = tuple[Callable[..., Any], tuple[Any, ...]]


def load(name: str, rewritten: bool) -> Loaded:
    """The function of a program and its arguments, of JAX or of tenferro.

    What is rewritten sets no dtypes: whoever loads it does, by `tn.config.using`.
    """
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    if rewritten:
        done = ported(source, promotion="numpy")
        assert done.remarks == (), [str(each) for each in done.remarks]
        source = done.text
    module = types.ModuleType(f"{name}_of_{'tenferro' if rewritten else 'jax'}")
    sys.modules[module.__name__] = module  # dataclasses look there
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    loaded: Loaded = module.program()
    return loaded
