"""Layout assignment: orders of axes in which contractions cost least."""

from tenferro.compiler.layout.assignment import *
from tenferro.compiler.layout.axis_orders import *
from tenferro.compiler.layout.rewrite import *
