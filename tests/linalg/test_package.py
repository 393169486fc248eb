"""The package of linear algebra has every op that its topics define."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import tenferro.linalg
from tenferro.linalg.package import LINALG
from tenferro.ops.extension import ExtensionOp


def test_every_op_of_a_topic_is_in_the_package() -> None:
    names = [topic.name for topic in pkgutil.iter_modules(tenferro.linalg.__path__)]
    topics = [import_module(f"tenferro.linalg.{name}") for name in names]
    defined = [
        each
        for topic in topics
        for each in vars(topic).values()
        if isinstance(each, type) and each.__module__ == topic.__name__
    ]
    ops = {each for each in defined if issubclass(each, ExtensionOp) and "FAMILY_ID" in vars(each)}
    assert ops
    assert ops <= set(LINALG.ops)
    assert len(LINALG.ops) == len(set(LINALG.ops))
