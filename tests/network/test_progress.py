"""The progress bar of a search."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tenferro as tn
from tenferro.network import PLANS, ContractionOptimizerOptions
from tests.networks import ring

OPTIONS = ContractionOptimizerOptions("flops", "search", 3, progress=True)


def test_a_bar_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    network, sizes = ring(12)
    specs = [tn.TensorSpec(tuple(sizes[label] for label in labels)) for labels in network.inputs]
    PLANS.clear()
    plan = tn.einsum_plan(network, *specs, optimize=OPTIONS)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err != ""  # on a terminal, the bar
    assert plan.path == tn.einsum_plan(network, *specs, optimize=OPTIONS).path
    assert capsys.readouterr().err == ""  # the plan is cached


def test_array_functions_do_not_import_what_draws_the_bar() -> None:
    code = "import sys, tenferro as tn; tn.sin; assert not {'rich', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
