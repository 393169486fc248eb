"""A folder of bytes by key, bounded, which only its owner can write if it is trusted."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tenferro.errors import CacheWarning, ConfigError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SYSTEM = 0
"""The user number of the superuser."""


@dataclass(frozen=True)
class CacheFolder:
    """Entries as files of a folder; of the oldest, so many are deleted that the others fit.

    Reading and writing never fail: an entry that cannot be read is not there, one that cannot be
    written is not kept, and a warning says so.

    Attributes:
        path: the folder; it is made when the first entry is written.
        max_bytes: the most bytes that all entries take.
        trusted: whether entries are code, so that those of other users are refused.
    """

    path: Path
    max_bytes: int
    trusted: bool

    def get(self, key: str) -> bytes | None:
        """The entry of a key."""
        try:
            opened = os.open(self.path / key, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                problem: str | None = "it is not a regular file"
            else:
                problem = _foreign(status) if self.trusted else None
            if problem:
                os.close(opened)
                self._tell(key, problem)
                return None
            with os.fdopen(opened, "rb") as file:
                with contextlib.suppress(OSError):  # used now: the oldest are deleted first
                    os.utime(opened)
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell(key, error.strerror or str(error))
            return None

    def put(self, key: str, data: bytes) -> None:
        """Write an entry, whole or not at all."""
        beside = self.path / f".{secrets.token_hex(8)}"
        try:
            make_own(self.path)
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            beside.replace(self.path / key)
            self._shrink()
        except OSError as error:
            tell(f"{self.path} cannot be written: {error.strerror}")
        finally:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)

    def discard(self, key: str, problem: str) -> None:
        """Delete an entry that is of no use, with a warning."""
        self._tell(key, problem)
        with contextlib.suppress(OSError):
            (self.path / key).unlink()

    def _tell(self, key: str, problem: str) -> None:
        tell(f"{self.path / key} is not used: {problem}")

    def _shrink(self) -> None:
        """Delete the oldest entries until the others fit."""
        entries = sorted(self._entries(), key=lambda entry: entry[1])
        total = sum(size for _, _, size in entries)
        for path, _, size in entries:
            if total <= self.max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _entries(self) -> Iterator[tuple[Path, int, int]]:
        """Path, time of the last use, and size of each entry that is a file."""
        for entry in os.scandir(self.path):
            with contextlib.suppress(FileNotFoundError):  # another process has deleted it
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield Path(entry.path), status.st_mtime_ns, status.st_size


def make_own(path: Path) -> None:
    """Make a folder, and those that hold it, as far as they do not exist, for this user alone."""
    if not path.is_dir():
        make_own(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def require_own(path: Path) -> None:
    """Make a folder that nobody else can write; refuse one that others can.

    Raises:
        ConfigError: it is another user's, or others may write to it or replace it.
        OSError: it cannot be made.
    """
    if not hasattr(os, "geteuid"):
        raise ConfigError(
            "cache: this system does not tell who may write to a folder, and executables are code; "
            "pass executables=False"
        )
    make_own(path)
    problem = _foreign(path.stat())
    above = [each for each in path.resolve().parents if _replaceable(each.stat())]
    if above:
        problem = f"{above[0]}, which holds it, may be written by others"
    if problem:
        raise ConfigError(
            f"cache: {path}: {problem}, and whoever writes there runs code in this process; choose "
            "a folder of your own with mode 700, or pass executables=False"
        )


def _foreign(status: os.stat_result) -> str | None:
    """What is wrong with who may write; None if it is this user alone."""
    if status.st_uid != os.geteuid():
        return f"its owner is user {status.st_uid}, not this one, {os.geteuid()}"
    if status.st_mode & _OTHERS_WRITE:
        return f"others may write there, its mode is {stat.S_IMODE(status.st_mode):o}"
    return None


def _replaceable(status: os.stat_result) -> bool:
    """Whether others than the system may replace what is in a folder."""
    shared = bool(status.st_mode & _OTHERS_WRITE) and not status.st_mode & stat.S_ISVTX
    return shared or status.st_uid not in (_SYSTEM, os.geteuid())


@contextlib.contextmanager
def harmless(what: str) -> Iterator[None]:
    """Make a warning of whatever fails here: a cache is not to stop a program.

    `what` begins its text.
    """
    try:
        yield
    except Exception as error:
        tell(f"{what}: {type(error).__name__}: {error}")


def tell(problem: str) -> None:
    """A warning that stays one where warnings are errors: a cache is not to stop a program."""
    text = f"tenferro.cache: {problem}"
    try:
        warnings.warn(text, CacheWarning, stacklevel=2)
    except CacheWarning:
        sys.stderr.write(f"{text}\n")
