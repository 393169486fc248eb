"""The page on passes lists every pass, with its switches."""

import re
from dataclasses import fields
from pathlib import Path

from tenferro.compiler import CANONICAL, LoopFusion, OptimizerOptions, Pass, RenumberSlots
from tenferro.farm.executor import FarmedLoops
from tenferro_xla.target import KNOWN

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "add_a_pass.md"
ROW = re.compile(r"^\| `([A-Z]\w+)` \|([^|]*)\|", re.MULTILINE)


def listed() -> dict[str, list[str]]:
    """The switches by the name of the class, in the order of the page."""
    rows = ROW.findall(PAGE.read_text("utf-8"))
    return {name: re.findall(r"`(\w+)`", switches) for name, switches in rows}


def test_the_page_lists_every_pass() -> None:
    assert KNOWN, FarmedLoops  # what imports these has imported all passes
    passes = [each for each in Pass.__subclasses__() if each.__module__.startswith("tenferro")]
    assert sorted(listed()) == sorted(each.__name__ for each in passes)


def test_the_page_names_the_switch_of_each_pass() -> None:
    switches = [each for each in fields(OptimizerOptions) if isinstance(each.default, bool)]
    options = {option.name for option in switches}
    for each in Pass.__subclasses__():
        if each.__name__ in listed():
            switches = list(LoopFusion.switches) if each is LoopFusion else [each.name]
            assert listed()[each.__name__] == [name for name in switches if name in options]


def test_the_canonical_passes_stand_in_their_order() -> None:
    order = list(dict.fromkeys(type(each).__name__ for each in CANONICAL))
    assert list(listed())[: len(order) + 1] == [*order, RenumberSlots.__name__]
