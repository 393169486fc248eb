""""""

from tenferro.farm.executor import *
from tenferro.farm.report import *
