"""Eager computation: tensors of a runtime, which records the ops that depend on its variables.

Read in this order: `kinds`, `kernels`, `tensor`, `plan`, `emitter`, `derivatives`, `runtime`.
`plain` plans functions of tensors that no runtime tracks.
"""

from tenferro.eager.plain import HOST_PLANS, HostPlans
from tenferro.eager.runtime import EagerRuntime
from tenferro.eager.tensor import EagerTensor
from tenferro.runtime import Tensor

__all__ = ["HOST_PLANS", "EagerRuntime", "EagerTensor", "HostPlans", "Tensor"]
