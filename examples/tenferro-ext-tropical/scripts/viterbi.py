"""Viterbi decoding of a hidden Markov model, by differentiating one function.

A casino sometimes swaps a fair die for a loaded one; we see only the rolls. The most probable
sequence of dice has the largest sum of log-probabilities. This maximum is a chain of matrix
products in max-plus arithmetic. Its gradient is the sequence: the derivative of the best score with
respect to the score of "loaded at roll t" is 1 if the best sequence has the loaded die there, and 0
if not. No code for backtracking is needed.
"""

import sys

import numpy as np

import tenferro as tn
import tenferro_ext_tropical as tropical

STATES = ["fair", "loaded"]
START = np.log([0.5, 0.5])
SWAP = np.log([[0.95, 0.05], [0.10, 0.90]])
ROLL = np.log([[1 / 6] * 6, [0.1, 0.1, 0.1, 0.1, 0.1, 0.5]])

CONTEXT = tn.AdContext(packages=(tropical.PACKAGE,))


def best_score(start, swap, seen):
    """The largest log-probability of a sequence of states together with the rolls.

    `seen[t, s]` is the log-probability of roll t in state s. The chain is halved repeatedly, so
    its depth is the logarithm of its length.
    """
    steps = swap + tn.expand_dims(seen[1:], axis=1)  # [roll, from, to]
    while steps.shape[0] > 1:
        odd = steps[steps.shape[0] // 2 * 2 :]
        pairs = tropical.einsum("tij,tjk->tik", steps[:-1:2], steps[1::2])
        steps = tn.concat([pairs, odd])
    return tropical.einsum("i,i,ij->", start, seen[0], steps[0])


decode = tn.jit(tn.value_and_grad(best_score, argnums=2, ad_context=CONTEXT))


def viterbi(start, swap, seen):
    """The best sequence, by dynamic programming and backtracking."""
    score, back = start + seen[0], []
    for now in seen[1:]:
        reached = score[:, None] + swap
        back.append(np.argmax(reached, axis=0))
        score = np.max(reached, axis=0) + now
    states = [int(np.argmax(score))]
    for came_from in reversed(back):
        states.append(int(came_from[states[-1]]))
    return float(np.max(score)), states[::-1]


def play(rolls, rng):
    """A random sequence of dice, and their rolls."""
    states, faces = [], []
    for t in range(rolls):
        chances = START if t == 0 else SWAP[states[-1]]
        states.append(int(rng.choice(2, p=np.exp(chances))))
        faces.append(int(rng.choice(6, p=np.exp(ROLL[states[-1]]))))
    return np.array(states), np.array(faces)


def main():
    dice, faces = play(300, np.random.default_rng(4))
    seen = ROLL[:, faces].T
    score, gradient = decode(START, SWAP, seen)
    decoded = np.argmax(np.asarray(gradient), axis=1)
    expected_score, expected = viterbi(START, SWAP, seen)

    print(f"log-probability of the best sequence: {float(score):.6f} ({expected_score:.6f} by")
    print("dynamic programming)\n")
    for first in range(0, len(faces), 60):
        part = slice(first, first + 60)
        print("rolls   " + "".join(str(face + 1) for face in faces[part]))
        print("die     " + "".join(STATES[die][0] for die in dice[part]))
        print("decoded " + "".join(STATES[die][0] for die in decoded[part]) + "\n")
    print(f"right about {np.mean(decoded == dice):.0%} of the rolls")

    np.testing.assert_allclose(float(score), expected_score, rtol=1e-12)
    np.testing.assert_array_equal(decoded, expected)
    np.testing.assert_array_equal(np.asarray(gradient), np.eye(2)[expected])
    assert np.mean(decoded == dice) > 0.6


if __name__ == "__main__":
    sys.exit(main())
