# SPDX-License-Identifier: Apache-2.0
"""How operators of com.microsoft, of attention, signals, sequences and strings are called. Names of
com.microsoft carry their domain."""
from operator_calls import CALLS, PLAIN, call
from random_model import np

BEFORE = set(CALLS)
MS = 'com.microsoft'


def contrib(*names):
    return call(*(f'{MS}.{name}' for name in names))


def add(d, op, *operands, **more):
    return d.add(op.rpartition('.')[2], *operands, domain=op.rpartition('.')[0], **more)


@contrib('Gelu', 'QuickGelu')
def gelu(d, op):
    alpha = d.pick(None, 1.0, 1.7) if op.endswith('QuickGelu') else None
    return add(d, op, d.numbers('float', d.shape(0, 4, d.pick(0, 1))), alpha=alpha)


@contrib('FastGelu', 'BiasGelu')
def bias_gelu(d, op):
    extents = d.shape(1, 4)
    bias = d.numbers('float', extents[-1:]) if op.endswith('BiasGelu') or d.chance(0.6) else None
    return add(d, op, d.numbers('float', extents), bias)


@contrib('SkipLayerNormalization', 'SkipSimplifiedLayerNormalization')
def skip_norm(d, op):
    extents = [d.whole(1, 2), d.whole(1, 3), d.whole(1, 5)]
    skip = extents if d.chance(0.7) else d.pick([1] + extents[1:], extents[1:])
    vector = lambda: d.numbers('float', extents[-1:], constant=0.8)  # noqa: E731
    simplified = 'Simplified' in op
    more = [vector(), *([] if simplified else [vector() if d.chance(0.6) else None]), vector() if d.chance(0.5) else None]
    outputs = d.pick([True], [True, False, False, True])
    return add(d, op, d.numbers('float', extents), d.numbers('float', skip), *more, outputs=outputs, epsilon=d.pick(1e-5, 1e-2))


@contrib('FusedMatMul')
def fused_matmul(d, op):
    m, k, n, batch = d.whole(1, 4), d.whole(1, 4), d.whole(1, 4), d.shape(0, 2, 1, 3)
    turns = [d.pick(0, 1) for _ in range(2)]
    a, b = ([k, m] if turns[0] else [m, k]), ([n, k] if turns[1] else [k, n])
    batches = [d.pick(0, 0, 1) if len(batch) == 1 else 0 for _ in range(2)]
    sides = [side[:1] + batch + side[1:] if moved else batch + side for side, moved in ((a, batches[0]), (b, batches[1]))]
    return add(d, op, *[d.numbers('float', s) for s in sides], alpha=d.pick(1.0, 0.5), transA=turns[0], transB=turns[1],
               transBatchA=batches[0], transBatchB=batches[1])


@contrib('FusedGemm')
def fused_gemm(d, op):
    m, k, n, left, right = d.whole(1, 4), d.whole(1, 4), d.whole(1, 4), d.pick(0, 1), d.pick(0, 1)
    c, act = d.pick([n], [m, n], [1, n], [m, 1]), d.pick('Relu', 'Tanh', 'Sigmoid', 'LeakyRelu')
    c = d.numbers('float', c) if d.chance(0.7) else None
    return add(d, op, d.numbers('float', [k, m] if left else [m, k]), d.numbers('float', [n, k] if right else [k, n]), c,
               transA=left, transB=right, alpha=d.pick(1.0, 0.5), beta=d.pick(1.0, 2.0), activation=act,
               activation_alpha=0.3 if act == 'LeakyRelu' else None)


@contrib('FusedConv')
def fused_conv(d, op):
    c, k, h, w = d.whole(1, 3), d.whole(1, 3), d.whole(3, 6), d.whole(3, 6)
    act = d.pick('Relu', 'Tanh', 'Sigmoid', 'LeakyRelu', 'Clip', 'HardSigmoid')
    params = {'LeakyRelu': [0.2], 'Clip': [-1.0, 1.0], 'HardSigmoid': [0.2, 0.5]}.get(act)
    z = d.numbers('float', [1, k, h, w]) if d.chance(0.4) else None
    return add(d, op, d.numbers('float', [1, c, h, w]), d.numbers('float', [k, c, 3, 3], constant=0.8),
               d.numbers('float', [k], constant=0.8) if d.chance(0.6) else None, z, activation=act, activation_params=params,
               pads=[1] * 4,
               kernel_shape=[3, 3])


def q(d, kind, extents, constant=0.2):
    return [d.numbers(kind, extents, -128, 255, constant), d.numbers('float', [], 0.01, 0.1, 1),
            d.numbers(kind, [], -20, 120, 1)]


@contrib('QLinearAdd', 'QLinearMul')
def qlinear_binary(d, op):
    kind, extents = d.pick('uint8', 'int8'), d.shape(1, 4)
    other = [1 if d.chance(0.2) else e for e in extents][d.whole(0, len(extents)) if d.chance(0.3) else 0:]
    return add(d, op, *q(d, kind, extents), *q(d, kind, other), *q(d, kind, [1])[1:])


@contrib('QLinearLeakyRelu', 'QLinearSigmoid', 'QLinearSoftmax')
def qlinear_unary(d, op):
    kind, extents = d.pick('uint8', 'int8'), d.shape(1, 4)
    how = {'alpha': d.pick(0.1, 0.3)} if 'Relu' in op else {'axis': d.axis(len(extents)), 'opset': 13} if 'Soft' in op else {}
    return add(d, op, *q(d, kind, extents), *q(d, kind, [1])[1:], **how)


@contrib('QLinearGlobalAveragePool', 'QLinearAveragePool')
def qlinear_pool(d, op):
    kind = d.pick('uint8', 'int8')
    how = {'channels_last': 0} if 'Global' in op else {'kernel_shape': [2, 2], 'strides': [d.whole(1, 2)] * 2,
                                                       'pads': [d.whole(0, 1)] * 4,
                                                     'count_include_pad': d.pick(0, 1), 'ceil_mode': d.pick(0, 1)}
    return add(d, op, *q(d, kind, [1, d.whole(1, 3), d.whole(2, 5), d.whole(2, 5)]), *q(d, kind, [1])[1:], **how)


@call('QLinearMatMul', 'QLinearConv')
def qlinear_product(d, op):
    kind = d.pick('uint8', 'int8')
    of = kind if kind == 'int8' else d.pick('uint8', 'int8')
    if op == 'QLinearMatMul':
        m, k, n = d.whole(1, 4), d.whole(1, 4), d.whole(1, 4)
        batch = d.shape(0, 2, 1, 3)
        return d.add(op, *q(d, kind, batch + [m, k]), *q(d, of, [k, n], 0.8), *q(d, kind, [1])[1:])
    c, k, h, w, group = d.whole(1, 3), d.whole(1, 3), d.whole(2, 5), d.whole(2, 5), 1
    weight = [d.numbers(of, [k, c, 2, 2], -128, 255, 1), d.numbers('float', [k] if d.chance(0.5) else [], 0.01, 0.1, 1),
              None]
    weight[2] = d.put(np.zeros(weight[1].extents, of), 1) if of == 'int8' else d.put(np.full(weight[1].extents, 120, of), 1)
    bias = d.numbers('int32', [k], -500, 500, 1) if d.chance(0.5) else None
    return d.add(op, *q(d, kind, [1, c, h, w]), *weight, *q(d, kind, [1])[1:], bias, kernel_shape=[2, 2],
                 pads=[d.whole(0, 1)] * 4, group=group)


@contrib('MatMulNBits')
def matmul_nbits(d, op):
    k, n, block, bits = d.whole(1, 40), d.whole(1, 4), d.pick(16, 32), d.pick(4, 4, 8)
    blocks = -(-k // block)
    packed = d.put(d.r.integers(0, 256, [n, blocks, block * bits // 8]).astype(np.uint8), 1)
    scales = d.numbers('float', [n * blocks], 0.01, 0.1, 1)
    zeros = d.put(d.r.integers(0, 256, [n * (-(-blocks * bits // 8))]).astype(np.uint8), 1) if d.chance(0.5) else None
    return add(d, op, d.numbers('float', d.shape(0, 1, 1, 2) + [d.whole(1, 3), k]), packed, scales, zeros, K=k, N=n,
               block_size=block, bits=bits)


@contrib('MultiHeadAttention')
def multi_head(d, op):
    batch, heads, size, rows, past = d.whole(1, 2), d.whole(1, 3), 2 * d.whole(1, 3), d.whole(1, 3), d.whole(1, 4)
    hidden = heads * size
    bias = d.numbers('float', [3 * hidden], constant=0.8) if d.chance(0.4) else None
    more = d.numbers('float', [d.pick(1, batch), d.pick(1, heads), rows, past]) if d.chance(0.4) else None
    mask = d.put(d.r.integers(0, 2, [batch, past]).astype(np.int32)) if d.chance(0.3) else None
    return add(d, op, d.numbers('float', [batch, rows, hidden]), d.numbers('float', [batch, past, hidden]),
               d.numbers('float', [batch, past, hidden]), bias, mask, more, num_heads=heads, scale=d.pick(None, 0.5),
               unidirectional=d.pick(0, 0, 1) if rows == past else 0)


@contrib('Attention')
def ms_attention(d, op):
    batch, heads, size, rows = d.whole(1, 2), d.whole(1, 3), d.whole(1, 4), d.whole(1, 4)
    hidden, inner = heads * size, d.whole(1, 5)
    mask = d.put(d.r.integers(0, 2, [batch, rows]).astype(np.int32)) if d.chance(0.3) else None
    return add(d, op, d.numbers('float', [batch, rows, inner]), d.numbers('float', [inner, 3 * hidden], constant=0.8),
               d.numbers('float', [3 * hidden], constant=0.8), mask, num_heads=heads, unidirectional=d.pick(0, 0, 1),
               scale=d.pick(None, 0.5))


@contrib('RotaryEmbedding')
def ms_rotary(d, op):
    batch, heads, size, rows = d.whole(1, 2), d.whole(1, 3), 2 * d.whole(1, 3), d.whole(1, 3)
    places = d.r.integers(0, 6, [batch, rows]) if d.chance(0.6) else np.array([d.whole(0, 2)])
    places = d.put(places.astype(np.int64))
    extents = [batch, heads, rows, size] if d.chance(0.5) else [batch, rows, heads * size]
    caches = [d.numbers('float', [6, size // 2], -1, 1, 0.8) for _ in range(2)]
    return add(d, op, d.numbers('float', extents), places, *caches, interleaved=d.pick(0, 1), num_heads=None)


@call('RotaryEmbedding')
def rotary(d, op):
    batch, heads, size, rows = d.whole(1, 2), d.whole(1, 3), 2 * d.whole(1, 3), d.whole(1, 3)
    flat, given = d.chance(0.5), d.chance(0.6)
    turned = 2 * d.whole(1, size // 2) if d.chance(0.3) else size
    places = d.put(d.r.integers(0, 6, [batch, rows]).astype(np.int64)) if given else None
    caches = [d.numbers('float', ([6] if given else [batch, rows]) + [turned // 2], -1, 1, 0.5) for _ in range(2)]
    return d.add(op, d.numbers('float', [batch, rows, heads * size] if flat else [batch, heads, rows, size]), *caches, places,
                 interleaved=d.pick(0, 1), num_heads=heads if flat else None,
                 rotary_embedding_dim=0 if turned == size else turned)


@call('Attention')
def attention(d, op):
    batch, groups, size, rows, keys = d.whole(1, 2), d.whole(1, 2), d.whole(1, 4), d.whole(1, 4), d.whole(1, 4)
    heads, deep, flat, causal = groups * d.whole(1, 2), d.whole(1, 4), d.chance(0.4), d.pick(0, 0, 1)
    keys = rows if causal else keys
    extents = lambda h, n, s: [batch, n, h * s] if flat else [batch, h, n, s]  # noqa: E731
    past = d.whole(1, 3) if d.chance(0.3) else 0
    total = keys + past
    mask = None
    if d.chance(0.5):
        of = d.pick([rows, total], [1, 1, rows, total], [batch, heads, rows, total], [batch, 1, rows, total])
        mask = d.numbers('float', of) if d.chance(0.5) else d.put(d.r.random(of) < 0.7)
    stored = [d.numbers('float', [batch, groups, past, s]) for s in (size, deep)] if past else [None, None]
    outputs = 3 if past or d.chance(0.3) else 1
    if d.chance(0.2):
        outputs = [True, outputs == 3, outputs == 3, True]
    return d.add(op, d.numbers('float', extents(heads, rows, size)), d.numbers('float', extents(groups, keys, size)),
                 d.numbers('float', extents(groups, keys, deep)), mask, *stored, outputs=outputs, kind='float',
                 is_causal=causal,
                 scale=d.pick(None, 0.5), softcap=d.pick(0.0, 0.0, 2.0), q_num_heads=heads if flat else None,
                 kv_num_heads=groups if flat else None, qk_matmul_output_mode=d.whole(0, 3) if isinstance(outputs, list) else 0)


@call('DFT')
def dft(d, op):
    extents = d.shape(2, 4, 1, 6)
    inverse = d.pick(0, 1)
    last = d.pick(1, 2) if not inverse else 2
    axis = d.axis(len(extents))
    length = d.ints(d.whole(1, 8)) if d.chance(0.4) else None
    one = d.pick(0, 1) if last == 1 else 0
    x = d.numbers(d.pick('float', 'double'), extents + [last])
    if d.opset >= 20:
        return d.add(op, x, length, d.ints(axis if axis >= 0 else axis - 1) if d.chance(0.8) else None, inverse=inverse,
                     onesided=one)
    return d.add(op, x, length, axis=axis % len(extents), inverse=inverse, onesided=one)


@call('STFT')
def stft(d, op):
    length, frame, step = d.whole(6, 16), d.whole(2, 6), d.whole(1, 3)
    x = d.numbers('float', [d.whole(1, 2), length, 1])
    window = d.numbers('float', [frame]) if d.chance(0.6) else None
    return d.add(op, x, d.ints(step), window, d.ints(frame) if window is None or d.chance(0.6) else None, onesided=d.pick(0, 1))


@call('HannWindow', 'HammingWindow', 'BlackmanWindow')
def windows(d, op):
    return d.add(op, d.ints(d.whole(1, 9)), kind='float', periodic=d.pick(0, 1))


@call('MelWeightMatrix')
def mel(d, op):
    n = d.whole(4, 16)
    return d.add(op, d.ints(d.whole(1, 5)), d.ints(n), d.ints(8000), d.put(np.array(d.pick(0.0, 20.0), np.float32)),
                 d.put(np.array(d.pick(4000.0, 2000.0), np.float32)), kind='float')


@call('AffineGrid')
def affine_grid(d, op):
    dims, n = d.pick(2, 3), d.whole(1, 2)
    size = d.ints([n, d.whole(1, 2)] + [d.whole(1, 4) for _ in range(dims)])
    return d.add(op, d.numbers('float', [n, dims, dims + 1]), size, align_corners=d.pick(0, 1))


@call('DeformConv')
def deform_conv(d, op):
    group, og = d.pick(1, 1, 2), d.pick(1, 2)
    c, k, h, w = group * og * d.whole(1, 2), group * d.whole(1, 2), d.whole(3, 6), d.whole(3, 6)
    kernel = [d.whole(1, 2), d.whole(1, 3)]
    pads, strides = [d.whole(0, 1) for _ in range(4)], [d.whole(1, 2) for _ in range(2)]
    out = [(e + pads[i] + pads[i + 2] - kernel[i]) // strides[i] + 1 for i, e in enumerate((h, w))]
    taps = kernel[0] * kernel[1]
    bias = d.numbers('float', [k]) if d.chance(0.5) else None
    mask = d.numbers('float', [1, og * taps] + out) if d.chance(0.5) else None
    return d.add(op, d.numbers('float', [1, c, h, w]), d.numbers('float', [k, c // group] + kernel),
                 d.numbers('float', [1, 2 * og * taps] + out),
                 bias, mask, kernel_shape=kernel, pads=pads, strides=strides, group=group, offset_group=og)


@call('TfIdfVectorizer')
def tf_idf(d, op):
    x = d.numbers('int32', d.pick([6], [2, 5]), 0, 4)
    return d.add(op, x, kind='float', min_gram_length=1, max_gram_length=2, max_skip_count=d.whole(0, 2),
                 mode=d.pick('TF', 'IDF', 'TFIDF'),
                 ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[1, 2, 3, 1, 2, 3, 1],
                 weights=d.pick(None, [0.5, 1.0, 2.0, 1.5, 3.0]))


@call('SequenceConstruct', 'SequenceInsert', 'SequenceErase', 'SequenceLength', 'SequenceAt', 'ConcatFromSequence')
def sequence(d, op):
    kind, extents, count = d.pick('float', 'int64', 'double'), d.shape(1, 3, 1, 4), d.whole(1, 4)
    parts = d.add('SequenceConstruct', *[d.numbers(kind, extents) for _ in range(count)])
    place = lambda most: d.ints(d.whole(-most, most - 1), d.pick('int32', 'int64')) if most else None  # noqa: E731
    if op == 'SequenceInsert':
        parts, count = d.add(op, parts, d.numbers(kind, extents), place(count) if d.chance(0.7) else None), count + 1
    if op == 'SequenceErase' and count > 1:
        parts, count = d.add(op, parts, place(count) if d.chance(0.7) else None), count - 1
    if op == 'SequenceLength':
        return d.add(op, parts, kind='int64')
    if op == 'SequenceAt':
        return d.add(op, parts, place(count), kind=kind)
    new = d.pick(0, 1)
    return d.add('ConcatFromSequence', parts, axis=d.axis(len(extents), new), new_axis=new, kind=kind)


@call('SplitToSequence')
def split_to_sequence(d, op):
    kind, extents = d.pick('float', 'int64', 'int32'), d.shape(1, 3, 1, 6)
    axis = d.axis(len(extents))
    e = extents[axis]
    how = d.pick(None, d.ints(d.whole(1, e)), d.ints([1] * (e - 1) + [1]))
    keep = d.pick(0, 1)
    parts = d.add(op, d.numbers(kind, extents), how, axis=axis, keepdims=keep)
    return d.add('SequenceAt', parts, d.ints(d.pick(0, -1)), kind=kind)


@call('StringConcat', 'StringSplit', 'RegexFullMatch', 'StringNormalizer')
def strings(d, op):
    x = d.numbers('string', d.shape(1, 3, 1, 3) if op != 'StringNormalizer' else [d.whole(1, 4)])
    if op == 'StringConcat':
        return d.add(op, x, d.numbers('string', d.pick(x.extents, x.extents[-1:], [1])))
    if op == 'StringSplit':
        return d.add(op, x, outputs=2, kind=['string', 'int64'], delimiter=d.pick(None, ' ', 'o', ''), maxsplit=d.pick(None, 1))
    if op == 'RegexFullMatch':
        return d.add(op, x, kind='bool', pattern=d.pick('a.*', '.*', 'word', 'A b'))
    return d.add(op, x, kind='string', case_change_action=d.pick('NONE', 'LOWER', 'UPPER'), is_case_sensitive=d.pick(0, 1),
                 stopwords=d.pick(None, ['a'], ['WORD', 'b']))


@call('OptionalHasElement', 'OptionalGetElement')
def optional(d, op):
    x = d.numbers('float', d.shape(0, 3))
    if d.opset < 18 or d.chance(0.5):
        x = d.add('Optional', x)
    return d.add(op, x, kind='bool' if op == 'OptionalHasElement' else 'float')


PLAIN |= set(CALLS) - BEFORE
