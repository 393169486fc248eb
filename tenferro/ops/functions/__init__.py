"""Array functions, each defined once over `Emitter`: for graph values and for run-time values."""

from tenferro.ops.functions.array_methods import *
from tenferro.ops.functions.promotion import *
