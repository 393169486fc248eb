"""Compiler options are asked for, never assumed; and only for programs that they are good for."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.exec_ir import ExecProgram
from tenferro.families import STANDARD
from tenferro_xla import XlaExecutor
from tenferro_xla.lowering import ExtensionLowerings
from tenferro_xla.platforms import CPU_PLATFORM, Option, options, taken_options
from tenferro_xla.platforms.cpu import NO_FUSION_EMITTERS
from tenferro_xla.target import target_for

HOST = jax.devices("cpu")[0]
UNKNOWN = Option("xla_cpu_no_such_option", True, "nothing")
KNOWN = Option("xla_cpu_enable_fast_math", False, "nothing")


def test_an_option_that_this_xla_does_not_know_is_dropped_with_what_it_says() -> None:
    found = taken_options([UNKNOWN, KNOWN], HOST)
    assert found.taken == (KNOWN,)
    ((dropped, words),) = found.dropped
    assert dropped == UNKNOWN
    assert "xla_cpu_no_such_option" in words


def test_each_option_is_tried_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    taken_options([UNKNOWN], HOST)
    monkeypatch.setattr(options.jax, "jit", None)  # another try would call it
    assert taken_options([UNKNOWN], HOST).taken == ()


def gradient_of_a_chain(tensors: int, dtype: str, size: int = 3) -> ExecProgram:
    def loss(*matrices: Any) -> Any:
        product = matrices[0]
        for matrix in matrices[1:]:
            product = tn.sin(product @ matrix)
        return tn.sum(tn.real(product))

    specs = [tn.TensorSpec((size, size), dtype) for _ in range(tensors)]
    options = tn.OptimizerOptions(rolling=False)
    gradient = tn.value_and_grad(loss, argnums=tuple(range(tensors)))
    program = tn.make_program(gradient, *specs, options=options)
    return XlaExecutor("cpu").lower(program).exec_program


def test_the_older_emitters_compile_straight_programs_of_small_real_contractions() -> None:
    assert CPU_PLATFORM.options_for(gradient_of_a_chain(30, "float64")) == (NO_FUSION_EMITTERS,)
    assert CPU_PLATFORM.options_for(gradient_of_a_chain(30, "complex128")) == ()
    assert CPU_PLATFORM.options_for(gradient_of_a_chain(3, "float64")) == ()
    assert CPU_PLATFORM.options_for(gradient_of_a_chain(30, "float64", 300)) == ()

    def loop(x: Any) -> Any:
        return tn.sum(tn.fori_loop(0, 50, lambda _, y: tn.tanh(y @ y), x))

    in_a_loop = tn.make_program(tn.grad(loop), tn.TensorSpec((3, 3)))
    assert CPU_PLATFORM.options_for(XlaExecutor("cpu").lower(in_a_loop).exec_program) == ()


def test_the_options_of_the_user_win() -> None:
    program = gradient_of_a_chain(30, "float64")
    asked = {NO_FUSION_EMITTERS.name: True, "xla_cpu_enable_fast_math": False}
    lowerings = ExtensionLowerings(STANDARD)
    assert target_for(HOST, CPU_PLATFORM, lowerings).options_for(program) == {
        option.name: option.value for option in taken_options([NO_FUSION_EMITTERS], HOST).taken
    }
    own = target_for(HOST, CPU_PLATFORM, lowerings, compiler_options=asked)
    assert own.options_for(program) == asked


def test_results_do_not_depend_on_the_option() -> None:
    program = gradient_of_a_chain(30, "float64")
    values = [np.full(meta.static_shape, 0.3) for meta in program.input_metas if meta.static_shape]
    results = [
        XlaExecutor("cpu", compiler_options=given).compile_exec(program).run_host(*values)
        for given in ({}, {NO_FUSION_EMITTERS.name: True})
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
