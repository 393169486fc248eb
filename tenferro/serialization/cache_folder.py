"""Folders on disk: bytes by key, and caches of optimized programs."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tenferro.config import config
from tenferro.errors import CacheWarning, ConfigError, FileError, TenferroError, class_of
from tenferro.ir import ExecProgram
from tenferro.logs import logger
from tenferro.serialization.ops import Families
from tenferro.serialization.save_load import pack_program, unpack_program

__all__ = [
    "CacheFolder",
    "DiskCache",
    "cache",
    "cached_program",
    "disk_cache",
    "key_of",
    "problem_of_folder",
    "read_or_make",
    "source_digest",
]

_LOG = logger("cache")


T = TypeVar("T")

# A folder of bytes by key, bounded, which only its owner can write if it is trusted.

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
                self._warn_of_file(key, problem)
                return None
            with os.fdopen(opened, "rb") as file:
                with contextlib.suppress(OSError):  # used now: the oldest are deleted first
                    os.utime(opened)
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn_of_file(key, error.strerror or str(error))
            return None

    def put(self, key: str, data: bytes) -> None:
        """Write an entry, whole or not at all."""
        temporary = self.path / f".{secrets.token_hex(8)}"
        try:
            make_own(self.path)
            with open(
                os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"
            ) as file:
                file.write(data)
            temporary.replace(self.path / key)
            self._shrink()
        except OSError as error:
            warn(f"{self.path} cannot be written: {error.strerror}")
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def discard(self, key: str, problem: str) -> None:
        """Delete an entry that is of no use, with a warning."""
        self._warn_of_file(key, problem)
        with contextlib.suppress(OSError):
            (self.path / key).unlink()

    def _warn_of_file(self, key: str, problem: str) -> None:
        warn(f"{self.path / key} is not used: {problem}")

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
        warn(f"{what}: {type(error).__name__}: {error}")


def warn(problem: str) -> None:
    """A warning that stays one where warnings are errors: a cache is not to stop a program."""
    try:
        warnings.warn(f"tenferro.cache: {problem}", CacheWarning, stacklevel=2)
    except CacheWarning:
        _LOG.warning("%s", problem)


# Optimized programs on disk. They are data: whoever reads them runs no code of others.

MAX_BYTES = 1 << 30
_VARIABLE = "TENFERRO_CACHE_DIR"
_SOURCES = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class DiskCache:
    """Where programs and executables are kept on disk.

    Attributes:
        path: the folder.
        executables: whether executables are kept too. These are code, so that the folder must be
            the user's own.
        max_bytes: the most bytes that programs take, and executables.
    """

    path: Path
    executables: bool = True
    max_bytes: int = MAX_BYTES

    @property
    def programs(self) -> CacheFolder:
        """The folder of optimized programs of this version of tenferro."""
        return self.folder("programs", source_digest(_SOURCES)[:16], trusted=False)

    def folder(self, kind: str, version: str, trusted: bool) -> CacheFolder:
        """The folder of one kind of entries, made by one version."""
        return CacheFolder(self.path / kind / version, self.max_bytes, trusted)


class _Chosen:
    """What the process uses; `TENFERRO_CACHE_DIR` until `cache` is called."""

    disk: DiskCache | None = None
    asked = False


def cache(
    path: str | os.PathLike[str] | None,
    *,
    executables: bool = True,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Keep what is compiled from now on in a folder, and look for it there first.

    Optimized programs are kept as data, which is verified when it is read: a shared folder cannot
    make this process run code. Executables of XLA are code. They are kept only in a folder that
    belongs to the user alone, and only those of tenferro: what the process compiles with JAX itself
    is not affected.

    Args:
        path: an absolute path, which is made with mode 700 if it does not exist; None for no cache.
        executables: whether executables are kept, in addition to programs.
        max_bytes: the most bytes that programs may take, and executables; the entries that were
            not used for the longest time are deleted.

    Raises:
        ConfigError: the path is not absolute, or cannot be made; or executables are to be kept in a
            folder that belongs to another user, or that others may write to.

    >>> import os, tempfile, tenferro as tn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tn.cache(os.path.join(folder, "compiled"))
    ...     tn.cache(None)
    """
    try:
        _Chosen.disk, _Chosen.asked = _checked("cache", path, executables, max_bytes), True
    except OSError as error:
        raise ConfigError(f"cache: {path} cannot be used: {error.strerror}") from None


def disk_cache() -> DiskCache | None:
    """The cache that is in use.

    If the folder that `TENFERRO_CACHE_DIR` names cannot be made, as on a disk that is full or
    read-only, there is none, and a warning says so.

    Raises:
        ConfigError: others may write to the folder, or the path is not absolute.
    """
    if not _Chosen.asked:
        try:
            _Chosen.disk = _checked(_VARIABLE, config.cache_dir or None, True, MAX_BYTES)
        except OSError as error:
            warn(_unusable(error))
        _Chosen.asked = True
    return _Chosen.disk


def problem_of_folder() -> str | None:
    """What is wrong with the folder that `TENFERRO_CACHE_DIR` names; None if nothing is."""
    try:
        _checked(_VARIABLE, config.cache_dir or None, True, MAX_BYTES)
    except ConfigError as error:
        return str(error)
    except OSError as error:
        return _unusable(error)
    return None


def _unusable(error: OSError) -> str:
    return f"{_VARIABLE}: {config.cache_dir} cannot be used: {error.strerror}"


def _checked(
    caller: str, path: str | os.PathLike[str] | None, executables: bool, max_bytes: int
) -> DiskCache | None:
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"{caller}: takes a path or None, got {class_of(path)}")
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
        raise ConfigError(f"{caller}: max_bytes must be a number of bytes, got {max_bytes!r}")
    folder = Path(path).expanduser()
    if not folder.is_absolute():
        raise ConfigError(
            f"{caller}: {str(path)!r} is not absolute, so that the working folder would decide "
            "whose code runs; pass an absolute path"
        )
    if executables:
        require_own(folder)
    return DiskCache(folder.resolve(), executables, max_bytes)  # no link on the way counts later


def cached_program(
    key: Sequence[object],
    program: ExecProgram,
    make: Callable[[], ExecProgram],
    families: Families,
) -> ExecProgram:
    """What passes make of a program: read from disk, or made and written now.

    Args:
        key: what else the passes depend on; its text is compared.
        program: the program before the passes.
        make: runs the passes.
        families: with the ops that passes may write.
    """
    disk = disk_cache()
    if disk is None or not program.portable:
        return make()

    def read(data: bytes) -> ExecProgram:
        cached = unpack_program(data, families)
        types = cached.input_metas, cached.output_metas
        if types != (program.input_metas, program.output_metas):
            raise FileError("it is of another program")
        return cached

    def write(made: ExecProgram) -> bytes | None:
        with contextlib.suppress(TenferroError):  # files cannot hold one of its values
            return pack_program(made, families)
        return None

    def entry() -> tuple[CacheFolder, str]:
        return disk.programs, key_of(program.digest, *key)

    return read_or_make("a program", entry, read, make, write)[0]


def read_or_make(
    what: str,
    entry: Callable[[], tuple[CacheFolder, str]],
    read: Callable[[bytes], T],
    make: Callable[[], T],
    write: Callable[[T], bytes | None],
) -> tuple[T, bool]:
    """A value, and whether it was read from disk rather than made and written now.

    Args:
        what: the value in warnings.
        entry: makes its folder and its name there.
        read: makes the value of the bytes of its file; any error means that they are of no use.
        make: makes the value.
        write: makes the bytes of its file; None if a file cannot hold it.
    """
    place: tuple[CacheFolder, str] | None = None
    with harmless(f"{what} is not looked for"):
        folder, name = place = entry()
        data = folder.get(name)
        if data is not None:
            try:
                return read(data), True
            except TenferroError as error:
                folder.discard(name, str(error))
            except Exception as error:  # whatever a damaged file leads to
                folder.discard(name, f"{type(error).__name__}: {error}")
    made = make()
    if place is not None:
        with harmless(f"{what} is not kept"):
            data = write(made)
            if data is not None:
                folder.put(name, data)
    return made, False


def key_of(*parts: object) -> str:
    """A name for a file, by the texts of some values."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


@functools.cache
def source_digest(folder: Path) -> str:
    """A digest of the Python files of a package: what another version wrote is not read."""
    sha = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        sha.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return sha.hexdigest()
