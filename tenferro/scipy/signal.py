"""`jax.scipy.signal`: convolutions of any number of axes, trends, and spectra.

>>> tn.scipy.signal.fftconvolve([1.0, 2.0], [1.0, 1.0])
Tensor([1., 3., 2.])
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro import fft as transforms
from tenferro import numpy as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import array, constant_size, count, option, promoted
from tenferro.ops import load_named
from tenferro.ops.functions import integers, normal_axis

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]

MODES = ("full", "same", "valid")


# Convolutions.


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: None = None
) -> AnyTensor:
    """The convolution of two arrays of as many axes.

    Args:
        in1: an array.
        in2: an array.
        mode: which elements: "full" all that overlap, "same" as many as in1 has, from the middle,
            "valid" those that overlap wholly.
        method: "fft" computes with Fourier transforms; "direct" and "auto" do not.
        precision: must be None; it is an option of the executor.

    Raises:
        ShapeError: the arrays have different numbers of axes; or neither is larger along all axes,
            for "valid".

    >>> tn.scipy.signal.convolve([[1.0, 2.0]], [[1.0], [1.0]])
    Tensor([[1., 2.],
            [1., 2.]])
    """
    name = "convolve"
    option(name, "method", method, ("auto", "direct", "fft"))
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    x, y = _pair(name, in1, in2, mode)
    return _direct(x, y, _part(name, x, y, mode, range(x.ndim)))


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: None = None
) -> AnyTensor:
    """The correlation of two arrays of as many axes: the convolution with in2 flipped, conjugated.

    See `convolve`.

    >>> tn.scipy.signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0])
    Tensor([1., 2., 3., 0.])
    """
    _pair("correlate", in1, in2, mode)
    return convolve(in1, _flipped("correlate", in2), mode, method, precision)


def _flipped(name: str, x: ArrayLike) -> AnyTensor:
    return tn.flip(array(name, x)).conj()


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: None = None,
) -> AnyTensor:
    """The convolution of two matrices; see `convolve`.

    Raises:
        ConfigError: `boundary` is not "fill", or `fillvalue` is not 0; pad in1 before.

    >>> tn.scipy.signal.convolve2d([[1.0, 2.0]], [[1.0, 1.0]], mode="same")
    Tensor([[1., 3.]])
    """
    _check_matrices("convolve2d", in1, in2, boundary, fillvalue)
    return convolve(in1, in2, mode, precision=precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: None = None,
) -> AnyTensor:
    """The correlation of two matrices; see `correlate`.

    >>> tn.scipy.signal.correlate2d([[1.0, 2.0]], [[1.0, 0.0]], mode="same")
    Tensor([[1., 2.]])
    """
    _check_matrices("correlate2d", in1, in2, boundary, fillvalue)
    x, y = _pair("correlate2d", in1, in2, mode)
    if mode != "same":
        result = correlate(x, y, mode, precision=precision)
        smaller = mode == "valid" and any(a < b for a, b in zip(x.shape, y.shape, strict=True))
        return result.conj() if smaller else result  # as in SciPy, where in2 is the larger one
    middle = [slice(size // 2, size // 2 + own) for size, own in zip(y.shape, x.shape, strict=True)]
    return _direct(x, _flipped("correlate2d", y), middle)


def _check_matrices(name: str, x: ArrayLike, y: ArrayLike, boundary: str, fill: float) -> None:
    ranks = [array(name, operand).ndim for operand in (x, y)]
    if ranks != [2, 2]:
        raise ShapeError(
            f"{name}: takes two matrices, got arrays of {ranks[0]} and {ranks[1]} axes"
        )
    if boundary != "fill" or fill != 0:
        raise ConfigError(
            f"{name}: boundary must be 'fill' and fillvalue 0, got {boundary!r} and {fill!r}; pad "
            "in1 with tn.pad"
        )


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> AnyTensor:
    """The convolution of two arrays by Fourier transforms.

    Args:
        in1: an array.
        in2: an array.
        mode: as in `convolve`.
        axes: the axes to convolve along; the others are broadcast. By default all.

    >>> tn.scipy.signal.fftconvolve([1.0, 2.0, 3.0], [1.0, 1.0], mode="valid")
    Tensor([3., 5.])
    """
    name = "fftconvolve"
    x, y = _pair(name, in1, in2, mode, inexact=True)
    every = range(x.ndim) if axes is None else integers(name, "axes", axes)
    along = [normal_axis(name, axis, x.ndim) for axis in every]
    if not along or 0 in (*x.shape, *y.shape):
        whole = x * y if not along else tn.zeros(_full_shape(x, y, along), dtype=x.dtype)
    else:
        sizes = [x.shape[axis] + y.shape[axis] - 1 for axis in along]
        fast = [_smooth(size) for size in sizes]
        is_real = dtype_kind(x.dtype) == "f"
        forward: Any = transforms.rfftn if is_real else transforms.fftn
        product = forward(x, fast, axes=along) * forward(y, fast, axes=along)
        back: Any = transforms.irfftn if is_real else transforms.ifftn
        whole = back(product, fast, axes=along).astype(x.dtype)
        places = [slice(None)] * whole.ndim
        for axis, size in zip(along, sizes, strict=True):
            places[axis] = slice(size)
        whole = whole[tuple(places)]
    return whole[tuple(_part(name, x, y, mode, along))]


def _full_shape(x: AnyTensor, y: AnyTensor, along: Sequence[int]) -> list[Any]:
    return [
        max(a + b - 1, 0) if axis in along and a and b else (0 if axis in along else max(a, b))
        for axis, (a, b) in enumerate(zip(x.shape, y.shape, strict=True))
    ]


def _smooth(size: int) -> int:
    """The smallest number from `size` on whose factors are 2, 3 and 5."""
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1


def _pair(name: str, in1: Any, in2: Any, mode: str, inexact: bool = False) -> list[Any]:
    """Two arrays of one dtype, with as many axes, of constant sizes."""
    option(name, "mode", mode, MODES)
    x, y = promoted(name, in1, in2, inexact=inexact)
    if dtype_kind(x.dtype) == "b":
        x, y = x.astype(int), y.astype(int)
    if x.ndim != y.ndim:
        raise ShapeError(f"{name}: {x.meta} and {y.meta} must have as many axes")
    for operand, axis in itertools.product((x, y), range(x.ndim)):
        constant_size(name, operand, axis)
    return [x, y]


def _direct(x: Any, y: Any, part: Sequence[slice]) -> AnyTensor:
    """A part of all elements of a convolution, by shifted copies of the larger array."""
    if x.ndim == 0:
        return x * y  # type: ignore[no-any-return]
    if 0 in x.shape or 0 in y.shape:
        return tn.zeros(_full_shape(x, y, range(x.ndim)), dtype=x.dtype)[tuple(part)]
    if x.size < y.size:
        x, y = y, x
    if x.ndim == 1:
        inner = slice(y.shape[0] - 1, x.shape[0])
        return tn.convolve(x, y, "valid") if part[0] == inner else tn.convolve(x, y)[part[0]]
    axes = list(zip(x.shape, y.shape, part, strict=True))
    read = [slice(max(each.start - n + 1, 0), min(each.stop, m)) for m, n, each in axes]
    zeros = [(max(n - 1 - each.start, 0), max(each.stop - m, 0)) for m, n, each in axes]
    wide = tn.pad(x[tuple(read)], zeros)
    total: Any = 0
    for place in itertools.product(*map(range, y.shape)):
        window = [
            slice(n - 1 - step, n - 1 - step + each.stop - each.start)
            for step, (_, n, each) in zip(place, axes, strict=True)
        ]
        total = total + wide[tuple(window)] * y[place]
    return total  # type: ignore[no-any-return]


def _part(name: str, x: Any, y: Any, mode: str, along: Sequence[int]) -> list[slice]:
    """The elements that a mode returns, of all elements of a convolution."""
    places = [slice(0, size) for size in _full_shape(x, y, along)]
    pairs = [(x.shape[axis], y.shape[axis]) for axis in along]
    if mode == "full":
        return places
    if mode == "valid":
        if any(a < b for a, b in pairs) and any(a > b for a, b in pairs):
            raise ShapeError(
                f"{name}: one array must be at least as large as the other along all axes"
            )
        for axis, (a, b) in zip(along, pairs, strict=True):
            low = min(a, b) - 1 if min(a, b) else 0
            places[axis] = slice(low, low + abs(a - b) + 1 if min(a, b) else 0)
    else:
        for axis, (a, b) in zip(along, pairs, strict=True):
            low = (b - 1) // 2 if b else 0
            places[axis] = slice(low, low + a)
    return places


# Trends.


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: str = "linear",
    bp: int | Sequence[int] = 0,
    overwrite_data: None = None,
) -> AnyTensor:
    """The data without their mean, or without the straight line that fits best.

    Args:
        data: the array.
        axis: the axis.
        type: "linear" or "constant".
        bp: where pieces begin, each of which has its line.
        overwrite_data: changes nothing.

    Raises:
        ConfigError: there is no such type, or a place is out of range.

    >>> tn.scipy.signal.detrend([1.0, 2.0, 4.0], type="constant")
    Tensor([-1.33333333, -0.33333333,  1.66666667])
    """
    name = "detrend"
    option(name, "type", type, ("linear", "constant", "l", "c"))
    (x,) = promoted(name, data, inexact=True)
    place = normal_axis(name, axis, x.ndim)
    if type[0] == "c":
        return x - tn.mean(x, axis=place, keepdims=True)  # type: ignore[no-any-return]
    size = constant_size(name, x, place)
    starts = [count(name, "bp", each) for each in np.ravel(np.asarray(bp)).tolist()]
    bounds = sorted({0, size, *starts})
    if bounds[-1] > size:
        raise ConfigError(f"{name}: bp must be at most {size}, the size of the axis, got {bp!r}")
    rows = tn.moveaxis(x, place, -1)
    pieces = [
        _without_line(rows[..., low:high], high - low) for low, high in itertools.pairwise(bounds)
    ]
    return tn.moveaxis(tn.concat(pieces, axis=-1), -1, place)


def _without_line(x: AnyTensor, size: int) -> AnyTensor:
    ramp = np.arange(1, size + 1) / size
    lines = np.stack([np.ones(size), ramp], axis=-1)
    inverse = np.linalg.pinv(lines).astype(x.real.dtype)
    return x - (x @ inverse.T) @ lines.T.astype(x.real.dtype)


# Spectra.


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """The frequencies, the times and the spectra of overlapping segments.

    Args:
        x: the signal.
        fs: how many samples there are in a unit of time.
        window: a name, or a pair of a name and numbers, as in `scipy.signal.get_window`; or an
            array.
        nperseg: the size of a segment.
        noverlap: how many samples neighbouring segments share; by default half of them.
        nfft: the size of the transforms; by default that of a segment.
        detrend: False, a type of `detrend`, or a function of segments.
        return_onesided: whether spectra of real signals have no negative frequencies.
        boundary: how the signal is extended: "zeros", "even", "odd", "constant" or None.
        padded: whether zeros are added until all samples are in a segment.
        axis: the axis of time.

    Raises:
        ConfigError: a size or the name of an option is not one.

    >>> f, t, spectra = tn.scipy.signal.stft(tn.ones(8), nperseg=4)
    >>> f.shape, t.shape, spectra.shape
    ((3,), (5,), (3, 5))
    """
    return _spectra(
        "stft", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        "spectrum", axis, "stft", boundary, padded,
    )  # fmt: skip


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[AnyTensor, AnyTensor]:
    """The frequencies and the cross spectral density of two signals, by Welch's method.

    Args:
        x: a signal.
        y: another one; x if None.
        fs: as in `stft`, like `window`, `noverlap`, `nfft`, `detrend` and `return_onesided`.
        nperseg: the size of a segment; by default 256, or that of the window.
        scaling: "density" or "spectrum".
        axis: the axis of time.
        average: "mean" or "median" of the segments.

    >>> f, p = tn.scipy.signal.csd(tn.arange(8.0), tn.arange(8.0) ** 2, nperseg=4)
    >>> f.shape, p.shape
    ((3,), (3,))
    """
    return _density(
        "csd", x, y, average, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis,
    )  # fmt: skip


def _density(
    name: str, x: ArrayLike, y: ArrayLike | None, average: str, *options: Any
) -> tuple[AnyTensor, AnyTensor]:
    """The frequencies and the spectral density; the last two options are `scaling` and `axis`."""
    option(name, "scaling", options[-2], ("density", "spectrum"))
    option(name, "average", average, ("mean", "median"))
    frequencies, _, spectra = _spectra(*(name, x, y, *options, "psd", None, False))
    segments = spectra.shape[-1]
    if average == "mean" or segments == 1:
        return frequencies, tn.mean(spectra, axis=-1)
    odd = np.arange(3, segments + 1, 2)
    bias = 1 + float(np.sum(1 / odd - 1 / (odd - 1)))
    if dtype_kind(spectra.dtype) == "c":
        middle: Any = tn.median(spectra.real, axis=-1) + 1j * tn.median(spectra.imag, axis=-1)
    else:
        middle = tn.median(spectra, axis=-1)
    return frequencies, (middle / bias).astype(spectra.dtype)


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[AnyTensor, AnyTensor]:
    """The frequencies and the power spectral density of a signal; the arguments are those of `csd`.

    >>> f, p = tn.scipy.signal.welch(tn.ones(8), nperseg=4)
    >>> p
    Tensor([0., 0., 0.])
    """
    frequencies, density = _density(
        "welch", x, None, average, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
        scaling, axis,
    )  # fmt: skip
    return frequencies, density.real


def _window(name: str, window: Any, nperseg: Any, size: int | None) -> tuple[Any, int]:
    """The window and its size, at most that of the signal."""
    if isinstance(window, str | tuple):
        length = 256 if nperseg is None else count(name, "nperseg", nperseg, 1)
        if size is not None:
            length = min(length, size)
        if not length:
            raise ShapeError(f"{name}: the signal is empty")
        try:
            return load_named("scipy.signal:get_window")(window, length), length
        except (ValueError, TypeError, IndexError) as error:
            raise ConfigError(f"{name}: there is no window {window!r}: {error}") from None
    values = array(name, window)
    if values.ndim != 1:
        raise ShapeError(f"{name}: the window must be a vector, got {values.meta}")
    length = constant_size(name, values, 0)
    if size is not None and length > size:
        raise ShapeError(f"{name}: the window {values.meta} is longer than the signal, {size}")
    if nperseg is not None and count(name, "nperseg", nperseg, 1) != length:
        raise ShapeError(f"{name}: nperseg must be the size of the window, {length}, got {nperseg}")
    return values, length


def _steps(name: str, length: int, noverlap: Any, nfft: Any) -> tuple[int, int]:
    """How many samples segments share, and the size of the transforms."""
    shared = length // 2 if noverlap is None else count(name, "noverlap", noverlap)
    points = length if nfft is None else count(name, "nfft", nfft, 1)
    if shared >= length:
        raise ConfigError(f"{name}: noverlap must be below nperseg, got {shared} and {length}")
    if points < length:
        raise ConfigError(f"{name}: nfft must be at least nperseg, got {points} and {length}")
    return shared, points


def _spectra(
    name: str,
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    mode: str,
    boundary: str | None,
    padded: bool,
) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    option(name, "boundary", boundary, (None, "zeros", "even", "odd", "constant"))
    signals = promoted(name, x, inexact=True) if y is None else promoted(name, x, y, inexact=True)
    place = normal_axis(name, axis, signals[0].ndim)
    signals = [tn.moveaxis(signal, axis, -1) for signal in signals]
    sizes = [constant_size(name, signal, signal.ndim - 1) for signal in signals]
    size = max(sizes)
    signals = [_lengthened(s, size - own) for s, own in zip(signals, sizes, strict=True)]
    weights, length = _window(name, window, nperseg, size)
    shared, points = _steps(name, length, noverlap, nfft)
    step = length - shared
    if boundary is not None:
        signals = [_extended(name, signal, boundary, length // 2) for signal in signals]
        size += 2 * (length // 2)
    if padded:
        more = (-(size - length) % step) % length
        signals, size = [_lengthened(signal, more) for signal in signals], size + more
    real_dtype = signals[0].real.dtype
    weights = tn.asarray(weights).astype(real_dtype)
    one_sided = (
        return_onesided and dtype_kind(signals[0].dtype) == "f" and dtype_kind(weights.dtype) == "f"
    )
    starts = np.arange(0, size - length + 1, step)
    places = starts[:, None] + np.arange(length)
    forward: Any = transforms.rfft if one_sided else transforms.fft
    spectra = [
        forward(_trendless(name, signal[..., places], detrend) * weights, points)
        for signal in signals
    ]
    total = tn.sum(weights)
    if mode == "stft":
        result = spectra[0] / total
    else:
        scale = 1 / (fs * tn.sum(weights * weights)) if scaling == "density" else 1 / total**2
        if y is None:
            own = spectra[0]
            result = (own.real * own.real + own.imag * own.imag) * scale
        else:
            result = spectra[0].conj() * spectra[1] * scale
        if one_sided:
            doubled = np.full(result.shape[-1], 2.0)
            doubled[0] = 1
            if points % 2 == 0:
                doubled[-1] = 1
            result = result * doubled.astype(real_dtype)
    result = tn.moveaxis(tn.swapaxes(result, -1, -2), -2, place)
    names: Any = transforms.rfftfreq if one_sided else transforms.fftfreq
    middles = starts + (length / 2 if boundary is None else 0.0)
    frequencies, times = names(points) * fs, tn.asarray(middles) / fs
    return frequencies.astype(real_dtype), times.astype(real_dtype), result


def _lengthened(x: Any, more: int) -> Any:
    if not more:
        return x
    return tn.concat([x, tn.zeros((*x.shape[:-1], more), dtype=x.dtype)], axis=-1)


def _extended(name: str, x: Any, boundary: str, more: int) -> Any:
    """A signal with more samples at both ends."""
    if not more:
        return x
    if boundary == "zeros":
        zeros = tn.zeros((*x.shape[:-1], more), dtype=x.dtype)
        return tn.concat([zeros, x, zeros], axis=-1)
    first, last = x[..., :1], x[..., -1:]
    if boundary == "constant":
        ends = [tn.repeat(end, more, axis=-1) for end in (first, last)]
        return tn.concat([ends[0], x, ends[1]], axis=-1)
    if more >= x.shape[-1]:
        raise ShapeError(f"{name}: {x.meta} is too short to be extended by {more} samples")
    low, high = tn.flip(x[..., 1 : more + 1], axis=-1), tn.flip(x[..., -more - 1 : -1], axis=-1)
    if boundary == "odd":
        low, high = 2 * first - low, 2 * last - high
    return tn.concat([low, x, high], axis=-1)


def _trendless(name: str, segments: Any, trend: Any) -> Any:
    if trend is False or trend is None:
        return segments
    if isinstance(trend, str):
        return detrend(segments, -1, trend)
    if isinstance(trend, Callable):  # type: ignore[arg-type]
        return trend(segments)
    raise ConfigError(
        f"{name}: detrend must be False, a type of detrend or a function, got {trend!r}"
    )


def istft(
    Zxx: ArrayLike,  # noqa: N803  # SciPy's name
    fs: ArrayLike = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[AnyTensor, AnyTensor]:
    """The times and the signal whose spectra `stft` returned.

    Args:
        Zxx: the spectra.
        fs: as in `stft`, like `window` and `noverlap`.
        nperseg: the size of a segment; by default as the number of frequencies says.
        nfft: the size of the transforms.
        input_onesided: whether there are no negative frequencies; then the signal is real.
        boundary: whether the signal was extended.
        time_axis: the axis of segments.
        freq_axis: the axis of frequencies.

    Raises:
        ShapeError: the spectra do not have two axes.
        ConfigError: sizes do not fit.

    >>> _, _, spectra = tn.scipy.signal.stft(tn.arange(8.0), nperseg=4)
    >>> tn.scipy.signal.istft(spectra, nperseg=4)[1]
    Tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    name = "istft"
    (spectra,) = promoted(name, Zxx, inexact=True)
    if dtype_kind(spectra.dtype) != "c":
        spectra = spectra.astype("complex64" if spectra.dtype == "float32" else "complex128")
    if spectra.ndim < 2:
        raise ShapeError(f"{name}: takes axes of frequencies and times, got {spectra.meta}")
    time = normal_axis(name, time_axis, spectra.ndim)
    frequency = normal_axis(name, freq_axis, spectra.ndim)
    if time == frequency:
        raise ConfigError(
            f"{name}: time_axis and freq_axis must differ, got {time_axis}, {freq_axis}"
        )
    segments = tn.moveaxis(spectra, (time, frequency), (-2, -1))
    bins = constant_size(name, segments, segments.ndim - 1)
    frames = constant_size(name, segments, segments.ndim - 2)
    natural = 2 * (bins - 1) if input_onesided else bins
    weights, length = _window(name, window, natural if nperseg is None else nperseg, None)
    points = natural if nfft is None else count(name, "nfft", nfft, 1)
    if nfft is None and input_onesided and length == natural + 1:
        points = length  # of an odd size
    shared, points = _steps(name, length, noverlap, points)
    step, real_dtype = length - shared, segments.real.dtype
    weights = tn.asarray(weights).astype(real_dtype)
    back: Any = transforms.irfft if input_onesided else transforms.ifft
    parts = back(segments, points)[..., :length] * weights * tn.sum(weights)
    size = length + (frames - 1) * step
    places = np.arange(frames)[:, None] * step + np.arange(length)
    zeros = tn.zeros((*parts.shape[:-2], size), dtype=parts.dtype)
    signal = zeros.at[..., places].add(parts)
    norm = tn.zeros(size, dtype=real_dtype).at[places].add(weights * weights)
    if boundary:
        inside = slice(length // 2, size - length // 2)
        signal, norm = signal[..., inside], norm[inside]
    signal = signal / tn.where(norm > 1e-10, norm, 1.0)
    if signal.ndim > 1 and time != spectra.ndim - 1:
        signal = tn.moveaxis(signal, -1, time - (frequency < time))
    times = tn.arange(signal.shape[0], dtype=real_dtype) / fs
    return times.astype(real_dtype), signal


_LATER = "it is not there yet; on arrays that are known, use SciPy itself"
MISSING = dict.fromkeys(("hilbert", "lfilter", "sosfilt", "spectrogram", "resample"), _LATER)
"""Names of `scipy.signal`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.signal", __all__, MISSING)
