"""custom_vjp: a function whose cotangents a rule gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar, overload

from tenferro.core import GlobalValKey, JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.errors import ADRuleError, ForwardModeError
from tenferro.ir import (
    ExecProgram,
    PyTree,
    TensorMeta,
    fresh_input,
    fresh_token,
    is_inexact,
    type_of,
)
from tenferro.ops import full
from tenferro.ops.control_flow import Custom, CustomRule, emitted, inner_emitter, program_of
from tenferro.runtime import TraceContext, is_array
from tenferro.transforms.custom_jvp import (
    CallRule,
    CustomFunction,
    RuledCall,
    declare_arguments,
    described,
    filled,
)
from tenferro.transforms.higher_order import weak_leaf
from tenferro.transforms.trace import AuxTree, traced_values
from tenferro.transforms.traced_tensor import TracedTensor, as_key
from tenferro.transforms.trees import flatten, unflatten

__all__ = ["CustomVjp", "custom_vjp"]

P = ParamSpec("P")
R = TypeVar("R")
Forward = Callable[..., tuple[PyTree, Any]]
Backward = Callable[..., tuple[PyTree, ...]]


class Perturbed(NamedTuple):
    """A leaf of an argument of `fwd`, where `symbolic_zeros` is asked for.

    Attributes:
        value: the array.
        perturbed: whether a derivative by it is asked for.
    """

    value: Any
    perturbed: bool


class CustomVjp(CustomFunction[P, R]):
    """A function whose cotangents a rule gives; what `custom_vjp` returns."""

    caller = "custom_vjp"
    _rules_of_user: tuple[Forward, Backward] | None = None
    _symbolic_zeros = False

    def defvjp(
        self,
        fwd: Forward,
        bwd: Backward,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the rule for cotangents.

        `fwd` takes the arguments of the function and returns a pair of its value and of
        *residuals*, any tree that `bwd` needs. `bwd(residuals, cotangent)` returns a tuple of the
        cotangents of the arguments; None is a zero. Arguments of `nondiff_argnums` come first in
        `bwd`, and have no cotangent. With `symbolic_zeros`, each leaf that `fwd` gets has a `value`
        and says whether it is `perturbed`, and a cotangent of zero is None for `bwd`.
        `optimize_remat` has no effect: what nobody reads is not computed.

        Raises:
            ADError: `fwd` or `bwd` cannot be called.
        """
        self._defined(fwd=fwd, bwd=bwd)
        self._rules_of_user, self._symbolic_zeros = (fwd, bwd), symbolic_zeros

    @property
    def _has_rule(self) -> bool:
        return self._rules_of_user is not None

    @property
    def _advice(self) -> str:
        return "define one with .defvjp(fwd, bwd)"

    def _new_rule(self, form: RuledCall) -> CallRule:
        assert self._rules_of_user is not None
        return _CotangentRule(form, *self._rules_of_user, self._symbolic_zeros)


class _CotangentRule(CallRule):
    def __init__(self, form: RuledCall, fwd: Forward, bwd: Backward, symbolic_zeros: bool) -> None:
        super().__init__(form)
        self._fwd = fwd
        self._bwd = bwd
        self._symbolic_zeros = symbolic_zeros

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The results of `fwd`, and the op that `bwd` transposes."""
        form, count = self.form, op.consts
        if any(tangent is not None for tangent in at.tangent[:count]):
            form.refuse_closed_over()
        if not any(is_inexact(meta.dtype) for meta in op.body.output_metas):
            return (None,) * len(at.out)
        metas = op.body.input_metas[count:]
        primals = [fresh_input(meta, f"primal{place}") for place, meta in enumerate(metas)]
        active = [tangent is not None for tangent in at.tangent[count:]]
        declare_arguments(primals, at.primal[count:])
        residuals = self._residuals(op, primals, active)
        known = dict(zip([*form.closed, *primals], at.primal, strict=True))
        saved = emitted(at.emitter, residuals.keys, known, primals[0].serial, f"fwd of {self}")
        operands = [*at.primal[:count], *saved, *compress(at.tangent[count:], active)]
        pullback = _TransposeRule(form, self._bwd, residuals, active, op.body, self._symbolic_zeros)
        read = [at.ctx.meta(value) for value in operands]
        body = _stand_in(read, op.body, inner_emitter(at.emitter))
        linear = Custom(body, pullback, count + len(saved))
        results = iter(at.emitter.emit_all(linear, *operands))  # type: ignore[arg-type]  # none is None
        return tuple(
            [next(results) if is_inexact(meta.dtype) else None for meta in op.body.output_metas]
        )

    def _residuals(
        self, op: Custom, primals: Sequence[GlobalValKey], active: Sequence[bool]
    ) -> AuxTree:
        """What `fwd` returns for `bwd`."""
        form = self.form

        def arguments(scope: TraceContext) -> Sequence[Any]:
            values = traced_values(primals, scope, form.weak)
            if self._symbolic_zeros:
                values = list(map(Perturbed, values, active))
            return form.arguments.with_arrays(unflatten(form.in_tree, values))

        def read(result: Any) -> AuxTree:
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise ADRuleError(
                    f"{form.name}: fwd must return a pair (value, residuals), got "
                    f"{described(result)}"
                )
            value, residuals = result
            what = "the value that fwd returns"
            if None in form.matched(what, value, form.out_tree, op.body.output_metas):
                raise ADRuleError(f"{form.name}: {what} is None in a place")
            leaves, tree = flatten(residuals)
            traced = [
                TracedTensor(as_key(leaf), weak_leaf(leaf)) if is_array(leaf) else leaf
                for leaf in leaves
            ]
            return AuxTree.of(unflatten(tree, traced))

        return form.trace("fwd", self._fwd, arguments, read)


class _TransposeRule(CustomRule):
    """The rule of a linear op whose transpose is `bwd`, and that has no values itself.

    Its operands are what the function closes over, the residuals, and the tangents of arguments.
    """

    def __init__(
        self,
        form: RuledCall,
        bwd: Backward,
        residuals: AuxTree,
        active: Sequence[bool],
        body: ExecProgram,
        symbolic_zeros: bool,
    ) -> None:
        self._symbolic_zeros = symbolic_zeros
        self._form = form
        self._bwd = bwd
        self._residuals = residuals
        self._active = active
        self._body = body
        self._token = fresh_token()

    @property
    def token(self) -> bytes:
        """Bytes of this rule alone."""
        return self._token

    def __str__(self) -> str:
        return f"the tangents of {self._form.name}"

    def check_computed(self) -> NoReturn:
        """Raise ForwardModeError: there is a rule for cotangents only."""
        raise ForwardModeError(
            f"{self._form.name}: has no forward mode; define it with custom_jvp, or differentiate "
            "in reverse"
        )

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The op itself on other tangents, in which it is linear."""
        if any(tangent is not None for tangent in at.tangent[: op.consts]):
            self.check_computed()
        zeros = [
            full(at.emitter, 0, at.ctx.meta(value)) if tangent is None else tangent
            for value, tangent in zip(at.primal[op.consts :], at.tangent[op.consts :], strict=True)
        ]
        return at.emitter.emit_all(op, *at.primal[: op.consts], *zeros)

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents that `bwd` returns."""
        types = self._body.output_metas
        arriving = iter(at.ct)
        cts = [next(arriving) if is_inexact(meta.dtype) else None for meta in types]
        saved = [fresh_input(type_of(key), "residual") for key in self._residuals.keys]
        seeds = [
            None if ct is None else fresh_input(meta, "ct")
            for ct, meta in zip(cts, types, strict=True)
        ]
        after = len(self._form.closed)
        declare_arguments(saved, at.inputs[after : after + len(saved)])
        declare_arguments(seeds, cts)
        results = self._cotangents(saved, seeds)
        known = dict(zip([*self._form.closed, *saved], at.inputs, strict=False))
        known.update(
            (seed, ct)
            for seed, ct in zip(seeds, cts, strict=True)
            if seed is not None and ct is not None
        )
        wanted = compress(results, self._active)
        slots = [None] * op.consts + [
            key if on else None for key, on in zip(wanted, at.active[op.consts :], strict=True)
        ]
        since = min(key.serial for key in (*saved, *(s for s in seeds if s is not None)))
        return emitted(at.emitter, slots, known, since, f"bwd of {self._form.name}")

    def _cotangents(
        self, saved: Sequence[GlobalValKey], seeds: Sequence[GlobalValKey | None]
    ) -> list[GlobalValKey | None]:
        form = self._form
        metas = self._body.input_metas[len(form.closed) :]
        cts = seeds if self._symbolic_zeros else filled(seeds, self._body.output_metas)

        def arguments(scope: TraceContext) -> Sequence[Any]:
            residuals = self._residuals.rebuild(traced_values(saved, scope, self._residuals.weak))
            ct = unflatten(form.out_tree, traced_values(cts, scope))
            return (*form.arguments.first, residuals, ct)

        return form.trace(
            "bwd", self._bwd, arguments, lambda result: self._of_arguments(result, metas)
        )

    def _of_arguments(self, result: Any, metas: Sequence[TensorMeta]) -> list[GlobalValKey | None]:
        form, trees = self._form, self._form.in_tree.children()
        if not isinstance(result, tuple | list) or len(result) != len(trees):
            raise ADRuleError(
                f"{form.name}: bwd must return a tuple of {len(trees)}, one cotangent for each "
                f"argument, got {described(result)}"
            )
        keys: list[GlobalValKey | None] = []
        for number, (ct, tree) in enumerate(zip(result, trees, strict=True)):
            places = slice(len(keys), len(keys) + tree.num_leaves)
            types = metas[places]
            what = f"the cotangent of argument {number} that bwd returns"
            nothing: list[GlobalValKey | None] = [None] * len(types)
            matched = nothing if ct is None else form.matched(what, ct, tree, types, True)
            for key, meta in zip(matched, types, strict=True):
                if key is not None and not is_inexact(meta.dtype):
                    raise ADRuleError(f"{form.name}: {what} belongs to {meta}; return None")
            keys += matched
        return keys


def _stand_in(read: Sequence[TensorMeta], body: ExecProgram, emitter: KeyEmitter) -> ExecProgram:
    """A program that has the types of the tangents of `body`. It is not run."""
    inputs = [fresh_input(meta, "read") for meta in read]
    outputs = [full(emitter, 0, meta) for meta in body.output_metas if is_inexact(meta.dtype)]
    return program_of(inputs, outputs)


@overload
def custom_vjp(
    function: Callable[P, R],
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> CustomVjp[P, R]: ...


@overload
def custom_vjp(
    function: None = None,
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> Callable[[Callable[P, R]], CustomVjp[P, R]]: ...


def custom_vjp(
    function: Callable[P, R] | None = None,
    nondiff_argnums: int | Iterable[int] = (),
    nondiff_argnames: str | Iterable[str] = (),
) -> CustomVjp[P, R] | Callable[[Callable[P, R]], CustomVjp[P, R]]:
    """A function whose derivatives follow from a rule for cotangents, which `.defvjp` defines.

    Use it as a decorator. The rule serves reverse mode, of any order; forward mode is an error.
    Cotangents of complex values are in the convention of `tn.grad`: the gradient of |z|² is 2z. A
    cotangent of another dtype than its argument is converted, unless it is complex and the argument
    is not.

    Args:
        function: takes and returns trees of arrays. Without it, a decorator is returned.
        nondiff_argnums: positions of arguments that are Python values, such as functions and
            options. `bwd` takes them first.
        nondiff_argnames: names of further ones.

    Raises:
        ADError: `function` cannot be called, or a position or name is not that of a parameter.

    >>> import tenferro as tn
    >>> @tn.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> def fwd(x):
    ...     return clipped(x), None
    >>> def bwd(_, ct):
    ...     return (tn.clip(ct, -1.0, 1.0),)
    >>> clipped.defvjp(fwd, bwd)
    >>> tn.grad(lambda x: 5.0 * clipped(x))(2.0)
    Tensor(1.)
    """
    if function is None:
        return lambda function: CustomVjp(function, nondiff_argnums, nondiff_argnames)
    return CustomVjp(function, nondiff_argnums, nondiff_argnames)
