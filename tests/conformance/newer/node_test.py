# SPDX-License-Identifier: Apache-2.0
"""One node, its operands and its results, written as ONNX stores backend tests: NAME/model.onnx and NAME/test_data_set_0."""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'modern'))
sys.dont_write_bytecode = True
from model import F, Model  # noqa: E402

I64 = np.int64


class NodeTest(Model):
    """`op` of `opset` on `operands` (arrays, TensorProtos, None where one is left out) gives `results`."""

    def __init__(self, name, op, opset, operands, results, **attributes):
        super().__init__('test_' + name, 'node', opset)
        names = []
        for i, operand in enumerate(operands):
            names.append(None if operand is None else self.feed(f'x{i}', operand))
        made = self.add(op, *names, outputs=len(results), **attributes)
        for value, result in zip([made] if len(results) == 1 else made, results):
            self.output(value, result, elements(result))

    def feed(self, name, operand):
        if isinstance(operand, TensorProto):
            operand.name = name
            self.inputs.append(onnx.helper.make_tensor_value_info(name, operand.data_type, list(operand.dims)))
            self.feeds.append(operand)
            return name
        return self.input(name, operand)

    def save(self, folder):
        place = os.path.join(folder, 'node', self.name)
        data = os.path.join(place, 'test_data_set_0')
        os.makedirs(data)
        onnx.save(self.proto(), os.path.join(place, 'model.onnx'))
        tensors = [('input', i, tensor) for i, tensor in enumerate(self.feeds)]
        for i, result in self.expected.items():
            tensors.append(('output', i, result if isinstance(result, TensorProto) else numpy_helper.from_array(result)))
        for kind, i, tensor in tensors:
            with open(os.path.join(data, f'{kind}_{i}.pb'), 'wb') as file:
                file.write(tensor.SerializeToString())


def elements(result):
    if isinstance(result, TensorProto):
        return result.data_type
    return onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[result.dtype]


def raw(kind, codes):
    """A tensor of a type that numpy lacks, from the codes of its elements; two of four bits are one byte."""
    codes = np.asarray(codes, np.uint8)
    flat = codes.reshape(-1)
    if kind in (21, 22, 23):
        flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
        flat = (flat[0::2] & 15) | (flat[1::2] << 4)
    return TensorProto(data_type=kind, dims=codes.shape, raw_data=flat.astype(np.uint8).tobytes())


def draw(name, *extents):
    return Model(name, '').numbers(*extents)


def whole(name, low, high, extents, kind=I64):
    return Model(name, '').random.integers(low, high, extents).astype(kind)
