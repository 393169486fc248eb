"""The coordinator of a job: finds the parts on disk, has workers make the others, adds them up."""

from __future__ import annotations

import queue
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tenferro.errors import FarmError, FileError
from tenferro.farm.job import Job, own_version
from tenferro.farm.report import JobReport, Report, reporting
from tenferro.farm.store import JobFolder, Sums
from tenferro.farm.worker import Engines, Pool, is_broken, part_header, part_name, work
from tenferro.ir import NumpyArray
from tenferro.ops.control_flow import TreeSum
from tenferro.ops.extension import RaisedByUser

POLL = 5.0
"""Seconds without news after which the folder is looked at: files count, not answers."""

RESULT = "result"
_NO_BOUND = 1 << 30


@dataclass(frozen=True)
class FarmSettings:
    """How a farm goes about its jobs; see `FarmExecutor`.

    `store` is the folder as the user names it, `folder` is its absolute path.
    """

    store: str
    folder: str
    attempts: int
    restarts: int
    same_maker: bool
    keep: bool
    progress: Report | bool | None


def complete(
    job: Job, engines: Engines, rules: FarmSettings, report: JobReport
) -> tuple[NumpyArray, ...]:
    """The results of a job; parts that are missing are made.

    Raises:
        FarmError: the store cannot be used, a part failed, or the engine broke or raised an error.
        RaisedByUser: the function of progress raised an error.
    """
    files = JobFolder(rules.folder, job.digest, rules.store)
    files.begin(job, own_version())
    with reporting(rules.progress) as report_progress:
        return Coordinator(job, files, engines, rules, report, report_progress).result().arrays


class Coordinator:
    """One run of a job. Every part is to do, begun, sound (its file is there), or added."""

    def __init__(
        self,
        job: Job,
        files: JobFolder,
        engines: Engines,
        rules: FarmSettings,
        report: JobReport,
        report_progress: Report,
    ) -> None:
        self._job, self._files, self._engines = job, files, engines
        self._rules, self._report, self._report_progress = rules, report, report_progress
        self._to_do: deque[int] = deque()
        self._begun: dict[Future[int], tuple[int, Pool]] = {}
        self._sound: set[int] = set()
        self._added = 0
        self._tree: TreeSum[tuple[NumpyArray, ...]] = TreeSum(_sum)
        self._microseconds = 0
        self._made: set[int] = set()
        self._makers: dict[int, str] = {}
        self._failures: Counter[int] = Counter()
        self._failed: dict[int, BaseException] = {}
        self._answers: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
        self._pool: Pool | None = None
        self._breaks = 0
        self._ahead = _NO_BOUND
        self._started = time.monotonic()

    def result(self) -> Sums:
        """The sums of all parts, which are made where they are missing."""
        stored = self._stored_result()
        if stored is not None:
            return stored
        self._find()
        if self._to_do:
            self._files.check_space(self._job, len(self._to_do))
        self._show_progress()
        try:
            self._work()
        except BaseException:
            for future in self._begun:
                future.cancel()
            raise
        sums = Sums(self._tree.result(), tuple(sorted(self._report.makers)), self._microseconds)
        self._files.write(RESULT, self._result_header, sums)
        parts = [] if self._rules.keep else sorted(self._files.names())
        self._files.remove([name for name in parts if name.startswith("part-")])
        return sums

    @property
    def _result_header(self) -> dict[str, object]:
        return {"kind": RESULT, "job": self._job.digest}

    def _stored_result(self) -> Sums | None:
        """The result, where an earlier run has written it."""
        if not self._files.has(RESULT):
            return None
        try:
            sums = self._files.read(RESULT, self._result_header, self._job)
        except FileError:
            self._report.damaged += 1
            self._files.set_aside(RESULT)
            return None
        if self._rules.same_maker and len(sums.makers) > 1:
            self._files.set_aside(RESULT, "foreign")
            return None
        self._report.whole, self._report.found = True, self._job.parts
        self._report.makers.update(dict.fromkeys(sums.makers, 0))
        return sums

    def _find(self) -> None:
        """Look which parts are there, and whether they are whole."""
        names = self._files.names()
        for part in range(self._job.parts):
            if part_name(part) not in names:
                self._to_do.append(part)
                continue
            sums = self._read(part)
            if sums is None:
                continue
            self._report.found += 1
            self._makers[part] = sums.makers[0]
            if part == self._added and not self._rules.same_maker:
                self._add(sums)
            else:
                self._sound.add(part)

    def _read(self, part: int) -> Sums | None:
        """What a part holds; None if it is damaged, and is to be made again."""
        header = part_header(self._job.digest, part, *self._job.bounds(part))
        try:
            return self._files.read(part_name(part), header, self._job)
        except FileError as error:
            self._report.damaged += 1
            self._make_again(part, "bad", error)
            return None

    def _make_again(self, part: int, mark: str, why: Exception) -> None:
        """Have a part made that is there, but is not what is wanted."""
        self._files.set_aside(part_name(part), mark)
        self._sound.discard(part)
        if part in self._made:
            self._fail(part, why)
        else:
            self._to_do.append(part)

    def _add(self, sums: Sums) -> None:
        """Add the next part to the sum."""
        self._tree.push(sums.arrays)
        self._report.makers.update(sums.makers)
        self._microseconds += sums.microseconds
        if self._added in self._made:
            self._report.seconds += sums.microseconds / 1e6
        self._makers.pop(self._added, None)
        self._added += 1

    def _add_sound(self) -> None:
        """Add the parts that come next, as far as they are there."""
        if self._rules.same_maker and not self._are_alike():
            return
        while self._added in self._sound:
            sums = self._read(self._added)
            if sums is None:
                return
            self._sound.discard(self._added)
            self._add(sums)

    def _are_alike(self) -> bool:
        """Whether all parts are there and of one maker; those of others are to be made again."""
        if self._added + len(self._sound) < self._job.parts:
            return self._added > 0
        own = Counter(self._makers[part] for part in self._sound & self._made)
        ((maker, _),) = (own or Counter(self._makers.values())).most_common(1)
        foreign = [part for part in sorted(self._sound) if self._makers[part] != maker]
        for part in foreign:
            self._report.foreign += 1
            text = f"it was made by {self._makers.pop(part)}, not by {maker}"
            self._make_again(part, "foreign", FarmError(text))
        return not foreign

    def _work(self) -> None:
        """Have parts made until all are added."""
        self._add_sound()
        while self._added < self._job.parts:
            self._submit()
            if not self._begun:
                raise self._failure()
            try:
                self._take(self._answers.get(timeout=POLL))
            except queue.Empty:
                self._look()
            self._add_sound()

    def _submit(self) -> None:
        """Give parts to the engine, at most two for each worker."""
        if self._failed and not self._made:
            return  # what fails in this way fails for all parts
        self._pool = self._pool or self._made_pool()
        with self._engine_does("the engine"):
            most = 2 * self._pool.workers
        while self._to_do and len(self._begun) < min(self._ahead, most):
            pool, part = self._pool, self._to_do[0]
            arguments = (self._rules.folder, self._job.digest, part, *self._job.bounds(part))
            try:
                with self._engine_does("submit of the engine"):
                    future = pool.submit(work, *arguments)
            except (BrokenExecutor, CancelledError) as error:
                self._replace(pool, error)
                continue
            self._to_do.popleft()
            self._begun[future] = part, pool
            future.add_done_callback(self._answers.put)

    def _take(self, future: Future[int]) -> None:
        """Take the answer to a task, unless its part was seen before."""
        part, pool = self._begun.pop(future, (None, None))
        if part is None or pool is None:
            return
        error = CancelledError() if future.cancelled() else future.exception()
        if self._files.has(part_name(part)):
            self._made_part(part)
        elif error is None:
            text = f"no file of it is in {self._files}; all workers must see the same folder"
            self._fail(part, FarmError(text))
        elif is_broken(error):
            self._to_do.append(part)
        else:
            self._fail(part, error)
        if error is not None and is_broken(error):
            self._replace(pool, error)

    def _look(self) -> None:
        """Look for files of parts that are begun, which nobody has reported."""
        names = self._files.names()
        for future, (part, _) in list(self._begun.items()):
            if part_name(part) in names:
                del self._begun[future]
                self._made_part(part)

    def _made_part(self, part: int) -> None:
        """A part has been made."""
        self._made.add(part)
        self._sound.add(part)
        self._breaks = 0
        self._ahead = min(2 * self._ahead, _NO_BOUND)
        if self._rules.same_maker and (sums := self._read(part)) is not None:
            self._makers[part] = sums.makers[0]
        self._show_progress()

    def _fail(self, part: int, error: BaseException) -> None:
        """An attempt at a part has failed."""
        self._report.failed += 1
        self._failures[part] += 1
        if self._failures[part] < self._rules.attempts:
            self._to_do.append(part)
        else:
            self._failed[part] = error

    def _replace(self, broken: Pool, error: BaseException) -> None:
        """Take a new pool in place of one that broke.

        It gets one part to begin with, and then more and more: a part that breaks any pool does not
        take others with it.
        """
        if self._pool is not broken:
            return
        self._report.engines += 1
        self._breaks += 1
        if not self._engines.makes_more or self._breaks > self._rules.restarts:
            raise FarmError(
                f"farm: the engine broke ({type(error).__name__}); {self._stored()}; run again to "
                "go on"
            ) from error
        self._pool = self._made_pool(after=broken)
        self._ahead = 1

    def _made_pool(self, after: Pool | None = None) -> Pool:
        """The pool in use; a new one if that is `after`, which is broken."""
        with self._engine_does("the function that makes the engine"):
            return self._engines.pool(after)

    @contextmanager
    def _engine_does(self, what: str) -> Iterator[None]:
        """A context in which what the user's engine raises becomes a FarmError."""
        try:
            yield
        except Exception as error:
            if is_broken(error) or isinstance(error, FarmError):
                raise
            raise FarmError(
                f"farm: {what} raised {type(error).__name__}: {error}; {self._stored()}; run again "
                "to go on"
            ) from error

    def _failure(self) -> FarmError:
        """What is raised when nothing more can be made."""
        part = min(self._failed)
        first, stop = self._job.bounds(part)
        last, attempts = self._failed[part], self._rules.attempts
        times = "once" if attempts == 1 else f"{attempts} times"
        error = FarmError(
            f"farm: part {part} (slices {first} to {stop - 1}) failed {times}; the last: "
            f"{type(last).__name__}: {last}; {self._stored()}; run again to go on"
        )
        error.__cause__ = last
        return error

    def _stored(self) -> str:
        names = self._files.names()
        present = sum(part_name(part) in names for part in range(self._job.parts))
        return f"{present} of {self._job.parts} parts are kept in {self._files}"

    def _show_progress(self) -> None:
        done = self._added + len(self._sound)
        try:
            self._report_progress(done, self._job.parts, time.monotonic() - self._started)
        except Exception as error:
            raise RaisedByUser(error) from error


def _sum(left: tuple[NumpyArray, ...], right: tuple[NumpyArray, ...]) -> tuple[NumpyArray, ...]:
    """The sums of the results of two runs of parts."""
    with np.errstate(all="ignore"):
        return tuple([np.asarray(a + b) for a, b in zip(left, right, strict=True)])
