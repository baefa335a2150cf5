# SPDX-License-Identifier: Apache-2.0
"""One graph that grows node by node, its inputs' data and its expected results."""
import os
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F = np.float32
MS = 'com.microsoft'
# By number: packages of onnx before 1.16 have no word for the newer ones.
FLOAT8E4M3FN, UINT4, INT4, FLOAT4E2M1 = 17, 21, 22, 23


class Model:
    """`place`: the folder, by who says what is right: ort, twin (numpy, here) or kept (nobody)."""

    def __init__(self, name, place, opset=17):
        self.name, self.place, self.opset = name, place, opset
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.feeds, self.expected = [], {}
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.domains = {MS: 1}

    def input(self, name, array, extents=None):
        """`extents`: as declared, where they are not the array's."""
        array = np.asarray(array)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, 'np_dtype_to_tensor_dtype') \
            else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]
        self.inputs.append(helper.make_tensor_value_info(name, kind, extents or array.shape))
        self.feeds.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, *extents, scale=1.0):
        return (self.random.standard_normal(extents) * scale).astype(F)

    def constant(self, array, name=None):
        name = name or f'c{len(self.constants)}'
        tensor = array if isinstance(array, onnx.TensorProto) else numpy_helper.from_array(np.asarray(array), name)
        tensor.name = name
        self.constants.append(tensor)
        return name

    def packed(self, kind, *extents):
        """Random elements of half a byte."""
        count = int(np.prod(extents))
        return TensorProto(data_type=kind, dims=extents, raw_data=self.random.bytes((count + 1) // 2))

    def add(self, op, *operands, outputs=1, domain='', **attributes):
        names = [o if o is None or isinstance(o, str) else self.constant(o) for o in operands]
        made = [f'v{len(self.nodes)}_{i}' for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [n or '' for n in names], made, name=f'{op}_{len(self.nodes)}',
                                           domain=domain, **attributes))
        return made[0] if outputs == 1 else made

    def output(self, value, expected=None, kind=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(value, kind, None))
        if expected is not None:
            self.expected[len(self.outputs) - 1] = expected

    def proto(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        used = {node.domain for node in self.nodes if node.domain}
        imports = [helper.make_opsetid('', self.opset)]
        imports += [helper.make_opsetid(domain, self.domains.get(domain, 1)) for domain in sorted(used)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10 if self.opset > 19 else 8)

    def save(self, folder):
        onnx.save(self.proto(), os.path.join(folder, self.name + '.onnx'))
        data = os.path.join(folder, self.name + '_data')
        os.makedirs(data, exist_ok=True)
        for i, tensor in enumerate(self.feeds):
            with open(os.path.join(data, f'input_{i}.pb'), 'wb') as file:
                file.write(tensor.SerializeToString())
        for i, array in self.expected.items():
            with open(os.path.join(data, f'output_{i}.pb'), 'wb') as file:
                file.write(numpy_helper.from_array(np.asarray(array), self.outputs[i].name).SerializeToString())
