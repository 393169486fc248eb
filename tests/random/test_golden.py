"""Numbers that never change, whatever JAX does; all on NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.random.calls import CALLS, KEYS, draw

KEY = tn.random.key(42)


def test_keys() -> None:
    assert tn.random.key_data(KEY).tolist() == [0, 42]
    assert tn.random.PRNGKey(42).tolist() == [0, 42]
    assert tn.random.PRNGKey(-1).tolist() == [2**32 - 1, 2**32 - 1]
    assert tn.random.key_data(tn.random.split(KEY)).tolist() == [
        [1832780943, 270669613],
        [64467757, 2916123636],
    ]
    assert tn.random.key_data(tn.random.fold_in(KEY, 7)).tolist() == [2547012911, 1371500959]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("uint8", [162, 217, 249]),
        ("uint16", [5026, 12505, 63993]),
        ("uint32", [2098992034, 2919706841, 2646866425]),
        ("uint64", [7871734211187709741, 276886910877598708, 10591095138341673235]),
        ("float32", [0.48870956897735596, 0.6797971725463867, 0.6162714958190918]),
    ],
)
def test_bits(dtype: str, expected: list[Any]) -> None:
    drawn = tn.random.uniform if dtype == "float32" else tn.random.bits
    assert drawn(KEY, (3,), dtype).tolist() == expected


@pytest.mark.parametrize("name", CALLS)
def test_numbers(name: str) -> None:
    drawn, expected = draw(name, KEY), np.asarray(NUMBERS[name])
    assert drawn.dtype == expected.dtype
    if expected.dtype.kind != "f" or name == "uniform":
        np.testing.assert_array_equal(drawn.numpy(), expected)
    np.testing.assert_allclose(drawn.numpy(), expected, rtol=1e-12)


def test_there_are_numbers_of_each_function() -> None:
    assert set(CALLS) | KEYS == set(tn.random.__all__)


NUMBERS: dict[str, Any] = {
    "ball": [-0.05206874148541545, -0.3025388561060845],
    "bernoulli": [True, True, False, False],
    "beta": [0.05412583995929669, 0.7306978359906672],
    "binomial": [3.0, 31.0, np.nan],
    "bits": np.array([7871734211187709741, 276886910877598708], "uint64"),
    "categorical": [3, 3, 2, 1],
    "cauchy": [-0.23434604341667786, -21.19070234669309],
    "chisquare": [0.03803474660687401, 1.9269875304255157],
    "choice": [7, 4, 2, 5],
    "dirichlet": [0.07785614878291446, 0.9221438512170854],
    "double_sided_maxwell": [-2.6956351413757687, -3.6877952518604795],
    "exponential": [0.5563942243855916, 0.015123860720489336],
    "f": [0.4606052046482742, 0.49800815540288673],
    "gamma": [0.19865354933259452, 2.3528925062846477],
    "generalized_normal": [-0.3144770750691639, -0.10777608958066193],
    "geometric": [2, 418],
    "gumbel": [0.16062720630382138, -1.4348544993307841],
    "laplace": [0.15846230602649014, 3.5058868215207473],
    "loggamma": [-107.42344335838611, 0.3515850050121256],
    "logistic": [-0.29521526220084393, -4.183910141360207],
    "lognormal": [0.9117806140267735, 0.0014892633441302853],
    "maxwell": [2.185681118616085, 0.8664673314479221],
    "multinomial": [5.0, 11.0, 4.0],
    "multivariate_normal": [0.738778144692716, -3.0949904874307657],
    "normal": [-0.18471174528191167, -2.1698245603977546],
    "orthogonal": [
        [-0.7028631207310978, -0.7113251250420883],
        [0.7113251250420883, -0.7028631207310976],
    ],
    "pareto": [3.042831355090245, 1.0050540155743009],
    "permutation": [4, 2, 5, 3, 0, 1],
    "poisson": [0, 2, 43, 977, -1],
    "rademacher": [1, 1, -1, -1],
    "randint": [580, 563, 433, 596],
    "rayleigh": [0.6525371585536089, 8.693826087371],
    "t": [-1.1152480716136925, -0.5820081154139338],
    "triangular": [0.3227866313486769, 0.11622849290850813],
    "truncated_normal": [-0.28971072063226677, -0.9504476695340627],
    "uniform": [0.4267275666499091, 0.015010069515314584],
    "wald": [0.8276472208773588, 1.917358767872361],
    "weibull_min": [0.37295918824503826, 0.36893732053616374],
}
