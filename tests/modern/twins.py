# SPDX-License-Identifier: Apache-2.0
"""What operators mean, in numpy, from their documents; written apart from Fuselage's bodies."""
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x, alpha=1.0):
    return x * sigmoid(alpha * x)


def gelu(x):
    from math import erf
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2.0)))


def fast_gelu(x):
    return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def tensor_scatter(past, update, write, axis=-2, circular=False):
    out = past.copy()
    rows = np.moveaxis(out, axis, 1)  # a view: [batch, length, ...]
    new = np.moveaxis(update, axis, 1)
    for b in range(past.shape[0]):
        for t in range(new.shape[1]):
            at = int(write[b]) + t
            rows[b, at % rows.shape[1] if circular else at] = new[b, t]
    return out


def linear_attention(q, k, v, state, decay, beta, heads, kv_heads, rule, scale):
    """Token by token, from the operator's recurrences."""
    batch, length, _ = q.shape
    dk, dv = q.shape[2] // heads, v.shape[2] // kv_heads
    k_heads = k.shape[2] // dk
    scale = scale or 1 / np.sqrt(dk)
    state = np.zeros((batch, kv_heads, dk, dv)) if state is None else state.astype(np.float64)
    out = np.zeros((batch, length, heads, dv))
    for b in range(batch):
        for t in range(length):
            for h in range(kv_heads):
                key = k[b, t].reshape(k_heads, dk)[h * k_heads // kv_heads]
                value = v[b, t].reshape(kv_heads, dv)[h]
                s = state[b, h]
                if rule in ('gated', 'gated_delta'):
                    g = decay[b, t].reshape(kv_heads, -1)[h]
                    s = np.exp(g)[:, None] * s
                if rule in ('delta', 'gated_delta'):
                    step = np.broadcast_to(beta[b, t], (kv_heads,))[h]
                    s = s + step * np.outer(key, value - s.T @ key)
                else:
                    s = s + np.outer(key, value)
                state[b, h] = s
                for j in range(heads // kv_heads):
                    head = h * (heads // kv_heads) + j
                    out[b, t, head] = scale * q[b, t].reshape(heads, dk)[head] @ s
    return out.reshape(batch, length, heads * dv), state


def causal_conv(x, weight, bias, past, activation):
    taps = weight.shape[2]
    past = np.zeros((x.shape[0], x.shape[1], taps - 1)) if past is None else past
    whole = np.concatenate([past, x], 2)
    y = np.zeros(x.shape)
    for t in range(x.shape[2]):
        y[:, :, t] = (whole[:, :, t:t + taps] * weight[:, 0]).sum(2)
    if bias is not None:
        y += bias[None, :, None]
    return (silu(y) if activation in ('silu', 'swish') else y), whole[:, :, whole.shape[2] - taps + 1:]


def attention(q, k, v, causal_offset=None, window=None, softcap=0.0, scale=None, mask=None):
    """q [B,H,L,D], k and v [B,G,T,D]: query i sees keys up to i + offset, of them the last `window`."""
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    s = q @ k.swapaxes(2, 3) * (scale or 1 / np.sqrt(q.shape[3]))
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if mask is not None:
        s = s + mask
    if causal_offset is not None:
        i, j = np.indices(s.shape[2:])
        s = np.where(j > i + causal_offset, -np.inf, s)
        if window is not None:
            s = np.where(j <= i + causal_offset - window, -np.inf, s)
    return softmax(s) @ v


def group_norm(x, gamma, beta, groups, epsilon, activate):
    n, h, w, c = x.shape
    parts = x.astype(np.float64).reshape(n, h * w, groups, c // groups)
    mean, var = parts.mean((1, 3), keepdims=True), parts.var((1, 3), keepdims=True)
    y = ((parts - mean) / np.sqrt(var + epsilon)).reshape(x.shape) * gamma + beta
    return silu(y) if activate else y


def conv_nhwc(x, weight, bias, pad):
    n, h, w, _ = x.shape
    m, _, kh, kw = weight.shape
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    y = np.zeros((n, h + 2 * pad - kh + 1, w + 2 * pad - kw + 1, m))
    for i in range(kh):
        for j in range(kw):
            y += x[:, i:i + y.shape[1], j:j + y.shape[2]] @ weight[:, :, i, j].T
    return y + bias
