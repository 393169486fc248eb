"""The gate through which calls go that wait for other devices."""

from __future__ import annotations

from typing import Any

from tenferro_xla.in_flight import Flight


class Result:
    """Stands for an array of JAX."""

    nbytes = 8
    is_fully_addressable = True

    def __init__(self, log: list[str], name: str, fails: bool = False) -> None:
        self.log, self.name, self.fails, self.deleted = log, name, fails, False

    def is_deleted(self) -> bool:
        return self.deleted

    def block_until_ready(self) -> None:
        self.log.append(f"waited for {self.name}")
        if self.fails:
            raise RuntimeError(self.name)


def called(flight: Flight, log: list[str], name: str, bound: int, fails: bool = False) -> Any:
    def call() -> Any:
        log.append(f"called {name}")
        return (Result(log, name, fails),)

    (result,) = flight.run(call, (), bound, name)
    return result


def test_a_call_waits_for_the_oldest_where_too_many_are_outstanding() -> None:
    flight, log = Flight(), list[str]()
    for name in "abc":
        called(flight, log, name, bound=2)
    assert log == ["called a", "called b", "waited for a", "called c"]


def test_an_error_of_a_call_is_not_that_of_a_later_one() -> None:
    flight, log = Flight(), list[str]()
    called(flight, log, "a", bound=1, fails=True)
    called(flight, log, "b", bound=1)
    assert log == ["called a", "waited for a", "called b"]


def test_a_donated_result_is_not_waited_for() -> None:
    flight, log = Flight(), list[str]()
    called(flight, log, "a", bound=1).deleted = True
    called(flight, log, "b", bound=1)
    assert log == ["called a", "called b"]
