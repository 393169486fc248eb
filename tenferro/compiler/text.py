"""Reading programs back from their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tenferro.errors import ParseError, TenferroError
from tenferro.ir import ExecProgram, parse_exec, verify
from tenferro.ops.extension import Decode, Extension, ExtensionOp, Package, distinct, vocabulary_of

__all__ = ["parse"]


def parse(
    text: str, families: Iterable[type[ExtensionOp]] = (), packages: Sequence[Package] = ()
) -> ExecProgram:
    """The program that `str(program)` printed.

    Args:
        text: the program.
        families: classes of extension ops that it may hold, dataclasses all.
        packages: further extension ops, and ops outside tenferro's vocabulary.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.
        ParseError: the text is not an execution program.
        VerifyError: it is one, but malformed: an op does not take its operands.

    >>> print(parse("exec_program(%0: f64[n]) { \\n %1: f64[n] = sine %0! \\n return %1 \\n }"))
    exec_program(%0: f64[n]) {
      %1: f64[n] = sine %0!
      return %1
    }
    """
    checked = distinct(packages)
    classes = [*families, *(op for package in checked for op in package.ops)]
    decoders = {op: decode for package in checked for op, decode in package.codecs.items()}
    read_extension = _reader({op.FAMILY_ID: op for op in classes}, decoders)
    program = parse_exec(text, {**vocabulary_of(checked), "extension": read_extension})
    try:
        verify(program)
    except TenferroError:
        raise
    except Exception as error:  # a payload of a wrong type, which the op does not expect
        raise ParseError(f"parse: an op does not take its payload: {error}") from error
    return program


def _reader(
    classes: Mapping[str, type[ExtensionOp]], decoders: Mapping[type[ExtensionOp], Decode]
) -> Callable[..., Extension]:
    def read(family_id: str, **payload: Any) -> Extension:
        cls = classes.get(family_id)
        if cls is None:
            raise ParseError(
                f"parse: no class is given for the extension family {family_id!r}; give its "
                "package, packages=(...)"
            )
        try:
            if cls in decoders and payload.keys() == {"payload"}:
                return Extension(decoders[cls](payload["payload"]))
            return Extension(cls(**payload))
        except Exception as error:
            raise ParseError(f"parse: {family_id} cannot be read: {error}") from error

    return read
