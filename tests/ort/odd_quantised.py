#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantised models that nobody's exporter writes, and ONNX allows: odd axes, shared weights, pairs without a partner, empty
and rank-0 tensors. Seeded: the same number gives the same files.
    odd_quantised.py FOLDER [--seed N]
Needs the packages onnx and numpy; exit code 77 without them."""
import argparse
import os
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f'odd_quantised: {error}')
    sys.exit(77)

F = np.float32
TYPES = {'float': TensorProto.FLOAT, 'int8': TensorProto.INT8, 'uint8': TensorProto.UINT8, 'int32': TensorProto.INT32,
         'int16': TensorProto.INT16, 'uint16': TensorProto.UINT16, 'float16': TensorProto.FLOAT16}


class Model:
    """One graph: nodes are added by operator, constants by array."""

    def __init__(self, name, opset=17):
        self.name, self.opset = name, opset
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def input(self, name, extents, dtype='float'):
        self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], extents))
        return name

    def constant(self, array):
        name = f'c{len(self.constants)}'
        tensor = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(np.asarray(array), name)
        tensor.name = name
        self.constants.append(tensor)
        return name

    def add(self, op, *operands, outputs=1, domain='', **attributes):
        names = [o if o is None or isinstance(o, str) else self.constant(o) for o in operands]
        made = [f'v{len(self.nodes)}_{i}' for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [n or '' for n in names], made, name=f'{op}_{len(self.nodes)}',
                                           domain=domain, **attributes))
        return made[0] if outputs == 1 else made

    def pair(self, value, scale, zero, **attributes):
        scale, zero = self.constant(scale), self.constant(zero)
        return self.add('DequantizeLinear', self.add('QuantizeLinear', value, scale, zero, **attributes), scale, zero,
                        **attributes)

    def output(self, value, dtype='float', rank=None):
        extents = None if rank is None else [None] * rank
        self.outputs.append(helper.make_tensor_value_info(value, TYPES[dtype], extents))

    def save(self, folder):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', self.opset)],
                                  ir_version=10 if self.opset > 19 else 8)
        onnx.save(model, os.path.join(folder, self.name + '.onnx'))


def random_models(r):
    def ints(dtype, *extents):
        info = np.iinfo(dtype)
        return r.integers(info.min, info.max + 1, extents).astype(dtype)

    def nibbles(kind, *extents):
        """By number: packages of onnx before 1.16 have no word for these types."""
        numbers = r.integers(0, 16, int(np.prod(extents)) + 1)
        count = int(np.prod(extents))
        numbers[count:] = 0
        packed = [int(a) | int(b) << 4 for a, b in zip(numbers[0:count:2], numbers[1:count + 1:2])]
        return TensorProto(data_type=kind, dims=extents, raw_data=bytes(packed))

    def scales(*extents):
        return (r.uniform(0.01, 0.1, extents)).astype(F)

    def scale():
        return F(r.uniform(0.01, 0.05))

    m = Model('matmul_scales_along_the_sum')  # axis 0: a scale for each of what is summed
    x = m.pair(m.input('x', [5, 12]), scale(), np.uint8(121))
    m.output(m.add('MatMul', x, m.add('DequantizeLinear', ints(np.int8, 12, 7), scales(12), axis=0)))
    yield m

    m = Model('bias_through_pairs')  # int32 of one, uint8 of the other
    x = m.pair(m.input('x', [2, 3, 6, 6]), scale(), np.int8(0))
    w = m.add('DequantizeLinear', ints(np.int8, 4, 3, 3, 3), scales(4), np.zeros(4, np.int8), axis=0)
    b = m.add('DequantizeLinear', r.integers(-900, 900, 4).astype(np.int32), scales(4), axis=0)
    c = m.pair(m.add('Relu', m.add('Conv', x, w, b, kernel_shape=[3, 3])), scale(), np.int8(0))
    w = m.add('DequantizeLinear', ints(np.int8, 2, 4, 1, 1), scales(2), np.zeros(2, np.int8), axis=0)
    b = m.pair(r.normal(size=2).astype(F), F(0.02), np.uint8(128))
    m.output(m.add('Conv', c, w, b, kernel_shape=[1, 1]))
    yield m

    m = Model('asymmetric_with_padding')  # padding is 0, and 0 is not stored as 0
    x = m.pair(m.input('x', [1, 4, 7, 5]), scale(), np.uint8(201))
    w = m.add('DequantizeLinear', ints(np.uint8, 6, 2, 3, 3), scales(6), ints(np.uint8, 6), axis=0)
    c = m.add('Conv', x, w, kernel_shape=[3, 3], group=2, pads=[1, 2, 0, 1], strides=[2, 1], dilations=[1, 2])
    m.output(m.pair(c, F(0.3), np.uint8(7)))
    yield m

    m = Model('one_weight_two_convolutions')
    w = m.add('DequantizeLinear', ints(np.int8, 3, 3, 3, 3), scales(3), np.zeros(3, np.int8), axis=0)
    x = m.pair(m.input('x', [1, 3, 8, 8]), scale(), np.int8(0))
    c = m.pair(m.add('Conv', x, w, pads=[1, 1, 1, 1]), F(0.2), np.int8(0))
    m.output(m.add('Conv', c, w, strides=[2, 2]))
    yield m

    m = Model('stored_from_end_to_end')  # no DequantizeLinear behind the last, no QuantizeLinear before the first
    x = m.add('DequantizeLinear', m.input('x', [3, 10], 'uint8'), scale(), np.uint8(99))
    w = m.add('DequantizeLinear', ints(np.int8, 10, 6), scales(6), np.zeros(6, np.int8), axis=1)
    y = m.add('Add', m.add('MatMul', x, w), r.normal(size=6).astype(F))
    m.output(m.add('QuantizeLinear', y, F(0.05), np.int8(-3)), 'int8')
    yield m

    for name, kind in (('uint4', 21), ('int4', 22)):
        m = Model(f'{name}_blocks_that_do_not_divide', 21)  # 40 in blocks of 16: the last one has 8
        w, z = nibbles(kind, 40, 5), nibbles(kind, 3, 5)
        m.output(m.add('MatMul', m.input('x', [3, 40]),
                       m.add('DequantizeLinear', w, scales(3, 5), z, axis=0, block_size=16)))
        yield m

    m = Model('opset_10', 10)  # one scale, perhaps no zero point, no axis
    s = scale()
    x = m.add('DequantizeLinear', m.add('QuantizeLinear', m.input('x', [2, 3, 4, 4]), s), s)
    w = m.add('DequantizeLinear', ints(np.int8, 5, 3, 1, 1), scale(), np.int8(0))
    m.output(m.add('QuantizeLinear', m.add('Conv', x, w), F(0.1), np.uint8(130)), 'uint8')
    yield m

    m = Model('empty')
    none = [np.array([i], np.int64) for i in (0, 0, 1)]
    x = m.pair(m.add('Slice', m.input('x', [4, 6]), none[0], none[1], none[0]), scale(), np.uint8(3))
    w = m.add('DequantizeLinear', ints(np.int8, 6, 2), scales(2), np.zeros(2, np.int8), axis=1)
    m.output(m.pair(m.add('MatMul', x, w), scale(), np.uint8(3)))
    e = m.add('Slice', m.input('e', [2, 4, 3]), none[0], none[1], none[2])
    m.output(m.pair(e, scales(3), np.zeros(3, np.int8), axis=2))
    yield m

    m = Model('rank_0')
    x = m.pair(m.input('x', []), scale(), np.uint8(100))
    m.output(m.pair(m.add('Mul', x, m.pair(m.input('y', []), scale(), np.int8(0))), F(0.05), np.uint8(4)))
    yield m

    m = Model('scales_of_one_element')  # [1] in place of a scalar, the axis says nothing
    x = m.pair(m.input('x', [4, 9]), np.array([scale()]), np.array([17], np.uint8), axis=0)
    w = m.add('DequantizeLinear', ints(np.int8, 9, 3), np.array([scale()]), np.array([0], np.int8))
    m.output(m.add('MatMul', x, w))
    yield m

    m = Model('requantised')  # from one scale and type to another, and to a third
    x = m.pair(m.input('x', [7, 8]), scale(), np.uint8(77))
    y = m.pair(x, scale(), np.int8(-5))
    m.output(m.pair(y, F(0.3), np.uint8(1)))
    m.output(m.add('QuantizeLinear', y, F(0.5), np.int8(9)), 'int8')
    yield m

    m = Model('gemm_with_everything')
    a = m.pair(m.input('x', [11, 4]), scale(), np.uint8(130))
    b = m.add('DequantizeLinear', ints(np.int8, 5, 11), scales(5), np.zeros(5, np.int8), axis=0)
    c = m.add('DequantizeLinear', r.integers(-99, 99, (4, 1)).astype(np.int32), F(0.01))
    m.output(m.pair(m.add('Gemm', a, b, c, transA=1, transB=1, alpha=0.5, beta=2.0), scale(), np.int8(3)))
    yield m

    m = Model('both_factors_computed')  # batches that broadcast, signed with unsigned
    a = m.pair(m.input('x', [2, 1, 5, 6]), scale(), np.uint8(111))
    b = m.pair(m.input('y', [3, 6, 7]), scale(), np.int8(-9))
    m.output(m.pair(m.add('MatMul', a, b), F(0.05), np.uint8(128)))
    yield m

    m = Model('transposed_convolution')
    x = m.pair(m.input('x', [1, 4, 5, 5]), scale(), np.uint8(140))
    w = m.add('DequantizeLinear', ints(np.int8, 4, 3, 3, 3), scales(3), np.zeros(3, np.int8), axis=1)
    m.output(m.pair(m.add('ConvTranspose', x, w, strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]), F(0.1),
                    np.uint8(100)))
    yield m

    m = Model('depthwise_in_one_dimension')
    x = m.pair(m.input('x', [2, 9, 20]), scale(), np.uint8(31))
    w = m.add('DequantizeLinear', ints(np.int8, 9, 1, 5), scales(9), np.zeros(9, np.int8), axis=0)
    m.output(m.pair(m.add('Conv', x, w, group=9, auto_pad='SAME_UPPER', strides=[2]), scale(), np.uint8(128)))
    yield m

    m = Model('scales_along_a_negative_axis')
    m.output(m.pair(m.input('x', [2, 3, 5]), scales(5), ints(np.int8, 5), axis=-1))
    m.output(m.pair(m.input('y', [4, 3]), scales(4), ints(np.uint8, 4), axis=-2))
    yield m

    m = Model('sixteen_bits', 21)
    x = m.pair(m.input('x', [3, 8]), F(0.001), np.uint16(30000))
    w = m.add('DequantizeLinear', ints(np.int16, 8, 4), scales(4), np.zeros(4, np.int16), axis=1)
    m.output(m.pair(m.add('MatMul', x, w), F(0.05), np.int16(0)))
    yield m

    m = Model('integers_move_and_pool')  # what moves bytes, on bytes
    q = m.add('QuantizeLinear', m.input('x', [1, 4, 6, 6]), scale(), np.uint8(50))
    p = m.add('MaxPool', q, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    t = m.add('Transpose', p, perm=[0, 2, 3, 1])
    s = m.add('Slice', t, np.array([0], np.int64), np.array([2], np.int64), np.array([1], np.int64))
    m.output(m.add('DequantizeLinear', s, scale(), np.uint8(50)))
    m.output(m.add('Concat', p, p, axis=1), 'uint8')
    yield m

    m = Model('residual_of_three_scales')
    x = m.pair(m.input('x', [1, 8, 5, 5]), scale(), np.uint8(128))
    w = m.add('DequantizeLinear', ints(np.int8, 8, 8, 1, 1), scales(8), np.zeros(8, np.int8), axis=0)
    c = m.pair(m.add('Conv', x, w), F(0.1), np.uint8(120))
    m.output(m.pair(m.add('Relu', m.add('Add', c, x)), F(0.08), np.uint8(0)))
    yield m

    m = Model('flattened_into_a_classifier')
    x = m.pair(m.add('GlobalAveragePool', m.pair(m.input('x', [2, 7, 3, 3]), scale(), np.uint8(9))), scale(), np.uint8(9))
    w = m.add('DequantizeLinear', ints(np.int8, 5, 7), scales(5), np.zeros(5, np.int8), axis=0)
    m.output(m.add('Gemm', m.add('Flatten', x), w, r.normal(size=5).astype(F), transB=1))
    yield m

    m = Model('qlinear_forms')
    x = m.add('QuantizeLinear', m.input('x', [1, 3, 6, 6]), F(0.02), np.uint8(90))
    y = m.add('QLinearConv', x, F(0.02), np.uint8(90), ints(np.int8, 4, 3, 3, 3), scales(4), np.zeros(4, np.int8), F(0.4),
              np.uint8(110), r.integers(-999, 999, 4).astype(np.int32), pads=[1, 1, 1, 1])
    z = m.add('Reshape', y, np.array([4, 36], np.int64))
    m.output(m.add('QLinearMatMul', z, F(0.4), np.uint8(110), ints(np.int8, 36, 5), scales(5), np.zeros(5, np.int8), F(9),
                   np.uint8(128)), 'uint8')
    yield m

    m = Model('integer_products')  # sums as they are, zero points of both sides
    a, b = m.input('x', [3, 9], 'uint8'), m.input('w', [9, 4], 'int8')
    m.output(m.add('MatMulInteger', a, b, np.uint8(200), np.int8(-7)), 'int32')
    m.output(m.add('ConvInteger', m.input('i', [1, 2, 5, 5], 'uint8'), ints(np.int8, 3, 2, 3, 3), np.uint8(12),
                   pads=[1, 1, 1, 1]), 'int32')
    yield m

    m = Model('dynamic')
    q, s, z = m.add('DynamicQuantizeLinear', m.input('x', [4, 13]), outputs=3)
    p = m.add('MatMulInteger', q, ints(np.int8, 13, 6), z, np.int8(0))
    m.output(m.add('Mul', m.add('Cast', p, to=TensorProto.FLOAT), m.add('Mul', s, F(0.02))))
    yield m

    m = Model('dynamic_of_nothing')  # a range of no width
    z = m.add('Mul', m.input('x', [2, 3]), F(0))
    for value, dtype in zip(m.add('DynamicQuantizeLinear', z, outputs=3), ['uint8', 'float', 'uint8']):
        m.output(value, dtype)
    yield m


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('folder')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for model in random_models(np.random.default_rng(options.seed)):
        model.save(options.folder)


if __name__ == '__main__':
    main()
