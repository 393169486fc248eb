"""Programs as functions."""

from __future__ import annotations

from typing import Any

from tenferro.values import GraphProgram, check_program


def call(program: GraphProgram, /, *args: Any, **named: Any) -> Any:
    """Call a program: the same as `program(*args, **named)`.

    Raises:
        BindingError: an input is missing, passed twice, unknown, or of another type.
        GuardViolationError: an assumption of the program does not hold for these sizes.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> call(program, [1.0, 2.0, 3.0])
    Tensor(14.)
    """
    check_program("call", program)
    return program(*args, **named)
