"""What is said of a name that a module does not have.

The text is made when it is shown: `hasattr` costs an exception, not a search.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping

ELSEWHERE: dict[str, str] = {
    "tensor": "asarray", "as_tensor": "asarray", "from_numpy": "asarray", "constant": "asarray",
    "convert_to_tensor": "asarray", "Variable": "EagerRuntime().variable", "cat": "concat",
    "clamp": "clip", "clip_by_value": "clip", "mm": "matmul", "bmm": "matmul", "mv": "matmul",
    "permute": "permute_dims", "unsqueeze": "expand_dims", "reduce_sum": "sum",
    "reduce_mean": "mean", "reduce_max": "max", "reduce_min": "min",
    "inv": "linalg.inv", "solve": "linalg.solve", "norm": "linalg.norm", "svd": "linalg.svd",
    "eigh": "linalg.eigh", "det": "linalg.det", "cholesky": "linalg.cholesky", "qr": "linalg.qr",
    "jacobian": "jacrev", "function": "jit", "compile": "jit", "no_grad": "EagerRuntime().no_grad",
    "requires_grad": "EagerRuntime().variable", "GradientTape": "EagerRuntime",
    "autograd": "grad", "while": "while_loop", "if": "cond", "for_loop": "fori_loop",
    "tree_map": "tree.map", "tree_leaves": "tree.leaves",
    "dynamic_slice": "lax.dynamic_slice", "conv_general_dilated": "lax.conv_general_dilated",
    "dot_general": "lax.dot_general", "gather": "lax.gather", "scatter": "lax.scatter",
    "int": "int64", "float": "float64", "long": "int64", "half": "float16",
    "contract": "einsum", "rsub": "subtract", "neg": "negative",
    "mul": "multiply", "sub": "subtract", "div": "divide", "ln": "log", "arg": "angle",
    "identity_matrix": "eye", "gradient_of": "grad", "stop_grad": "stop_gradient",
}  # fmt: skip
"""Names of other libraries, and what is called so here."""

LATER = frozenset(("custom_gradient", "io_callback", "sparse"))
"""Names that other libraries have, for things that are not there yet."""


class MissingNameError(AttributeError):
    """A module does not have a name; the text says what was meant, or that it is not there yet."""

    def __init__(
        self,
        module: str,
        name: str,
        known: Callable[[], Iterable[str]],
        reasons: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(module, name)
        self._module, self._name = module, name
        self._known, self._reasons = known, reasons or {}

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        """Pickled as an AttributeError with the text."""
        return AttributeError, (str(self),)

    def __str__(self) -> str:
        text = f"module {self._module!r} has no attribute {self._name!r}"
        hint = self._hint()
        return f"{text}; {hint}" if hint else text

    def _hint(self) -> str:
        name, known = self._name, list(self._known())
        root = self._module.partition(".")[0]
        if name in self._reasons:
            return self._reasons[name]
        if name in LATER:
            return "it is not there yet"
        if name in ELSEWHERE and (ELSEWHERE[name] in known or "." in ELSEWHERE[name]):
            return f"did you mean {root}.{ELSEWHERE[name]}?"
        folded = {each.lower(): each for each in known}
        written = name.lower()
        slips = difflib.get_close_matches(written, folded, n=3, cutoff=0.8)
        beginnings = [each for each in folded if len(each) > 2 and written.startswith(each)]
        others = difflib.get_close_matches(written, folded, n=3, cutoff=0.6)
        close = slips or sorted(beginnings, key=len)[-1:] or others
        if not close:
            return ""
        best = next((each for each in close if each[0] == written[:1]), close[0])
        return f"did you mean {self._module}.{folded[best]}?"


def missing(
    module: str,
    name: str,
    known: Callable[[], Iterable[str]],
    reasons: Mapping[str, str] | None = None,
) -> AttributeError:
    """The error for a name that a module does not have.

    Args:
        module: what users call it.
        name: what they wrote.
        known: gives the names that it has; called when the text is shown.
        reasons: for names that it does not have on purpose, what to do instead.

    >>> raise missing("tn", "cosin", lambda: ["cos", "sin", "exp"])
    Traceback (most recent call last):
        ...
    tenferro.naming.MissingNameError: module 'tn' has no attribute 'cosin'; did you mean tn.cos?
    """
    return MissingNameError(module, name, known, reasons)
