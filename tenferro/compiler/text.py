"""Reading programs back from their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tenferro.control import VOCABULARY
from tenferro.errors import ParseError
from tenferro.exec_ir import ExecProgram, parse_exec
from tenferro.family import Extension, ExtensionOp


def parse(text: str, families: Iterable[type[ExtensionOp]] = ()) -> ExecProgram:
    """The program that `str(program)` printed.

    Extension ops are read back with the classes in `families`, dataclasses all.

    Raises:
        ParseError: the text is not an execution program.

    >>> print(parse("exec_program(%0: f64[n]) { \\n %1: f64[n] = sine %0! \\n return %1 \\n }"))
    exec_program(%0: f64[n]) {
      %1: f64[n] = sine %0!
      return %1
    }
    """
    return parse_exec(
        text, {**VOCABULARY, "extension": _reader({c.FAMILY_ID: c for c in families})}
    )


def _reader(classes: Mapping[str, Callable[..., ExtensionOp]]) -> Callable[..., Extension]:
    def read(family_id: str, **payload: object) -> Extension:
        if family_id not in classes:
            raise ParseError(f"parse: no class is given for the extension family {family_id!r}")
        try:
            return Extension(classes[family_id](**payload))
        except Exception as error:
            raise ParseError(f"parse: {family_id} cannot be read: {error}") from error

    return read
