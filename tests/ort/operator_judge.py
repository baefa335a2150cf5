# SPDX-License-Identifier: Apache-2.0
"""Whether answers about one model agree: of ONNX Runtime, and of serve_operators its inference, reference, and cpu runs. Pure
comparisons; what ONNX Runtime does otherwise than the standard is known_differences.py's business."""
from random_model import KINDS, np

# Relative to the largest finite result: what single kernels lose, theirs or ours.
TOLERANCES = {'float': 2e-5, 'double': 1e-6, 'float16': 4e-3, 'bfloat16': 2e-2}

# Of the difference of two numbers that are nearly the same, whatever becomes of it.
ABSOLUTE = {'com.microsoft.FastGelu': 2e-6, 'Gelu': 2e-6}
LEAST = {'float': 1e-7, 'double': 1e-15, 'float16': 1e-6}  # an absolute error is none below
# What divides by the root of a variance, or of nearly nothing, loses more.
ROUGH = {'InstanceNormalization': 100, 'LayerNormalization': 100, 'GroupNormalization': 100, 'BatchNormalization': 10,
         'MeanVarianceNormalization': 10, 'com.microsoft.Attention': 20,
         'com.microsoft.MultiHeadAttention': 20, 'Gelu': 5, 'Det': 20}


def tensor(described):
    kind, extents = described['dtype'], described['extents']
    if kind == 'string':
        return np.array(described['strings'], np.object_).reshape(extents)
    return np.frombuffer(bytes.fromhex(described['hex']), KINDS[kind]).reshape(extents)


def difference(one, two, tolerance, least):
    """Why two described tensors are not the same; None where they are."""
    if one['dtype'] != two['dtype']:
        return f"type {one['dtype']} and {two['dtype']}"
    if one['extents'] != two['extents']:
        return f"extents {one['extents']} and {two['extents']}"
    a, b = tensor(one), tensor(two)
    if a.dtype.kind in 'OSUbiu':
        if tolerance and a.dtype.kind in 'iu' and np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0) <= tolerance:
            return None
        return None if (a == b).all() else f'{(a != b).sum()} of {a.size} differ: {a[a != b][:3]} and {b[a != b][:3]}'
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    odd = ~finite & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if odd.any():
        return f'not finite: {a[odd][:3]} and {b[odd][:3]}'
    largest = np.abs(b[finite]).max(initial=0)
    apart = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    worst = apart.max(initial=0)
    if worst > tolerance * largest and worst > max(least, LEAST.get(one['dtype'], 0)):
        at = np.unravel_index(apart.argmax(), apart.shape)
        return f'{worst / max(largest, 1e-300):.1e} of the largest: {a[at]!r} and {b[at]!r}'
    return None


def compare(one, two, tolerances):
    if len(one) != len(two):
        return f'{len(one)} outputs and {len(two)}'
    for i, (a, b) in enumerate(zip(one, two)):
        found = difference(a, b, tolerances.get(a['dtype'], 0), tolerances['least'])
        if found:
            return f'output {i}: {found}'
    return None


def inferred_wrong(types, outputs):
    for i, (said, is_) in enumerate(zip(types, outputs)):
        if said['dtype'] not in ('undefined', is_['dtype']):
            return f"output {i} is inferred as {said['dtype']} and is {is_['dtype']}"
        if said['extents'] is not None and (len(said['extents']) != len(is_['extents']) or any(
                e is not None and e != f for e, f in zip(said['extents'], is_['extents']))):
            return f"output {i} is inferred as {said['extents']} and is {is_['extents']}"
    return None


def judge(drawn, ours, theirs, saved):
    """Findings of one model: (kind, what) each. Theirs without an answer: only ours are compared with one another.
    Saved: what ONNX Runtime says of the fused model as we save it; none without."""
    tolerances = {kind: value * ROUGH.get(drawn.op, 1) for kind, value in TOLERANCES.items()}
    kinds = {value.kind for value in drawn.seen}
    rough = max(TOLERANCES[kind] if kind in kinds else 0 for kind in ('float16', 'bfloat16'))  # on the way
    # A chain may end in the difference of two numbers about 1 that are the same but for rounding.
    tolerances['least'] = max(rough, 1e-5) if drawn.op == 'chain' else ABSOLUTE.get(drawn.op, 0)
    if 'QLinear' in drawn.op or 'Quantize' in drawn.op:  # a tie between two integers
        tolerances.update(int8=1, uint8=1)
    if rough:
        tolerances.update(float=max(tolerances['float'], rough), double=max(tolerances['double'], rough))
    if 'crash' in ours:
        return [('crash', ours['crash'])]
    runs = {name: ours.get(name, {}) for name in ('reference', 'cpu', 'fused')}
    errors = [e for e in [ours.get('load'), *[n for n in ours.get('notes', [])], *[r.get('error') for r in runs.values()]] if e]
    judged = 'outputs' in theirs
    if 'load' in ours or 'error' in runs['reference']:
        return [('refused', errors[0])] if judged else []
    reference, out = runs['reference']['outputs'], []
    if ours['problems'] and judged:
        out.append(('problem', ours['problems'][0]))
    wrong = inferred_wrong(ours['types'], reference)
    if wrong:
        out.append(('inference', wrong))
    if judged:
        found = compare(reference, theirs['outputs'], tolerances)
        if found:
            out.append(('value', 'reference and ONNX Runtime: ' + found))
    elif 'error' in theirs and not unjudged(theirs['error']):
        out.append(('accepted', theirs['error']))
    if 'outputs' in saved:
        found = compare(saved['outputs'], theirs['outputs'], tolerances)
        if found:
            out.append(('saved', 'ONNX Runtime, saved and original: ' + found))
    elif 'error' in saved and not unjudged(saved['error']):
        out.append(('saved', saved['error']))
    for name in ('cpu', 'fused'):
        if 'error' in runs[name]:
            out.append((name + ' refused', runs[name]['error']))
        else:
            found = compare(runs[name]['outputs'], reference, tolerances)
            if found:
                out.append((name, f'{name} and reference: {found}'))
    return out


def unjudged(error):
    """ONNX Runtime has no kernel for it, or none for the type."""
    return any(word in error for word in ('NOT_IMPLEMENTED', 'Could not find an implementation', 'not implemented',
                                          'is not a registered function/op', 'No Op registered', 'not supported', 'unsupported',
                                          'does not support', 'is not defined for empty set', '_inlfunc_',
                                          'Unsupported pooling size', 'output_padding', 'CreateMelWeightMatrix',
                                          'NumDimensions() == 4', 'Tensor type mismatch'))
