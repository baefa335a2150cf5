# SPDX-License-Identifier: Apache-2.0
"""How layers of networks are called: windows, products, normalisations, recurrences, resampling, quantisation."""
from operator_calls import CALLS, PLAIN, call, operand
from random_model import NUMBERS, np

BEFORE = set(CALLS)


def window(d, spaces, dilate=True):
    """kernel_shape, strides, dilations, pads or auto_pad that fit an image; the image's extents grow where it is too small."""
    rank = len(spaces)
    kernel = [d.whole(1, 3) for _ in spaces]
    dilations = [d.pick(1, 1, 2) for _ in spaces] if dilate else [1] * rank
    for i in range(rank):
        spaces[i] = max(spaces[i], (kernel[i] - 1) * dilations[i] + 1)
    auto = d.pick('NOTSET', 'NOTSET', 'NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID')
    pads = [d.whole(0, min((kernel[i % rank] - 1), 2)) for i in range(2 * rank)] if auto == 'NOTSET' else None
    strides = [d.whole(1, 3) for _ in spaces]
    if auto.startswith('SAME'):  # ONNX Runtime and the standard differ where these meet
        dilations = [1] * rank
    return {'kernel_shape': kernel, 'strides': None if set(strides) == {1} and d.chance(0.5) else strides,
            'dilations': None if set(dilations) == {1} and d.chance(0.5) else dilations,
            'pads': None if pads is None or not any(pads) and d.chance(0.5) else pads, 'auto_pad': auto}


@call('Conv', 'ConvTranspose', 'ConvInteger')
def conv(d, op):
    kind = d.kind(op)
    groups, spaces = d.pick(1, 1, 2, 3), [d.whole(1, 7) for _ in range(d.pick(1, 2, 2, 2, 3))]
    how = window(d, spaces)
    inner, outer = groups * d.whole(1, 3), groups * d.whole(1, 3)
    turned = op == 'ConvTranspose'
    weight = ([inner, outer // groups] if turned else [outer, inner // groups]) + how['kernel_shape']
    how['kernel_shape'] = None if d.chance(0.3) else how['kernel_shape']
    how['group'] = groups
    images = [d.whole(1, 2), inner] + spaces
    if op == 'ConvInteger':
        kind, of = d.pick('uint8', 'int8'), d.pick('uint8', 'int8')
        zeros = [d.numbers(k, [], constant=0.8) if d.chance(0.6) else None for k in (kind, of)]
        return d.add(op, d.numbers(kind, images), d.numbers(of, weight, constant=0.8), *zeros, kind='int32', **how)
    if turned:
        strides = how['strides'] or [1] * len(spaces)
        if d.chance(0.3):
            how['output_padding'] = [d.whole(0, s - 1) for s in strides]
        if how['auto_pad'] == 'NOTSET' and d.chance(0.2):
            how['output_shape'], how['pads'] = [s * t + d.pick(0, 0, 1) for s, t in zip(spaces, strides)], None
            how['output_padding'] = None
    bias = d.numbers(kind, [outer]) if d.chance(0.5) else None
    return d.add(op, d.numbers(kind, images), d.numbers(kind, weight, constant=0.7), bias, **how)


@call('MaxPool', 'AveragePool', 'LpPool')
def pool(d, op):
    kind, spaces = d.kind(op), [d.whole(1, 7) for _ in range(d.pick(1, 2, 2, 2, 3))]
    how = window(d, spaces, 'dilations' in d.version(op).attributes)
    how.update(ceil_mode=d.pick(0, 1), count_include_pad=d.pick(0, 1), p=d.pick(1, 2, 3), storage_order=d.pick(0, 1))
    x = d.numbers(kind, [d.whole(1, 2), d.whole(1, 3)] + spaces)
    if op == 'MaxPool' and d.opset >= 8 and d.chance(0.4):
        return d.add(op, x, outputs=2, kind=[kind, 'int64'], **how)
    return d.add(op, x, **how)


@call('GlobalAveragePool', 'GlobalMaxPool', 'GlobalLpPool')
def global_pool(d, op):
    return d.add(op, operand(d, op, 3, 5), p=d.pick(1, 2, 3))


@call('BatchNormalization')
def batch_normalization(d, op):
    kind, extents = d.kind(op), d.shape(2, 5)
    train = d.pick(0, 0, 0, 1) if d.opset >= 14 else 0
    x = d.numbers(kind, extents)
    more = [d.numbers(kind, extents[1:2], *r) for r in ((None, None), (None, None), (None, None), (0.1, 2))]
    how = {'epsilon': d.pick(1e-5, 1e-2), 'momentum': d.pick(0.9, 0.5), 'training_mode': train, 'spatial': 1}
    return d.add(op, x, *more, outputs=3 if train else 1, **how)


@call('InstanceNormalization', 'GroupNormalization')
def instance_normalization(d, op):
    kind = d.kind(op)
    groups = d.whole(1, 3)
    extents = [d.whole(1, 2), groups * d.whole(1, 2)] + d.shape(1, 3, 1, 4)
    of = groups if op == 'GroupNormalization' and d.opset < 21 else extents[1]
    how = {'num_groups': groups, 'epsilon': d.pick(1e-5, 1e-2)}
    return d.add(op, d.numbers(kind, extents), d.numbers(kind, [of]), d.numbers(kind, [of]), **how)


@call('LayerNormalization', 'RMSNormalization')
def layer_normalization(d, op):
    kind, extents = d.kind(op), d.shape(1, 4)
    axis = d.axis(len(extents))
    tail = extents[axis:]
    if d.chance(0.2):
        tail = [1 if d.chance(0.5) else e for e in tail]
    x, scale = d.numbers(kind, extents), d.numbers(kind, tail)
    how = {'axis': axis, 'epsilon': d.pick(1e-5, 1e-2)}
    if op == 'RMSNormalization':
        return d.add(op, x, scale, **how)
    outputs = d.pick(1, 1, 3)
    bias = d.numbers(kind, tail) if d.chance(0.6) else None
    return d.add(op, x, scale, bias, outputs=outputs, kind=[kind, 'float', 'float'][:outputs], **how)


@call('LRN')
def lrn(d, op):
    return d.add(op, operand(d, op, 3, 5), size=d.whole(1, 5), alpha=d.pick(1e-4, 0.1), beta=d.pick(0.75, 0.5),
                 bias=d.pick(1.0, 2.0))


@call('LpNormalization')
def lp_normalization(d, op):
    x = operand(d, op, 1)
    return d.add(op, x, axis=d.axis(len(x.extents)), p=d.pick(1, 2))


@call('MeanVarianceNormalization')
def mean_variance(d, op):
    x = operand(d, op, 4, 4)
    return d.add(op, x, axes=None if d.chance(0.4) else d.axes(len(x.extents), 1))


@call('Gemm')
def gemm(d, op):
    kind, m, k, n = d.kind(op), *[d.whole(1, 5) for _ in range(3)]
    left, right = d.pick(0, 1), d.pick(0, 1)
    c = d.pick([m, n], [n], [1, n], [m, 1], [1, 1], [1], []) if d.opset >= 7 else [m, n]
    c = None if d.opset >= 11 and d.chance(0.3) else c
    scales = {'alpha': d.pick(1.0, 0.5, 2.0), 'beta': d.pick(1.0, 0.5, 0.0)} if kind.endswith(('loat', 'double', '16')) else {}
    return d.add(op, d.numbers(kind, [k, m] if left else [m, k]), d.numbers(kind, [n, k] if right else [k, n]),
                 None if c is None else d.numbers(kind, c), transA=left, transB=right, **scales)


def matrices(d, low=1):
    m, k, n = [d.whole(low, 5) for _ in range(3)]
    if d.chance(0.2):
        if d.chance(0.5):
            return [k], [k] if d.chance(0.5) else d.shape(0, 2, 1, 3) + [k, n]
        return d.shape(0, 2, 1, 3) + [m, k], [k]
    batch = d.shape(0, 3, 1, 3)
    mine = [[1 if d.chance(0.3) else e for e in batch][d.whole(0, len(batch)) if d.chance(0.4) else 0:] for _ in range(2)]
    return mine[0] + [m, k], mine[1] + [k, n]


@call('MatMul')
def matmul(d, op):
    kind, (a, b) = d.kind(op), matrices(d, d.pick(0, 1, 1))
    return d.add(op, d.numbers(kind, a), d.numbers(kind, b))


@call('MatMulInteger')
def matmul_integer(d, op):
    (a, b), kinds = matrices(d), (d.pick('uint8', 'int8'), d.pick('uint8', 'int8'))
    zero = d.numbers(kinds[0], [], constant=0.8) if d.chance(0.6) else None
    other = d.numbers(kinds[1], b[-1:] if len(b) == 2 and d.chance(0.4) else [], constant=0.8) if d.chance(0.6) else None
    return d.add(op, d.numbers(kinds[0], a), d.numbers(kinds[1], b), zero, other, kind='int32')


EQUATIONS = ('ij,jk->ik', 'bij,bjk->bik', 'ij->ji', 'ii->i', 'ii', 'ij->', 'i,j->ij', 'bhqd,bhkd->bhqk', '...ij,...jk->...ik',
             'ij,kj', 'i,i', 'ijk,jl->kil', 'iij->j', 'ab,bc,cd->ad', '...i->...', 'b...,b...->...b', 'ij , jk -> ik', 'bi,bi->b',
             'ia,ja,ka->ijk')


@call('Einsum')
def einsum(d, op):
    equation, sizes = d.pick(*EQUATIONS), {letter: d.whole(1, 4) for letter in 'abcdefghijklmq'}
    more, operands = d.shape(0, 2, 1, 3), []
    for term in equation.replace(' ', '').partition('->')[0].split(','):
        before, dots, after = term.partition('...')
        operands.append([sizes[c] for c in before] + (more if dots else []) + [sizes[c] for c in after])
    kind = d.kind(op)
    return d.add(op, *[d.numbers(kind, e) for e in operands], equation=equation)


@call('Det')
def det(d, op):
    n = d.whole(1, 4)
    return d.add(op, d.numbers(d.kind(op), d.shape(0, 2) + [n, n]))


GATES = {'RNN': 1, 'GRU': 3, 'LSTM': 4}
FUNCTIONS = ('Sigmoid', 'Tanh', 'Relu', 'HardSigmoid', 'Softsign', 'Softplus', 'Affine', 'LeakyRelu', 'ThresholdedRelu',
             'ScaledTanh', 'Elu')
USUAL = {'RNN': ['Tanh'], 'GRU': ['Sigmoid', 'Tanh'], 'LSTM': ['Sigmoid', 'Tanh', 'Tanh']}


@call(*GATES)
def recurrent(d, op):
    kind, gates, hidden = d.kind(op, ('float', 'double', 'float16')), GATES[op], d.whole(1, 4)
    steps, batch, inner = d.whole(1, 4), d.whole(1, 3), d.whole(1, 4)
    direction = d.pick('forward', 'reverse', 'bidirectional')
    ways = 2 if direction == 'bidirectional' else 1
    turned = d.pick(0, 0, 1) if d.opset >= 14 else 0
    state = [batch, ways, hidden] if turned else [ways, batch, hidden]
    optional = lambda make, share=0.5: make() if d.chance(share) else None  # noqa: E731
    operands = [d.numbers(kind, [batch, steps, inner] if turned else [steps, batch, inner]),
                d.numbers(kind, [ways, gates * hidden, inner], -1, 1, 0.7),
                d.numbers(kind, [ways, gates * hidden, hidden], -1, 1, 0.7),
                optional(lambda: d.numbers(kind, [ways, 2 * gates * hidden], -1, 1, 0.7)),
                optional(lambda: d.put(d.r.integers(1, steps + 1, [batch]).astype(np.int32)), 0.3),
                optional(lambda: d.numbers(kind, state))]
    if op == 'LSTM':
        operands += [optional(lambda: d.numbers(kind, state)),
                     optional(lambda: d.numbers(kind, [ways, 3 * hidden], -1, 1, 0.7), 0.3)]
    functions, alpha, beta = None, None, None
    if d.chance(0.3):
        functions = [d.pick(*FUNCTIONS) if d.chance(0.5) else f for _ in range(ways) for f in USUAL[op]]
        if d.chance(0.4):
            takes = {'Affine': 2, 'ScaledTanh': 2, 'HardSigmoid': 2, 'LeakyRelu': 1, 'ThresholdedRelu': 1, 'Elu': 1}
            alpha = [d.pick(0.5, 1.0, 0.3) for f in functions if takes.get(f)]
            beta = [d.pick(0.5, 0.2) for f in functions if takes.get(f) == 2]
        elif set(functions) & {'Affine', 'ScaledTanh'}:  # their defaults are nobody's
            functions = None
    outputs = [d.chance(0.8), d.chance(0.6), d.chance(0.6)][:3 if op == 'LSTM' else 2]
    if not any(outputs):
        outputs[0] = True
    while not outputs[-1]:
        outputs.pop()
    return d.add(op, *operands, outputs=outputs, hidden_size=hidden, direction=direction, layout=turned, activations=functions,
                 activation_alpha=alpha or None, activation_beta=beta or None, clip=d.pick(None, None, 0.5),
                 linear_before_reset=d.pick(0, 1), input_forget=d.pick(0, 0, 1))


@call('Resize', 'Upsample')
def resize(d, op):
    x = operand(d, op, 1, 4, 1, 5, among=('float', 'double', 'float16', 'uint8', 'int8', 'int32'))
    rank = len(x.extents)
    has_cubic = rank == 4 and d.opset >= 11 and op == 'Resize'
    modes = ['nearest'] + (['linear'] if rank in (2, 4) else []) + (['cubic'] if has_cubic else [])
    mode = d.pick(*modes)
    if x.kind not in ('float', 'double', 'float16'):
        mode = 'nearest'
    moving = range(rank) if mode == 'nearest' else range(rank - 2, rank)
    least = 1 if op == 'Upsample' else 0.4
    scales = [d.pick(1.0, 2.0, 1.5, 3.0, 0.5, 0.7, 2.6) if i in moving else 1.0 for i in range(rank)]
    scales = [s if s * e >= 1 and s >= least else 1.0 for s, e in zip(scales, x.extents)]
    if op == 'Upsample':
        if d.opset < 9:
            return d.add(op, x, scales=scales, mode=mode)
        return d.add(op, x, d.put(np.array(scales, np.float32), 0.9), mode=mode)
    if d.opset < 11:
        return d.add(op, x, d.put(np.array(scales, np.float32), 0.9), mode=mode)
    how = {'mode': mode, 'cubic_coeff_a': d.pick(-0.75, -0.5), 'exclude_outside': d.pick(0, 1) if mode == 'cubic' else 0,
           'nearest_mode': d.pick('round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'),
           'extrapolation_value': d.pick(0.0, 1.5),
           'coordinate_transformation_mode': d.pick('half_pixel', 'half_pixel', 'pytorch_half_pixel', 'align_corners',
                                                    'asymmetric',
                                                    'tf_crop_and_resize', *(['half_pixel_symmetric'] if d.opset >= 19 else []))}
    roi = None
    # What a fraction of an element means in these differs between ONNX Runtime and ONNX's own tests.
    if how['coordinate_transformation_mode'] in ('align_corners', 'tf_crop_and_resize'):
        scales = [s if (s * e).is_integer() else 1.0 for s, e in zip(scales, x.extents)]
    if how['coordinate_transformation_mode'] == 'tf_crop_and_resize':
        # ONNX Runtime takes an axis whose scale is 1 as it is, whatever the region. Odd numbers: what lies just at the border
        # is outside of it in float32.
        roi = np.array([d.pick(0.0, 0.113, 0.337) if s != 1 else 0.0 for s in scales] +
                       [d.pick(0.831, 1.273) if s != 1 else 1.0 for s in scales], np.float32)
    elif d.opset < 13:
        roi = np.zeros(0, np.float32)
    roi = None if roi is None else d.put(roi, 0.9)
    if d.opset >= 18:
        how['antialias'] = d.pick(0, 0, 1) if mode != 'nearest' and roi is None else 0
    if d.chance(0.5):
        empty = d.put(np.zeros(0, np.float32), 1) if d.opset < 13 else None
        sizes = [max(1, int(s * e)) for s, e in zip(scales, x.extents)]
        if d.opset >= 18:
            policies = ('stretch', 'stretch', 'not_larger', 'not_smaller') if mode == 'nearest' else ('stretch',)
            how['keep_aspect_ratio_policy'] = d.pick(*policies)
        return d.add(op, x, roi, empty, d.ints(sizes, constant=0.9), **how)
    return d.add(op, x, roi, d.put(np.array(scales, np.float32), 0.9), **how)


@call('GridSample')
def grid_sample(d, op):
    kind = d.kind(op, ('float', 'double'), 'T2')
    dims = d.pick(2, 2, 3) if d.opset >= 20 else 2
    n, c, spaces, out = d.whole(1, 2), d.whole(1, 2), [d.whole(1, 4) for _ in range(dims)], [d.whole(1, 4) for _ in range(dims)]
    modes = ('linear', 'nearest', 'cubic') if d.opset >= 20 else ('bilinear', 'nearest', 'bicubic')
    return d.add(op, d.numbers(kind, [n, c] + spaces), d.numbers(kind, [n] + out + [dims], -1.6, 1.6),
                 mode=d.pick(*modes[:3 if dims == 2 else 2]),
                 padding_mode=d.pick('zeros', 'border', 'reflection'), align_corners=d.pick(0, 1))


@call('RoiAlign')
def roi_align(d, op):
    kind, n, rois = d.kind(op, ('float', 'double')), d.whole(1, 2), d.whole(1, 3)
    starts = d.array(kind, [rois, 2], 0, 4)
    sizes = (d.r.integers(1, 9, [rois, 2]) / 2 + 0.2).astype(starts.dtype)  # a bin of about a whole number jumps in float32
    boxes = np.concatenate([starts, starts + sizes], 1)
    return d.add(op, d.numbers(kind, [n, d.whole(1, 2), d.whole(2, 7), d.whole(2, 7)]), d.put(boxes),
                 d.put(d.r.integers(0, n, [rois]).astype(np.int64)), mode=d.pick('avg', 'max'), output_height=d.whole(1, 3),
                 output_width=d.whole(1, 3), sampling_ratio=d.whole(0, 3), spatial_scale=d.pick(1.0, 0.5),
                 coordinate_transformation_mode=d.pick('half_pixel', 'output_half_pixel'))


@call('MaxRoiPool')
def max_roi_pool(d, op):
    n, rois = d.whole(1, 2), d.whole(1, 3)
    starts = d.r.integers(0, 4, [rois, 2])
    boxes = np.concatenate([d.r.integers(0, n, [rois, 1]), starts, starts + d.r.integers(0, 4, [rois, 2])],
                           1).astype(np.float32)
    return d.add(op, d.numbers('float', [n, d.whole(1, 2), d.whole(2, 7), d.whole(2, 7)]), d.put(boxes),
                 pooled_shape=[d.whole(1, 3), d.whole(1, 3)], spatial_scale=d.pick(1.0, 0.5))


@call('NonMaxSuppression')
def non_max_suppression(d, op):
    batch, boxes, classes = d.whole(1, 2), d.whole(1, 6), d.whole(1, 2)
    low = d.array('float', [batch, boxes, 2], 0, 3)
    both = np.concatenate([low, low + d.array('float', [batch, boxes, 2], 0.2, 3)], -1)
    center = d.pick(0, 1)
    return d.add(op, d.put(both), d.numbers('float', [batch, classes, boxes], 0, 1), d.ints([d.whole(1, 4)])
                 if d.chance(0.9) else None,
                 d.put(np.array([d.pick(0.2, 0.5)], np.float32)) if d.chance(0.7) else None,
                 d.put(np.array([d.pick(0.2, 0.5)], np.float32)) if d.chance(0.5) else None, kind='int64',
                 center_point_box=center)


@call('NegativeLogLikelihoodLoss', 'SoftmaxCrossEntropyLoss')
def loss(d, op):
    kind, classes = d.kind(op, ('float', 'double')), d.whole(1, 4)
    n, spaces = d.whole(1, 3), d.shape(0, 2, 1, 3)
    target = d.array(d.pick('int32', 'int64'), [n] + spaces, 0, classes - 1)
    weight = d.numbers(kind, [classes], 0.2, 2) if d.chance(0.5) else None
    outputs = d.pick(1, 2) if op == 'SoftmaxCrossEntropyLoss' else 1
    return d.add(op, d.numbers(kind, [n, classes] + spaces), d.put(target), weight, outputs=outputs,
                 reduction=d.pick('none', 'mean', 'sum'), ignore_index=d.pick(None, None, 0, 1))


@call('MaxUnpool')
def max_unpool(d, op):
    kind, c, h, w = 'float', d.whole(1, 2), 2 * d.whole(1, 3), 2 * d.whole(1, 3)
    pooled, indices = d.add('MaxPool', d.numbers(kind, [1, c, h, w]), outputs=2, kind=[kind, 'int64'], kernel_shape=[2, 2],
                            strides=[2, 2])
    shape = d.ints([1, c, h, w]) if d.chance(0.3) else None
    return d.add(op, pooled, indices, shape, kernel_shape=[2, 2], strides=[2, 2])


@call('Col2Im')
def col2im(d, op):
    dims = d.pick(1, 2, 2)
    image, block = [d.whole(3, 6) for _ in range(dims)], [d.whole(1, 3) for _ in range(dims)]
    pads, strides, dilations = [d.whole(0, 1) for _ in range(2 * dims)], [d.whole(1, 2) for _ in range(dims)], [1] * dims
    count = [(image[i] + pads[i] + pads[i + dims] - block[i]) // strides[i] + 1 for i in range(dims)]
    return d.add(op, d.numbers('float', [d.whole(1, 2), d.whole(1, 2) * int(np.prod(block)), int(np.prod(count))]),
                 d.ints(image), d.ints(block),
                 pads=pads, strides=strides, dilations=dilations)


@call('QuantizeLinear', 'DequantizeLinear')
def quantise(d, op):
    to = d.pick('int8', 'uint8', *(['int16', 'uint16', 'int4', 'uint4'] if d.opset >= 21 else []),
                *(['float8e4m3fn', 'float8e5m2'] if d.opset >= 19 else []))
    extents = d.shape(1, 4)
    axis = d.axis(len(extents))
    of = [] if d.opset < 13 or d.chance(0.5) else [extents[axis]]
    if d.opset >= 21 and d.chance(0.3):
        block = d.pick(1, 2, 3)
        of, how = list(extents), {'block_size': block, 'axis': axis}
        of[axis] = -(-extents[axis] // block)
    else:
        how = {'axis': axis} if d.opset >= 13 and (of or d.chance(0.3)) else {}
        if of and not how:
            of = []
    scale = d.numbers('float', of, 0.02, 0.5, 0.8)
    whole = to.endswith(('int8', 'int16'))
    zero = d.numbers(to, of, constant=0.8) if whole and d.chance(0.6) else None
    if not whole and (op == 'QuantizeLinear' or d.chance(0.5)):
        zero = d.cast(d.put(np.zeros(of, np.float32), 1), to)
    if op == 'QuantizeLinear':
        if zero is None and d.opset >= 21:
            how['output_dtype'] = NUMBERS[to]
        elif zero is None:
            to = 'uint8'
        return d.add(op, d.numbers('float', extents), scale, zero, kind=to, **how)
    if whole:
        return d.add(op, d.numbers(to, extents, -128, 255), scale, zero, kind='float', **how)
    low, high = {'int4': (-8, 7), 'uint4': (0, 15)}.get(to, (-400, 400))
    return d.add(op, d.cast(d.numbers('int32', extents, low, high), to), scale, zero, kind='float', **how)


@call('DynamicQuantizeLinear')
def dynamic_quantise(d, op):
    return d.add(op, d.numbers('float', d.shape(0, 4)), outputs=3, kind=['uint8', 'float', 'uint8'])


PLAIN |= set(CALLS) - BEFORE
