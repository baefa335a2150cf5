# SPDX-License-Identifier: Apache-2.0
"""How operators that work element by element, reduce or move are called: tables where they are alike, else a function each.
CALLS: a name, and a function that draws one call into a random_model.Draw. Networks' layers are in layer_calls.py."""
from random_model import FLOATS, INTS, NUMBERS, np

CALLS = {}
MOST_OPSET = {'Scatter': 10, 'Upsample': 9}  # deprecated behind
# What NaN, infinities or the limits of an integer give is nowhere said. Nor do layers take them: sums overflow.
PLAIN = {'TopK', 'ArgMax', 'ArgMin', 'Hardmax', 'LogSoftmax', 'Softmax', 'Shrink', 'Cast', 'CastLike', 'ScatterND',
         'ScatterElements', 'Pow', 'CumSum', 'Mean', 'Sum',
         'Unique'}
REALS = ('float', 'double', 'float16', 'bfloat16')


def call(*names):
    def enter(function):
        for name in names:
            CALLS[name] = lambda d, op=name: function(d, op)
        return function
    return enter


def operand(d, op, least=0, most=4, small=1, large=5, among=FLOATS + INTS + ('bool',), **numbers):
    """Of any type that `op` takes."""
    kind = d.kind(op, among)
    extents = d.shape(least, most, small, large)
    return d.numbers(kind, extents, **numbers)


# Element by element --------------------------------------------------------------------------------------------------
# Name: lowest and highest number, or none.
UNARY = {
    **dict.fromkeys('Abs Neg Sign Floor Ceil Round Exp Erf Sigmoid Tanh Sinh Cosh Asinh Atan Sin Cos Tan Softplus Softsign Relu '
                    'Not Identity IsNaN HardSwish Mish Reciprocal BitwiseNot'.split(), (None, None)),
    **dict.fromkeys('Asin Acos Atanh'.split(), (-1, 1)), 'Acosh': (1, 5), 'Log': (0, 5), 'Sqrt': (0, 5),
}
# Name: attributes, each with what draws its value.
ATTRIBUTES = {
    'IsInf': {'detect_negative': lambda d: d.pick(0, 1), 'detect_positive': lambda d: d.pick(0, 1)},
    'Celu': {'alpha': lambda d: d.pick(1.0, 0.5, 2.0)}, 'Elu': {'alpha': lambda d: d.pick(1.0, 0.5, 0.0)},
    'Selu': {'alpha': lambda d: d.pick(1.67326319217681884765625, 1.0),
             'gamma': lambda d: d.pick(1.05070102214813232421875, 2.0)},
    'LeakyRelu': {'alpha': lambda d: d.pick(0.01, 0.3, 0.0, 2.0)},
    'ThresholdedRelu': {'alpha': lambda d: d.pick(1.0, 0.0, -1.0)},
    'HardSigmoid': {'alpha': lambda d: d.pick(0.2, 0.5), 'beta': lambda d: d.pick(0.5, 0.1)},
    'Shrink': {'lambd': lambda d: d.pick(0.5, 1.0), 'bias': lambda d: d.pick(0.0, 0.5)},
    'Gelu': {'approximate': lambda d: d.pick('none', 'tanh')}, 'Swish': {'alpha': lambda d: d.pick(1.0, 0.5, 1.7)},
}


@call(*UNARY)
def unary(d, op):
    low, high = UNARY[op]
    x = operand(d, op, small=d.pick(0, 1), **({} if low is None else {'low': low, 'high': high}))
    return d.add(op, x, kind='bool' if op == 'IsNaN' else None)


@call(*ATTRIBUTES)
def with_attributes(d, op):
    attributes = {name: draw(d) for name, draw in ATTRIBUTES[op].items() if d.chance(0.8)}
    return d.add(op, operand(d, op, small=d.pick(0, 1)), kind='bool' if op == 'IsInf' else None, **attributes)


BINARY = ('Add Sub Mul Div Mod Pow Equal Greater Less GreaterOrEqual LessOrEqual And Or Xor BitShift BitwiseAnd BitwiseOr '
          'BitwiseXor').split()
COMPARISONS = ('Equal', 'Greater', 'Less', 'GreaterOrEqual', 'LessOrEqual')


def broadcasting(d, count, most=4):
    """So many shapes that fit one another."""
    whole = d.shape(0, most, d.pick(0, 1))
    out = []
    for _ in range(count):
        mine = [1 if d.chance(0.25) else e for e in whole]
        out.append(mine[d.whole(0, len(mine)):] if d.chance(0.3) else mine)
    return out


@call(*BINARY)
def binary(d, op):
    kind = d.kind(op, plain=0.4)
    one, two = broadcasting(d, 2)
    attributes = {}
    low, high = None, None
    if op == 'BitShift':
        attributes['direction'] = d.pick('LEFT', 'RIGHT')
        high = np.iinfo(kind).bits - 1
    if op == 'Mod':
        attributes['fmod'] = 1 if kind in REALS else d.pick(0, 1)
    a = d.numbers(kind, one, *((0, 3) if op == 'Pow' and kind in REALS else (None, None)))
    if op == 'Pow':
        powers = ('int32', 'int64') if kind in INTS else REALS[:3] + ('int32', 'int64')
        power = kind if d.opset < 12 else d.kind(op, powers, 'T1')
        return d.add(op, a, d.numbers(power, two, 0 if power in INTS else -2, 3))
    if op in ('Div', 'Mod') and kind in INTS:
        values = d.array(kind, two)
        return d.add(op, a, d.put(np.where(values == 0, 3, values).astype(values.dtype)), **attributes)
    return d.add(op, a, d.numbers(kind, two, low, high), kind='bool' if op in COMPARISONS else None, **attributes)


@call('Max', 'Min', 'Mean', 'Sum')
def variadic(d, op):
    kind, shapes = d.kind(op), broadcasting(d, d.pick(1, 2, 2, 3, 4))
    return d.add(op, *[d.numbers(kind, e if d.opset >= 8 else shapes[0]) for e in shapes])


@call('PRelu')
def prelu(d, op):
    kind = d.kind(op)
    x = d.shape(1, 4)
    slope = [1 if d.chance(0.4) else e for e in x][d.whole(0, len(x)):]
    return d.add(op, d.numbers(kind, x), d.numbers(kind, slope))


@call('Where')
def where(d, op):
    c, x, y = broadcasting(d, 3)
    kind = d.kind(op)
    return d.add(op, d.numbers('bool', c), d.numbers(kind, x), d.numbers(kind, y), kind=kind)


@call('Clip')
def clip(d, op):
    kind = d.kind(op)
    low, high = sorted([d.whole(-3, 3), d.whole(-3, 3)])
    low, high = (max(low, 0), max(high, 0)) if kind.startswith('u') else (low, high)
    if d.opset >= 11 and d.chance(0.1):
        low, high = high, low
    bounds = [b if d.chance(0.7) else None for b in (low, high)]
    if d.opset < 11:
        least, most = [None if b is None else float(b) for b in bounds]
        return d.add(op, operand(d, op, among=(kind,)), min=least, max=most)
    return d.add(op, operand(d, op, among=(kind,)), *[None if b is None else d.numbers(kind, [], b, b) for b in bounds])


def stored_cast(d):
    """To a type of 8 or 4 bits: any number of a float one, of an integer one those that it has."""
    to = d.pick('float8e4m3fn', 'float8e4m3fnuz', 'float8e5m2', 'float8e5m2fnuz', *(['int4', 'uint4'] if d.opset >= 21 else []))
    if to.endswith('int4'):
        low, high = (0, 15) if to == 'uint4' else (-8, 7)
        whole = d.numbers(d.pick('int32', 'int8'), d.shape(0, 3), low, high)  # whether halves are cut off or rounded nobody says
        return d.add('Cast', d.pick(whole, d.cast(whole, 'float')), kind=to, to=NUMBERS[to])
    d.special = d.chance(0.3)
    span = d.pick((None, None), (-0.01, 0.01), (-600, 600), (-70000, 70000))
    kind = d.pick('float', 'float16') if span[1] != 70000 else 'float'
    return d.add('Cast', d.numbers(kind, d.shape(0, 3), *span), kind=to, to=NUMBERS[to], saturate=d.pick(0, 1))


@call('Cast', 'CastLike')
def cast(d, op):
    if op == 'Cast' and d.opset >= 19 and d.chance(0.4):
        return stored_cast(d)
    to = d.kind('Cast', name='T2', plain=0.1)
    x = operand(d, 'Cast', small=d.pick(0, 1))
    if to.startswith('u') and x.kind in REALS:
        x = d.add('Abs', x) if d.opset >= 13 or x.kind != 'bfloat16' else x
    if op == 'CastLike':
        return d.add(op, x, d.numbers(to, [d.whole(0, 2)]), kind=to)
    return d.add(op, x, kind=to, to=NUMBERS[to])


@call('Dropout')
def dropout(d, op):
    x = operand(d, op, 1)
    outputs = d.pick(1, 2)
    if d.opset < 12:
        return d.add(op, x, outputs=outputs, ratio=d.pick(0.5, 0.1), kind=[x.kind, 'bool'][:outputs])
    more = [d.numbers('float', [], 0.1, 0.9) if d.chance(0.5) else None, d.put(np.array(False)) if d.chance(0.5) else None]
    return d.add(op, x, *more, outputs=outputs, kind=[x.kind, 'bool'][:outputs])


# Reductions ----------------------------------------------------------------------------------------------------------
@call(*('Reduce' + end for end in 'L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare'.split()))
def reduce(d, op):
    d.special = d.special and op in ('ReduceMax', 'ReduceMin')
    real = d.special or op in ('ReduceL2', 'ReduceLogSum', 'ReduceLogSumExp')
    among = ('float', 'double', 'float16') if real else FLOATS + INTS + ('bool',)
    span = {'ReduceLogSum': {'low': 0, 'high': 3}, 'ReduceProd': {'low': -2, 'high': 2}}.get(op, {})
    x = operand(d, op, small=d.pick(0, 1, 1), among=among, **span)
    rank = len(x.extents)
    axes = None if d.chance(0.2) else d.axes(rank)
    keepdims, noop = d.pick(0, 1), d.pick(0, 0, 1)
    if 'axes' in d.version(op).attributes:
        return d.add(op, x, axes=axes or None, keepdims=keepdims)
    return d.add(op, x, None if axes is None else d.ints(axes), keepdims=keepdims, noop_with_empty_axes=noop)


@call('ArgMax', 'ArgMin')
def extremum(d, op):
    x = operand(d, op, 1)
    axis = d.axis(len(x.extents))
    return d.add(op, x, kind='int64', axis=axis if axis >= 0 or d.opset >= 11 else 0, keepdims=d.pick(0, 1),
                 select_last_index=d.pick(0, 1))


@call('Softmax', 'LogSoftmax', 'Hardmax')
def softmax(d, op):
    x = operand(d, op, 1, small=d.pick(0, 1, 1))
    axis = d.axis(len(x.extents))
    return d.add(op, x, axis=None if d.chance(0.3) and len(x.extents) > 1 else axis if axis >= 0 or d.opset >= 11 else 0)


@call('CumSum')
def cumsum(d, op):
    x = operand(d, op, 1, small=d.pick(0, 1))
    return d.add(op, x, d.ints(d.axis(len(x.extents)), d.pick('int32', 'int64')), exclusive=d.pick(0, 1), reverse=d.pick(0, 1))


@call('TopK')
def topk(d, op):
    x = operand(d, op, 1)
    axis = d.axis(len(x.extents))
    if d.opset < 11:
        axis = axis % len(x.extents)
    k = d.whole(0 if d.opset >= 10 and d.chance(0.2) else 1, x.extents[axis])
    if d.opset < 10:
        return d.add(op, x, outputs=2, kind=[x.kind, 'int64'], axis=axis, k=k)
    return d.add(op, x, d.ints([k]), outputs=2, kind=[x.kind, 'int64'], axis=axis, largest=d.pick(0, 1), sorted=1)


# Moves ---------------------------------------------------------------------------------------------------------------
@call('Transpose')
def transpose(d, op):
    x = operand(d, op, small=d.pick(0, 1))
    return d.add(op, x, perm=None if d.chance(0.2) else [int(i) for i in d.r.permutation(len(x.extents))])


@call('Reshape')
def reshape(d, op):
    x = operand(d, op, 0, 4, d.pick(0, 1))
    total = int(np.prod(x.extents))
    target, left = [], total
    for _ in range(d.whole(0, 3)):
        fits = [n for n in range(1, left + 1) if left % n == 0]
        n = d.pick(*fits) if fits else 0
        target.append(n)
        left = left // n if n else left
    target.append(left)
    zero = d.pick(0, 1) if d.opset >= 14 else 0
    if not zero:
        target = [0 if i < len(x.extents) and x.extents[i] == n and d.chance(0.4) else n for i, n in enumerate(target)]
    if d.chance(0.4) and total and not (zero and 0 in target):
        target[d.whole(0, len(target) - 1)] = -1
    return d.add(op, x, d.ints(target), allowzero=zero)


@call('Flatten')
def flatten(d, op):
    x = operand(d, op, 0 if d.opset >= 9 else 1, small=d.pick(0, 1))
    at = d.whole(0, len(x.extents))
    return d.add(op, x, axis=at - len(x.extents) if d.opset >= 11 and d.chance(0.4) and at < len(x.extents) else at)


@call('Squeeze', 'Unsqueeze')
def squeeze(d, op):
    extents = d.shape(0, 4, d.pick(0, 1))
    if op == 'Squeeze':
        extents = [1 if d.chance(0.4) else e for e in extents]
        rank, some = len(extents), [i for i, e in enumerate(extents) if e == 1]
        axes = [i - (rank if d.opset >= 11 and d.chance(0.4) else 0) for i in some if d.chance(0.8)]
        axes = None if d.chance(0.2) or not axes else axes
    else:
        rank = len(extents) + d.whole(1, 2)
        axes = [int(i) - (rank if d.opset >= 11 and d.chance(0.4) else 0) for i in d.r.permutation(rank)[:rank - len(extents)]]
        axes = axes if d.opset >= 11 else sorted(axes)
    x = d.numbers(d.kind(op), extents)
    return d.add(op, x, axes=axes) if d.opset < 13 else d.add(op, x, None if axes is None else d.ints(axes))


@call('Concat')
def concat(d, op):
    kind, extents = d.kind(op), d.shape(1, 4, d.pick(0, 1))
    axis = d.axis(len(extents)) if d.opset >= 11 else d.whole(0, len(extents) - 1)
    parts = []
    for _ in range(d.whole(1, 4)):
        mine = list(extents)
        mine[axis] = d.whole(0 if d.chance(0.2) else 1, 4)
        parts.append(d.numbers(kind, mine))
    return d.add(op, *parts, axis=axis)


@call('Split')
def split(d, op):
    extents, count = d.shape(1, 4), d.whole(1, 4)
    axis = d.axis(len(extents)) if d.opset >= 11 else d.whole(0, len(extents) - 1)
    sizes = [d.whole(0 if d.chance(0.2) else 1, 3) for _ in range(count)]
    how = d.pick('sizes', 'equal', 'count')
    if how == 'equal' or how == 'count' and d.opset < 18:
        sizes = [sizes[0] or 1] * count
    extents[axis] = sum(sizes)
    x = d.numbers(d.kind(op), extents)
    kinds = [x.kind] * count
    if how == 'sizes':
        if d.opset < 13:
            return d.add(op, x, outputs=count, kind=kinds, axis=axis, split=sizes)
        return d.add(op, x, d.ints(sizes), outputs=count, kind=kinds, axis=axis)
    if d.opset >= 18:
        piece = -(-extents[axis] // count)
        if piece * (count - 1) >= extents[axis]:
            count = 1
        return d.add(op, x, outputs=count, kind=kinds[:count], axis=axis, num_outputs=count)
    return d.add(op, x, outputs=count, kind=kinds, axis=axis)


@call('Slice')
def slices(d, op):
    x = operand(d, op, 1, 4, d.pick(0, 1))
    rank = len(x.extents)
    axes = [int(a) for a in d.r.permutation(rank)[:d.whole(1, rank)]]
    bound = lambda e: d.pick(d.whole(-e - 2, e + 2), d.whole(0, e), 2**40 if d.chance(0.5) else -2**31)  # noqa: E731
    starts, ends = [[bound(x.extents[a]) for a in axes] for _ in range(2)]
    if d.opset < 10:
        return d.add(op, x, axes=axes, starts=starts, ends=ends)
    named = [a - (rank if d.chance(0.3) else 0) for a in axes]
    steps = d.ints([d.pick(1, 1, 2, 3, -1, -2) for _ in axes]) if d.chance(0.7) else None
    if len(axes) == rank and d.chance(0.3):
        starts, ends = [[b for _, b in sorted(zip(axes, bs))] for bs in (starts, ends)]
        named = None
    return d.add(op, x, d.ints(starts), d.ints(ends), None if named is None else d.ints(named), steps)


@call('Pad')
def pad(d, op):
    x = operand(d, op, 1, 4)
    rank = len(x.extents)
    mode = d.pick('constant', 'constant', 'reflect', 'edge', *(['wrap'] if d.opset >= 19 else []))
    axes = [int(a) for a in d.r.permutation(rank)[:d.whole(1, rank)]] if d.opset >= 18 and d.chance(0.4) else None
    before, after = [], []
    for a in axes or range(rank):
        e = x.extents[a]
        most = {'reflect': e - 1, 'wrap': e}.get(mode, 3)
        cut = mode in ('constant', 'edge')
        before.append(d.whole(-min(1, e - 1) if cut and d.chance(0.3) else 0, most))
        after.append(d.whole(-(e - 1 + min(before[-1], 0)) if cut and d.chance(0.2) else 0, most))
    if d.opset < 11:
        return d.add(op, x, mode=mode, pads=before + after, value=d.pick(0.0, 1.5))
    fill = d.numbers(x.kind, [], constant=0.8) if d.chance(0.4) else None
    named = [a - (rank if d.chance(0.3) else 0) for a in axes] if axes else None
    return d.add(op, x, d.ints(before + after), fill, d.ints(named) if axes else None, mode=mode)


@call('Tile')
def tile(d, op):
    x = operand(d, op, 1, 4, d.pick(0, 1), 3)
    return d.add(op, x, d.ints([d.pick(1, 1, 2, 3, 0 if d.chance(0.2) else 1) for _ in x.extents]))


@call('Expand')
def expand(d, op):
    one, two = broadcasting(d, 2)
    return d.add(op, d.numbers(d.kind(op), one), d.ints(two))


@call('Gather', 'GatherElements')
def gather(d, op):
    x = operand(d, op, 1, 4)
    axis = d.axis(len(x.extents))
    e = x.extents[axis]
    if op == 'Gather':
        extents = d.shape(0, 2, d.pick(0, 1), 3)
    else:
        extents = [d.whole(1, n) for n in x.extents]
        extents[axis] = d.whole(1, 4)
    low = -e if d.opset >= 11 else 0
    axis = axis if d.opset >= 11 else axis % len(x.extents)
    return d.add(op, x, d.numbers(d.pick('int32', 'int64'), extents, low, e - 1), axis=axis)


@call('GatherND')
def gather_nd(d, op):
    x = operand(d, op, 1, 4)
    rank = len(x.extents)
    batch = d.whole(0, min(2, rank - 1)) if d.opset >= 12 else 0
    last = d.whole(1, rank - batch)
    extents = x.extents[:batch] + d.shape(0 if batch < 1 else 0, 2, 1, 3)
    index = np.stack([d.r.integers(-x.extents[batch + i], x.extents[batch + i], extents) for i in range(last)], -1)
    return d.add(op, x, d.put(index.astype(np.int64)), batch_dims=batch)


def reduction(d, op):
    named = d.version(op).attributes
    return d.pick('none', 'add', 'mul', *(['max', 'min'] if d.opset >= 18 else [])) if 'reduction' in named else 'none'


@call('Scatter', 'ScatterElements')
def scatter(d, op):
    x = operand(d, op, 1, 4)
    axis = d.axis(len(x.extents)) if op != 'Scatter' else d.whole(0, len(x.extents) - 1)
    how = reduction(d, op)
    extents = [d.whole(1, n) for n in x.extents]
    e = x.extents[axis]
    order = np.argsort(d.r.random(extents[:axis % len(extents)] + [e] + extents[axis % len(extents) + 1:]), axis=axis)
    if how != 'none' and d.chance(0.5):
        order = d.r.integers(0, e, order.shape)
    index = np.take(order, range(extents[axis]), axis) - (e if op != 'Scatter' and d.chance(0.3) else 0)
    return d.add(op, x, d.put(index.astype(np.int64)), d.numbers(x.kind, extents), axis=axis, reduction=how)


@call('ScatterND')
def scatter_nd(d, op):
    x = operand(d, op, 1, 4)
    last, how = d.whole(1, len(x.extents)), reduction(d, op)
    places = [p for p in np.ndindex(*x.extents[:last])]
    count = d.whole(1, len(places))
    index = np.array([places[i] for i in d.r.permutation(len(places))[:count]], np.int64)
    return d.add(op, x, d.put(index), d.numbers(x.kind, [count] + x.extents[last:]), reduction=how)


@call('Compress')
def compress(d, op):
    x = operand(d, op, 1, 4)
    axis = None if d.chance(0.3) else d.axis(len(x.extents)) if d.opset >= 11 else d.whole(0, len(x.extents) - 1)
    count = int(np.prod(x.extents)) if axis is None else x.extents[axis]
    return d.add(op, x, d.numbers('bool', [d.whole(1, count)]), axis=axis)


@call('DepthToSpace', 'SpaceToDepth')
def depth(d, op):
    n, c, h, w, b = d.whole(1, 2), d.whole(1, 3), d.whole(1, 3), d.whole(1, 3), d.whole(1, 3)
    extents = [n, c * b * b, h, w] if op == 'DepthToSpace' else [n, c, h * b, w * b]
    return d.add(op, d.numbers(d.kind(op), extents), blocksize=b, mode=d.pick('DCR', 'CRD'))


@call('Trilu')
def trilu(d, op):
    x = operand(d, op, 2, 4, d.pick(0, 1))
    return d.add(op, x, d.ints(d.whole(-4, 4)) if d.chance(0.6) else None, upper=d.pick(0, 1))


@call('EyeLike')
def eye(d, op):
    x = operand(d, op, 2, 2, among=('float', 'double', 'int32', 'int64', 'uint64'))
    to = d.pick(None, 'float', 'int64', 'double', 'bool')
    x.extents = x.extents[:2]
    return d.add(op, x, kind=to or x.kind, k=d.whole(-3, 3), dtype=to and NUMBERS[to]) if len(x.extents) == 2 else None


@call('OneHot')
def one_hot(d, op):
    kind, of = d.pick('int64', 'float', 'int32'), d.pick('float', 'int64', 'int32')
    depth_, extents = d.whole(1, 5), d.shape(1, 3)
    index = d.array('int64', extents, -depth_ - 1, depth_ + 1).astype(np.float32 if kind == 'float' else kind)
    depths = np.array(depth_ if d.chance(0.5) else [depth_], d.pick(np.int64, np.float32))
    return d.add(op, d.put(index), d.put(depths, 0.8), d.numbers(of, [2]), kind=of, axis=d.axis(len(extents), 1))


@call('NonZero')
def non_zero(d, op):
    return d.add(op, operand(d, op, 0 if d.opset >= 13 else 1, small=d.pick(0, 1)), kind='int64')


@call('Shape', 'Size')
def shape_of(d, op):
    x = operand(d, op, small=d.pick(0, 1))
    rank = len(x.extents)
    return d.add(op, x, kind='int64', start=None if d.chance(0.4) else d.whole(-rank - 1, rank + 1),
                 end=None if d.chance(0.4) else d.whole(-rank - 1, rank + 1))


@call('Range')
def range_of(d, op):
    kind = d.kind(op, ('float', 'double', 'int16', 'int32', 'int64'))
    step = d.pick(1, 2, -1, -3)
    start = d.whole(-5, 5)
    numbers = [start, start + d.whole(-1, 9) * (1 if step > 0 else -1), step]
    if kind in REALS and d.chance(0.5):
        numbers = [n / 2 for n in numbers]
    return d.add(op, *[d.put(np.array(n, np.dtype({'float': 'f4', 'double': 'f8'}.get(kind, kind))), 0.8) for n in numbers])


@call('ConstantOfShape')
def constant_of_shape(d, op):
    kind = d.kind(op, ('float', 'double', 'float16', 'bool') + INTS, 'T2')
    value = None if d.chance(0.3) else d.tensor('', kind, d.array(kind, [1]))
    return d.add(op, d.ints(d.shape(0, 4, d.pick(0, 1))), kind=kind if value else 'float', value=value)


@call('ReverseSequence')
def reverse_sequence(d, op):
    x = operand(d, op, 2, 4)
    batch = d.pick(0, 1)
    lengths = d.r.integers(1, x.extents[1 - batch] + 1, x.extents[batch])
    return d.add(op, x, d.put(lengths.astype(np.int64)), batch_axis=batch, time_axis=1 - batch)


@call('Unique')
def unique(d, op):
    x = operand(d, op, 1, 3, among=('float', 'double', 'int64', 'int8'))
    axis = None if d.chance(0.5) else d.axis(len(x.extents))
    wanted = [True] + [d.chance(0.7) for _ in range(3)]
    while not wanted[-1]:
        wanted.pop()
    return d.add(op, x, outputs=wanted, kind=[x.kind, 'int64', 'int64', 'int64'][:len(wanted)], axis=axis, sorted=d.pick(0, 1))


@call('CenterCropPad')
def center(d, op):
    x = operand(d, op, 1, 4)
    axes = d.axes(len(x.extents), 1) if d.chance(0.6) else None
    return d.add(op, x, d.ints([d.whole(1, 7) for _ in axes or x.extents]), axes=axes)
