"""custom_root: a root of a function, by a solver that is not differentiated."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.chainrules import JvpSite, Slots, V
from tenferro.control import Custom, Rule, Ruled, program_of
from tenferro.custom.held import Held, linearized, traced_like, vector_of
from tenferro.custom.solves import LinearMap, Solver, SolveRule, pushed, solved
from tenferro.exec_ir import ExecProgram, Sizes, encode
from tenferro.loops import operands_of, require_function, run, tracing_bodies
from tenferro.ops import NEG
from tenferro.shape import fresh_input
from tenferro.traced import unflatten
from tenferro.typing import PyTree


@dataclass(frozen=True)
class RootRule(Rule):
    """The rule of a root of f: the tangent of the root solves f'(x) dx = -df.

    Attributes:
        residual: f of what it closes over and of x.
        tangent: the rule of the system, whose consts are what f closes over, and x.
    """

    residual: ExecProgram
    tangent: SolveRule

    @property
    def token(self) -> bytes:
        """The programs."""
        return encode(self.residual) + self.tangent.token

    def bind(self, sizes: Sizes) -> RootRule:
        """The rule for sizes in place of symbols."""
        return RootRule(self.residual.bind(sizes), self.tangent.bind(sizes))

    def __str__(self) -> str:
        return "custom_root"

    def linearize(self, op: Ruled, at: JvpSite[V]) -> Slots[V]:
        """The solution of the linear system at the root."""
        size = self.tangent.size
        root, none = at.out[:size], (None,) * len(at.out)
        moved = pushed(self.residual, at, op.consts, root)
        if all(tangent is None for tangent in moved):
            return none
        system = self.tangent.op
        found = solved(system, at, [*at.primal[: op.consts], *root], moved, root)
        return (*[at.emit(NEG, tangent) for tangent in found], *none[size:])


def custom_root(
    f: LinearMap,
    initial_guess: PyTree,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> PyTree:
    """A root of `f` by `solve(f, initial_guess)`, whose derivative is by the implicit function.

    The solver is not differentiated. The derivative by values that `f` closes over is that of the
    root, -f'(x)⁻¹ df. There is none by the initial guess, nor by values that only the solvers close
    over.

    Args:
        f: takes a tree of arrays and returns one of the same structure and types.
        initial_guess: where the solver starts.
        solve: takes `f` and the initial guess, and returns a root.
        tangent_solve: solves linear systems: `tangent_solve(g, y)` returns x with `g(x) = y`. It is
            given the derivative of `f` at the root, and in reverse mode its transpose. One that
            does not call `g` is transposed itself.
        has_aux: whether `solve` returns a pair (root, aux); then the result is a pair too. `aux`
            has no derivative.

    Raises:
        ADError: a function returns a tree of another structure or types.
        ControlFlowError: an argument is not a function.

    >>> import tenferro as tn
    >>> def newton(f, x):
    ...     return tn.fori_loop(0, 20, lambda _, x: x - f(x) / tn.grad(f)(x), x)
    >>> def sqrt(a):
    ...     return tn.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> sqrt(4.0), tn.grad(sqrt)(4.0)
    (Tensor(2.), Tensor(0.25))
    """
    name = "custom_root"
    for label, function in (("f", f), ("solve", solve), ("tangent_solve", tangent_solve)):
        require_function(name, label, function)
    like = vector_of(name, "initial_guess", initial_guess)
    with tracing_bodies(name) as bodies:
        residual, _ = traced_like(bodies, "f", f, like)
        held = Held("f", like, residual.inputs, residual.outputs)
        root, tree = traced_like(bodies, "solve", solve, like, has_aux, held)
        point = [fresh_input(meta, f"root{place}") for place, meta in enumerate(like.metas)]
        forward, backward = linearized("g", residual, like, point)
        product, _ = traced_like(bodies, "g", forward, like)
        forward.called = False
        one, _ = traced_like(bodies, "tangent_solve", tangent_solve, like, False, forward)
        ignores = not forward.called
        systems = [product, one]
        if not ignores:
            systems += traced_like(bodies, "tangent_solve", tangent_solve, like, False, backward)[
                :1
            ]
        closed = [key for key in bodies.closed_over(residual, root, *systems) if key not in point]
        given = [[*closed, *body.inputs] for body in (residual, root)]
        programs = [
            program_of(inputs, body.outputs)
            for inputs, body in zip(given, (residual, root), strict=True)
        ]
        parts = [program_of([*closed, *point, *body.inputs], body.outputs) for body in systems]
    backwards = None if ignores else parts[2]
    tangent = SolveRule(name, parts[0], parts[1], backwards, len(like.values), ignores)
    op = Custom(programs[1], RootRule(programs[0], tangent), len(closed))
    return unflatten(tree, run(op, [*operands_of(closed), *like.typed()], bodies))
