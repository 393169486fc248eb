"""Array functions, each declared once, for operands of any kind; see `dispatch`."""

from tenferro.ops.functions.array_methods import *
from tenferro.ops.functions.dispatch import *
from tenferro.ops.functions.promotion import *
