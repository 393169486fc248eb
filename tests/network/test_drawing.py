"""Drawing plans, with and without the packages that it takes."""

import pkgutil
from pathlib import Path
from typing import Any

import pytest

import tenferro as tn
from tenferro.errors import MissingExtraError
from tenferro.network import ContractionTree, Subscripts
from tenferro.network.display import positions

SPECS = [tn.TensorSpec((8, 8))] * 3


def test_results_stand_above_their_operands_and_lines_do_not_cross() -> None:
    tree = ContractionTree.of(
        Subscripts.parse("ij,jk,kl->il"), [(2, 3), (3, 4), (4, 5)], [(0, 2), (0, 1)]
    )
    places = positions(tree)
    assert sorted(places) == [0, 1, 2, 3, 4]
    assert {places[operand][1] for operand in range(3)} == {0.0}
    assert places[4][1] > places[3][1] > 0.0
    assert abs(places[0][0] - places[2][0]) == 1.0


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    plan = tn.einsum_plan("ij,jk,kl->il", *SPECS)
    monkeypatch.setattr(pkgutil, "resolve_name", absent)
    with pytest.raises(MissingExtraError, match=r"plot: needs matplotlib, .* tenferro\[viz\]"):
        plan.plot()


def test_a_plan_is_drawn_to_a_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    specs = [tn.TensorSpec(spec.shape, "complex128") for spec in SPECS]
    plan = tn.einsum_plan("ij,jk,kl->il", *specs, slices="j")
    figure = plan.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 1000
    assert "sliced over j" in figure.axes[0].get_title()
    assert f"{plan.flops:.3g} flops" in figure.axes[0].get_title()
    assert figure.axes[1].get_ylabel() == "elements of a value, as a power of 10"
    assert any("#0" in text.get_text() for text in figure.axes[0].texts)
