"""Which wanted compiler options the XLA of this process knows: each is tried once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tenferro_xla.platforms.platform import Option


@dataclass(frozen=True, slots=True)
class Options:
    """Wanted options, sorted by whether XLA knows them.

    Attributes:
        taken: those that programs are compiled with.
        dropped: those that XLA refuses, each with what it says.
    """

    taken: tuple[Option, ...]
    dropped: tuple[tuple[Option, str], ...]


def taken_options(wanted: Sequence[Option], device: jax.Device) -> Options:
    """The options, each tried on a program of one op; once in a process for each device.

    >>> unknown = Option("xla_no_such_option", True, "")
    >>> [option.name for option, _ in taken_options([unknown], jax.devices("cpu")[0]).dropped]
    ['xla_no_such_option']
    """
    said = {option: _refusal(option, device) for option in wanted}
    taken = tuple(option for option, words in said.items() if words is None)
    dropped = tuple((option, words) for option, words in said.items() if words is not None)
    return Options(taken, dropped)


@functools.cache
def _refusal(option: Option, device: jax.Device) -> str | None:
    """What XLA says against an option; None if it knows it."""
    with jax.default_device(device):
        lowered = jax.jit(jnp.negative).lower(np.float32(1))
        try:
            options: dict[str, Any] = {option.name: option.value}  # JAX takes numbers as well
            lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            return str(error).splitlines()[0]
    return None
