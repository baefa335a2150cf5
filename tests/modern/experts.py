#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of language models at sizes where their speed can be told: mixtures of 32 experts of which a token asks 4, in floats, in
4 bits and with weights that are inputs, and linear attention of 16 heads, for 1 and 64 tokens. Timed beside ONNX Runtime by
`./dev bench strangers FOLDER`. Seeded: the same program gives the same files.
    experts.py FOLDER
Needs the packages onnx and numpy; exit code 77 without them."""
import sys

try:
    import numpy as np
    import onnx  # noqa: F401
except ImportError as error:
    print(f'experts: {error}')
    sys.exit(77)

from model import F, MS, Model
from runtime_operators import packed, scales

EXPERTS, ROW, INNER, CHOSEN, BLOCK = 32, 512, 1024, 4, 32
SWIGLU = dict(activation_type='swiglu', swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0,
              normalize_routing_weights=1, k=CHOSEN)
HEADS, DEPTH = 16, 128


def rows(m, tokens):
    return m.input('x', m.numbers(tokens, ROW)), m.input('router', m.numbers(tokens, EXPERTS))


def floats(tokens, vary=False):
    m = Model(f'experts{"_given" if vary else ""}_{tokens}', 'ort')
    x, router = rows(m, tokens)
    weights = [m.numbers(EXPERTS, 2 * INNER, ROW, scale=.05), m.numbers(EXPERTS, 2 * INNER),
               m.numbers(EXPERTS, ROW, INNER, scale=.05), m.numbers(EXPERTS, ROW)]
    if vary:
        weights = [m.input(f'w{i}', each) for i, each in enumerate(weights)]
    m.output(m.add('MoE', x, router, *weights, domain=MS, **SWIGLU))
    return m


def few_bits(tokens):
    m = Model(f'experts_4_bits_{tokens}', 'ort')
    x, router = rows(m, tokens)

    def stored(n, k):
        return packed(m, 4, EXPERTS, n, k), scales(m, EXPERTS, n, k // BLOCK) * F(.05)

    first, second = stored(2 * INNER, ROW), stored(ROW, INNER)
    m.output(m.add('QMoE', x, router, *first, m.numbers(EXPERTS, 2 * INNER), *second, m.numbers(EXPERTS, ROW), domain=MS,
                   expert_weight_bits=4, block_size=BLOCK, **SWIGLU))
    return m


def linear_attention(tokens):
    m = Model(f'linear_attention_{tokens}', 'ort')
    q, k, v = (m.input(name, m.numbers(1, tokens, HEADS * DEPTH) * F(size))
               for name, size in (('q', .3), ('k', .02), ('v', 1)))
    state = m.input('s', m.numbers(1, HEADS, DEPTH, DEPTH) * F(.1))
    decay = m.input('g', -np.abs(m.numbers(1, tokens, HEADS)))
    rate = m.input('b', F(1) / (F(1) + np.exp(m.numbers(1, tokens, HEADS))))
    for made in m.add('LinearAttention', q, k, v, state, decay, rate, outputs=2, domain=MS, q_num_heads=HEADS,
                      kv_num_heads=HEADS, update_rule='gated_delta'):
        m.output(made)
    return m


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        sys.exit(2)
    for tokens in (1, 64):
        for model in (floats(tokens), floats(tokens, vary=True), few_bits(tokens), linear_attention(tokens)):
            model.save(sys.argv[1])


main()
