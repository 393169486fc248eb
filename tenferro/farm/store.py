"""The store: the folder of a job, whose files are the only truth about what has been done.

A file is written under a temporary name, and then linked to its own name: it is there whole or not
at all, and the first one stays. Results are flushed to the disk before. So workers may write a part
twice, outlive who asked for it, or be asked by two at once.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenferro.compiler import in_words
from tenferro.errors import FarmError, FileError, TenferroError
from tenferro.farm.job import Job, in_short, wrong_version
from tenferro.ir import NumpyArray
from tenferro.serialization import (
    pack_arrays,
    pack_program,
    read_bytes,
    unpack_arrays,
    unpack_program,
)

_NO_LINKS = {
    getattr(errno, name)
    for name in ("EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV")
    if hasattr(errno, name)
}
_HEADER_BYTES = 4096
"""What a part has besides its arrays, rounded up to a block of the disk."""


@dataclass(frozen=True)
class Sums:
    """What a file of results holds: those of a part, or of the whole job.

    Attributes:
        arrays: the results.
        makers: what computed them.
        microseconds: how long that took.
    """

    arrays: tuple[NumpyArray, ...]
    makers: tuple[str, ...]
    microseconds: int


class JobFolder:
    """The files of one job.

    Args:
        store: the folder of all jobs, which coordinator and workers see.
        digest: that of the job.
        shown: the store as errors name it; by default its path.
    """

    def __init__(self, store: str, digest: str, shown: str | None = None) -> None:
        self.store = store
        self.digest = digest
        self.path = Path(store, digest)
        self._shown = store if shown is None else shown

    def __str__(self) -> str:
        return os.path.join(self._shown, in_short(self.digest))

    def begin(self, job: Job, version: str) -> None:
        """Write down what the job is, unless that is written.

        Raises:
            FarmError: another version of tenferro has begun the job, or the folder cannot be
                written.
        """
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
        described = {**job.description, "tenferro": version}
        self._write_once("program", lambda: pack_program(job.program), unpack_program)
        kind = {"kind": "operands"}
        self._write_once(
            "operands", lambda: pack_arrays(kind, job.operands, job.digests), unpack_arrays
        )
        text = json.dumps(described, indent=1, sort_keys=True).encode()
        self._publish("job.json", text, durable=False)
        found = _parsed(self.path / "job.json")
        if found == described:
            return
        if isinstance(found, dict) and {**found, "tenferro": version} == described:
            begun = found.get("tenferro")
            raise FarmError(
                f"farm: {self} was begun with tenferro {begun}, this is {version}; go on with that "
                "version, or remove the folder"
            )
        self._publish("job.json", text, over=True, durable=False)

    def read_job(self, version: str) -> Job:
        """The job, as a worker finds it.

        Raises:
            FarmError: the folder is not that of a job, or the job is of another version.
            FileError: its program or its operands are damaged.
        """
        found = _parsed(self.path / "job.json")
        if not isinstance(found, dict):
            raise FarmError(
                f"farm: {self.path} has no readable job.json; all workers must see the same folder"
            )
        if found.get("tenferro") != version:
            raise wrong_version(version, str(found.get("tenferro")))
        program = unpack_program(read_bytes(self.path / "program"))
        _, arrays, digests = unpack_arrays(read_bytes(self.path / "operands"))
        operands = tuple(arrays)
        try:
            job = Job(program, found["total"], operands, digests, found["parts"], found["worker"])
            is_same = job.digest == self.digest
        except (KeyError, TypeError, ValueError, TenferroError) as error:
            raise FarmError(f"farm: {self.path} is not the folder of a job: {error}") from error
        if not is_same:
            raise FarmError(f"farm: the job in {self.path} is not what its name says; remove it")
        return job

    def names(self) -> set[str]:
        """The names of all files."""
        with self._writing():
            return set(os.listdir(self.path))

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return os.path.lexists(self.path / name)

    def write(self, name: str, header: dict[str, Any], sums: Sums) -> None:
        """Write results, unless there are some of that name."""
        described = {"makers": list(sums.makers), "microseconds": sums.microseconds}
        self._publish(name, pack_arrays({**header, **described}, sums.arrays))

    def read(self, name: str, header: dict[str, Any], job: Job) -> Sums:
        """The results that were written under that name, with that header.

        Raises:
            FileError: the file is not whole, or it has another header or other types.
        """
        found, arrays, _ = unpack_arrays(read_bytes(self.path / name))
        makers, microseconds = found.pop("makers", None), found.pop("microseconds", None)
        if found != header or not isinstance(makers, list) or not isinstance(microseconds, int):
            raise FileError(f"file: {self.path / name} is of something else")
        if [(array.dtype, array.shape) for array in arrays] != job.outputs:
            raise FileError(f"file: {self.path / name} has results of other types")
        return Sums(tuple(arrays), tuple(map(str, makers)), microseconds)

    def set_aside(self, name: str, mark: str = "bad") -> None:
        """Rename what has a name, if anything has, so that it can be written again."""
        source = self.path / name
        for number in itertools.count(1):
            target = source.with_name(f"{name}.{mark}{number if number > 1 else ''}")
            if not os.path.lexists(target):
                break
        with self._writing(), suppress(FileNotFoundError):
            source.rename(target)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files, as far as they are there, and what killed writers have left."""
        left = [name for name in self.names() if name.startswith(".")]
        for name in (*names, *left):
            with suppress(OSError):
                (self.path / name).unlink()

    def check_space(self, job: Job, missing: int) -> None:
        """Raise FarmError if the disk cannot hold the parts that are missing, and the result."""
        free = shutil.disk_usage(self.path).free
        needed = (missing + 1) * (job.bytes + _HEADER_BYTES)
        if needed > free:
            raise FarmError(
                f"farm: {self._shown} has {in_words(free)} free, {missing} parts need "
                f"{in_words(needed)}; free some, choose another store, or fewer parts, parts="
            )

    def _write_once(
        self, name: str, data: Callable[[], bytes], check: Callable[[bytes], object]
    ) -> None:
        """Write what all parts need, unless it is there and whole."""
        over = False
        if self.has(name):
            try:
                check(read_bytes(self.path / name))
            except FileError:
                over = True
            else:
                return
        self._publish(name, data(), over, durable=False)

    def _publish(self, name: str, data: bytes, over: bool = False, durable: bool = True) -> None:
        """Give a name to a file with this content, if it is not taken; or, `over` what has it.

        If `durable`, it is on the disk before it has its name. Whoever begins a job again writes
        the others again, should a machine have failed.
        """
        target, temporary = self.path / name, self.path / f".{name}.{secrets.token_hex(8)}"
        if not over and self.has(name):
            return
        with self._writing():
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    if durable:
                        file.flush()
                        os.fsync(file.fileno())
                os.replace(temporary, target) if over else _name(temporary, target)
            except FileNotFoundError:
                if not (self.has(name) or self.has("result")):
                    raise
                # The job is done, and what was left has been removed.
            finally:
                temporary.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A context in which what the system refuses becomes a FarmError."""
        try:
            yield
        except OSError as error:
            raise FarmError(f"farm: {self} cannot be written: {error.strerror}") from error


def _name(temporary: Path, target: Path) -> None:
    """Give a file its own name, unless that is taken; where there are no links, whatever has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(temporary, target)


def _parsed(path: Path) -> object:
    """What a file of JSON holds; None if it is not one."""
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found
