"""checkpoint (remat) and its policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar, cast

from tenferro.config import config
from tenferro.core import BoundedCache, Capacity, GlobalValKey
from tenferro.errors import CheckpointError, class_of, counted
from tenferro.ir import ArrayLike, PyTree, integer_of
from tenferro.ops import CheckpointName
from tenferro.ops.control_flow import Checkpointed
from tenferro.ops.functions import OpFunction, apply
from tenferro.runtime import require_limit, require_packages
from tenferro.transforms.checkpoint_policies import Policy, policy_of, saved_slots
from tenferro.transforms.higher_order import (
    Bodies,
    Call,
    Leaves,
    NoResultError,
    leaves_of,
    operands_of,
    run,
    with_result,
)
from tenferro.transforms.jit_arguments import static_key
from tenferro.transforms.jit_cache import key_of_recorded
from tenferro.transforms.program import wraps
from tenferro.transforms.trace import Trace
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import flatten, merged, unflatten

__all__ = ["checkpoint", "checkpoint_name", "remat"]

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: PyTree = True,
    policy: str | Policy | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
) -> Callable[P, R]:
    """A function with the same values, of which derivatives save less and compute more.

    In reverse mode the arguments are saved, and what the policy saves. All other values of the
    function are computed again when the cotangents of its results arrive. Functions that are
    checkpointed may call others that are. It is called once for arguments of the same types, unless
    it reads values of a trace around it, has effects, or meets named sizes.

    Args:
        fun: takes and returns trees of arrays. It may read values from around it, which count
            as arguments.
        policy: which values are saved: None for no others than the arguments, one of
            `tn.checkpoint_policies` or the name of one, or a function of an op and of the types of
            its operands, which returns whether the results are saved.
        prevent_cse: whether compilers are kept from making one value of what is computed again and
            what was computed before. False is enough in the body of a `scan`. A tree of bools, one
            for each argument, is True if one of them is.
        static_argnums: positions of arguments that are Python values.
        static_argnames: names of such arguments, where they are passed by name or by position.

    Raises:
        CheckpointError: there is no such policy, or an option is of another type.
        PytreeError: an argument that is not static, or a result, is not an array.
        UnsupportedDynamicShapeError: data decide a size in the function.

    >>> import tenferro as tn
    >>> layer = tn.checkpoint(lambda x: tn.sin(tn.sin(x)))
    >>> tn.grad(layer)(0.0)
    Tensor(1.)
    """
    if not callable(fun):
        raise CheckpointError(f"checkpoint: takes a function, got {class_of(fun)}")
    flags = flatten(prevent_cse)[0]
    if not all(isinstance(flag, bool) for flag in flags):
        raise CheckpointError(f"checkpoint: prevent_cse must be True or False, got {prevent_cse!r}")
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    named = _places_of(fun, names)
    call = _Call(fun, policy_of(policy), any(flags), _static(static_argnums), named, names)

    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        return cast(R, call(args, kwargs))

    return wraps(fun, checkpointed)


remat = checkpoint


def checkpoint_name(x: ArrayLike, name: str) -> Any:
    """The array, under a name that policies of `checkpoint` know it by.

    Raises:
        CheckpointError: the name is not a string.

    >>> import tenferro as tn
    >>> policy = tn.checkpoint_policies.save_only_these_names("h")
    >>> f = tn.checkpoint(lambda x: tn.sin(checkpoint_name(tn.sin(x), "h")), policy=policy)
    >>> tn.grad(f)(0.0)
    Tensor(1.)
    """
    if not isinstance(name, str):
        raise CheckpointError(f"checkpoint_name: name must be a string, got {name!r}")
    return apply(OpFunction(CheckpointName(name)), x)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The op of a function of certain types, which later calls repeat on other values."""

    op: Checkpointed
    consts: Sequence[GlobalValKey]
    bodies: Bodies
    body: Trace

    def on(self, passed: Leaves) -> Any:
        """The result for the values of the leaves."""
        require_packages(self.bodies.packages)
        require_limit(self.bodies.limit)
        results = run(self.op, [*operands_of(self.consts), *passed.typed()], self.bodies)
        return unflatten(self.body.tree, results[: len(self.body.outputs)])


def _new_cache() -> BoundedCache[Hashable, _Recorded]:
    return BoundedCache(Capacity(config.cache_entries))


@dataclass(frozen=True, slots=True)
class _Call:
    function: Callable[..., Any]
    policy: Policy
    prevent_cse: bool
    static: tuple[int, ...]
    named: tuple[int, ...]
    static_names: tuple[str, ...]
    cache: BoundedCache[Hashable, _Recorded] = field(init=False, default_factory=_new_cache)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fixed = {place: args[place] for place in self._places(len(args))}
        others = [arg for place, arg in enumerate(args) if place not in fixed]
        known = {name: arg for name, arg in kwargs.items() if name in self.static_names}
        options = {name: arg for name, arg in kwargs.items() if name not in known}
        passed = leaves_of((others, options), "checkpoint: arguments")

        def arguments(values: list[TracedTensor]) -> Call:
            others, named = unflatten(passed.tree, values)
            return merged(fixed, others), {**named, **known}

        key = self._key(fixed, known, passed)
        recorded = None if key is None else self.cache.get(key)
        if recorded is not None:
            return recorded.on(passed)
        bodies = Bodies("checkpoint")
        types = passed.metas, passed.weak
        try:
            body = bodies.trace("f", self.function, *types, arguments, passed.values)
        except NoResultError:
            return replace(self, function=with_result(self.function))(args, kwargs)[0]
        consts = bodies.closed_over(body)
        program = bodies.program("f", consts, body)
        saved = saved_slots(program, self.policy)
        whole = replace(program, output_slots=(*program.output_slots, *saved))
        op = Checkpointed(whole, len(saved), self.prevent_cse)
        recorded = _Recorded(op, consts, bodies, body)
        is_static = all(meta.static_shape is not None for _, meta in program.results())
        if key is not None and is_static and bodies.is_closed(consts):
            self.cache.put(key, recorded)
        return recorded.on(passed)

    def _key(self, fixed: dict[int, Any], known: dict[str, Any], passed: Leaves) -> Hashable:
        """What the body depends on; None if that is more than can be a key."""
        statics = [*sorted(fixed.items()), *sorted(known.items())]
        values = tuple([(place, static_key(value)) for place, value in statics])
        key = key_of_recorded(passed.tree, values, passed.metas, map(repr, passed.weak))
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def _places(self, count: int) -> list[int]:
        """The positions of the static arguments of a call with `count` positional ones."""
        for place in self.static:
            if not -count <= place < count:
                raise CheckpointError(
                    f"checkpoint: static_argnums {place} is out of range for "
                    f"{counted(count, 'positional argument')}"
                )
        named = [place for place in self.named if place < count]
        return [*(place % count for place in self.static), *named]


def _places_of(function: Callable[..., Any], names: Sequence[str]) -> tuple[int, ...]:
    """The positions of parameters with these names."""
    if not names:
        return ()
    parameters = list(inspect.signature(function).parameters)
    return tuple([parameters.index(name) for name in names if name in parameters])


def _static(numbers: object) -> tuple[int, ...]:
    several = numbers if isinstance(numbers, list | tuple) else [numbers]
    places = [place for number in several if (place := integer_of(number)) is not None]
    if len(places) != len(several):
        raise CheckpointError(
            f"checkpoint: static_argnums must be an integer or several, got {numbers!r}"
        )
    return tuple(places)
