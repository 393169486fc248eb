"""Heat and Burgers equations on a circle by Fourier transforms, with gradients.

The heat equation u_t = ν u_xx is solved exactly: each frequency k decays as exp(-ν k² t). The
Burgers equation u_t + u u_x = ν u_xx is integrated by a pseudo-spectral Runge-Kutta scheme, and
solved exactly by the transformation of Cole and Hopf, u = -2ν φ_x / φ, whose φ obeys the heat
equation. Gradients with respect to the viscosity ν and to the initial state go through all steps.
They are compared with exact ones and with those of the exact solution.
"""

import sys

import numpy as np

import tenferro as tn

POINTS = 64
STEPS = 20
SPACING = 2 * np.pi / POINTS
X = SPACING * np.arange(POINTS)


def wavenumbers():
    """0, 1, … of the frequencies that `tn.fft.rfft` returns."""
    return 2 * np.pi * tn.fft.rfftfreq(POINTS, d=SPACING)


def heat(u, viscosity, time):
    """The solution of the heat equation at `time`, with the initial state u `[points]`."""
    decay = tn.exp(-viscosity * wavenumbers() ** 2 * time)
    return tn.fft.irfft(tn.fft.rfft(u) * decay, n=POINTS)


def slope(u):
    """u_x."""
    k = wavenumbers()
    inside = tn.where(k < POINTS // 2, k, 0.0)  # the highest frequency has no slope on the points
    return tn.fft.irfft(1j * inside * tn.fft.rfft(u), n=POINTS)


def burgers(u, viscosity, time):
    """The solution of the Burgers equation at `time`: exact decay, fourth order in u u_x."""
    k, dt = wavenumbers(), time / STEPS
    kept = tn.where(k < POINTS / 3, k, 0.0)  # products of other frequencies would be aliased
    half = tn.exp(-viscosity * k**2 * dt / 2)

    def transport(v):
        return -0.5j * kept * tn.fft.rfft(tn.fft.irfft(v, n=POINTS) ** 2)

    v = tn.fft.rfft(u)
    for _ in range(STEPS):
        a = dt * transport(v)
        b = dt * transport(half * (v + a / 2))
        c = dt * transport(half * v + b / 2)
        d = dt * transport(half * (half * v + c))
        v = half**2 * (v + a / 6) + half * (b + c) / 3 + d / 6
    return tn.fft.irfft(v, n=POINTS)


def cole_hopf(potential, viscosity, time):
    """The solution of the Burgers equation whose initial state is the slope of a potential."""
    phi = heat(tn.exp(-potential / (2 * viscosity)), viscosity, time)
    return -2 * viscosity * slope(phi) / phi


def energy(u):
    """∫ u² / 2 over the circle."""
    return tn.sum(u * u) * SPACING / 2


def check_heat():
    """Energy and gradients of two waves, which decay each on its own."""
    u, viscosity, time = np.sin(X) + 0.5 * np.cos(3 * X), 0.1, 0.7
    value_and_gradient = tn.jit(
        tn.value_and_grad(lambda u, nu: energy(heat(u, nu, time)), argnums=(0, 1))
    )
    value, (by_state, by_viscosity) = value_and_gradient(u, viscosity)
    squares = np.array([1.0, 9.0])
    energies = np.pi / 2 * np.array([1.0, 0.25]) * np.exp(-2 * viscosity * squares * time)
    smoothed_twice = heat(u, viscosity, 2 * time)  # the solution is a symmetric map of u
    print(f"heat: energy {float(value):.6f}, its slope in the viscosity {float(by_viscosity):.6f}")
    np.testing.assert_allclose(value, energies.sum(), rtol=1e-13)
    np.testing.assert_allclose(by_viscosity, -2 * time * squares @ energies, rtol=1e-12)
    np.testing.assert_allclose(by_state, smoothed_twice * SPACING, atol=1e-14)


def check_burgers():
    """The state, and gradients of its energy, beside those of the exact solution."""
    potential, viscosity, time = 1 - np.cos(X), 0.2, 0.8
    step = tn.jit(  # many operations on few points: compiling them would take longer
        tn.value_and_grad(lambda p, nu: energy(burgers(slope(p), nu, time)), argnums=(0, 1)),
        executor="numpy",
    )
    exact = tn.jit(tn.value_and_grad(lambda p, nu: energy(cole_hopf(p, nu, time)), argnums=(0, 1)))
    value, (by_potential, by_viscosity) = step(potential, viscosity)
    peer, (exact_by_potential, exact_by_viscosity) = exact(potential, viscosity)
    off = np.max(np.abs(np.asarray(by_potential) - np.asarray(exact_by_potential)))
    print(f"Burgers: energy {float(value):.8f}, exact {float(peer):.8f}")
    print(f"  by the viscosity {float(by_viscosity):.8f}, exact {float(exact_by_viscosity):.8f}")
    print(f"  by the initial state: largest difference {off:.1e}")
    np.testing.assert_allclose(value, peer, rtol=1e-7)
    np.testing.assert_allclose(by_viscosity, exact_by_viscosity, rtol=1e-7)
    assert off < 1e-6, off


def main():
    check_heat()
    check_burgers()


if __name__ == "__main__":
    sys.exit(main())
