"""ShardingConstraint."""

from __future__ import annotations

import jax
from jax import Array
from jax.sharding import NamedSharding, PartitionSpec

from tenferro.ops import ShardingConstraint
from tenferro.shape import make_meta
from tenferro_xla.lowering.registry import LoweringOptions, lower
from tenferro_xla.places import OnMesh, check_divides, spec_of


@lower.register
def _(op: ShardingConstraint, x: Array, *, options: LoweringOptions) -> Array:
    mesh = options.mesh
    if mesh is None:
        return x
    entries = [PartitionSpec.UNCONSTRAINED if names is None else names for names in op.spec]
    spec = spec_of(entries)
    OnMesh(mesh).check_names(spec, "with_sharding_constraint")
    sharding = NamedSharding(mesh, spec)
    check_divides(sharding, x.shape, "with_sharding_constraint", make_meta(x.dtype, x.shape))
    divided: Array = jax.lax.with_sharding_constraint(x, sharding)  # type: ignore[no-untyped-call]
    return divided
