"""The packages of extension families that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

from tenferro.cli.function import error_text, import_file
from tenferro.errors import CommandError, TenferroError
from tenferro.family import Package


def load_packages(targets: Sequence[str]) -> tuple[Package, ...]:
    """The packages that `MODULE:NAME` or `FILE.py:NAME` name, each of them or a tuple of them.

    Raises:
        CommandError: there is no such module, file or name, it cannot be imported, or it is not a
            package.
    """
    return tuple([package for target in targets for package in _packages_of(target)])


def _packages_of(target: str) -> tuple[Package, ...]:
    source, colon, name = target.rpartition(":")
    is_named = source.endswith(".py") or all(part.isidentifier() for part in source.split("."))
    if not colon or not name.isidentifier() or not is_named:
        raise CommandError(f"{target!r} is not of the form MODULE:NAME or FILE.py:NAME")
    if source.endswith(".py"):
        path = Path(source)
        if not path.is_file():
            raise CommandError(f"there is no file {source}")
        module = import_file(path)
    else:
        try:
            module = EntryPoint("package", source, "tenferro.packages").load()
        except TenferroError:
            raise
        except (Exception, SystemExit) as error:
            text = error_text(error, Path(source))
            raise CommandError(f"{source} cannot be imported: {text}") from error
    value = getattr(module, name, None)
    packages = value if isinstance(value, tuple) else (value,)
    for package in packages:
        if package is None:
            raise CommandError(f"{source} defines no {name}")
        if not isinstance(package, Package):
            raise CommandError(
                f"{target} is of type {type(package).__name__}, not a package; --package takes a "
                "tenferro.extension.Package or a tuple of them"
            )
    return packages
