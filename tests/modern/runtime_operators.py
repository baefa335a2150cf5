# SPDX-License-Identifier: Apache-2.0
"""What ONNX Runtime 1.30 added or widened for language models: tables and experts stored in few bits, recurrent attention,
positions in three parts, projections with their norm."""
import numpy as np

import twins
from model import F, INT4, MS, UINT4, Model
from operators import caches


def packed(m, bits, *extents):
    """Random numbers of some bits in bytes, along the last dimension."""
    return m.random.integers(0, 256, (*extents[:-1], -(-extents[-1] * bits // 8))).astype(np.uint8)


def scales(m, *extents):
    return np.abs(m.numbers(*extents, scale=0.1)) + F(0.01)


def tables():
    """Rows of an embedding that is stored in blocks."""
    forms = {'gather_bits4': dict(bits=4), 'gather_bits4_zero': dict(bits=4, zero=True),
             'gather_bits8': dict(bits=8), 'gather_bits8_zero': dict(bits=8, zero=True), 'gather_bits2_zero': dict(bits=2, zero=True),
             'gather_bits4_tail': dict(bits=4, width=40, zero=True), 'gather_bits4_odd': dict(bits=4, width=48, zero=True),
             'gather_bits8_tail': dict(bits=8, width=24), 'gather_bits4_scalar': dict(bits=4, at=()),
             'gather_bits4_rank3': dict(bits=4, lead=(7, 3), zero=True)}
    for name, form in forms.items():
        yield table(name, **form)
    for name, kind, zero, axis in (('gather_int4', INT4, False, 1), ('gather_uint4', UINT4, True, 1),
                                   ('gather_int4_middle', INT4, True, 1), ('gather_int4_last', INT4, False, -1)):
        m = Model(name, 'ort', 21)
        extents = (7, 32, 6) if 'middle' in name else (7, 32)
        blocks = [2 if i == axis % len(extents) else n for i, n in enumerate(extents)]
        operands = [m.packed(kind, *extents), m.input('at', m.random.integers(-7, 7, (2, 3))), scales(m, *blocks)]
        operands += [m.packed(kind, *blocks)] if zero else []
        m.output(m.add('GatherBlockQuantized', *operands, domain=MS, block_size=16, quantize_axis=axis))
        yield m


def table(name, bits, width=32, zero=False, at=(2, 3), lead=(7,), block=16):
    m = Model(name, 'ort')
    blocks = -(-width // block)
    operands = [packed(m, bits, *lead, width), m.input('at', m.random.integers(-lead[0], lead[0], at)), scales(m, *lead, blocks)]
    operands += [packed(m, bits, *lead, blocks)] if zero else []
    m.output(m.add('GatherBlockQuantized', *operands, domain=MS, bits=bits, block_size=block, quantize_axis=len(lead)))
    return m


def experts():
    gated = dict(activation='swiglu', swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=7.0)
    forms = {'qmoe_bits8': dict(bits=8), 'qmoe_blocks': dict(block=16), 'qmoe_blocks_bits8': dict(bits=8, block=16),
             'qmoe_blocks_zero': dict(block=16, zero=True), 'qmoe_zero': dict(zero=True), 'qmoe_bits8_zero': dict(bits=8, zero=True),
             'qmoe_gated': dict(block=16, k=2, normalize_routing_weights=1, **gated),
             'qmoe_bits2': dict(bits=2, block=16), 'qmoe_rank3': dict(block=16, rank=3),
             'qmoe_two': dict(k=2), 'qmoe_mix': dict(block=16, mix=True, k=2), 'qmoe_mix_normal': dict(mix=True, k=2, normalize_routing_weights=1),
             'qmoe_no_bias': dict(block=16, bias=False), 'qmoe_tail': dict(block=16, inner=72)}
    for name, form in forms.items():
        yield quantised_experts(name, **form)


def quantised_experts(name, bits=4, block=0, zero=False, mix=False, bias=True, rank=2, activation='silu', k=1, inner=64,
                      **more):
    E, T, X, I = 4, 6, 32, inner
    wide = 2 * I if activation == 'swiglu' else I
    m = Model(name, 'ort')

    def weights(rows, columns):
        step = (E, rows, -(-columns // block)) if block else (E, rows)
        return packed(m, bits, E, rows, columns), scales(m, *step), packed(m, bits, *step) if zero else None
    w1, s1, z1 = weights(wide, X)
    w2, s2, z2 = weights(X, I)
    operands = [m.input('x', m.numbers(*((2, T // 2, X) if rank == 3 else (T, X)))), m.input('router', m.numbers(T, E)), w1, s1,
                m.numbers(E, wide) if bias else None, w2, s2, m.numbers(E, X) if bias else None, None, None, None, z1, z2, None,
                m.input('mix', m.random.random((T, E)).astype(F)) if mix else None]
    while operands[-1] is None:
        operands.pop()
    if block:
        more['block_size'] = block
    m.output(m.add('QMoE', *operands, domain=MS, activation_type=activation, k=k, expert_weight_bits=bits, **more))
    return m


def grouped_products():
    """Blocks by an index of each row of weights, as GPTQ sorts them. ONNX Runtime 1.30 takes 8 in place of packed zero
    points here; the operator's document does not, and numpy says what that means."""
    N, K, block = 24, 64, 16
    blocks = K // block
    for name, zero, bias in (('nbits_order', None, False), ('nbits_order_zero', 'packed', True),
                             ('nbits_order_float', 'float', False), ('nbits_order_bias', None, True)):
        m = Model(name, 'twin' if zero == 'packed' else 'ort')
        x, stored, step = m.numbers(3, K), packed(m, 4, N, blocks, block), scales(m, N, blocks)
        zeros = {'packed': lambda: packed(m, 4, N, blocks), 'float': lambda: m.numbers(N, blocks, scale=3.0), None: lambda: None}[zero]()
        order = m.random.integers(0, blocks, K).astype(np.int32)
        shift = m.numbers(N) if bias else None
        operands = [m.input('x', x), stored, step, zeros, order, shift]
        while operands[-1] is None:
            operands.pop()
        right = None
        if zero == 'packed':
            weights = (nibbles(stored).reshape(N, K) - nibbles(zeros)[:, order]) * step[:, order]
            right = x @ weights.T + shift
        m.output(m.add('MatMulNBits', *operands, domain=MS, K=K, N=N, bits=4, block_size=block), right)
        yield m


def recurrences():
    for name, past, bias, more in (('causal_conv_ms', False, True, {}), ('causal_conv_ms_state', True, False, dict(activation='silu')),
                                   ('causal_conv_ms_spread', True, True, dict(dilation=2)),
                                   ('causal_conv_ms_last', True, False, dict(channels_last=1, activation='silu'))):
        m = Model(name, 'ort')
        length = 3 * more.get('dilation', 1)
        turn = (lambda b, c, t: (b, t, c)) if more.get('channels_last') else (lambda b, c, t: (b, c, t))
        operands = [m.input('x', m.numbers(*turn(2, 6, 5))), m.numbers(6, 1, 4), m.numbers(6) if bias else None,
                    m.input('state', m.numbers(*turn(2, 6, length))) if past else None]
        while operands[-1] is None:
            operands.pop()
        for made in m.add('CausalConvWithState', *operands, outputs=2, domain=MS, **more):
            m.output(made)
        yield m
    for rule in ('linear', 'gated', 'delta', 'gated_delta'):
        for H, K, G in ((4, 2, 2), (2, 2, 2), (2, 4, 4), (2, 2, 4), (1, 2, 4)):  # heads of queries, keys, values
            m = Model(f'linear_attention_ms_{rule}_{H}_{K}_{G}', 'ort')
            B, T, dk, dv = 2, 4, 4, 3
            operands = [m.input('q', m.numbers(B, T, H * dk)), m.input('k', m.numbers(B, T, K * dk, scale=0.5)),
                        m.input('v', m.numbers(B, T, G * dv)),
                        m.input('past', m.numbers(B, G, dk, dv)) if rule != 'linear' else None,
                        m.input('decay', -np.abs(m.numbers(B, T, G))) if 'gated' in rule else None,
                        m.input('beta', m.random.random((B, T, G)).astype(F)) if 'delta' in rule else None]
            while operands[-1] is None:
                operands.pop()
            for made in m.add('LinearAttention', *operands, outputs=2, domain=MS, q_num_heads=H, kv_num_heads=G, update_rule=rule):
                m.output(made)
            yield m
    B, T, H = 2, 3, 4
    for name, given in (('linear_gate', True), ('linear_gate_decay', False)):
        m = Model(name, 'twin')
        a, shift, scale, b = m.numbers(B, T, H), m.numbers(H), -np.abs(m.numbers(H)), m.numbers(B, T, H)
        operands = [m.input('a', a), shift, scale] + ([m.input('b', b)] if given else [])
        made = m.add('LinearAttentionGate', *operands, outputs=2 if given else 1, domain=MS)
        m.output(made[0] if given else made, scale * np.log1p(np.exp(a + shift)))
        if given:
            m.output(made[1], twins.sigmoid(b))
        yield m
    m = Model('gated_norm', 'twin')
    x, scale, gate = m.numbers(B, T, 12), m.numbers(4), m.numbers(B, T, 12)
    rows = x.reshape(B, T, 3, 4)
    right = rows / np.sqrt((rows ** 2).mean(-1, keepdims=True) + 1e-6) * scale
    m.output(m.add('GatedRMSNorm', m.input('x', x), scale, m.input('gate', gate), domain=MS, epsilon=1e-6),
             right.reshape(x.shape) * twins.silu(gate))
    yield m


def positions_in_parts():
    for layout in (0, 1):
        for name, rank, more in (('flat', 3, dict(num_heads=4)), ('heads', 4, {}), ('part', 4, dict(rotary_embedding_dim=12, num_heads=4)),
                                 ('pairs', 4, dict(interleaved=1)),
                                 ('scaled_part', 4, dict(rotary_embedding_dim=12, num_heads=4, scale=2.0))):
            half = more.get('rotary_embedding_dim', 16) // 2
            m = Model(f'rotary_parts_{layout}_{name}', 'ort')
            x = m.input('x', m.numbers(*((2, 4, 5, 16) if rank == 4 else (2, 5, 64))))
            at = m.input('positions', m.random.integers(0, 16, (3, 2, 5)))
            m.output(m.add('MRotaryEmbedding', x, at, *caches(16, half), domain=MS, mrope_layout=layout,
                           mrope_section=[half - 4, 2, 2], **more))
            yield m


def projections():
    """Products of 4 bits behind a norm, as the WebGPU provider writes them; the parts are right by themselves."""
    B, K, N, block = 3, 64, 32, 32
    for name, skip, norm, bias in (('nbits_mlp', False, False, True), ('nbits_mlp_norm', False, True, False),
                                   ('nbits_mlp_skip', True, True, False)):
        m = Model(name, 'twin')
        x, more, scale = m.numbers(B, K), m.numbers(B, K), m.numbers(K)
        weights = [nbits(m, N, K, block) for _ in range(2)]
        shifts = [m.numbers(N) if bias else None for _ in range(2)]
        total = x + more if skip else x
        row = normal(total, scale) if norm else x
        gate, up = (row @ w[2].T + (0 if b is None else b) for w, b in zip(weights, shifts))
        operands = [m.input('x', x), m.input('skip', more) if skip else None, scale if norm else None,
                    *weights[0][:2], shifts[0], *weights[1][:2], shifts[1]]
        while operands[-1] is None:
            operands.pop()
        made = m.add('MatMulNBitsMlp', *operands, outputs=2 if skip else 1, domain=MS, K=K, N=N, bits=4, block_size=block,
                     activation='silu')
        m.output(made[0] if skip else made, twins.silu(gate) * up)
        if skip:
            m.output(made[1], total)
        yield m
    for name, skip in (('nbits_qkv', False), ('nbits_qkv_skip', True)):
        m = Model(name, 'twin')
        x, more, scale = m.numbers(B, K), m.numbers(B, K), m.numbers(K)
        total = x + more if skip else x
        weights = [nbits(m, n, K, block) for n in (N, N // 2, N // 2)]
        operands = [m.input('x', x), m.input('skip', more) if skip else None, scale]
        for packed_bytes, step, _ in weights:
            operands += [packed_bytes, step, None]
        operands.pop()
        made = m.add('MatMulNBitsQkv', *operands, outputs=4 if skip else 3, domain=MS, K=K, Nq=N, Nkv=N // 2, bits=4, block_size=block)
        for value, right in zip(made, [normal(total, scale) @ w[2].T for w in weights] + [total]):
            m.output(value, right)
        yield m


def normal(x, scale):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * scale


def nbits(m, N, K, block):
    """Bytes and scales of a MatMulNBits, and what they mean."""
    stored, step = packed(m, 4, N, K // block, block), scales(m, N, K // block)
    return stored, step, ((nibbles(stored) - 8) * step[..., None]).reshape(N, K)


def nibbles(stored):
    """The numbers of 4 bits in bytes, along the last dimension."""
    return np.stack([stored & 15, stored >> 4], -1).reshape(*stored.shape[:-1], -1).astype(F)


def left_padding():
    B, S, H, D = 2, 4, 2, 4
    for name, mask, past in (('attention_ms_begins', [S, S, 0, 2], 0), ('attention_ms_both_ends', [S, S - 1, 1, 0], 0),
                             ('attention_ms_begins_past', [S + 3, S + 3, 2, 0], 3)):
        m = Model(name, 'ort')
        E = H * D
        operands = [m.input('x', m.numbers(B, S, E)), m.numbers(E, 3 * E), m.numbers(3 * E), m.input('mask', np.array(mask, np.int32))]
        operands += [m.input('past', m.numbers(2, B, H, past, D))] if past else []
        made = m.add('Attention', *operands, outputs=2 if past else 1, domain=MS, num_heads=H, unidirectional=1 if past else 0)
        for value in made if past else [made]:
            m.output(value)
        yield m


def layers():
    """Operators one behind the other where the file says no type between them."""
    for name, cast in (('hybrid_layer', False), ('hybrid_layer_cast', True)):
        m = Model(name, 'ort')
        B, T, H, D = 2, 4, 2, 8
        x = m.input('x', m.numbers(B, T, H * D))
        turned = m.add('Transpose', x, perm=[0, 2, 1])
        weight = m.add('Cast', m.constant(m.numbers(H * D, 1, 4).astype(np.float64)), to=1) if cast else m.numbers(H * D, 1, 4)
        local, _ = m.add('CausalConvWithState', turned, weight, outputs=2, domain=MS, activation='silu')
        rows = m.add('Transpose', local, perm=[0, 2, 1])
        mixed, _ = m.add('LinearAttention', rows, rows, x, outputs=2, domain=MS, q_num_heads=H, kv_num_heads=H, update_rule='linear')
        at = m.input('positions', m.random.integers(0, 16, (3, B, T)))
        m.output(m.add('MRotaryEmbedding', mixed, at, *caches(16, D // 2), domain=MS, mrope_section=[2, 1, 1], num_heads=H))
        yield m
    m = Model('shared_table', 'ort')  # the rows of a product's weights as an embedding
    stored, step = packed(m, 4, 48, 2, 32), scales(m, 48, 2)
    table = m.add('Reshape', stored, np.array([48, -1], np.int64))
    x = m.add('GatherBlockQuantized', table, m.input('at', m.random.integers(0, 48, (2, 3))), step, domain=MS, block_size=32)
    m.output(m.add('MatMulNBits', x, stored, step, domain=MS, K=64, N=48, bits=4, block_size=32))
    yield m
    for name, op in (('skip_norm_default', 'SkipLayerNormalization'), ('skip_rms_default', 'SkipSimplifiedLayerNormalization')):
        m = Model(name, 'ort')  # what is added to a small variance shows
        m.output(m.add(op, m.input('x', m.numbers(2, 3, 8, scale=1e-3)), m.input('skip', m.numbers(2, 3, 8, scale=1e-3)),
                       m.numbers(8), domain=MS))
        yield m
    m = Model('experts_of_nothing', 'twin')
    T, X, E, I = 0, 8, 4, 6
    made = m.add('MoE', m.input('x', np.zeros((1, T, X), F), (1, 'T', X)), m.input('router', np.zeros((T, E), F), ('T', E)),
                 m.numbers(E, I, X), None, m.numbers(E, X, I), domain=MS, k=2)
    m.output(made, np.zeros((1, T, X), F))
    yield m


RUNTIME_OPERATORS = [tables, experts, grouped_products, recurrences, positions_in_parts, projections, left_padding,
                     layers]
