"""One amplitude of a quantum circuit, contracted in slices that two processes share.

Each process would be on a machine of its own; here both are on this one, and talk to each other
over 127.0.0.1. The network is sliced; each process contracts half of the slices, and one sum of a
few numbers goes from process to process. The script starts the two processes, and one that
contracts all slices alone: all three find the same amplitude and derivatives, bit by bit.
"""

import hashlib
import os
import socket
import subprocess
import sys

import numpy as np

import tenferro as tn

QUBITS, LAYERS = 10, 6


def circuit():
    """Random gates on neighbours: operands, and the labels of each."""
    generator = np.random.default_rng(0)
    operands, terms = [], []
    now, labels = list(range(QUBITS)), QUBITS
    for qubit in range(QUBITS):
        operands.append(np.array([1.0, 0.0], complex))
        terms.append([now[qubit]])
    for layer in range(LAYERS):
        for qubit in range(layer % 2, QUBITS - 1, 2):
            matrix = generator.normal(size=(4, 4)) + 1j * generator.normal(size=(4, 4))
            operands.append(np.linalg.qr(matrix)[0].reshape(2, 2, 2, 2))
            terms.append([labels, labels + 1, now[qubit], now[qubit + 1]])
            now[qubit], now[qubit + 1], labels = labels, labels + 1, labels + 2
    for qubit in range(QUBITS):
        operands.append(np.eye(2, dtype=complex)[generator.integers(2)])
        terms.append([now[qubit]])
    return operands, (terms, [])


def amplitude_and_slopes(operands, network, **where):
    """The amplitude, and the derivative of its probability by each number of the first gate."""
    plan = tn.einsum_plan(network, *operands, slices=64)
    print(plan.on(2))

    def probability(gate):
        others = [*operands[:QUBITS], gate, *operands[QUBITS + 1 :]]
        amplitude = tn.einsum(network, *others, optimize=plan)
        return tn.abs(amplitude) ** 2, amplitude

    function = tn.value_and_grad(probability, has_aux=True)
    (_, amplitude), slopes = tn.jit(function, **where)(operands[QUBITS])
    return complex(amplitude), np.asarray(slopes)


def worker(port, number):
    """One of two processes: both run the same program, on a mesh of the devices of both."""
    tn.sharding.initialize(f"127.0.0.1:{port}", processes=2, process=int(number))
    mesh = tn.sharding.make_mesh((2,), ("slices",))
    report(*amplitude_and_slopes(*circuit(), mesh=mesh, slices="slices"))
    tn.sharding.shutdown()


def report(amplitude, slopes):
    """Print what was found; the last line is the same where all bits are."""
    bits = np.asarray(amplitude).tobytes() + slopes.tobytes()
    print(f"{amplitude:.12f} {hashlib.sha256(bits).hexdigest()}")


def start(*arguments):
    """This script once more, with one device."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [start(port, 0), start(port, 1), start("alone")]
    try:
        texts = [process.communicate(timeout=200)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for name, text in zip(("process 0", "process 1", "alone"), texts, strict=True):
        print(f"{name}: {text.splitlines()[-1]}")
    print(texts[0].splitlines()[0])
    assert len({text.splitlines()[-1] for text in texts}) == 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            main()
        case ["alone"]:
            operands, network = circuit()
            amplitude, slopes = amplitude_and_slopes(operands, network)
            whole = tn.einsum(network, *operands)  # without slices
            np.testing.assert_allclose(amplitude, complex(whole), rtol=1e-11)
            report(amplitude, slopes)
        case [port, number]:
            worker(port, number)
