"""The family of discrete Fourier transforms along the last axes of an operand."""

from tenferro.families.fft.op import *
