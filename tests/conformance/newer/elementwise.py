# SPDX-License-Identifier: Apache-2.0
"""Elementwise operators, casts, texts and what else came since opset 18 and computes each element alone."""
import math

import numpy as np
from onnx import TensorProto

from node_test import F, I64, NodeTest, draw, raw, whole
from small_floats import codes_of, values

ERF = np.vectorize(math.erf)


def bitwise():
    for kind in (np.int8, np.uint16, np.int32, np.uint64):
        word = np.dtype(kind).name
        low = 0 if kind in (np.uint16, np.uint64) else -100
        a, b = whole('a' + word, low, 100, (3, 4), kind), whole('b' + word, low, 100, (3, 1), kind)
        yield NodeTest(f'bitwise_and_{word}', 'BitwiseAnd', 18, [a, b], [a & b])
        yield NodeTest(f'bitwise_or_{word}', 'BitwiseOr', 18, [a, b], [a | b])
        yield NodeTest(f'bitwise_xor_{word}', 'BitwiseXor', 18, [b, a], [b ^ a])
        yield NodeTest(f'bitwise_not_{word}', 'BitwiseNot', 18, [a], [~a])


def activations():
    x = np.concatenate([draw('act', 3, 5) * 3, np.array([[0, -0.0, 20, -20, 88]], F)])
    yield NodeTest('mish', 'Mish', 18, [x], [(x * np.tanh(np.logaddexp(0, x.astype(float)))).astype(F)])
    yield NodeTest('gelu', 'Gelu', 20, [x], [(0.5 * x * (1 + ERF(x / math.sqrt(2)))).astype(F)])
    tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x.astype(float) ** 3)))
    yield NodeTest('gelu_tanh', 'Gelu', 20, [x], [tanh.astype(F)], approximate='tanh')
    yield NodeTest('swish', 'Swish', 24, [x], [(x / (1 + np.exp(-x.astype(float)))).astype(F)])
    yield NodeTest('swish_alpha', 'Swish', 24, [x], [(x / (1 + np.exp(-0.5 * x.astype(float)))).astype(F)], alpha=0.5)
    slopes = draw('slopes', 5)
    yield NodeTest('prelu_16', 'PRelu', 16, [x, slopes], [np.where(x < 0, x * slopes, x)])


def kinds_of_numbers():
    x = np.array([1, -0.0, np.inf, -np.inf, np.nan, 6e4], F)
    half = x.astype(np.float16)
    yield NodeTest('isnan_20', 'IsNaN', 20, [half], [np.isnan(half)])
    yield NodeTest('isinf_20', 'IsInf', 20, [x], [np.isinf(x)])
    yield NodeTest('isinf_20_positive', 'IsInf', 20, [x], [np.isposinf(x)], detect_negative=0)
    yield NodeTest('isinf_20_negative', 'IsInf', 20, [half], [np.isneginf(half)], detect_positive=0)


def texts():
    a, b = np.array([['a', 'B'], ['', 'äö']], object), np.array(['x', ''], object)
    yield NodeTest('string_concat', 'StringConcat', 20, [a, b], [a + b])
    yield NodeTest('equal_string', 'Equal', 19, [a, np.array(['a', 'b'], object)], [np.array([[True, False], [False, False]])])
    parts = np.array([['one', 'two', ''], ['three', '', ''], ['', '', '']], object)
    count = np.array([2, 1, 0], I64)
    yield NodeTest('string_split', 'StringSplit', 20, [np.array(['one two', ' three ', ''], object)], [parts[:, :2], count])
    yield NodeTest('string_split_at', 'StringSplit', 20, [np.array(['a,b,c', 'd'], object)],
                   [np.array([['a', 'b,c'], ['d', '']], object), np.array([2, 1], I64)], delimiter=',', maxsplit=1)
    words = np.array(['www.a.com', 'a.com', 'www.b.org'], object)
    yield NodeTest('regex_full_match', 'RegexFullMatch', 20, [words], [np.array([True, False, False])],
                   pattern=r'www\.[a-z]+\.com')


def rounded(kind, name, opset, x, saturate=1):
    codes = codes_of(x, kind, bool(saturate))
    made = NodeTest(f'cast_to_{name}{"" if saturate else "_unbounded"}', 'Cast', opset, [x], [raw(kind, codes)], to=kind,
                    **({} if saturate or kind == 23 else {'saturate': 0}))
    return made


def casts():
    ends = np.array([0, -0.0, 1, -1, 0.3, 447, 449, 464, 465, 500, -1e9, 57344, 61439, 61441, 2 ** -9, 2 ** -10, 2 ** -17,
                     1e-9, np.inf, -np.inf, np.nan], F)
    x = np.concatenate([ends, draw('casts', 27) * 40])
    for kind, name in ((17, 'e4m3fn'), (18, 'e4m3fnuz'), (19, 'e5m2'), (20, 'e5m2fnuz')):
        yield rounded(kind, name, 19, x)
        yield rounded(kind, name, 19, x, 0)
        codes = np.arange(256, dtype=np.uint8)
        yield NodeTest(f'cast_from_{name}', 'Cast', 19, [raw(kind, codes)], [values(kind).astype(F)], to=TensorProto.FLOAT)
        half = x[np.abs(x) < 65504].astype(np.float16)
        yield NodeTest(f'cast_half_to_{name}', 'Cast', 19, [half], [raw(kind, codes_of(half, kind))], to=kind)
    small = x[np.isfinite(x)]
    yield rounded(23, 'e2m1', 23, small)
    yield NodeTest('cast_from_e2m1', 'Cast', 23, [raw(23, np.arange(16))], [values(23).astype(F)], to=TensorProto.FLOAT)
    yield NodeTest('cast_from_uint4', 'Cast', 21, [raw(21, np.arange(16))], [np.arange(16, dtype=F)], to=TensorProto.FLOAT)
    yield NodeTest('cast_from_int4', 'Cast', 21, [raw(22, np.arange(15))],
                   [np.array([*range(8), *range(-8, -1)], np.int8)], to=TensorProto.INT8)
    numbers = np.array([0, 7, 3, 15, 1], F)
    yield NodeTest('cast_to_uint4', 'Cast', 21, [numbers], [raw(21, numbers)], to=21)
    yield NodeTest('cast_to_int4', 'Cast', 21, [np.array([-8, 7, -1], np.int8)], [raw(22, [8, 7, 15])], to=22)
    yield NodeTest('cast_like_e5m2', 'CastLike', 19, [x, raw(19, [0])], [raw(19, codes_of(x, 19))])
    yield NodeTest('bitcast_float_int32', 'BitCast', 26, [x], [x.view(np.int32)], to=TensorProto.INT32)
    yield NodeTest('bitcast_int64_double', 'BitCast', 26, [np.arange(-3, 5, dtype=I64)],
                   [np.arange(-3, 5, dtype=I64).view(np.float64)], to=TensorProto.DOUBLE)


def reductions_by_logic():
    flags = whole('flags', 0, 2, (3, 4), bool)
    yield NodeTest('reduce_max_bool', 'ReduceMax', 20, [flags, np.array([1])], [flags.any(1, keepdims=True)])
    yield NodeTest('reduce_min_bool', 'ReduceMin', 20, [flags, np.array([0])], [flags.all(0)], keepdims=0)


def running():
    x = draw('running', 2, 3, 4)
    yield NodeTest('cumprod', 'CumProd', 26, [x, np.array(1)], [np.cumprod(x, 1)])
    yield NodeTest('cumprod_reverse', 'CumProd', 26, [x, np.array(-1)], [np.cumprod(x[..., ::-1], -1)[..., ::-1].copy()],
                   reverse=1)
    shifted = np.concatenate([np.ones((2, 3, 1), F), np.cumprod(x, 2)[..., :-1]], 2)
    yield NodeTest('cumprod_exclusive', 'CumProd', 26, [x, np.array(2)], [shifted], exclusive=1)


MAKERS = [bitwise, activations, kinds_of_numbers, texts, casts, reductions_by_logic, running]
