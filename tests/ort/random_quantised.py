#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random quantised models: chains of steps, each drawn from what exporters and people write - products per channel or not,
signed or not, in blocks of 4 bits, QOperator forms, pairs twice, residuals, what moves and pools, odd ranks. Seeded: the same
numbers give the same files.
    random_quantised.py FOLDER [--first 1] [--count 48]
Needs the packages onnx and numpy; exit code 77 without them."""
import argparse
import os

from odd_quantised import F, Model, TensorProto, np


class Chain:
    """A model that grows by one step at a time; `value` is float, of `extents`."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.blocks = self.r.random() < 0.25
        self.m = Model(f'random_{seed:03}', 21 if self.blocks else int(self.r.choice([13, 17, 19])))
        rank = int(self.r.choice([2, 3, 4, 4, 4, 5]))
        self.extents = [int(self.r.integers(1, 4))] + [int(n) for n in self.r.integers(3, 9, rank - 1)]
        self.value = self.m.input('x', self.extents)
        self.past = [(self.value, list(self.extents))]

    def pick(self, *items):
        return items[int(self.r.integers(len(items)))]

    def scale(self, low=0.01, high=0.06):
        return F(self.r.uniform(low, high))

    def stored_as(self):
        if self.r.random() < 0.5:
            return np.int8(0)
        return self.pick(np.uint8(128), np.uint8(0), np.uint8(self.r.integers(256)), np.int8(self.r.integers(-128, 128)))

    def pair(self, value):
        scale, zero = self.scale(), self.stored_as()
        if self.r.random() < 0.1:  # twice, with another scale
            value = self.m.pair(value, self.scale(), self.stored_as())
        if self.r.random() < 0.2:
            return self.m.pair(value, np.array([scale]), np.array([zero]))
        return self.m.pair(value, scale, zero)

    def weight(self, *extents, channels):
        """Its numbers, stored; a scale for each index of `channels` or one for all."""
        dtype = self.pick(np.int8, np.int8, np.int8, np.uint8)
        info = np.iinfo(dtype)
        numbers = self.r.integers(info.min, info.max + 1, extents).astype(dtype)
        middle = 0 if dtype == np.int8 else int(self.r.integers(100, 156))
        if self.r.random() < 0.3:
            return self.m.add('DequantizeLinear', numbers, self.scale(0.002, 0.01), dtype(middle))
        axis = channels - len(extents) if self.r.random() < 0.3 else channels
        count = extents[channels]
        zeros = np.full(count, middle, dtype) if self.r.random() < 0.7 else \
            self.r.integers(max(info.min, middle - 9), middle + 9, count).astype(dtype)
        return self.m.add('DequantizeLinear', numbers, self.r.uniform(0.002, 0.01, count).astype(F), zeros, axis=axis)

    def bias(self, count):
        kind = self.pick('none', 'float', 'int32')
        if kind == 'none':
            return None
        if kind == 'float':
            return self.r.normal(size=count).astype(F)
        return self.m.add('DequantizeLinear', self.r.integers(-900, 900, count).astype(np.int32),
                          self.r.uniform(0.0002, 0.001, count).astype(F), axis=0)

    def made(self, value, extents):
        self.value, self.extents = value, [int(e) for e in extents]

    def conv(self):
        n, c, *space = self.extents
        if not space:
            return self.matmul()
        groups = self.pick(*[g for g in (1, 1, c) if c % g == 0])
        out = groups * int(self.r.integers(1, 4)) if groups > 1 else int(self.r.integers(1, 9))
        kernel = [int(self.r.integers(1, min(4, s + 1))) for s in space]
        pads = [int(p) for p in self.r.integers(0, 2, 2 * len(space))]
        strides = [int(s) for s in self.r.integers(1, 3, len(space))]
        w = self.weight(out, c // groups, *kernel, channels=0)
        y = self.m.add('Conv', self.pair(self.value), w, self.bias(out), group=groups, kernel_shape=kernel, pads=pads,
                       strides=strides)
        after = [(s + pads[i] + pads[i + len(space)] - kernel[i]) // strides[i] + 1 for i, s in enumerate(space)]
        self.made(y, [n, out, *after])

    def matmul(self):
        inner, out = self.extents[-1], int(self.r.integers(1, 9))
        y = self.m.add('MatMul', self.pair(self.value), self.weight(inner, out, channels=1))
        b = self.bias(out)
        self.made(self.m.add('Add', y, b) if b is not None else y, [*self.extents[:-1], out])

    def gemm(self):
        rows, inner, out = self.extents[0], int(np.prod(self.extents[1:])), int(self.r.integers(1, 9))
        flat = self.m.add('Flatten', self.value)
        turned = int(self.r.integers(2))
        w = self.weight(out, inner, channels=0) if turned else self.weight(inner, out, channels=1)
        first = self.pick(self.pair(flat), flat)
        self.made(self.m.add('Gemm', first, w, self.bias(out), transB=turned, alpha=float(self.pick(1, 1, 0.5))), [rows, out])

    def blocked(self):
        if not self.blocks:
            return self.matmul()
        inner, out, block = self.extents[-1], int(self.r.integers(1, 9)), int(self.pick(2, 3, 4, 16))
        kind, count = int(self.pick(21, 22)), -(-inner // block)

        def nibbles(*extents):
            size = int(np.prod(extents))
            numbers = np.append(self.r.integers(0, 16, size), 0)
            packed = [int(a) | int(b) << 4 for a, b in zip(numbers[0:size:2], numbers[1:size + 1:2])]
            return TensorProto(data_type=kind, dims=extents, raw_data=bytes(packed))

        scales = self.r.uniform(0.02, 0.1, (count, out)).astype(F)
        zeros = nibbles(count, out) if self.r.random() < 0.5 else None
        w = self.m.add('DequantizeLinear', nibbles(inner, out), scales, zeros, axis=0, block_size=block)
        self.made(self.m.add('MatMul', self.value, w), [*self.extents[:-1], out])

    def qlinear(self):
        zero, scale, low = np.uint8(self.r.integers(256)), self.scale(), self.scale(0.1, 0.4)
        q = self.m.add('QuantizeLinear', self.value, scale, zero)
        after = np.uint8(self.r.integers(90, 160))
        if len(self.extents) >= 3 and self.r.random() < 0.6:
            n, c, *space = self.extents
            out = int(self.r.integers(1, 7))
            w = self.r.integers(-128, 128, (out, c, *[1] * len(space))).astype(np.int8)
            y = self.m.add('QLinearConv', q, scale, zero, w, self.r.uniform(0.002, 0.01, out).astype(F),
                           np.zeros(out, np.int8), low, after, self.r.integers(-500, 500, out).astype(np.int32))
            extents = [n, out, *space]
        else:
            inner, out = self.extents[-1], int(self.r.integers(1, 7))
            w = self.r.integers(-128, 128, (inner, out)).astype(np.int8)
            y = self.m.add('QLinearMatMul', q, scale, zero, w, self.scale(0.002, 0.01), np.int8(0), low, after)
            extents = [*self.extents[:-1], out]
        self.made(self.m.add('DequantizeLinear', y, low, after), extents)

    def dynamic(self):
        inner, out = self.extents[-1], int(self.r.integers(1, 9))
        q, s, z = self.m.add('DynamicQuantizeLinear', self.value, outputs=3)
        w = self.r.integers(-128, 128, (inner, out)).astype(np.int8)
        p = self.m.add('MatMulInteger', q, w, z, np.int8(0))
        y = self.m.add('Mul', self.m.add('Cast', p, to=TensorProto.FLOAT), self.m.add('Mul', s, self.scale(0.002, 0.01)))
        self.made(y, [*self.extents[:-1], out])

    def activation(self):
        op = self.pick('Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'HardSigmoid', 'Clip')
        more = [F(-1), F(2)] if op == 'Clip' else []
        self.value = self.m.add(op, self.pick(self.value, self.pair(self.value)), *more)

    def residual(self):
        fitting = [v for v, e in self.past if e == self.extents and v != self.value]
        other = self.pick(*fitting) if fitting else self.value
        op = self.pick('Add', 'Add', 'Mul')
        self.value = self.m.add(op, self.pair(self.value), self.pick(self.pair(other), other))

    def pool(self):
        if len(self.extents) < 3 or min(self.extents[2:]) < 2:
            return self.activation()
        op = self.pick('MaxPool', 'AveragePool', 'GlobalAveragePool')
        x = self.pair(self.value)
        if op == 'GlobalAveragePool':
            self.made(self.m.add(op, x), [*self.extents[:2], *[1] * (len(self.extents) - 2)])
        else:
            ones = [2] * (len(self.extents) - 2)
            self.made(self.m.add(op, x, kernel_shape=ones, strides=ones),
                      [*self.extents[:2], *[s // 2 for s in self.extents[2:]]])

    def move(self):
        kind, x = self.pick('Transpose', 'Reshape', 'Concat', 'Slice', 'Unsqueeze'), self.pair(self.value)
        rank = len(self.extents)
        if kind == 'Transpose':
            perm = [int(i) for i in self.r.permutation(rank)]
            self.made(self.m.add(kind, x, perm=perm), [self.extents[i] for i in perm])
        elif kind == 'Reshape':
            extents = [self.extents[0], int(np.prod(self.extents[1:]))]
            self.made(self.m.add(kind, x, np.array(extents, np.int64)), extents)
        elif kind == 'Concat':
            axis = int(self.r.integers(rank))
            self.made(self.m.add(kind, x, self.pick(x, self.value), axis=axis),
                      [e * (2 if i == axis else 1) for i, e in enumerate(self.extents)])
        elif kind == 'Slice' and self.extents[-1] > 2:
            to = self.extents[-1] - 1
            self.made(self.m.add(kind, x, *[np.array([i], np.int64) for i in (1, to, rank - 1)]), [*self.extents[:-1], to - 1])
        elif kind == 'Unsqueeze' and rank < 5:
            self.made(self.m.add(kind, x, np.array([0], np.int64)), [1, *self.extents])

    def channels(self):
        """A scale for each index of an axis of an activation."""
        axis = int(self.r.integers(len(self.extents)))
        count = self.extents[axis]
        zeros = self.r.integers(-20, 20, count).astype(np.int8)
        self.value = self.m.pair(self.value, self.r.uniform(0.01, 0.06, count).astype(F), zeros,
                                 axis=self.pick(axis, axis - len(self.extents)))

    def model(self):
        steps = (self.conv, self.conv, self.matmul, self.gemm, self.blocked, self.qlinear, self.dynamic, self.activation,
                 self.activation, self.residual, self.pool, self.move, self.channels)
        for _ in range(int(self.r.integers(2, 7))):
            self.pick(*steps)()
            self.past.append((self.value, list(self.extents)))
        if self.r.random() < 0.5:
            self.value = self.pair(self.value)
        self.m.output(self.m.add('Identity', self.value) if self.value == 'x' else self.value)
        return self.m


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('folder')
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--count', type=int, default=48)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for seed in range(options.first, options.first + options.count):
        Chain(seed).model().save(options.folder)


if __name__ == '__main__':
    main()
