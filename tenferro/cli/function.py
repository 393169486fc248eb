"""The function and the packages that a command names; errors as one line."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from tenferro.errors import (
    CommandError,
    DTypeError,
    TenferroError,
    UnregisteredExtensionError,
    UnsupportedADRuleError,
    UnsupportedExtensionError,
    class_of,
    counted,
)
from tenferro.ir import DType, TensorSpec, as_dtype
from tenferro.ops.extension import Package
from tenferro.runtime import GraphProgram, TraceContext
from tenferro.serialization import load
from tenferro.transforms import TracedTensor, flatten, without_arguments

Shape = tuple[int | str, ...]
DTYPE_NAMES = ("f32", "f64", "c64", "c128", "i32", "i64", "bool")
"""Those of the usual dtypes; `as_dtype` knows more."""


@dataclass(frozen=True, slots=True)
class NamedFunction:
    """A function of a user's file, or a saved program.

    Attributes:
        call: the function.
        path: where it is from.
        name: what it is called.
        specs: the types of the arguments of a saved program; None for a function.
        names: the names of these arguments.
    """

    call: Callable[..., Any]
    path: Path
    name: str
    specs: tuple[TensorSpec, ...] | None = None
    names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Any:
        """The result.

        Raises:
            TenferroError: as the function does; any other error of it is a CommandError.
        """
        try:
            return self.call(*args)
        except TenferroError as error:
            error.add_note(f"in {self.name}{_place(error, self.path)}")
            raise
        except (Exception, SystemExit) as error:
            raise CommandError(f"{self.name} raised {error_text(error, self.path)}") from error

    def parameters(self, count: int, each: str = "one --shape") -> list[str]:
        """Names for `count` positional arguments; `each` is what the command gives for one.

        Raises:
            CommandError: the function does not take so many.
        """
        if self.specs is not None and count == len(self.specs):
            return list(self.names)
        try:
            signature = inspect.signature(self.call)
            bound = signature.bind(*range(count))
        except (TypeError, ValueError) as error:
            what = counted(count, "argument")
            raise CommandError(
                f"{self.name} does not take {what} ({error}); give {each} for each"
            ) from None
        names = list(bound.arguments)
        rest = [f"{names[-1]}{i}" for i in range(count - len(names) + 1)] if names else []
        return names if len(names) == count else [*names[:-1], *rest]


@dataclass(frozen=True, slots=True)
class TracedCommandFunction:
    """A function on traced arguments: those, and the leaves of the result."""

    name: str
    inputs: tuple[TracedTensor, ...]
    outputs: tuple[TracedTensor, ...]


def load_function(target: str, packages: Sequence[Package] = ()) -> NamedFunction:
    """The function that `FILE.py:FUNCTION` names, or the program in a file that `tn.save` wrote.

    Args:
        target: what the command line says.
        packages: families that the program may hold, in addition to tenferro's own.

    Raises:
        CommandError: there is no such file or function, or the file cannot be imported.
        FileError, ExtensionError: the file does not hold a program that can be read.
    """
    if Path(target).is_file() and not target.endswith(".py"):
        return load_program(Path(target), packages)
    file, _, name = target.rpartition(":")
    if not file or not name.isidentifier():
        if target and ":" not in target and not Path(target).exists():
            raise CommandError(f"there is no file {target}")
        raise CommandError(f"{target!r} is not of the form FILE.py:FUNCTION, nor a saved program")
    path = Path(file)
    if not path.is_file():
        is_there = path.is_dir()
        raise CommandError(f"{file} is a directory" if is_there else f"there is no file {file}")
    function = getattr(import_file(path), name, None)
    if function is None:
        raise CommandError(f"{file} defines no {name}")
    if not callable(function):
        raise CommandError(
            f"{name} of {file} is not a function, but of type {type(function).__name__}"
        )
    return NamedFunction(function, path, name)


def load_program(path: Path, packages: Sequence[Package]) -> NamedFunction:
    """The program of a file as a function of those of its inputs that have no default."""
    value = load(path, packages=packages)
    if not isinstance(value, GraphProgram):
        raise CommandError(f"{path} holds a fragment, not a program; save a program")
    inputs = [declared for declared in value.inputs if declared.default is None]
    specs = [
        TensorSpec(declared.meta.exact_shape("input", declared.name), declared.meta.dtype)
        for declared in inputs
    ]
    names = tuple([declared.name for declared in inputs])
    return NamedFunction(value, path, path.name, tuple(specs), names)


def trace(function: NamedFunction, specs: Sequence[TensorSpec]) -> TracedCommandFunction:
    """The function on fresh traced arguments of the given types.

    Raises:
        CommandError: the function returns something that is not traced, or nothing.
    """
    inputs = tuple(
        TracedTensor.input(spec.shape, spec.dtype, name)
        for name, spec in zip(function.parameters(len(specs)), specs, strict=True)
    )
    with TraceContext():
        result = function(*inputs)
    outputs, _ = flatten(result)
    for leaf in outputs:
        if not isinstance(leaf, TracedTensor):
            raise CommandError(
                f"{function.name} returns {class_of(leaf)}, which no argument is part of"
            )
    if not outputs:
        raise CommandError(f"{function.name} returns no array")
    keys = without_arguments([tensor.key for tensor in outputs])
    return TracedCommandFunction(function.name, inputs, tuple([TracedTensor(key) for key in keys]))


def specs_of(
    function: NamedFunction, shapes: Sequence[Shape], dtypes: Sequence[DType] | None
) -> list[TensorSpec]:
    """The types that `--shape` and `--dtype` give; without them, those of a saved program.

    Raises:
        CommandError: there are several dtypes, but not one for each shape.
    """
    if function.specs is not None and not shapes and not dtypes:
        return list(function.specs)
    types = list(dtypes or [as_dtype("float64")])
    if len(types) not in (1, len(shapes)):
        raise CommandError(f"{len(types)} --dtype for {len(shapes)} --shape; give one, or one each")
    each = types * len(shapes) if len(types) == 1 else types
    return [TensorSpec(shape, dtype) for shape, dtype in zip(shapes, each, strict=True)]


def parse_shape(text: str) -> Shape:
    """The shape that a text such as `3,4`, `n,3` or `()` means.

    >>> parse_shape("n,3"), parse_shape("()")
    (('n', 3), ())
    """
    inner = text.strip().removeprefix("(").removesuffix(")").removesuffix(",").strip()
    sizes: list[int | str] = []
    for part in inner.split(",") if inner else []:
        word = part.strip()
        if not re.fullmatch(r"[0-9]+|[A-Za-z_]\w*", word, re.ASCII):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a shape: {word!r} is neither a size nor a name; write 3,4 or n,3"
            )
        sizes.append(int(word) if word[0].isdigit() else word)
    return tuple(sizes)


def parse_dtype(text: str) -> DType:
    """The dtype that a name such as `f64` or `float64` means."""
    try:
        return as_dtype(text)
    except DTypeError:
        if "," in text:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not one dtype; give --dtype several times, once for each argument"
            ) from None
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a dtype; write {', '.join(DTYPE_NAMES[:-1])} or {DTYPE_NAMES[-1]}"
        ) from None


def file_name(text: str) -> str:
    """The name of a file, which is not empty, as a variable of a shell that is not set would be."""
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is empty")
    return text


def named_size(text: str) -> tuple[str, int]:
    """The name and size of a text such as `n=4`."""
    name, _, size = text.partition("=")
    if not name.isidentifier() or not (size.isascii() and size.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=SIZE")
    return name, int(size)


def sizes_by_name(pairs: Sequence[tuple[str, int]]) -> dict[str, int]:
    """The sizes of names.

    Raises:
        CommandError: a name has two sizes.
    """
    sizes: dict[str, int] = {}
    for name, size in pairs:
        if sizes.setdefault(name, size) != size:
            raise CommandError(f"--size {name} has two values, {sizes[name]} and {size}")
    return sizes


def import_file(path: Path) -> Any:
    """The module of a file, with the imports that `python FILE.py` would find."""
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} is not a Python file")
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path.resolve()):
        return known
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules.setdefault(name, module)
    try:
        spec.loader.exec_module(module)
    except TenferroError:
        raise
    except (Exception, SystemExit) as error:
        raise CommandError(f"{path} cannot be imported: {error_text(error, path)}") from error
    finally:
        sys.path.pop(0)
    return module


def error_text(error: BaseException, path: Path) -> str:
    """An error of the user's code, with the last line of their file that led to it."""
    message = str(error).partition("\n")[0]
    return f"{type(error).__name__}{': ' * bool(message)}{message}{_place(error, path)}"


def _place(error: BaseException, path: Path) -> str:
    """The last line of a file that led to an error, in parentheses; empty if none did."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).name == path.name
    ]
    return f" ({path.name}:{lines[-1]})" if lines else ""


# The packages of extension families that a command line names.


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


# An error as one line for the command line.

_LACKS_A_FAMILY = (
    UnsupportedADRuleError,
    UnsupportedExtensionError,
    UnregisteredExtensionError,
)


def one_line(error: TenferroError) -> str:
    """The first line of an error, with its notes, such as where the op was written."""
    first = str(error).partition("\n")[0]
    notes = list(getattr(error, "__notes__", []))
    if isinstance(error, _LACKS_A_FAMILY):
        notes.append("on the command line, give the package of the family: --package MODULE:NAME")
    return "; ".join([first, *notes])
