""""""

from tenferro_xla.platforms.barriers import *
from tenferro_xla.platforms.complex_as_real import *
from tenferro_xla.platforms.cpu import *
from tenferro_xla.platforms.platform import *
