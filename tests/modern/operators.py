# SPDX-License-Identifier: Apache-2.0
"""One file an operator and a way to call it."""
import numpy as np
from onnx import TensorProto

import twins
from model import F, FLOAT4E2M1, FLOAT8E4M3FN, INT4, MS, UINT4, Model


def caches(positions, half):
    angles = np.outer(np.arange(positions), 1.0 / 100 ** (np.arange(half) / half))
    return np.cos(angles).astype(F), np.sin(angles).astype(F)


def group_query():
    """B tokens S, past P; `room`: the cache is a buffer of that many rows, written in place."""
    forms = {
        'gqa_prompt': dict(S=5, P=0), 'gqa_decode': dict(S=1, P=6), 'gqa_chunk': dict(S=3, P=4),
        'gqa_packed': dict(S=1, P=6, packed=True), 'gqa_rotary': dict(S=1, P=6, rotary=True),
        'gqa_rotary_prompt': dict(S=5, P=0, rotary=True, packed=True),
        'gqa_interleaved': dict(S=2, P=3, rotary=True, rotary_interleaved=1),
        'gqa_window': dict(S=1, P=9, local_window_size=4), 'gqa_window_prompt': dict(S=8, P=0, local_window_size=3),
        'gqa_softcap': dict(S=2, P=3, softcap=2.0), 'gqa_scale': dict(S=2, P=3, scale=0.7),
        'gqa_sink': dict(S=2, P=3, sink=True), 'gqa_smooth': dict(S=2, P=3, smooth_softmax=1),
        'gqa_bias': dict(S=2, P=3, bias=True), 'gqa_room': dict(S=1, P=6, room=12),
        'gqa_lengths': dict(S=1, P=6, B=2, room=12, short=2),
        'gqa_empty_past': dict(S=5, P=0, empty=True), 'gqa_room_prompt': dict(S=5, P=0, room=12, rotary=True),
        'gqa_room_chunk': dict(S=3, P=4, room=9, local_window_size=2),
        'gqa_positions': dict(S=2, P=3, rotary=True, positions=True),
    }
    for name, form in forms.items():
        yield group_query_model(name, **form)
    m = group_query_model('gqa_qk', S=2, P=3, qk_output=1)
    m.place = 'kept'  # the scores as a result of their own
    yield m
    m = group_query_model('gqa_padded_prompt', S=5, P=0, B=2, short=2)
    m.place = 'kept'  # what stands behind a prompt's end means nothing
    yield m


def group_query_model(name, S, P, B=1, packed=False, rotary=False, room=0, short=0, sink=False, bias=False,
                      positions=False, empty=False, H=4, G=2, D=16, **attributes):
    m = Model(name, 'ort')
    if packed:
        q, k, v = m.input('qkv', m.numbers(B, S, (H + 2 * G) * D)), None, None
    else:
        q = m.input('q', m.numbers(B, S, H * D))
        k, v = m.input('k', m.numbers(B, S, G * D)), m.input('v', m.numbers(B, S, G * D))
    total = P + S
    length = room or P
    past = [None, None]
    if length or empty:
        past = [m.input(f'past_{n}', m.numbers(B, G, length, D)) for n in ('key', 'value')]
    lengths = np.full(B, total - 1, np.int32)
    lengths[0] -= short
    m_lengths = m.input('seqlens_k', lengths)
    m_total = m.constant(np.array(total, np.int32), 'total')
    cos = sin = at = None
    if rotary:
        cos, sin = caches(32, D // 2)
        attributes['do_rotary'] = 1
    if positions:
        at = m.input('positions', np.arange(P + 3, P + 3 + S, dtype=np.int64)[None].repeat(B, 0))
    addend = m.input('bias', m.numbers(B, 1, S, max(length, total) if room else total)) if bias else None
    heads = m.constant(m.numbers(H)) if sink else None
    operands = [q, k, v, *past, m_lengths, m_total, cos, sin, at, addend, heads]
    while operands[-1] is None:
        operands.pop()
    outputs = 4 if 'qk_output' in attributes else 3
    made = m.add('GroupQueryAttention', *operands, outputs=outputs, domain=MS, num_heads=H, kv_num_heads=G, **attributes)
    for value in made:
        m.output(value)
    return m


def multi_head():
    def model(name, form, B=2, S=3, T=5, H=2, D=4, bias=False, padding=None, addend=False, past=0, outputs=1, **attributes):
        m = Model(name, 'twin' if form.startswith('packed') else 'ort')
        arrays = {}

        def x(n, *extents):
            arrays[n] = m.numbers(*extents)
            return m.input(n, arrays[n])
        E = H * D
        keys = S if form in ('packed_qkv', 'self') else T
        operands = {'self': lambda: [x('q', B, S, E), x('k', B, S, E), x('v', B, S, E)],
                    'cross': lambda: [x('q', B, S, E), x('k', B, T, E), x('v', B, T, E)],
                    'cross4': lambda: [x('q', B, S, E), x('k', B, H, T, D), x('v', B, H, T, D)],
                    'packed_kv': lambda: [x('q', B, S, E), x('kv', B, T, H, 2, D), None],
                    'packed_qkv': lambda: [x('qkv', B, S, H, 3, D), None, None]}[form]()
        operands += [m.constant(m.numbers(3 * E)) if bias else None]
        if padding == 'lengths':
            operands += [m.input('lengths', np.array([keys, keys - 1], np.int32))]
        elif padding == 'rows':
            rows = np.ones((B, keys), np.int32)
            rows[1, -2:] = 0
            operands += [m.input('rows', rows)]
        else:
            operands += [None]
        operands += [x('addend', 1, H, S, keys + past) if addend else None]
        operands += [x('past_key', B, H, past, D), x('past_value', B, H, past, D)] if past else [None, None]
        while operands[-1] is None:
            operands.pop()
        made = m.add('MultiHeadAttention', *operands, outputs=outputs, domain=MS, num_heads=H, **attributes)
        right = None
        if form.startswith('packed'):
            parts = np.moveaxis(arrays['qkv' if form == 'packed_qkv' else 'kv'], 3, 0).swapaxes(2, 3)
            q = parts[0] if form == 'packed_qkv' else arrays['q'].reshape(B, S, H, D).swapaxes(1, 2)
            right = twins.attention(q, parts[-2], parts[-1]).swapaxes(1, 2).reshape(B, S, E)
        for value in [made] if outputs == 1 else made:
            m.output(value, right)
        return m

    yield model('mha', 'self')
    yield model('mha_cross', 'cross', bias=True)
    yield model('mha_cross4', 'cross4')
    yield model('mha_packed_kv', 'packed_kv')
    yield model('mha_packed_qkv', 'packed_qkv')
    yield model('mha_causal', 'self', unidirectional=1, scale=0.3)
    yield model('mha_lengths', 'self', padding='lengths')
    yield model('mha_rows', 'cross', padding='rows')
    yield model('mha_past', 'self', past=4, outputs=3, addend=True)


def packed_attention():
    B, S, H, D = 2, 4, 2, 4
    E = H * D
    rows = np.ones((B, S), np.int32)
    rows[1, -2:] = 0
    corner = np.tril(np.ones((S, S), np.int32))[None].repeat(B, 0)
    for name, mask, past, more in (('attention_ms', None, 0, {}), ('attention_ms_rows', rows, 0, {}),
                                   ('attention_ms_lengths', np.array([S, S - 1], np.int32), 0, {}),
                                   ('attention_ms_square', corner, 0, dict(scale=0.4)),
                                   ('attention_ms_causal', None, 0, dict(unidirectional=1)),
                                   ('attention_ms_past', None, 3, dict(unidirectional=1))):
        m = Model(name, 'ort')
        operands = [m.input('x', m.numbers(B, S, E)), m.numbers(E, 3 * E), m.numbers(3 * E),
                    None if mask is None else m.input('mask', mask),
                    m.input('past', m.numbers(2, B, H, past, D)) if past else None]
        while operands[-1] is None:
            operands.pop()
        made = m.add('Attention', *operands, outputs=2 if past else 1, domain=MS, num_heads=H, **more)
        for value in made if past else [made]:
            m.output(value)
        yield m


def standard_attention():
    def model(name, opset=23, rank=3, past=0, mask=None, outputs=1, B=2, H=4, G=2, S=3, T=5, D=8, **attributes):
        m = Model(name, 'ort', opset)
        shape = lambda heads, rows: (B, heads, rows, D) if rank == 4 else (B, rows, heads * D)
        operands = [m.input('q', m.numbers(*shape(H, S))), m.input('k', m.numbers(*shape(G, T))),
                    m.input('v', m.numbers(*shape(G, T)))]
        if mask == 'float':
            operands += [m.input('mask', m.numbers(B, 1, S, T + past))]
        elif mask == 'bool':
            keep = m.random.random((S, T + past)) < 0.7
            keep[:, 0] = True
            operands += [m.input('mask', keep)]
        if past:
            operands += [None] * (4 - len(operands)) + [m.input('past_key', m.numbers(B, G, past, D)),
                                                       m.input('past_value', m.numbers(B, G, past, D))]
        if rank == 3:
            attributes |= dict(q_num_heads=H, kv_num_heads=G)
        made = m.add('Attention', *operands, outputs=outputs, **attributes)
        for value in [made] if outputs == 1 else made:
            m.output(value)
        return m

    yield model('attention23')
    yield model('attention23_rank4', rank=4, scale=0.4)
    yield model('attention23_causal', is_causal=1, T=3)
    yield model('attention23_mask', mask='float', softcap=3.0)
    yield model('attention23_keep', mask='bool')
    yield model('attention23_past', past=4, outputs=3, is_causal=1)
    m = model('attention24_window', opset=25, left_window_size=2, is_causal=1)
    m.place = 'kept'  # an attribute that is newer than what computes it: never dropped
    yield m


def rotary():
    for name, opset, rank, more in (('rotary23', 23, 4, {}), ('rotary23_flat', 23, 3, dict(num_heads=4)),
                                    ('rotary23_interleaved', 23, 4, dict(interleaved=1)),
                                    ('rotary23_partial', 23, 4, dict(rotary_embedding_dim=4))):
        m = Model(name, 'ort', opset)
        x = m.input('x', m.numbers(*((2, 4, 5, 8) if rank == 4 else (2, 5, 32))))
        cos, sin = caches(16, more.get('rotary_embedding_dim', 8) // 2)
        at = m.input('positions', m.random.integers(0, 16, (2, 5)))
        m.output(m.add('RotaryEmbedding', x, cos, sin, at, **more))
        yield m
    m = Model('rotary23_rows', 'ort', 23)  # caches of each token
    x = m.input('x', m.numbers(2, 4, 5, 8))
    m.output(m.add('RotaryEmbedding', x, m.numbers(2, 5, 4), m.numbers(2, 5, 4)))
    yield m
    for name, rank, positions, more in (('rotary_ms', 3, (2, 5), {}), ('rotary_ms_heads', 4, (2, 5), {}),
                                        ('rotary_ms_offset', 3, (1,), dict(num_heads=4)),
                                        ('rotary_ms_interleaved', 3, (2, 5), dict(interleaved=1))):
        m = Model(name, 'ort')
        x = m.input('x', m.numbers(*((2, 4, 5, 8) if rank == 4 else (2, 5, 32))))
        at = m.input('positions', m.random.integers(0, 8, positions))
        m.output(m.add('RotaryEmbedding', x, at, *caches(16, 4), domain=MS, **more))
        yield m


def norms_and_activations():
    m = Model('rms23', 'ort', 23)
    m.output(m.add('RMSNormalization', m.input('x', m.numbers(2, 3, 16)), m.numbers(16), epsilon=1e-5))
    yield m
    m = Model('skip_simplified', 'ort')
    y, _, _, total = m.add('SkipSimplifiedLayerNormalization', m.input('x', m.numbers(2, 3, 16)),
                           m.input('r', m.numbers(2, 3, 16)), m.numbers(16), outputs=4, domain=MS, epsilon=1e-5)
    m.nodes[-1].output[1] = m.nodes[-1].output[2] = ''
    m.output(y)
    m.output(total)
    yield m
    x = Model('', '').numbers(2, 3, 8)
    m = Model('swish24', 'twin', 24)
    m.output(m.add('Swish', m.input('x', x), alpha=1.5), twins.silu(x, 1.5))
    yield m
    m = Model('swiglu28', 'twin', 28)
    a, b = m.numbers(2, 3, 8), m.numbers(2, 3, 8)
    m.output(m.add('SwiGLU', m.input('a', a), m.input('b', b), alpha=1.25), twins.silu(a, 1.25) * b)
    yield m
    m = Model('bias_split_gelu', 'twin')
    a, b = m.numbers(2, 5, 16), m.numbers(16)
    left, right = np.split(a + b, 2, -1)
    m.output(m.add('BiasSplitGelu', m.input('x', a), b, domain=MS), left * twins.gelu(right))
    yield m
    for activation in (0, 1):
        m = Model(f'group_norm_ms_{activation}', 'twin')
        a, gamma, beta = m.numbers(2, 3, 4, 8), m.numbers(8), m.numbers(8)
        m.output(m.add('GroupNorm', m.input('x', a), gamma, beta, domain=MS, epsilon=1e-5, groups=4,
                       activation=activation), twins.group_norm(a, gamma, beta, 4, 1e-5, activation))
        yield m
    m = Model('skip_group_norm', 'twin')
    a, skip, bias, gamma, beta = m.numbers(2, 3, 4, 8), m.numbers(2, 3, 4, 8), m.numbers(8), m.numbers(8), m.numbers(8)
    made = m.add('SkipGroupNorm', m.input('x', a), gamma, beta, m.input('skip', skip), bias, outputs=2, domain=MS, groups=2,
                 epsilon=1e-5, activation=1)
    m.output(made[0], twins.group_norm(a + skip + bias, gamma, beta, 2, 1e-5, 1))
    m.output(made[1], a + skip + bias)
    yield m
    m = Model('bias_add', 'twin')
    a, skip, bias = m.numbers(2, 5, 8), m.numbers(2, 5, 8), m.numbers(8)
    m.output(m.add('BiasAdd', m.input('x', a), bias, m.input('skip', skip), domain=MS), a + bias + skip)
    yield m
    m = Model('gemm_fast_gelu', 'twin')
    a, weight, bias = m.numbers(3, 8), m.numbers(8, 5), m.numbers(5)
    m.output(m.add('GemmFastGelu', m.input('x', a), weight, bias, domain=MS), twins.fast_gelu(a @ weight + bias))
    yield m
    m = Model('gemma_rotary', 'twin')
    angles, parts = m.numbers(2, 3, 8), [m.numbers(2, 4, 3, 8) for _ in range(4)]
    made = m.add('GemmaRotaryEmbedding', m.input('angles', angles), *(m.input(f'p{i}', p) for i, p in enumerate(parts)),
                 outputs=2, domain=MS)
    for value, straight, across in zip(made, parts[0::2], parts[1::2]):
        m.output(value, straight * np.cos(angles)[:, None] + across * np.sin(angles)[:, None])
    yield m
    m = Model('nhwc_max_pool', 'twin')
    a = m.numbers(2, 4, 6, 3)
    m.output(m.add('NhwcMaxPool', m.input('x', a), domain=MS, kernel_shape=[2, 2], strides=[2, 2]),
             a.reshape(2, 2, 2, 3, 2, 3).max((2, 4)))
    yield m
    m = Model('nhwc_conv', 'twin')
    a, weight, bias = m.numbers(2, 6, 5, 3), m.numbers(4, 3, 3, 3), m.numbers(4)
    m.output(m.add('NhwcConv', m.input('x', a), weight, bias, domain=MS, pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
             twins.conv_nhwc(a, weight, bias, 1))
    yield m


def states():
    for name, extents, axis, circular in (('scatter24', (2, 2, 8, 4), -2, False), ('scatter24_rank3', (2, 8, 4), 1, False),
                                          ('scatter24_circular', (2, 2, 8, 4), -2, True),
                                          ('scatter24_axis', (2, 3, 8), -1, False)):
        m = Model(name, 'twin', 24)
        past = m.numbers(*extents)
        update = m.numbers(*[3 if i == axis % len(extents) else n for i, n in enumerate(extents)])
        write = np.array([1, 6 if circular else 4], np.int64)
        made = m.add('TensorScatter', m.input('past', past), m.input('update', update), m.input('write', write), axis=axis,
                     mode='circular' if circular else 'linear')
        m.output(made, twins.tensor_scatter(past, update, write, axis, circular))
        yield m
    for name, past, bias, activation in (('causal_conv27', False, True, 'none'), ('causal_conv27_state', True, False, 'silu')):
        m = Model(name, 'twin', 27)
        a, weight = m.numbers(2, 6, 5), m.numbers(6, 1, 4)
        shift, state = m.numbers(6) if bias else None, m.numbers(2, 6, 3) if past else None
        operands = [m.input('x', a), weight, shift, m.input('state', state) if past else None]
        while operands[-1] is None:
            operands.pop()
        for made, right in zip(m.add('CausalConvWithState', *operands, outputs=2, activation=activation),
                               twins.causal_conv(a, weight, shift, state, activation)):
            m.output(made, right)
        yield m
    for rule in ('linear', 'gated', 'delta', 'gated_delta'):
        m = Model('linear_attention27_' + rule, 'twin', 27)
        B, T, H, G, dk, dv = 2, 4, 4, 2, 4, 3
        q, k, v = m.numbers(B, T, H * dk), m.numbers(B, T, G * dk, scale=0.5), m.numbers(B, T, G * dv)
        state = m.numbers(B, G, dk, dv) if rule != 'linear' else None
        width = G * dk if rule == 'gated' else G
        decay = -np.abs(m.numbers(B, T, width)) if 'gated' in rule else None
        beta = m.random.random((B, T, G)).astype(F) if 'delta' in rule else None
        named = {'past': state, 'decay': decay, 'beta': beta}
        operands = [m.input('q', q), m.input('k', k), m.input('v', v)]
        operands += [None if a is None else m.input(n, a) for n, a in named.items()]
        while operands[-1] is None:
            operands.pop()
        made = m.add('LinearAttention', *operands, outputs=2, q_num_heads=H, kv_num_heads=G, update_rule=rule)
        for value, right in zip(made, twins.linear_attention(q, k, v, state, decay, beta, H, G, rule, 0)):
            m.output(value, right)
        yield m


def experts():
    E, T, X, I = 4, 5, 8, 12
    for name, activation, k, more in (('moe_relu', 'relu', 1, {}), ('moe_gelu', 'gelu', 2, {}),
                                      ('moe_silu', 'silu', 2, dict(normalize_routing_weights=1)),
                                      ('moe_swiglu', 'swiglu', 2, dict(swiglu_fusion=1, activation_alpha=1.702,
                                                                       activation_beta=1.0, swiglu_limit=7.0))):
        m = Model(name, 'ort')
        wide = 2 * I if activation == 'swiglu' else I
        made = m.add('MoE', m.input('x', m.numbers(T, X)), m.input('router', m.numbers(T, E)), m.numbers(E, wide, X),
                     m.numbers(E, wide), m.numbers(E, X, I), m.numbers(E, X), domain=MS, activation_type=activation, k=k,
                     **more)
        m.output(made)
        yield m
    m = Model('qmoe', 'ort')
    made = m.add('QMoE', m.input('x', m.numbers(T, X)), m.input('router', m.numbers(T, E)),
                 m.random.integers(0, 256, (E, 2 * I, X // 2)).astype(np.uint8), np.abs(m.numbers(E, 2 * I, scale=0.1)),
                 m.numbers(E, 2 * I), m.random.integers(0, 256, (E, X, I // 2)).astype(np.uint8),
                 np.abs(m.numbers(E, X, scale=0.1)), m.numbers(E, X), domain=MS, activation_type='swiglu', k=2,
                 swiglu_fusion=1, expert_weight_bits=4, normalize_routing_weights=1)
    m.output(made)
    yield m


def stored_weights():
    m = Model('matmul_nbits', 'ort')
    m.output(m.add('MatMulNBits', m.input('x', m.numbers(3, 64)), m.random.integers(0, 256, (24, 2, 16)).astype(np.uint8),
                   np.abs(m.numbers(24, 2, scale=0.1)), domain=MS, K=64, N=24, bits=4, block_size=32))
    yield m
    for name, kind in (('int4', INT4), ('uint4', UINT4)):
        m = Model('dequantize_' + name, 'ort', 21)
        weight = m.add('DequantizeLinear', m.packed(kind, 8, 6), np.abs(m.numbers(2, 6)), axis=0, block_size=4)
        m.output(m.add('MatMul', m.input('x', m.numbers(3, 8)), weight))
        yield m
    m = Model('dequantize_fp8', 'ort', 19)
    raw = m.random.integers(0, 0x70, 48).astype(np.uint8).tobytes()
    stored = TensorProto(data_type=FLOAT8E4M3FN, dims=(8, 6), raw_data=raw)
    m.output(m.add('MatMul', m.input('x', m.numbers(3, 8)), m.add('DequantizeLinear', stored, F(0.1))))
    yield m
    m = Model('dequantize_fp4', 'kept', 23)
    weight = m.add('DequantizeLinear', m.packed(FLOAT4E2M1, 8, 6), np.abs(m.numbers(2, 6)), axis=0, block_size=4)
    m.output(m.add('MatMul', m.input('x', m.numbers(3, 8)), weight))
    yield m
    weight = lambda m: m.random.integers(0, 256, (8, 6)).astype(np.uint8)
    m = Model('dynamic_quantize_matmul', 'ort')
    m.output(m.add('DynamicQuantizeMatMul', m.input('x', m.numbers(3, 8)), weight(m), F(0.02), np.uint8(120), domain=MS))
    yield m
    m = Model('matmul_integer_to_float', 'ort')
    stored = m.input('x', m.random.integers(0, 256, (3, 8)).astype(np.uint8))
    m.output(m.add('MatMulIntegerToFloat', stored, weight(m), F(0.03), F(0.02), np.uint8(110), np.uint8(120), domain=MS))
    yield m


def kept():
    B, S, H, G, D = 1, 2, 4, 2, 8
    m = Model('paged_attention', 'kept')
    made = m.add('PagedAttention', m.input('q', m.numbers(S, H * D)), m.input('k', m.numbers(S, G * D)),
                 m.input('v', m.numbers(S, G * D)), m.input('kc', m.numbers(4, 16, G, D)), m.input('vc', m.numbers(4, 16, G, D)),
                 np.array([0, S], np.int32), np.array([3], np.int32), np.array([[0]], np.int32), outputs=3, domain=MS,
                 num_heads=H, kv_num_heads=G)
    m.output(m.add('Relu', made[0]))
    yield m
    m = Model('sparse_attention', 'ort')
    made = m.add('SparseAttention', m.input('q', m.numbers(B, 16, H * 8)), m.input('k', m.numbers(B, 16, G * 8)),
                 m.input('v', m.numbers(B, 16, G * 8)), m.input('pk', m.numbers(B, G, 32, 8)), m.input('pv', m.numbers(B, G, 32, 8)),
                 np.array([[0, 1, 3]], np.int32), np.array([[0, 0, 1]], np.int32), np.array([16], np.int32),
                 np.array([16], np.int32), outputs=3, domain=MS, num_heads=H, kv_num_heads=G, sparse_block_size=16)
    m.place = 'kept'
    m.output(m.add('Relu', made[0]))
    yield m
    m = Model('nchwc_conv', 'kept')
    m.domains['com.microsoft.nchwc'] = 1
    x = m.add('ReorderInput', m.input('x', m.numbers(1, 8, 6, 6)), domain='com.microsoft.nchwc')
    y = m.add('Conv', x, m.numbers(8, 8, 3, 3), domain='com.microsoft.nchwc', kernel_shape=[3, 3], activation='Relu')
    m.output(m.add('ReorderOutput', y, domain='com.microsoft.nchwc', channels=8))
    yield m


OPERATORS = [group_query, multi_head, packed_attention, standard_attention, rotary, norms_and_activations, states, experts,
             stored_weights, kept]
