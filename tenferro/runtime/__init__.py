"""Tensors on devices, executors, programs that one calls."""

from tenferro.runtime.array_attributes import *
from tenferro.runtime.backends import *
from tenferro.runtime.blas_threads import *
from tenferro.runtime.devices import *
from tenferro.runtime.executors import *
from tenferro.runtime.host_arrays import *
from tenferro.runtime.native_executor import *
from tenferro.runtime.nvidia_driver import *
from tenferro.runtime.packages import *
from tenferro.runtime.plans import *
from tenferro.runtime.program import *
from tenferro.runtime.tensor import *
from tenferro.runtime.trace_context import *
