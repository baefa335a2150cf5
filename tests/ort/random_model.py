# SPDX-License-Identifier: Apache-2.0
"""What random_operators.py draws a model with: element types, numbers, where an operand comes from, and the schema lines of
resources/operators, which say what an operator takes in each opset. Knows no operator by name."""
import os
import re

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
INTS = ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64')
FLOATS = ('float', 'double', 'float16', 'bfloat16')
KINDS = {'float': np.float32, 'double': np.float64, 'float16': np.float16, 'bool': np.bool_, 'string': np.object_,
         **{kind: np.dtype(kind).type for kind in INTS}}
NUMBERS = {'float': 1, 'uint8': 2, 'int8': 3, 'uint16': 4, 'int16': 5, 'int32': 6, 'int64': 7, 'string': 8, 'bool': 9,
           'float16': 10, 'double': 11, 'uint32': 12, 'uint64': 13, 'bfloat16': 16, 'float8e4m3fn': 17,
           'float8e4m3fnuz': 18, 'float8e5m2': 19, 'float8e5m2fnuz': 20, 'uint4': 21, 'int4': 22}
# Types that JavaScript does not have, and what shows all of their numbers.
SHOWN_AS = {'bfloat16': 'float', 'float8e4m3fn': 'float', 'float8e4m3fnuz': 'float', 'float8e5m2': 'float',
            'float8e5m2fnuz': 'float', 'int4': 'int8', 'uint4': 'uint8'}
LAST_OPSET = 24  # ONNX Runtime 1.30 has kernels up to here


class Version:
    """A line of operators.txt: since which opset, attributes with defaults, which types a name stands for."""

    def __init__(self, since, operands, attributes, types):
        self.since = since
        self.inputs = [word.partition(':')[0] for word in operands.partition('->')[0].split()]
        self.attributes = {}
        for word in re.findall(r"(\w+):\w+(?:=('[^']*'|\S+))?", attributes):
            self.attributes[word[0]] = word[1] if word[1] else None
        self.types = {key: value.split(',') for key, value in (word.split('=') for word in types.split())}
        words = [w for w in operands.partition('->')[0].split() if ':' in w]
        self.first = words[0].partition(':')[2] if words else ''

    def is_default(self, name, value):
        default = self.attributes.get(name)
        if default is None:
            return False
        if default.startswith("'"):
            return default.strip("'") == value
        return not isinstance(value, (str, list)) and float(default) == float(value)


def read_versions():
    out = {}
    with open(os.path.join(HERE, '..', '..', 'resources', 'operators', 'operators.txt'), encoding='utf-8') as file:
        for line in file:
            if line.startswith('#') or ' : ' not in line:
                continue
            head, body = line.rstrip('\n').split(' : ', 1)
            name, since = head.split()
            operands, attributes, types = (body.split('|') + ['', ''])[:3]
            out.setdefault(name, []).append(Version(int(since), operands, attributes, types))
    return out


VERSIONS = read_versions()


def bfloat16(numbers):
    """Floats that bfloat16 has."""
    return (np.asarray(numbers, np.float32).view(np.uint32) & np.uint32(0xffff0000)).view(np.float32)


class Value:
    def __init__(self, name, kind, extents=None):
        self.name, self.kind, self.extents = name, kind, extents


class Draw:
    """One model as it is drawn. An operand is None (left out), a Value, or an array that becomes one somewhere."""

    def __init__(self, seed, opset=None):
        self.r = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.initializers, self.inputs, self.outputs, self.domains = [], [], [], [], set()
        self.count = 0
        self.seen = []  # every Value
        self.symbols = {}  # extents of inputs that the file leaves open
        self.folded = self.chance(0.1)  # nothing is an input
        self.special = False  # whether numbers may be infinite, not a number, denormal, at the limits of integers

    # Choices ---------------------------------------------------------------------------------------------------------
    def pick(self, *items):
        return items[int(self.r.integers(len(items)))]

    def chance(self, share):
        return self.r.random() < share

    def whole(self, low, high):
        """Both ends can be drawn."""
        return int(self.r.integers(low, high + 1))

    def shape(self, least=0, most=5, low=1, high=5):
        rank = self.whole(least, most) if self.chance(0.85) else self.whole(least, max(most, min(6, most + 1)))
        high *= 6 if self.chance(0.08) else 1  # beyond the lanes of a vector
        extents = [self.whole(1, high) for _ in range(rank)]
        if extents and low == 0 and self.chance(0.3):
            extents[self.whole(0, rank - 1)] = 0
        while np.prod(extents) > 600:
            extents[int(np.argmax(extents))] //= 2
        return extents

    def axis(self, rank, beyond=0):
        """Any axis, as it is or counted from the end."""
        at = self.whole(0, max(rank + beyond - 1, 0))
        return at - rank - beyond if self.chance(0.5) and rank + beyond > 0 else at

    def axes(self, rank, least=0):
        count = self.whole(min(least, rank), rank)
        back = rank if self.opset and self.opset >= 11 else 0
        return [int(a) - (back if self.chance(0.4) else 0) for a in self.r.permutation(rank)[:count]]

    # Schemas ---------------------------------------------------------------------------------------------------------
    def version(self, op, domain=''):
        versions = VERSIONS.get(f'{domain}.{op}' if domain else op, [])
        fitting = [v for v in versions if domain or v.since <= (self.opset or LAST_OPSET)]
        return fitting[-1] if fitting else None

    def choose_opset(self, op, least=7, most=LAST_OPSET):
        """Of all meanings that the operator had, each as often."""
        marks = [v.since for v in VERSIONS.get(op, [])]
        spans = [(max(low, least), min(high - 1, most)) for low, high in zip(marks, marks[1:] + [LAST_OPSET + 1])]
        low, high = self.pick(*[span for span in spans if span[0] <= span[1]])
        self.opset = self.whole(low, high)

    def kind(self, op, among=FLOATS + INTS + ('bool',), name=None, domain='', plain=0.5):
        """An element type that the operator takes now, float in half of the cases."""
        version = self.version(op, domain)
        allowed = version.types.get(name or version.first) if version else None
        fitting = [k for k in among if (k in allowed if allowed else k != 'bfloat16' or version and version.since >= 13)]
        if 'float' in fitting and self.chance(plain):
            return 'float'
        return self.pick(*fitting)

    # Numbers ---------------------------------------------------------------------------------------------------------
    def array(self, kind, extents, low=None, high=None):
        if kind == 'bool':
            return self.r.random(extents) < 0.5
        if kind == 'string':
            return np.array([self.pick('a', 'b', '', 'word', 'A b') for _ in range(int(np.prod(extents)))],
                            np.object_).reshape(extents)
        if kind in INTS:
            info = np.iinfo(kind)
            low = -9 if low is None else low
            high = 9 if high is None else high
            out = self.r.integers(max(low, info.min), min(high, info.max) + 1, extents).astype(KINDS[kind])
            if self.special and low <= -9:
                out = np.where(self.r.random(extents) < 0.2, self.r.choice(
                    np.array([info.min, info.max, info.min + 1, info.max - 1], KINDS[kind]), extents), out)
            return out.astype(KINDS[kind])
        low, high = -3 if low is None else low, 3 if high is None else high
        out = self.r.uniform(low, high, extents)
        if self.chance(0.15):
            out = np.round(2 * out) / 2
            out = np.clip(out, low, high)
        if self.special and low == -3 and high == 3:
            tiny = {'double': 1e-310, 'float16': 1e-7}.get(kind, 1e-40)
            large = {'double': 1e300, 'float16': 6e4}.get(kind, 3e38)
            out = np.where(self.r.random(extents) < 0.2, self.r.choice(
                np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, tiny, -tiny, large, -large]), extents), out)
        with np.errstate(all='ignore'):
            out = np.asarray(out, KINDS.get(kind, np.float32))
        return bfloat16(out) if kind == 'bfloat16' else out

    # Operands --------------------------------------------------------------------------------------------------------
    def name(self, stem='v'):
        self.count += 1
        return f'{stem}{self.count}'

    def put(self, array, constant=0.35):
        """An input, an initializer, an initializer that an input may replace, or a Constant."""
        array = np.asarray(array)
        name = self.name('x')
        kind = next(k for k, t in KINDS.items() if np.dtype(t) == array.dtype)
        value = Value(name, kind, list(array.shape))
        self.seen.append(value)
        if self.chance(1 - constant) and not self.folded:
            self.inputs.append((name, kind, array))
            return value
        tensor = self.tensor(name, kind, array)
        how = self.r.random()
        if how < 0.2:
            self.nodes.append(helper.make_node('Constant', [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
            if how < 0.3:
                self.inputs.append((name, kind, None))
        return value

    @staticmethod
    def tensor(name, kind, array):
        if kind == 'string':
            return TensorProto(name=name, data_type=8, dims=array.shape, string_data=[s.encode() for s in array.flat])
        return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)

    def ints(self, numbers, kind='int64', constant=0.85):
        return self.put(np.asarray(numbers, KINDS[kind]), constant)

    def numbers(self, kind, extents, low=None, high=None, constant=0.35):
        """An operand of that type; bfloat16 comes through a Cast, since JavaScript has no such numbers."""
        value = self.put(self.array(kind, extents, low, high), constant)
        return self.cast(value, kind)

    def cast(self, value, kind):
        if value.kind == kind:
            return value
        out = Value(self.name(), kind, value.extents)
        self.seen.append(out)
        self.nodes.append(helper.make_node('Cast', [value.name], [out.name], to=NUMBERS[kind]))
        return out

    # Nodes -----------------------------------------------------------------------------------------------------------
    def add(self, op, *operands, outputs=1, kind=None, domain='', **attributes):
        """A node. Attributes that this opset does not have are left out, those with their default mostly; outputs: their
        number, or for each whether it is wanted. Gives Values of `kind`, the first operand's without."""
        values = [o if o is None or isinstance(o, Value) else self.put(o) for o in operands]
        while values and values[-1] is None:
            values.pop()
        version = self.version(op, domain)
        given = {}
        for name, value in attributes.items():
            if value is None or version and name not in version.attributes:
                continue
            if version and version.is_default(name, value) and self.chance(0.5):
                continue
            given[name] = value
        wanted = [True] * outputs if isinstance(outputs, int) else list(outputs)
        kinds = kind if isinstance(kind, (list, tuple)) else [kind or (values[0].kind if values else 'float')] * len(wanted)
        results = [Value(self.name('y') if want else '', k) for want, k in zip(wanted, kinds)]
        self.seen += results
        node = NodeProto(op_type=op, domain=domain, input=[v.name if v else '' for v in values],
                         output=[v.name for v in results])
        for name, value in given.items():
            if isinstance(value, list) and not value:  # make_attribute cannot tell its type
                node.attribute.append(AttributeProto(name=name, type=AttributeProto.INTS))
            else:
                node.attribute.append(helper.make_attribute(name, value))
        self.nodes.append(node)
        self.domains.add(domain)
        return results[0] if len(results) == 1 else results

    def default(self, name):
        """What an initializer holds."""
        tensor = next(t for t in self.initializers if t.name == name)
        if tensor.data_type == NUMBERS['string']:
            return np.array([s.decode() for s in tensor.string_data], np.object_).reshape(tensor.dims)
        return numpy_helper.to_array(tensor)

    def default_of(self, slot):
        """The numbers of that operand of the last node, wherever they stand."""
        name = self.nodes[-1].input[slot]
        given = [array for n, _, array in self.inputs if n == name and array is not None]
        made = [numpy_helper.to_array(n.attribute[0].t) for n in self.nodes if n.output[0] == name and n.op_type == 'Constant']
        return (given + made + [None])[0] if given or made else self.default(name)

    def output(self, *values):
        """Outputs of the model; types that JavaScript does not have go through a Cast."""
        for value in values:
            if value and value.name:
                self.outputs.append(self.cast(value, SHOWN_AS.get(value.kind, value.kind)))

    def declared(self, extents, share):
        """The extents of an input as the file says them: some are symbols."""
        out = list(extents)
        for i, extent in enumerate(extents):
            if extent > 0 and self.chance(share):  # a symbol is taken to be at least 1
                out[i] = f'd{len(self.symbols)}'
                self.symbols[out[i]] = int(extent)
        return out

    def model(self):
        infos, share = [], self.pick(0, 0, 0.6)
        for name, kind, array in self.inputs:
            if array is None:
                tensor = next(t for t in self.initializers if t.name == name)
                infos.append(helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)))
            else:
                infos.append(helper.make_tensor_value_info(name, NUMBERS[kind], self.declared(array.shape, share)))
        graph = GraphProto(name='drawn', node=self.nodes, input=infos, initializer=self.initializers,
                           output=[ValueInfoProto(name=v.name) for v in self.outputs])
        versions = {'': self.opset or LAST_OPSET, 'com.microsoft': 1, 'ai.onnx.ml': 3}
        ir = 4 if self.opset and self.opset < 15 else 8 if self.opset and self.opset < 21 else 10
        return ModelProto(ir_version=ir, graph=graph,
                          opset_import=[helper.make_opsetid(d, versions[d]) for d in sorted(self.domains | {''})])
