"""OptimizerOptions: a switch for each pass, and nothing else."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import Any

import pytest

import tenferro as tn
from tenferro.compiler import CPU, DeadCode, OptimizerOptions, optimize, run_passes
from tenferro.compiler.pipeline import FORMER_NAMES
from tenferro.errors import ConfigError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nope", ""),
        ("dead_codes", "did you mean 'dead_code'\\? "),
        ("contraction_layouts", "did you mean 'contraction_layout'\\? "),
        ("renumber_slots", ""),
    ],
)
def test_an_unknown_option_is_refused_with_the_names_that_there_are(name: str, hint: str) -> None:
    unknown: dict[str, Any] = {name: False}
    text = f"OptimizerOptions: there is no option '{name}'; {hint}the options are algebraic_simpl"
    with pytest.raises(ConfigError, match=f"{text}.*, dead_code, .*, layout_costs, memory_limit$"):
        OptimizerOptions(**unknown)


def test_an_unknown_option_is_refused_wherever_options_are_made() -> None:
    wrong: Any = {"nope": False}
    with pytest.raises(ConfigError, match="there is no option 'nope'"):
        replace(OptimizerOptions(), **wrong)
    with pytest.raises(ConfigError, match="there is no option 'nope'"):
        tn.jit(lambda x: x, options=OptimizerOptions(**wrong))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dead_code": "no"}, "dead_code must be True or False, got 'no'"),
        ({"dot_decomposer": 0}, "dot_decomposer must be True or False, got 0"),
        ({"layout_costs": 3}, "layout_costs must be DeviceCosts or None, got 3"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(options: Any, text: str) -> None:
    with pytest.raises(ConfigError, match=f"OptimizerOptions: {text}"):
        OptimizerOptions(**options)


@dataclass(frozen=True, slots=True)
class WithOneOff(OptimizerOptions):
    """Options with a switch that is off unless it is asked for."""

    experimental: bool = False


def test_a_switch_may_be_off_by_default() -> None:
    assert not WithOneOff().experimental
    assert not WithOneOff.none().experimental
    assert WithOneOff(experimental=True).experimental
    wrong: Any = 1
    with pytest.raises(ConfigError, match="experimental must be True or False, got 1"):
        WithOneOff(experimental=wrong)


def test_what_is_not_a_pass_is_refused() -> None:
    program = tn.make_program(lambda x: x + 1, tn.TensorSpec((2,))).exec_program
    for wrong in ("dead_code", DeadCode):
        passes: Any = [DeadCode(), wrong]
        for run in (run_passes, lambda program, passes: optimize(program, passes=passes)):
            with pytest.raises(ConfigError, match="is not a Pass; give an instance, DeadCode"):
                run(program, passes)


@pytest.mark.parametrize(("former", "now"), FORMER_NAMES.items())
def test_the_former_name_of_an_option_is_accepted(former: str, now: str | None) -> None:
    switched: dict[str, Any] = {former: False}
    expected: dict[str, Any] = {} if now is None else {now: False}
    assert OptimizerOptions(**switched) == OptimizerOptions(**expected)
    assert replace(OptimizerOptions(), **switched) == OptimizerOptions(**expected)
    with pytest.raises(ConfigError, match=f"{former} must be True or False, got 'no'"):
        OptimizerOptions(**{former: "no"})


def test_known_options_are_kept() -> None:
    options = OptimizerOptions(dead_code=False, layout_costs=CPU)
    assert pickle.loads(pickle.dumps(options)) == options
    assert replace(options, dead_code=True, layout_costs=None) == OptimizerOptions()
