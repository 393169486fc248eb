"""Computing at once: tensors attached to a runtime, which records what depends on its variables.

Read in this order: `kinds`, `kernels`, `tensor`, `plan`, `emitter`, `derivatives`, `runtime`.
"""

from tenferro.eager.runtime import EagerRuntime
from tenferro.eager.tensor import EagerTensor

__all__ = ["EagerRuntime", "EagerTensor"]
