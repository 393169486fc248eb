""""""

from tenferro.testing.check_extension import *
from tenferro.testing.report import *
