# SPDX-License-Identifier: Apache-2.0
"""Where ONNX Runtime 1.30 and Fuselage differ and the standard's text is on our side, or silent. One entry each: operators, the
kind of finding, what its words or the model must have, and the reason."""
from onnx import helper

REDUCTIONS = tuple('Reduce' + end for end in 'L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare'.split())


def attributes(drawn):
    """Of the operator that the model is about."""
    node = [n for n in drawn.nodes if n.op_type == drawn.op.rpartition('.')[2]][-1]
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def window_below_stride(drawn):
    given = attributes(drawn)
    strides = given.get('strides', [1] * 9)
    return given.get('auto_pad', b'').startswith(b'SAME') and any(k < s for k, s in zip(given['kernel_shape'], strides))


def empty(drawn):
    return any(v.extents is not None and 0 in v.extents for v in drawn.seen)


KNOWN = [
    (REDUCTIONS, 'value', 'extents', empty, 'of an empty tensor ONNX Runtime keeps extents that the standard removes'),
    (('ReduceMean',), 'value', 'nan', empty, 'a mean of nothing is 0 / 0'),
    (('ReduceMax', 'ReduceMin', 'MaxPool', 'GlobalMaxPool'), 'value', 'nan', None, 'ONNX Runtime passes over some NaN'),
    (('MeanVarianceNormalization',), 'value', 'nan', None, 'in float32 the mean of squares may be less than the squared mean'),
    (('AveragePool', 'MaxPool', 'LpPool'), 'value', '', window_below_stride,
     'a window smaller than the stride: ONNX pads nothing, ONNX Runtime less than nothing'),
    (('Cast',), 'value', 'nan', lambda d: any(v.kind.startswith('float8') for v in d.seen),
     'the table of the standard: infinities are NaN in types without, saturated too, and stay what they are in float8e5m2'),
    (('Clip',), 'accepted', 'bfloat16', None, 'before opset 16 its body has a Where that does not take bfloat16'),
    (('Resize',), 'accepted', "input 'sizes' (0)", None, 'sizes that are no constant'),
    (('com.microsoft.QLinearAveragePool',), 'value', '',
     lambda d: attributes(d)['ceil_mode'] and attributes(d)['count_include_pad'],
     'ONNX Runtime counts what lies behind the pads, other than in AveragePool'),
    (('AffineGrid',), 'value', '', lambda d: 1 in d.default_of(1)[2:], 'corners of a single element: the step is 2 / 0'),
    (('HammingWindow', 'HannWindow', 'BlackmanWindow'), 'value', 'nan', None,
     'a window of one element: ONNX Runtime divides by 0'),
    (('Attention',), 'value', '3.40282347e+38', None,
     'scores that a mask hides: the lowest float in ONNX Runtime, -inf in the standard'),
    (('Dropout',), 'value', 'type bool', None, 'before opset 10 the mask has the type of the data; here it is bool'),
    (('Clip',), 'value', 'inf', None,
     'a bound that is left out is none here, as in the body that the standard gives; ONNX Runtime takes the largest float'),
    (('Mod',), 'value', '', lambda d: {'int64', 'uint64'} & {v.kind for v in d.seen} and d.special,
     'ONNX Runtime computes remainders of large integers in double'),
    (('Slice',), 'inference', 'inferred', lambda d: d.symbols, 'bounds are taken to lie within an axis whose extent is open'),
    (('Sign',), 'value', 'nan', None, 'the sign of NaN is NaN in numpy, 0 in ONNX Runtime'),
    (('StringNormalizer',), 'accepted', 'locale', None, 'a locale that is not installed'),
    (('SplitToSequence',), 'value', 'extents', None, 'keepdims counts only without `split`'),
    (('SplitToSequence',), 'accepted', 'Reshape', None, 'the same'),
    (('MatMul',), 'accepted', 'cannot broadcast', empty, 'a matrix without rows times a vector'),
    (('MatMul',), 'value', '', empty, 'without anything to sum ONNX Runtime leaves out zeros, and broadcasting of the batch'),
    (('Dropout',), 'value', 'output 1', lambda d: d.opset < 12, 'the mask of an inference: nobody says what it holds'),
    (('LRN',), 'accepted', 'size_ % 2 == 1', None, 'an even size is in the formula of the standard'),
    (('MeanVarianceNormalization',), 'accepted', 'bound to different types', None,
     'its body has float constants beside other types'),
    (('CenterCropPad',), 'accepted', 'bound to different types', None, 'its body has int64 constants beside int32'),
    (('MaxPool', 'AveragePool', 'LpPool'), 'accepted', 'padding values must be non-negative', None,
     'SAME with a window smaller than the stride: there is nothing to pad'),
    (('QuantizeLinear', 'DequantizeLinear'), 'accepted', '', lambda d: attributes(d).get('block_size'),
     'a block that is larger than the axis'),
    (('ConvTranspose',), 'accepted', 'Explicit output_shape', None, 'pads below zero'),
    (('RNN', 'GRU', 'LSTM'), 'value', '', lambda d: b'ThresholdedRelu' in attributes(d).get('activations', []),
     'alpha has the default of the operator, 1; ONNX Runtime takes 0'),
]


def explained(drawn, kind, what):
    if kind == 'saved':  # differs from the original as our results do
        kind = 'value'
    return any(drawn.op in ops and kind == of and word in what and (holds is None or holds(drawn))
               for ops, of, word, holds, _ in KNOWN)
