"""One amplitude of a quantum circuit as a tensor network, and its derivatives by the angles.

Each layer of the circuit rotates each qubit about Y by an angle of its own, and then entangles
neighbours with exp(-iπ/4 ZZ). The entangler is diagonal. It is therefore a matrix over the labels
of two qubits and needs no new labels, so one label belongs to many tensors. The script checks the
amplitude and all derivatives of its probability against the full state vector.
"""

import sys

import numpy as np

import tenferro as tn

QUBITS, LAYERS = 8, 3
ENTANGLER = np.exp(-0.25j * np.pi * np.array([[1, -1], [-1, 1]]))
GATE = np.array([[0, -1], [1, 0]])


def turns(angles):
    """exp(-iθY/2) for each angle: `[layer, qubit, out, in]`."""
    half = tn.expand_dims(angles / 2, axis=(2, 3))
    return tn.cos(half) * np.eye(2) + tn.sin(half) * GATE


def amplitude(angles, bits):
    """⟨bits| circuit |0…0⟩."""
    gates = tn.astype(turns(angles), "complex128")
    operands, terms = [], []
    now = list(range(QUBITS))
    for qubit in range(QUBITS):
        operands.append(np.array([1.0, 0.0]))
        terms.append([now[qubit]])
    for layer in range(LAYERS):
        for qubit in range(QUBITS):
            before, now[qubit] = now[qubit], (layer + 1) * QUBITS + qubit
            operands.append(gates[layer, qubit])
            terms.append([now[qubit], before])
        for qubit in range(layer % 2, QUBITS - 1, 2):
            operands.append(ENTANGLER)
            terms.append([now[qubit], now[qubit + 1]])
    for qubit, bit in enumerate(bits):
        operands.append(np.eye(2)[bit])
        terms.append([now[qubit]])
    return tn.einsum((terms, []), *operands)


def state_vector(angles):
    """The same circuit on all 2**QUBITS amplitudes."""
    state = np.zeros((2,) * QUBITS, complex)
    state[(0,) * QUBITS] = 1
    for layer in range(LAYERS):
        for qubit in range(QUBITS):
            c, s = np.cos(angles[layer, qubit] / 2), np.sin(angles[layer, qubit] / 2)
            turn = np.array([[c, -s], [s, c]])
            state = np.moveaxis(np.tensordot(turn, state, (1, qubit)), 0, qubit)
        for qubit in range(layer % 2, QUBITS - 1, 2):
            shape = [2 if k in (qubit, qubit + 1) else 1 for k in range(QUBITS)]
            state = state * ENTANGLER.reshape(shape)
    return state


def main():
    generator = np.random.default_rng(0)
    angles = generator.uniform(0, np.pi, (LAYERS, QUBITS))
    bits = tuple(int(bit) for bit in generator.integers(0, 2, QUBITS))

    found = complex(tn.jit(lambda x: amplitude(x, bits))(angles))
    expected = state_vector(angles)[bits]
    print(f"amplitude of {''.join(map(str, bits))}: {found:.12f}")
    print(f"by the state vector:     {expected:.12f}")
    np.testing.assert_allclose(found, expected, rtol=1e-12)

    probability = tn.jit(tn.value_and_grad(lambda x: tn.abs(amplitude(x, bits)) ** 2))
    value, slopes = probability(angles)
    step = 1e-5
    worst = 0.0
    for position in np.ndindex(LAYERS, QUBITS):
        shift = np.zeros_like(angles)
        shift[position] = step
        up, down = (abs(state_vector(angles + sign * shift)[bits]) ** 2 for sign in (1, -1))
        worst = max(worst, abs(float(slopes[position]) - (up - down) / (2 * step)))
    print(f"probability {float(value):.3e}; {angles.size} derivatives, off by {worst:.1e} at most")
    assert worst < 1e-10


if __name__ == "__main__":
    sys.exit(main())
