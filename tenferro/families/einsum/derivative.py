"""Derivatives, of any order, of a network whose sizes are not yet known, as one op.

The op has the network and the transforms applied to it. When sizes are known, the network is
lowered and the transforms are applied to the resulting graph. Gradients of all operands then share
intermediate contractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.autodiff import differentiate, pull_back, push_forward
from tenferro.chainrules import Emitter, KeyEmitter, V
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.errors import InvalidConfigError
from tenferro.exec_ir import Array
from tenferro.families.einsum.op import EinsumOp, emitted, pairs_at
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp, OutputMeta, family_id
from tenferro.ops import StdTensorOp, replay, shape_context, zeros_like
from tenferro.planning import PLANNER, Planner
from tenferro.shape import Dim, DType, TensorMeta, fresh_input, make_meta

Transform = tuple[str, tuple[bool, ...]]
"""`("jvp", active inputs)`, `("vjp", active inputs)` or `("select", live outputs)`."""


@family_id(namespace="tenferro-einsum", name="derivative", version=1)
@dataclass(frozen=True)
class NetworkDerivative(ExtensionOp):
    """Transforms of a network.

    `"jvp"` adds the tangents of the active inputs to the inputs; the outputs become tangents.
    `"vjp"` adds the cotangents of the outputs to the inputs; the outputs become the cotangents of
    the active inputs, in which the op before it is linear. The payload determines the number of
    operands.

    Attributes:
        inputs, output, plan: the network, as in `EinsumOp`.
        transforms: the transforms, in order.
    """

    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    plan: tuple[object, ...]
    transforms: tuple[Transform, ...]

    @property
    def network(self) -> EinsumOp:
        """The network that is differentiated."""
        return EinsumOp(self.inputs, self.output, self.plan)

    @property
    def input_count(self) -> int:
        """Number of operands and of the inputs that each transform adds."""
        return self._counts()[0]

    @property
    def output_count(self) -> int:
        """Number of live tangents or cotangents."""
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        inputs, outputs = len(self.inputs), 1
        for kind, mask in self.transforms:
            match kind:
                case "jvp":
                    inputs += sum(mask)
                case "vjp":
                    inputs, outputs = inputs + outputs, sum(mask)
                case "select":
                    outputs = sum(mask)
                case _:
                    raise InvalidConfigError(
                        self.family_id, f"family_id={self.family_id}: no transform {kind!r}"
                    )
        return inputs, outputs

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of the result for a tangent, that of its input for a cotangent."""
        metas = [make_meta(d, tuple(s)) for d, s in zip(input_dtypes, input_shapes, strict=True)]
        return [(meta.dtype, meta.exact_shape()) for meta in self._output_metas(metas)]

    def _output_metas(self, metas: Sequence[TensorMeta]) -> list[TensorMeta]:
        count = len(self.inputs)
        dtypes, shapes = zip(*[(m.dtype, m.exact_shape()) for m in metas[:count]], strict=True)
        ((dtype, shape),) = self.network.infer_output_meta(dtypes, shapes)
        outputs = [make_meta(dtype, tuple(shape))]
        for kind, mask in self.transforms:
            if kind == "vjp":
                added = len(outputs)
                outputs = [m for m, on in zip(metas[:count], mask, strict=True) if on]
                count += added
            elif kind == "jvp":
                count += sum(mask)
            else:
                outputs = [m for m, on in zip(outputs, mask, strict=True) if on]
        return outputs

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> NetworkDerivative:
        """The same of the network with the pairs of its plan for these sizes."""
        shapes = input_shapes[: len(self.inputs)]
        plan = pairs_at(self.network, input_dtypes[0], shapes)
        return self if plan is self.plan else replace(self, plan=plan)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The contractions of the network, with the transforms applied."""
        return self.emitted(builder, inputs, PLANNER)

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run the standard ops on NumPy arrays."""
        return evaluate_standard(self, inputs)

    def prune_outputs(self, live: tuple[bool, ...]) -> NetworkDerivative:
        """The op with only the live outputs."""
        return replace(self, transforms=(*self.transforms, ("select", live)))

    def emitted(self, at: Emitter[V], inputs: Sequence[V], planner: Planner) -> Sequence[V] | None:
        """Emit the transformed contractions; None if the plan needs sizes that are not known."""
        metas = [at.ctx.meta(value) for value in inputs]
        keys = [fresh_input(meta, f"x{i}") for i, meta in enumerate(metas)]
        outputs = _transformed(self, keys, planner)
        if outputs is None:
            return None

        results = replay(at, outputs, dict(zip(keys, inputs, strict=True)))
        return [value for value in results if value is not None]


def _transformed(
    op: NetworkDerivative, keys: Sequence[GlobalValKey], planner: Planner
) -> list[GlobalValKey] | None:
    """The outputs of the op as graph values computed from `keys`."""
    ctx = shape_context()
    emitter = KeyEmitter(ctx)
    count = len(op.inputs)
    shapes = [ctx.meta(key).exact_shape() for key in keys[:count]]
    contracted = emitted(op.network, emitter, keys[:count], shapes, planner)
    if contracted is None:
        return None
    outputs = list(contracted)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    for kind, mask in op.transforms:
        active = [key for key, on in zip(keys[:count], mask, strict=False) if on]
        if kind == "jvp":
            tangents = keys[count : count + len(active)]
            count += len(active)
            results = push_forward(view, outputs, active, tangents, ctx=ctx)
            outputs = _filled(emitter, results, outputs)
        elif kind == "vjp":
            cts = keys[count : count + len(outputs)]
            count += len(outputs)
            linear = differentiate(view, outputs, active, ctx=ctx)
            outputs = _filled(emitter, pull_back(linear, cts, ctx=ctx), active)
        else:
            outputs = [key for key, on in zip(outputs, mask, strict=True) if on]
    return outputs


def _filled(
    emitter: KeyEmitter, keys: Sequence[GlobalValKey | None], like: Sequence[GlobalValKey]
) -> list[GlobalValKey]:
    return [
        zeros_like(emitter, primal) if key is None else key
        for key, primal in zip(keys, like, strict=True)
    ]
