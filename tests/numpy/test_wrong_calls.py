"""Wrong calls: none is untyped, none is silent, none takes longer than a second."""

from __future__ import annotations

import time

import tenferro as tn
from tests.numpy.wrong_calls import calls


def test_wrong_calls_are_refused_at_once_and_typed() -> None:
    wrong = dict(calls())
    assert len(wrong) >= 300
    faults: list[str] = []
    for name, call in wrong.items():
        start = time.perf_counter()
        try:
            faults.append(f"{name}: silent: {call()!r}")
        except tn.TenferroError as error:
            if not str(error):
                faults.append(f"{name}: no text")
        except Exception as error:
            faults.append(f"{name}: untyped: {type(error).__name__}: {error}")
        if time.perf_counter() - start > 1.0:
            faults.append(f"{name}: slow")
    assert faults == []
