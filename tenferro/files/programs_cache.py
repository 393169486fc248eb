"""Optimized programs on disk. They are data: whoever reads them runs no code of others."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenferro.config import config
from tenferro.errors import ConfigError, TenferroError
from tenferro.exec_ir import ExecProgram
from tenferro.files.cache_folder import CacheFolder, harmless, require_own, tell
from tenferro.files.codecs import Families
from tenferro.files.unnamed import pack_program, unpack_program

MAX_BYTES = 1 << 30
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
        executables: whether executables are kept, beside programs.
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
        variable = "TENFERRO_CACHE_DIR"
        try:
            _Chosen.disk = _checked(variable, config.cache_dir or None, True, MAX_BYTES)
        except OSError as error:
            tell(f"{variable}: {config.cache_dir} cannot be used: {error.strerror}")
        _Chosen.asked = True
    return _Chosen.disk


def _checked(
    caller: str, path: str | os.PathLike[str] | None, executables: bool, max_bytes: int
) -> DiskCache | None:
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"{caller}: takes a path or None, got a {type(path).__name__}")
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


def program_kept(
    key: Sequence[object],
    program: ExecProgram,
    make: Callable[[], ExecProgram],
    families: Families,
) -> ExecProgram:
    """What passes make of a program: read from disk, or made now and kept.

    Args:
        key: what else the passes depend on; its text is compared.
        program: the program before the passes.
        make: runs the passes.
        families: with the ops that passes may write.
    """
    disk = disk_cache()
    if disk is None or not program.portable:
        return make()
    entry: tuple[CacheFolder, str] | None = None
    with harmless("a program is not looked for"):
        entry = disk.programs, key_of(program.digest, *key)
        found = _found(*entry, program, families)
        if found is not None:
            return found
    made = make()
    if entry is not None:
        with harmless("a program is not kept"):
            folder, name = entry
            text = _written(made, families)
            if text is not None:
                folder.put(name, text)
    return made


def _found(
    folder: CacheFolder, name: str, program: ExecProgram, families: Families
) -> ExecProgram | None:
    """What was kept for a program; None if there is nothing, or nothing that is of use."""
    data = folder.get(name)
    if data is None:
        return None
    try:
        found = unpack_program(data, families)
    except Exception as error:  # whatever a damaged file leads to
        folder.discard(name, str(error))
        return None
    if _fits(found, program):
        return found
    folder.discard(name, "it is of another program")
    return None


def _fits(found: ExecProgram, program: ExecProgram) -> bool:
    """Whether a program takes and gives what another one does."""
    return (found.input_metas, found.output_metas) == (program.input_metas, program.output_metas)


def _written(program: ExecProgram, families: Families) -> bytes | None:
    """The bytes of a program; None if files cannot hold one of its values."""
    try:
        return pack_program(program, families)
    except TenferroError:
        return None


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
