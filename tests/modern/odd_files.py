# SPDX-License-Identifier: Apache-2.0
"""Files that must open although little of them can be computed: what cannot be is named, the rest fuses. In FOLDER/refused
what does not open yet, or means nothing: types that no value here can have, and shapes that contradict each other."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from model import F, Model


def save(m, folder, change=None, refused=False):
    folder = os.path.join(os.path.dirname(folder), 'refused') if refused else folder
    proto = m.proto()
    if change:
        change(proto)
    onnx.save(proto, os.path.join(folder, m.name + '.onnx'))


def linear_relu(m, x):
    return m.add('Relu', m.add('Add', m.add('MatMul', x, m.numbers(8, 8)), m.numbers(8)))


def absent_weights(folder):
    m = Model('absent_weights', 'absent')
    m.output(linear_relu(m, m.input('x', m.numbers(3, 8))))

    def outside(proto):
        for tensor in proto.graph.initializer:
            tensor.ClearField('raw_data')
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key='location', value='not_here.bin')
    save(m, folder, outside)


def absent_shape_operand(folder):
    """A Reshape whose extents are in the absent file: its shape is not known."""
    m = Model('absent_extents', 'absent')
    x = m.add('Reshape', linear_relu(m, m.input('x', m.numbers(3, 8))), np.array([4, 6]))
    m.output(m.add('Relu', x))

    def outside(proto):
        tensor = proto.graph.initializer[-1]
        tensor.ClearField('raw_data')
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key='location', value='not_here.bin')
    save(m, folder, outside)


def unknown_domain(folder):
    m = Model('unknown_domain', 'kept')
    x = linear_relu(m, m.input('x', m.numbers(3, 8)))
    x = m.add('RotaryQK', x, domain='com.acme', interleaved=1)
    x = m.add('Reshape', x, np.array([3, 8]))
    m.output(linear_relu(m, x))
    save(m, folder)


def unknown_operator(folder):
    m = Model('newer_opset', 'kept', 99)
    x = linear_relu(m, m.input('x', m.numbers(3, 8)))
    m.output(m.add('OfNextYear', x, knob=2))
    save(m, folder)


def contradiction(folder):
    m = Model('contradiction', 'kept')
    x = linear_relu(m, m.input('x', m.numbers(3, 8)))
    m.output(m.add('MatMul', x, m.numbers(7, 5)))
    save(m, folder, refused=True)


def cycle_free_declared(folder):
    """A declared shape that the operator contradicts."""
    m = Model('declared_otherwise', 'kept')
    x = linear_relu(m, m.input('x', m.numbers(3, 8)))
    m.output(x)

    def declare(proto):
        del proto.graph.output[:]
        proto.graph.output.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, (5, 8)))
    save(m, folder, declare)


def element_types(folder):
    """A constant of every element type up to opset 25, each read by a Shape."""
    for kind, size in ((9, 1), (14, 8), (15, 16), (16, 2), (17, 1), (18, 1), (19, 1), (20, 1), (21, 0.5), (22, 0.5), (23, 0.5),
                       (24, 1), (25, 0.25), (26, 0.25)):
        m = Model(f'element_type_{kind}', 'kept', 25)
        stored = TensorProto(data_type=kind, dims=(8,), raw_data=bytes(int(8 * size)))
        m.output(m.add('Shape', stored), kind=TensorProto.INT64)
        m.input('x', m.numbers(2))
        m.output(m.add('Relu', 'x'))
        save(m, folder)


def strings(folder):
    m = Model('strings', 'kept')
    kept = m.constant(helper.make_tensor('s', TensorProto.STRING, (3,), [b'a', b'b', b'c']))
    m.input('x', m.numbers(2))
    m.output(m.add('Gather', kept, np.array([2, 0])), kind=TensorProto.STRING)
    m.output(m.add('Relu', 'x'))
    save(m, folder)


def sequences(folder):
    m = Model('sequences', 'kept')
    x = m.input('x', m.numbers(4, 8))
    parts = m.add('SplitToSequence', linear_relu(m, x), axis=0, keepdims=1)
    m.output(m.add('Relu', m.add('SequenceAt', parts, np.array(1))))
    save(m, folder)
    m = Model('optionals', 'kept', 18)
    x = m.input('x', m.numbers(4, 8))
    some = m.add('Optional', linear_relu(m, x))
    m.output(m.add('Relu', m.add('OptionalGetElement', some)))
    save(m, folder)


def sparse(folder):
    m = Model('sparse_initializer', 'kept')
    x = m.input('x', m.numbers(3, 4))
    m.output(m.add('MatMul', x, 'w'))

    def add(proto):
        values = numpy_helper.from_array(np.array([1, 2, 3], F), 'w')
        indices = numpy_helper.from_array(np.array([0, 5, 11], np.int64), 'w_indices')
        proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4, 3]))
    save(m, folder, add)


def untyped(folder):
    """Inputs of no declared shape, and of no element type."""
    m = Model('no_shapes', 'kept')
    m.output(linear_relu(m, m.input('x', m.numbers(3, 8))))

    def undeclare(proto):
        proto.graph.input[0].type.tensor_type.ClearField('shape')
    save(m, folder, undeclare)
    m.name = 'no_types'
    save(m, folder, lambda proto: proto.graph.input[0].ClearField('type'), refused=True)


def other_types(folder):
    """Maps and sequences of sequences between operators that nobody computes."""
    m = Model('map_of_classes', 'kept')
    m.domains['ai.onnx.ml'] = 3
    scores = m.add('Softmax', linear_relu(m, m.input('x', m.numbers(3, 8))))
    made = m.add('ZipMap', scores, domain='ai.onnx.ml', classlabels_int64s=list(range(3, 11)))
    kind = onnx.TypeProto()  # packages of onnx before 1.13 make no maps
    kind.sequence_type.elem_type.map_type.key_type = TensorProto.INT64
    kind.sequence_type.elem_type.map_type.value_type.tensor_type.elem_type = TensorProto.FLOAT
    save(m, folder, lambda proto: proto.graph.output.append(onnx.ValueInfoProto(name=made, type=kind)))
    m = Model('sequences_of_sequences', 'kept')
    m.output(linear_relu(m, m.input('x', m.numbers(3, 8))))
    deep = onnx.TypeProto()
    deep.sequence_type.elem_type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    save(m, folder, lambda proto: proto.graph.input.append(onnx.ValueInfoProto(name='deep', type=deep)))


def complex_and_ml(folder):
    m = Model('ml_domain', 'kept')
    m.domains['ai.onnx.ml'] = 3
    x = linear_relu(m, m.input('x', m.numbers(3, 8)))
    m.output(m.add('Scaler', x, domain='ai.onnx.ml', offset=[0.0], scale=[2.0]))
    save(m, folder)


ABSENT = [absent_weights, absent_shape_operand]
ODD = [unknown_domain, unknown_operator, contradiction, cycle_free_declared, element_types,
       strings, sequences, sparse, untyped, other_types, complex_and_ml]
