# SPDX-License-Identifier: Apache-2.0
"""Operators since opset 18 that add up: reductions, normalisation, quantisation, attention, transforms, convolutions."""
import itertools
import math

import numpy as np
from onnx import TensorProto

from node_test import F, I64, NodeTest, draw, raw, whole
from small_floats import codes_of, values


def reductions():
    x = draw('reduce', 3, 2, 4)
    forms = {'ReduceSum': np.sum, 'ReduceMean': np.mean, 'ReduceMax': np.max, 'ReduceMin': np.min, 'ReduceProd': np.prod,
             'ReduceL1': lambda a, **k: np.sum(np.abs(a), **k), 'ReduceL2': lambda a, **k: np.sqrt(np.sum(a * a, **k)),
             'ReduceSumSquare': lambda a, **k: np.sum(a * a, **k),
             'ReduceLogSum': lambda a, **k: np.log(np.sum(a, **k)),
             'ReduceLogSumExp': lambda a, **k: np.log(np.sum(np.exp(a), **k))}
    for op, function in forms.items():
        opset = 20 if op in ('ReduceMax', 'ReduceMin') else 18
        data = np.abs(x) if op == 'ReduceLogSum' else x

        def expected(axis, keep=True):
            return np.asarray(function(data.astype(float), axis=axis, keepdims=keep), F)
        name = op[6:].lower()
        yield NodeTest(f'reduce_{name}_axes', op, opset, [data, np.array([1])], [expected(1)])
        yield NodeTest(f'reduce_{name}_negative', op, opset, [data, np.array([-2, 0])], [expected((1, 0), False)], keepdims=0)
        yield NodeTest(f'reduce_{name}_all', op, opset, [data], [expected(None)])
        if op in ('ReduceSum', 'ReduceMean', 'ReduceMax', 'ReduceMin', 'ReduceProd'):
            yield NodeTest(f'reduce_{name}_none', op, opset, [data, np.array([], I64)], [data], noop_with_empty_axes=1)


def norm(x, axes, epsilon):
    x = x.astype(float)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def normalisations():
    x = draw('norm', 2, 6, 3, 2)
    scale, bias = draw('scale', 6), draw('bias', 6)
    grouped = norm(x.reshape(2, 3, 2, 3, 2), (2, 3, 4), 1e-5).reshape(x.shape)
    yield NodeTest('group_normalization_21', 'GroupNormalization', 21, [x, scale, bias],
                   [(grouped * scale[:, None, None] + bias[:, None, None]).astype(F)], num_groups=3)
    per_group = (grouped.reshape(2, 3, -1) * scale[:3, None] + bias[:3, None]).reshape(x.shape)
    yield NodeTest('group_normalization_18', 'GroupNormalization', 18, [x, scale[:3], bias[:3]], [per_group.astype(F)],
                   num_groups=3)
    for axis in (-1, 1, 2):
        axes = tuple(range(axis % 4, 4))
        weights = draw(f'rms{axis}', *x.shape[axis % 4:])
        root = np.sqrt((x.astype(float) ** 2).mean(axes, keepdims=True) + 1e-3)
        yield NodeTest(f'rms_normalization_{axis % 4}', 'RMSNormalization', 23, [x, weights], [(x / root * weights).astype(F)],
                       axis=axis, epsilon=1e-3)


def rounded(x, low, high):
    return np.clip(np.rint(x), low, high)


def spread(scale, shape, axis, block):
    """Scales of blocks, for every element."""
    return np.repeat(scale, block, axis).take(np.arange(shape[axis]), axis)


def quantisation():
    x = draw('quant', 4, 6) * 20
    scale, zero = np.abs(draw('qscale', 4)) + 0.1, whole('qzero', -9, 9, (4,), np.int8)
    q = rounded(x / scale[:, None] + zero[:, None], -128, 127).astype(np.int8)
    yield NodeTest('quantize_19_axis', 'QuantizeLinear', 19, [x, scale, zero], [q], axis=0)
    yield NodeTest('dequantize_19_axis', 'DequantizeLinear', 19, [q, scale, zero],
                   [((q.astype(F) - zero[:, None]) * scale[:, None]).astype(F)], axis=0)
    for kind, name, opset in ((17, 'e4m3fn', 19), (18, 'e4m3fnuz', 19), (19, 'e5m2', 19), (20, 'e5m2fnuz', 19), (23, 'e2m1', 23)):
        step = np.array(0.5, F)
        codes = codes_of((x / step).astype(F), kind)
        yield NodeTest(f'quantize_{name}', 'QuantizeLinear', opset, [x, step, raw(kind, np.uint8(0))], [raw(kind, codes)])
        yield NodeTest(f'dequantize_{name}', 'DequantizeLinear', opset, [raw(kind, codes), step],
                       [(values(kind)[codes] * step).astype(F)])
    blocks = np.abs(draw('blocks', 4, 3)) + 0.1
    every = spread(blocks, x.shape, 1, 2)
    q = rounded(x / every, -128, 127).astype(np.int8)
    yield NodeTest('quantize_21_blocked', 'QuantizeLinear', 21, [x, blocks, np.zeros((4, 3), np.int8)], [q], axis=1, block_size=2)
    yield NodeTest('dequantize_21_blocked', 'DequantizeLinear', 21, [q, blocks], [(q * every).astype(F)], axis=1, block_size=2)
    for kind, name, low, high in ((TensorProto.UINT16, 'uint16', 0, 65535), (TensorProto.INT16, 'int16', -32768, 32767)):
        numpy_kind = np.dtype(name)
        middle = np.array((low + high + 1) // 2, numpy_kind)
        q = rounded(x / 0.001 + int(middle), low, high).astype(numpy_kind)
        yield NodeTest(f'quantize_{name}', 'QuantizeLinear', 21, [x, np.array(0.001, F), middle], [q])
        yield NodeTest(f'dequantize_{name}', 'DequantizeLinear', 21, [q, np.array(0.001, F), middle],
                       [((q.astype(F) - F(middle)) * F(0.001)).astype(F)])
    for kind, name, low, high in ((21, 'uint4', 0, 15), (22, 'int4', -8, 7)):
        q = rounded(x / every, low, high).astype(np.int8)
        yield NodeTest(f'quantize_{name}_blocked', 'QuantizeLinear', 21, [x, blocks, raw(kind, np.zeros((4, 3)))],
                       [raw(kind, (q & 15).astype(np.uint8))], axis=1, block_size=2)
        yield NodeTest(f'dequantize_{name}_blocked', 'DequantizeLinear', 21, [raw(kind, (q & 15).astype(np.uint8)), blocks],
                       [(q * every).astype(F)], axis=1, block_size=2)
    half = x.astype(np.float16)
    q = rounded(half.astype(F) / F(0.5), -128, 127).astype(np.int8)
    yield NodeTest('quantize_19_half', 'QuantizeLinear', 19, [half, np.array(0.5, np.float16), np.array(0, np.int8)], [q])
    yield NodeTest('quantize_21_output_dtype', 'QuantizeLinear', 21, [x, np.array(0.5, F)],
                   [rounded(x / F(0.5), -128, 127).astype(np.int8)], output_dtype=TensorProto.INT8)


def softmax(scores):
    """Zeros where nothing is seen."""
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def attention(q, k, v, mask=None, causal=False, scale=None, softcap=0.0, lengths=None, window=None, weights=False):
    """q [B, H, S, D], k [B, G, T, D]; groups of H / G heads share keys. Keys behind the mask's end are hidden."""
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1).astype(float) for t in (k, v))
    scores = q.astype(float) @ k.swapaxes(2, 3) * (scale or 1 / math.sqrt(q.shape[3]))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    rows, columns = scores.shape[2:]
    if causal:
        first = np.asarray(lengths)[:, None, None, None] - rows if lengths is not None else 0
        scores = np.where(np.arange(columns) > np.arange(rows)[:, None] + first, -np.inf, scores)
    if lengths is not None:
        scores = np.where(np.arange(columns) >= np.asarray(lengths)[:, None, None, None], -np.inf, scores)
    if window is not None:
        distance = np.arange(columns) - np.arange(rows)[:, None]
        scores = np.where((distance < -window[0]) | (distance > window[1]), -np.inf, scores)
    if mask is not None:
        hidden = False if mask.dtype == bool else -np.inf
        mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, columns - mask.shape[-1])], constant_values=hidden)
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if weights:
        return softmax(scores).astype(F)
    return (softmax(scores) @ v).astype(F)


def attentions():
    q, k, v = draw('att_q', 2, 4, 3, 8), draw('att_k', 2, 2, 5, 8), draw('att_v', 2, 2, 5, 6)
    mask, flags = draw('att_mask', 3, 5), whole('att_flags', 0, 2, (2, 1, 3, 5), bool)
    flags[..., 0] = True
    for opset in (23, 24):
        yield NodeTest(f'attention_{opset}', 'Attention', opset, [q, k, v], [attention(q, k, v)])
        yield NodeTest(f'attention_{opset}_mask', 'Attention', opset, [q, k, v, mask], [attention(q, k, v, mask)])
        yield NodeTest(f'attention_{opset}_flags', 'Attention', opset, [q, k, v, flags], [attention(q, k, v, flags)])
        yield NodeTest(f'attention_{opset}_causal', 'Attention', opset, [q, k[:, :, :3], v[:, :, :3]],
                       [attention(q, k[:, :, :3], v[:, :, :3], causal=True)], is_causal=1)
        yield NodeTest(f'attention_{opset}_scale', 'Attention', opset, [q, k, v], [attention(q, k, v, scale=0.2)], scale=0.2)
        yield NodeTest(f'attention_{opset}_softcap', 'Attention', opset, [q, k, v], [attention(q, k, v, softcap=2.0)],
                       softcap=2.0)
        flat = [t.swapaxes(1, 2).reshape(2, t.shape[2], -1).copy() for t in (q, k, v)]
        yield NodeTest(f'attention_{opset}_3d', 'Attention', opset, flat,
                       [attention(q, k, v).swapaxes(1, 2).reshape(2, 3, -1).copy()], q_num_heads=4, kv_num_heads=2)
        past_k, past_v = draw('past_k', 2, 2, 4, 8), draw('past_v', 2, 2, 4, 6)
        keys, all_values = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
        yield NodeTest(f'attention_{opset}_past', 'Attention', opset, [q, k, v, None, past_k, past_v],
                       [attention(q, keys, all_values), keys, all_values])
    lengths = np.array([3, 5])
    yield NodeTest('attention_24_lengths', 'Attention', 24, [q, k, v, None, None, None, lengths],
                   [attention(q, k, v, lengths=lengths)])
    yield NodeTest('attention_24_lengths_causal', 'Attention', 24, [q, k, v, None, None, None, lengths],
                   [attention(q, k, v, causal=True, lengths=lengths)], is_causal=1)


def attentions_that_see_nothing():
    """A row whose mask hides every key is 0, whatever hides it, and so are its weights; a mask may end before the keys."""
    q, k, v = draw('blind_q', 2, 4, 3, 8), draw('blind_k', 2, 2, 5, 8), draw('blind_v', 2, 2, 5, 6)
    flags, mask = whole('blind_flags', 0, 2, (2, 1, 3, 5), bool), draw('blind_mask', 3, 5)
    flags[..., 0] = True
    flags[0, 0, 1] = False
    mask[2] = -np.inf
    for opset in (23, 24, 25):
        yield NodeTest(f'attention_{opset}_blind_flags', 'Attention', opset, [q, k, v, flags], [attention(q, k, v, flags)])
        yield NodeTest(f'attention_{opset}_blind_mask', 'Attention', opset, [q, k, v, mask], [attention(q, k, v, mask)])
        yield NodeTest(f'attention_{opset}_blind_weights', 'Attention', opset, [q, k, v, flags],
                       [attention(q, k, v, flags), k, v, attention(q, k, v, flags, weights=True)], qk_matmul_output_mode=3)
        causal = [q, k, v, flags[..., :4]]
        yield NodeTest(f'attention_{opset}_short_flags', 'Attention', opset, causal, [attention(*causal, causal=True)],
                       is_causal=1)
        yield NodeTest(f'attention_{opset}_short_mask', 'Attention', opset, [q, k, v, mask[:, :2]],
                       [attention(q, k, v, mask[:, :2])])
    for name, lengths in (('none', [0, 5]), ('few', [1, 4])):  # few: of three rows the first see no key
        lengths = np.array(lengths)
        for opset in (24, 25):
            yield NodeTest(f'attention_{opset}_blind_{name}', 'Attention', opset, [q, k, v, None, None, None, lengths],
                           [attention(q, k, v, causal=True, lengths=lengths)], is_causal=1)
            yield NodeTest(f'attention_{opset}_short_{name}', 'Attention', opset,
                           [q, k, v, flags[..., :4], None, None, np.minimum(lengths, 4)],
                           [attention(q, k, v, flags[..., :4], lengths=np.minimum(lengths, 4))])
    yield NodeTest('attention_25_blind_window', 'Attention', 25, [q, k[:, :, :2], v[:, :, :2]],
                   [attention(q, k[:, :, :2], v[:, :, :2], window=(0, 0))], left_window_size=0, right_window_size=0)


def rotations():
    x, angles = draw('rope', 2, 3, 4, 8), draw('angles', 2, 4, 4)
    cos, sin = np.cos(angles), np.sin(angles)
    c, s = cos[:, None], sin[:, None]
    halves = np.concatenate([x[..., :4] * c - x[..., 4:] * s, x[..., :4] * s + x[..., 4:] * c], -1)
    yield NodeTest('rotary_embedding', 'RotaryEmbedding', 23, [x, cos, sin], [halves.astype(F)])
    pairs = np.empty_like(x)
    pairs[..., 0::2], pairs[..., 1::2] = x[..., 0::2] * c - x[..., 1::2] * s, x[..., 0::2] * s + x[..., 1::2] * c
    yield NodeTest('rotary_embedding_interleaved', 'RotaryEmbedding', 23, [x, cos, sin], [pairs], interleaved=1)
    where = whole('positions', 0, 9, (2, 4))
    table = draw('table', 9, 2)
    cos, sin = np.cos(table), np.sin(table)
    c, s = cos[where][:, None], sin[where][:, None]
    part = np.concatenate([x[..., :2] * c - x[..., 2:4] * s, x[..., :2] * s + x[..., 2:4] * c, x[..., 4:]], -1)
    yield NodeTest('rotary_embedding_part', 'RotaryEmbedding', 23, [x, cos, sin, where], [part.astype(F)],
                   rotary_embedding_dim=4)


def caches():
    past, update = draw('cache', 2, 3, 6, 4), draw('update', 2, 3, 2, 4)
    at = np.array([1, 4])
    out = past.copy()
    for b in range(2):
        out[b, :, at[b]:at[b] + 2] = update[b]
    yield NodeTest('tensor_scatter', 'TensorScatter', 24, [past, update, at], [out])
    out = past.copy()
    for b, i in itertools.product(range(2), range(2)):
        out[b, :, (at[b] + 1 + i) % 6] = update[b, :, i]
    yield NodeTest('tensor_scatter_circular', 'TensorScatter', 24, [past, update, at + 1], [out], mode='circular')


def transforms():
    x = draw('dft', 2, 5, 4, 1)
    for name, axis, form in (('axis', 1, {}), ('onesided', -2, {'onesided': 1})):
        spectrum = (np.fft.rfft if form else np.fft.fft)(x[..., 0], axis=1 if axis == 1 else 2)
        yield NodeTest(f'dft_20_{name}', 'DFT', 20, [x, None, np.array(axis)],
                       [np.stack([spectrum.real, spectrum.imag], -1).astype(F)], **form)
    z = draw('idft', 1, 6, 2)
    back = np.fft.ifft(z[..., 0] + 1j * z[..., 1], axis=1)
    yield NodeTest('dft_20_inverse', 'DFT', 20, [z, None, np.array(1)], [np.stack([back.real, back.imag], -1).astype(F)],
                   inverse=1)


def bilinear(picture, y, x):
    top, left, total = math.floor(y), math.floor(x), 0.0
    for i, j in itertools.product((0, 1), (0, 1)):
        if 0 <= top + i < picture.shape[0] and 0 <= left + j < picture.shape[1]:
            total += picture[top + i, left + j] * (1 - abs(y - top - i)) * (1 - abs(x - left - j))
    return total


def deformed_convolutions():
    x, w = draw('deform', 1, 2, 5, 5), draw('deform_w', 3, 2, 2, 2)
    offset, mask, bias = draw('offset', 1, 8, 4, 4), draw('modulate', 1, 4, 4, 4), draw('deform_b', 3)
    for name, operands in (('plain', []), ('bias', [bias]), ('mask', [bias, mask])):
        out = np.zeros((1, 3, 4, 4))
        for m, c, r, s, i, j in itertools.product(range(3), range(2), range(4), range(4), range(2), range(2)):
            tap = i * 2 + j
            value = bilinear(x[0, c], r + i + offset[0, 2 * tap, r, s], s + j + offset[0, 2 * tap + 1, r, s])
            out[0, m, r, s] += w[m, c, i, j] * value * (mask[0, tap, r, s] if len(operands) == 2 else 1)
        out += bias[:, None, None] if operands else 0
        yield NodeTest(f'deform_conv_{name}', 'DeformConv', 19, [x, w, offset, *operands], [out.astype(F)], kernel_shape=[2, 2])


def largest():
    for kind in (np.float32, np.int32, np.uint8):
        x = whole('topk', 0, 200, (3, 6), kind)
        order = np.argsort(-x.astype(int), 1, kind='stable')[:, :2]
        yield NodeTest(f'top_k_24_{np.dtype(kind).name}', 'TopK', 24, [x, np.array([2])], [np.take_along_axis(x, order, 1), order],
                       axis=1)


MAKERS = [reductions, normalisations, quantisation, attentions, attentions_that_see_nothing, rotations, caches, transforms, deformed_convolutions, largest]
