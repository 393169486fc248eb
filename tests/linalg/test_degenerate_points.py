"""At degenerate points a gradient is right or NaN, and right by the functions made for the loss."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tests.linalg.degenerate_points import Point, points, verdict

POINTS = points(tn)


@pytest.mark.parametrize("point", POINTS, ids=[point.text for point in POINTS])
def test_a_gradient_is_right_or_nan(point: Point) -> None:
    plain = verdict(np.asarray(tn.grad(lambda x: point.loss(tn, x))(point.at)), point)
    assert plain in ("right", "NaN")
    best = (
        plain if point.ours is None else verdict(np.asarray(tn.grad(point.ours)(point.at)), point)
    )
    assert best == ("NaN" if point.exact is None else "right")
