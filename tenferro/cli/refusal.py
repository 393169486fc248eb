"""An error as one line for the command line."""

from __future__ import annotations

from tenferro.errors import (
    TenferroError,
    UnregisteredExtensionError,
    UnsupportedADRuleError,
    UnsupportedExtensionError,
)

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
