# SPDX-License-Identifier: Apache-2.0
"""Short chains of operators, each reading what the one before gave and sometimes an older value: what single operators cannot
show, views of views, casts between, folding of constants and fusion. Every step knows the extents of what it gives."""
from random_model import np


class Chain:
    def __init__(self, d):
        self.d = d
        self.kind = d.pick('float', 'float', 'float', 'double', 'float16', 'int32', 'int64',
                           'uint8' if d.opset >= 14 else 'int32', 'bfloat16' if d.opset >= 13 else 'float')
        self.extents = d.shape(1, 4, d.pick(0, 1, 1, 1))
        self.value = d.numbers(self.kind, self.extents, constant=0.1)
        self.past = [(self.value, self.kind, list(self.extents))]

    @property
    def real(self):
        return self.kind in ('float', 'double', 'float16', 'bfloat16')

    def made(self, value, extents=None, kind=None):
        self.value, self.extents = value, [int(e) for e in (self.extents if extents is None else extents)]
        self.kind = kind or self.kind

    def unary(self):
        if not self.real:
            return self.made(self.d.add('Abs', self.value))
        op = self.d.pick('Relu', 'Sigmoid', 'Tanh', 'Neg', 'Exp', 'Abs', 'Softplus', 'LeakyRelu', 'Erf', 'Sqrt')
        if self.kind == 'bfloat16':
            op = self.d.pick('Tanh', 'Neg', 'Abs', 'Exp', 'Sigmoid')
        x = self.d.add('Abs', self.value) if op == 'Sqrt' else self.value
        if op == 'Exp':
            x = self.d.add('Tanh', x)
        self.made(self.d.add(op, x))

    def other(self):
        fitting = [v for v, k, e in self.past if k == self.kind and e == self.extents]
        if fitting and self.d.chance(0.4):
            return self.d.pick(*fitting)
        mine = [1 if self.d.chance(0.25) else e for e in self.extents][self.d.whole(0, len(self.extents)):]
        return self.d.numbers(self.kind, mine, constant=0.7)

    def binary(self):
        op = self.d.pick('Add', 'Mul', 'Sub', *(['Max', 'Min'] if self.kind != 'bfloat16' and self.d.opset >= 13 else []))
        one, two = self.value, self.other()
        if self.d.chance(0.3):
            one, two = two, one
        self.made(self.d.add(op, one, two))

    def compare(self):
        if self.kind == 'bfloat16':
            return self.binary()
        # Against new numbers: two results that are nearly the same are equal in one rounding and not in another.
        mine = [1 if self.d.chance(0.25) else e for e in self.extents]
        op = self.d.pick('Greater', 'Less', *([] if self.real else ['Equal']))
        mask = self.d.add(op, self.value, self.d.numbers(self.kind, mine), kind='bool')
        self.made(self.d.add('Where', mask, self.value, self.other(), kind=self.kind))

    def cast(self):
        # Reals stay reals: a result just below a whole number may be just above it elsewhere.
        to = self.d.pick('float', 'double', 'float16', *([] if self.real else ['int32', 'int64']))
        self.made(self.d.cast(self.value, to), kind=to)

    def transpose(self):
        perm = [int(i) for i in self.d.r.permutation(len(self.extents))]
        self.made(self.d.add('Transpose', self.value, perm=perm), [self.extents[i] for i in perm])

    def reshape(self):
        total = int(np.prod(self.extents))
        if total == 0:
            return self.transpose()
        n = self.d.pick(*[n for n in range(1, total + 1) if total % n == 0])
        target = self.d.pick([n, total // n], [total], [1, n, total // n], [n, 1, total // n])
        written = list(target)
        if self.d.chance(0.5):
            written[self.d.whole(0, len(target) - 1)] = -1
        self.made(self.d.add('Reshape', self.value, self.d.ints(written)), target)

    def slice(self):
        axis = self.d.whole(0, len(self.extents) - 1) if self.extents else 0
        if not self.extents or self.extents[axis] < 2:
            return self.unary()
        e, step = self.extents[axis], self.d.pick(1, 1, 2, -1)
        start, end = (self.d.whole(0, e - 2), e) if step > 0 else (e - 1, -e - 1)
        after = list(self.extents)
        after[axis] = len(range(*slice(start, None if step < 0 else end, step).indices(e)))
        self.made(self.d.add('Slice', self.value, *[self.d.ints([n]) for n in (start, end, axis, step)]), after)

    def pad(self):
        if self.kind == 'bfloat16' or not self.extents:
            return self.unary()
        amounts = [self.d.whole(0, 1) for _ in range(2 * len(self.extents))]
        rank = len(self.extents)
        after = [e + amounts[i] + amounts[i + rank] for i, e in enumerate(self.extents)]
        mode = self.d.pick('constant', 'edge') if 0 not in self.extents else 'constant'
        fill = self.d.numbers(self.kind, [], constant=0.9) if mode == 'constant' and self.d.chance(0.5) else None
        self.made(self.d.add('Pad', self.value, self.d.ints(amounts), fill, mode=mode), after)

    def concat(self):
        if not self.extents:
            return self.unary()
        axis = self.d.whole(0, len(self.extents) - 1)
        mine = list(self.extents)
        mine[axis] = self.d.whole(1, 3)
        parts = [self.value, self.d.numbers(self.kind, mine, constant=0.5)]
        after = list(self.extents)
        after[axis] += mine[axis]
        self.made(self.d.add('Concat', *(parts if self.d.chance(0.6) else parts[::-1]), axis=axis), after)

    def gather(self):
        if not self.extents or 0 in self.extents:
            return self.unary()
        axis = self.d.whole(0, len(self.extents) - 1)
        index = self.d.r.integers(-self.extents[axis], self.extents[axis], self.d.shape(0, 2, 1, 3))
        after = self.extents[:axis] + list(index.shape) + self.extents[axis + 1:]
        self.made(self.d.add('Gather', self.value, self.d.put(index.astype(np.int64), 0.7), axis=axis), after)

    def expand(self):
        self.made(self.d.add('Expand', self.value, self.d.ints([2] + [1] * len(self.extents))), [2] + self.extents)

    def unsqueeze(self):
        at = self.d.whole(0, len(self.extents))
        axes = {} if self.d.opset >= 13 else {'axes': [at]}
        y = self.d.add('Unsqueeze', self.value, *([self.d.ints([at])] if self.d.opset >= 13 else []), **axes)
        self.made(y, self.extents[:at] + [1] + self.extents[at:])

    def reduce(self):
        if 0 in self.extents or not self.extents or self.kind in ('bfloat16', 'uint8'):
            return self.unary()
        op, axis = self.d.pick('ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin'), self.d.whole(0, len(self.extents) - 1)
        keep = self.d.pick(0, 1)
        if not self.real and op == 'ReduceMean':
            op = 'ReduceSum'
        after = [1 if i == axis else e for i, e in enumerate(self.extents) if keep or i != axis]
        as_input = self.d.opset >= (13 if op == 'ReduceSum' else 18)
        y = self.d.add(op, self.value, self.d.ints([axis]) if as_input else None, keepdims=keep,
                       **({} if as_input else {'axes': [axis]}))
        self.made(y, after)

    def softmax(self):
        if not self.real or not self.extents or self.kind == 'bfloat16':
            return self.binary()
        self.made(self.d.add('Softmax', self.value, axis=self.d.whole(0, len(self.extents) - 1)))

    def normalise(self):
        if not self.real or not self.extents or 0 in self.extents or self.kind == 'bfloat16' or self.d.opset < 17:
            return self.binary()
        axis = self.d.whole(0, len(self.extents) - 1)
        scale = self.d.numbers(self.kind, self.extents[axis:], constant=0.8)
        self.made(self.d.add('LayerNormalization', self.value, scale, axis=axis, epsilon=0.1))

    def matmul(self):
        if not self.real or len(self.extents) < 1 or self.kind == 'bfloat16':
            return self.binary()
        n = self.d.whole(1, 4)
        w = self.d.numbers(self.kind, [self.extents[-1], n], -1, 1, constant=0.8)
        self.made(self.d.add('MatMul', self.value, w), self.extents[:-1] + [n])

    def conv(self):
        if not self.real or len(self.extents) != 4 or 0 in self.extents or self.kind == 'bfloat16':
            return self.unsqueeze() if len(self.extents) in (2, 3) else self.unary()
        n, c, h, w = self.extents
        k = self.d.whole(1, 2) if min(h, w) > 1 else 1
        out, pad = self.d.whole(1, 4), self.d.whole(0, 1)
        weight = self.d.numbers(self.kind, [out, c, k, k], -1, 1, constant=0.9)
        bias = self.d.numbers(self.kind, [out], constant=0.9) if self.d.chance(0.5) else None
        y = self.d.add('Conv', self.value, weight, bias, kernel_shape=[k, k], pads=[pad] * 4)
        self.made(y, [n, out, h + 2 * pad - k + 1, w + 2 * pad - k + 1])


STEPS = ('unary', 'unary', 'binary', 'binary', 'compare', 'cast', 'transpose', 'reshape', 'slice', 'pad', 'concat', 'gather',
         'expand',
         'unsqueeze', 'reduce', 'reduce', 'softmax', 'normalise', 'matmul', 'conv')


def chain(d):
    d.opset = d.whole(13, 23) if d.chance(0.8) else d.whole(11, 12)
    d.special = False
    made = Chain(d)
    for _ in range(d.whole(2, 6)):
        getattr(made, d.pick(*STEPS))()
        made.past.append((made.value, made.kind, list(made.extents)))
        if int(np.prod(made.extents)) > 3000:
            break
    outputs = [made.value]
    if d.chance(0.3):
        outputs.append(d.pick(*made.past)[0])
    names, unique = set(), []
    for value in outputs:
        if value.name not in names and value.name not in {n for n, _, _ in d.inputs} | {t.name for t in d.initializers}:
            names.add(value.name)
            unique.append(value)
    if not unique:
        unique = [d.add('Identity', made.value)]
    return unique
