"""Layout assignment: orders of axes in which contractions cost least.

For circuits, density matrices and integrals of users, which take a quarter to nine tenths of the
time: decision 010.
"""

from tenferro.compiler.layout.assignment import *
from tenferro.compiler.layout.contractions import *
