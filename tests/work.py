"""Bounds on work: what Python's garbage collector has to look at, and how often a function runs.

Times vary with the machine and with what else it does; these counts do not.
"""

import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import tenferro as tn

T = TypeVar("T")


def tracked_objects(make: Callable[[], T]) -> tuple[T, int]:
    """What `make` returns, and how many objects more the garbage collector tracks after it."""
    gc.collect()
    before = len(gc.get_objects())
    result = make()
    gc.collect()
    return result, len(gc.get_objects()) - before


def calls_of(function: Callable[..., Any], run: Callable[[], T], caller: str = "") -> tuple[T, int]:
    """What `run` returns, and how often a Python function is called meanwhile.

    With `caller`, only calls from functions of that name count.
    """
    code: CodeType = function.__code__
    count = 0

    def observe(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        if event != "call" or frame.f_code is not code:
            return
        if not caller or (frame.f_back is not None and frame.f_back.f_code.co_name == caller):
            count += 1

    before = sys.getprofile()
    sys.setprofile(observe)
    try:
        result = run()
    finally:
        sys.setprofile(before)
    return result, count


def chain(x: tn.TracedTensor, length: int) -> tn.TracedTensor:
    """`length` ops, y ← sin(y)·x over and over."""
    y = x
    for _ in range(length // 2):
        y = tn.sin(y) * x
    return y
