"""What a worker knows of the coordinator."""

import multiprocessing
import os

import pytest

from tenferro.farm.worker import Parent


class LokyParent:
    """What `multiprocessing` has of the parent in a worker of loky."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def is_alive(self) -> bool:
        raise ValueError


def test_a_worker_of_loky_whose_parent_died_before_the_first_part_is_not_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent = Parent()
    parent._starter = os.getppid()  # who had it by then
    for pid, gone in ((os.getppid(), False), (os.getpid(), True)):
        monkeypatch.setattr(multiprocessing, "parent_process", lambda pid=pid: LokyParent(pid))
        assert parent._gone() is gone
