"""What a worker knows of the coordinator."""

import multiprocessing
import os

import pytest

from tenferro.farm.parent import Parent


class LokyParent:
    """What `multiprocessing` has of the parent in a worker of loky."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def is_alive(self) -> bool:
        raise ValueError


@pytest.mark.parametrize(("pid", "gone"), [(os.getppid(), False), (os.getpid(), True)])
def test_a_worker_of_loky_whose_parent_died_before_the_first_part_is_not_needed(
    pid: int, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: LokyParent(pid))
    parent = Parent()
    parent._starter = os.getppid()  # who had it by then
    assert parent._gone() is gone
