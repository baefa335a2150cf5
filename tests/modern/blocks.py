# SPDX-License-Identifier: Apache-2.0
"""A layer of a language model in the spellings of exporters: the same weights, so the same results."""
import numpy as np

from model import F, MS, Model
from operators import caches

HEADS, GROUPS, DEPTH, INNER, TOKENS = 4, 2, 16, 96, 6
WIDTH = HEADS * DEPTH


class Block:
    def __init__(self, name, opset):
        self.m = Model(name, 'ort', opset)
        r = np.random.default_rng(20)
        weight = lambda *extents: (r.standard_normal(extents) * extents[0] ** -0.5).astype(F)
        self.x = (r.standard_normal((1, TOKENS, WIDTH))).astype(F)
        self.norms = [1 + 0.1 * weight(WIDTH) for _ in range(3)]
        self.q, self.k, self.v = weight(WIDTH, WIDTH), weight(WIDTH, GROUPS * DEPTH), weight(WIDTH, GROUPS * DEPTH)
        self.o, self.gate, self.up = weight(WIDTH, WIDTH), weight(WIDTH, INNER), weight(WIDTH, INNER)
        self.down = weight(INNER, WIDTH)
        self.cos, self.sin = caches(TOKENS, DEPTH // 2)

    def linear(self, x, weight):
        return self.m.add('MatMul', x, weight)


class Decomposed(Block):
    def norm(self, x, weight):
        m = self.m
        mean = m.add('ReduceMean', m.add('Pow', x, F(2)), axes=[-1])
        return m.add('Mul', m.add('Mul', x, m.add('Reciprocal', m.add('Sqrt', m.add('Add', mean, F(1e-5))))), weight)

    def heads(self, x, count):
        shape = np.array([1, TOKENS, count, DEPTH])
        return self.m.add('Transpose', self.m.add('Reshape', x, shape), perm=[0, 2, 1, 3])

    def turn(self, x):
        m, half = self.m, np.array([DEPTH // 2])
        low = m.add('Slice', x, np.array([0]), half, np.array([3]))
        high = m.add('Slice', x, half, np.array([2 ** 31]), np.array([3]))
        turned = m.add('Concat', m.add('Neg', high), low, axis=-1)
        cos, sin = np.concatenate([self.cos] * 2, 1), np.concatenate([self.sin] * 2, 1)
        return m.add('Add', m.add('Mul', x, cos), m.add('Mul', turned, sin))

    def shared(self, x):
        m, group = self.m, HEADS // GROUPS
        wide = m.add('Expand', m.add('Unsqueeze', x, np.array([2])), np.array([1, GROUPS, group, TOKENS, DEPTH]))
        return m.add('Reshape', wide, np.array([1, HEADS, TOKENS, DEPTH]))

    def attention(self, q, k, v):
        m = self.m
        q, k, v = self.turn(self.heads(q, HEADS)), self.turn(self.heads(k, GROUPS)), self.heads(v, GROUPS)
        scores = m.add('MatMul', q, m.add('Transpose', self.shared(k), perm=[0, 1, 3, 2]))
        mask = np.triu(np.full((TOKENS, TOKENS), -np.inf, F), 1)
        weights = m.add('Softmax', m.add('Add', m.add('Mul', scores, F(DEPTH ** -0.5)), mask), axis=-1)
        y = m.add('Transpose', m.add('MatMul', weights, self.shared(v)), perm=[0, 2, 1, 3])
        return m.add('Reshape', y, np.array([1, TOKENS, WIDTH]))

    def gated(self, x):
        m = self.m
        gate = self.linear(x, self.gate)
        return m.add('Mul', m.add('Mul', gate, m.add('Sigmoid', gate)), self.linear(x, self.up))

    def skip_norm(self, x, r, weight):
        total = self.m.add('Add', x, r)
        return self.norm(total, weight), total


class Standard(Decomposed):
    def norm(self, x, weight):
        return self.m.add('RMSNormalization', x, weight, epsilon=1e-5)

    def turned(self, x, count):
        return self.m.add('RotaryEmbedding', x, self.cos[None], self.sin[None], num_heads=count)

    def attention(self, q, k, v):
        return self.m.add('Attention', self.turned(q, HEADS), self.turned(k, GROUPS), v, is_causal=1, q_num_heads=HEADS,
                          kv_num_heads=GROUPS)


class Contrib(Decomposed):
    def norm(self, x, weight):
        return self.m.add('SimplifiedLayerNormalization', x, weight, epsilon=1e-5, axis=-1)

    def skip_norm(self, x, r, weight):
        y, _, _, total = self.m.add('SkipSimplifiedLayerNormalization', x, r, weight, outputs=4, domain=MS, epsilon=1e-5)
        self.m.nodes[-1].output[1] = self.m.nodes[-1].output[2] = ''
        return y, total

    def attention(self, q, k, v):
        m = self.m
        lengths, total = np.array([TOKENS - 1], np.int32), np.array(TOKENS, np.int32)
        made = m.add('GroupQueryAttention', q, k, v, None, None, lengths, total, self.cos, self.sin, outputs=3, domain=MS,
                     num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
        return made[0]


class FourBits(Contrib):
    """The same with weights of 4 bits: other numbers, so results of its own."""

    def linear(self, x, weight):
        rows, columns = weight.shape
        blocks = rows // 16
        parts = weight.T.reshape(columns, blocks, 16)
        scales = np.maximum(np.abs(parts).max(2) / 7, F(1e-6)).astype(F)
        stored = np.clip(np.rint(parts / scales[..., None]) + 8, 0, 15).astype(np.uint8)
        return self.m.add('MatMulNBits', x, stored[..., 0::2] | stored[..., 1::2] << 4, scales.reshape(columns, blocks), domain=MS,
                          K=rows, N=columns, bits=4, block_size=16)


def layer(block):
    m = block.m
    x = m.input('x', block.x)
    h = block.norm(x, block.norms[0])
    h = block.attention(*(block.linear(h, w) for w in (block.q, block.k, block.v)))
    h, x = block.skip_norm(x, block.linear(h, block.o), block.norms[1])
    h = block.linear(block.gated(h), block.down)
    h, x = block.skip_norm(x, h, block.norms[2])
    m.output(h)
    m.output(x)
    return m


def llama():
    yield layer(Decomposed('llama_decomposed', 17))
    yield layer(Standard('llama_standard', 23))
    yield layer(Contrib('llama_contrib', 17))
    yield layer(FourBits('llama_int4', 17))


BLOCKS = [llama]
