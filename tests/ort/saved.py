#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks as ONNX Runtime saves them when it has optimised them: each opens, runs with no more steps without a kernel than
the file that was optimised, and gives its results.
    saved.py FUSELAGE ORT.MJS MODULES FOLDER [NAME ...]
NAME: networks of the zoo; without one, small networks with what the optimiser fuses."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'modern'))
sys.dont_write_bytecode = True
from check import tensors  # noqa: E402
from model import F, Model  # noqa: E402

LEVELS = ('extended', 'all')
TOLERANCE = 1e-4
NO_RUNTIME = 77


def scalar(m, value, kind=F):
    return m.constant(np.array(value, kind))


def convolution(m, x, inputs, outputs, kernel=3, stride=1, group=1, act='Relu', **attributes):
    w = m.constant(m.numbers(outputs, inputs // group, kernel, kernel, scale=(2 / (inputs // group * kernel ** 2)) ** 0.5))
    y = m.add('Conv', x, w, m.constant(m.numbers(outputs, scale=0.1)), kernel_shape=[kernel, kernel],
              strides=[stride, stride], pads=[kernel // 2] * 4, group=group)
    return m.add(act, y, **attributes) if act else y


def convolutions(act, **attributes):
    """What the layout for a processor has: channels that fill no block, depthwise, a sum, pools, concatenation."""
    m = Model('saved_' + act.lower(), 'ort')
    y = convolution(m, m.input('x', m.numbers(2, 3, 33, 31)), 3, 32, stride=2)
    y = m.add('MaxPool', y, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    z = convolution(m, convolution(m, y, 32, 32, act=act, **attributes), 32, 32, act=None)
    y = m.add('Relu', m.add('Add', z, y))
    y = convolution(m, y, 32, 32, group=32, act=act, **attributes)
    y = convolution(m, y, 32, 40, kernel=1, act='Sigmoid')
    y = convolution(m, y, 40, 32, group=2 if act == 'Relu' else 1, act='Tanh')
    y = m.add('Concat', convolution(m, y, 32, 16, kernel=1), convolution(m, y, 32, 16), axis=1)
    y = m.add('AveragePool', y, kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1], count_include_pad=1)
    y = m.add('AveragePool', y, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
    y = m.add('Resize', y, None, m.constant(np.array([1, 1, 2, 2], F)), mode='nearest',
              coordinate_transformation_mode='asymmetric', nearest_mode='floor')
    y = convolution(m, y, 32, 24, act='Clip') if act == 'Relu' else convolution(m, y, 32, 24)
    s = m.add('GlobalAveragePool', y)
    s = convolution(m, convolution(m, s, 24, 8, kernel=1), 8, 24, kernel=1, act='Sigmoid')
    y = m.add('Flatten', m.add('GlobalMaxPool', m.add('Mul', y, s)))
    y = m.add('Gemm', y, m.numbers(10, 24), m.numbers(10), transB=1)
    m.output(m.add('Relu', y))
    return m


def gelu(m, x, form):
    if form == 'erf':
        e = m.add('Add', m.add('Erf', m.add('Div', x, scalar(m, 2 ** 0.5))), scalar(m, 1))
        return m.add('Mul', m.add('Mul', x, e), scalar(m, 0.5))
    if form == 'quick':
        return m.add('Mul', x, m.add('Sigmoid', m.add('Mul', x, scalar(m, 1.702))))
    cubic = m.add('Mul', m.add('Pow', x, scalar(m, 3)), scalar(m, 0.044715))
    t = m.add('Tanh', m.add('Mul', m.add('Add', x, cubic), scalar(m, 0.7978845608)))
    return m.add('Mul', m.add('Mul', x, scalar(m, 0.5)), m.add('Add', t, scalar(m, 1)))


def layers(form, extents=None):
    """Two layers of an encoder; with open extents, as exporters leave them, other operators are fused."""
    m = Model(f'saved_layers_{form}' + ('_open' if extents else ''), 'ort')
    B, S, D, H = 2, 5, 16, 2
    ids = m.input('ids', np.arange(B * S).reshape(B, S), extents)
    mask = m.input('mask', np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]), extents)
    x = m.add('Gather', m.numbers(20, D), ids)

    def norm(t):
        return m.add('LayerNormalization', t, m.numbers(D), m.numbers(D), axis=-1, epsilon=1e-12)

    def linear(t, outputs, inputs=D):
        return m.add('Add', m.add('MatMul', t, m.numbers(inputs, outputs, scale=inputs ** -0.5)), m.numbers(outputs))

    def heads(t):
        return m.add('Transpose', m.add('Reshape', t, np.array([0, 0, H, D // H])), perm=[0, 2, 1, 3])

    x = norm(x)
    seen = m.add('Cast', m.add('Unsqueeze', mask, np.array([1, 2])), to=1)
    hidden = m.add('Mul', m.add('Sub', scalar(m, 1), seen), scalar(m, -10000))
    for _ in range(2):
        q, k, v = (heads(linear(x, D)) for _ in range(3))
        s = m.add('Div', m.add('MatMul', q, m.add('Transpose', k, perm=[0, 1, 3, 2])), scalar(m, (D // H) ** 0.5))
        c = m.add('MatMul', m.add('Softmax', m.add('Add', s, hidden), axis=-1), v)
        c = m.add('Reshape', m.add('Transpose', c, perm=[0, 2, 1, 3]), np.array([0, 0, D]))
        x = norm(m.add('Add', linear(c, D), x))
        x = norm(m.add('Add', linear(gelu(m, linear(x, 4 * D), form), D, 4 * D), x))
    m.output(x)
    return m


def products():
    """FusedMatMul, FusedGemm, QuickGelu of a SiLU, SimplifiedLayerNormalization."""
    m = Model('saved_products', 'ort')
    x, z = m.input('x', m.numbers(2, 6, 8)), m.input('z', m.numbers(2, 6, 8))
    m.output(m.add('Mul', m.add('MatMul', x, m.add('Transpose', z, perm=[0, 2, 1])), scalar(m, 0.3)))
    m.output(m.add('Div', m.add('MatMul', m.add('Transpose', x, perm=[0, 2, 1]), z), scalar(m, 2)))
    for act, attributes in (('LeakyRelu', {'alpha': 0.2}), ('HardSigmoid', {'alpha': 0.3, 'beta': 0.4}), ('Elu', {'alpha': 0.7}),
                            ('Softplus', {}), ('Softsign', {}), ('Tanh', {}), ('ThresholdedRelu', {'alpha': 0.6})):
        g = m.add('Gemm', m.add('Reshape', x, np.array([12, 8])), m.numbers(8, 5), m.numbers(5))
        m.output(m.add(act, g, **attributes))
    m.output(m.add('Mul', x, m.add('Sigmoid', x)))
    mean = m.add('ReduceMean', m.add('Pow', x, scalar(m, 2)), axes=[-1])
    m.output(m.add('Mul', m.add('Div', x, m.add('Sqrt', m.add('Add', mean, scalar(m, 1e-6)))), m.numbers(8)))
    return m


def dynamic():
    """DynamicQuantizeMatMul."""
    m = Model('saved_dynamic', 'ort')
    y = m.input('x', m.numbers(2, 6, 16))
    for inputs, outputs, scale in ((16, 32, np.array(0.01, F)), (32, 8, np.full(8, 0.01, F))):
        stored, s, zero = m.add('DynamicQuantizeLinear', y, outputs=3)
        w = m.random.integers(-100, 100, (inputs, outputs)).astype(np.int8)
        whole = m.add('Cast', m.add('MatMulInteger', stored, w, zero, np.array(0, np.int8)), to=1)
        y = m.add('Add', m.add('Mul', whole, m.add('Mul', s, scale)), m.numbers(outputs))
    m.output(y)
    return m


def own():
    yield convolutions('Relu')
    yield convolutions('LeakyRelu', alpha=0.1)
    yield convolutions('HardSigmoid', alpha=0.3, beta=0.4)
    yield convolutions('HardSwish')
    for form in ('erf', 'quick', 'tanh'):
        yield layers(form)
    yield layers('erf', ['batch', 'tokens'])
    yield products()
    yield dynamic()


def save(script, modules, model, level, target):
    """What ONNX Runtime makes of a file."""
    job = target + '.json'
    with open(job, 'w', encoding='utf-8') as file:
        json.dump({'model': model, 'level': level, 'target': target}, file)
    done = subprocess.run(['node', script, 'save', job], env={**os.environ, 'NODE_PATH': modules}, capture_output=True,
                          text=True, timeout=300, check=False)
    if done.returncode == NO_RUNTIME:
        print(done.stderr.strip())
        sys.exit(NO_RUNTIME)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())


def told(data):
    """Networks of the zoo have inputs made for them, the same for the same inputs."""
    return ['--inputs', data] if os.path.isdir(data) else []


def results(program, model, data, more):
    """Of one run, by the names of their files."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([program, 'run', model, *told(data), '-q', '-o', scratch, *more], capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode != 0:
            raise RuntimeError((done.stderr + done.stdout).strip())
        return tensors(scratch, 'output')


def operators(path):
    """Those of com.microsoft and its layout."""
    return sorted({f'{node.domain}.{node.op_type}'.replace('com.microsoft.', '') for node in onnx.load(path).graph.node
                   if node.domain.startswith('com.microsoft')})


def library_steps(program, model, data):
    """Steps that no kernel program says, as the model is fused: routines of their own, mostly the reference's."""
    done = subprocess.run([program, 'bench', model, *told(data), '--backend', 'cpu', '--no-measure', '-q', '--report', '-.json'],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [step['name'] for step in json.loads(done.stdout)['results']['kernels'] if step['program'] == 'Library']


def main():
    program, script, modules, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name in names:
        subprocess.run([program, 'zoo', name, '-o', os.path.join(folder, name + '.onnx')], check=True, timeout=300)
    if not names:
        for model in own():
            model.save(folder)
            names.append(model.name)
    wrong = 0
    for name in names:
        model, data = os.path.join(folder, name + '.onnx'), os.path.join(folder, name + '_data')
        right = results(program, model, data, ['--backend', 'reference'])
        known = library_steps(program, model, data)
        for level in LEVELS:
            saved = os.path.join(folder, f'{name}.{level}.onnx')
            try:
                save(script, modules, model, level, saved)
                made = results(program, saved, data, ['--fuse', '--backend', 'cpu'])
                difference = max(np.abs(made[key] - right[key]).max() / max(1.0, np.abs(right[key]).max()) for key in right)
                steps = library_steps(program, saved, data)
                failed = not difference <= TOLERANCE or len(steps) > len(known)
                said = f'{difference:.1e}' + (f', steps without a kernel {steps}, before {known}' if steps else '')
            except (RuntimeError, KeyError, ValueError) as error:
                said, failed = str(error), True
            wrong += failed
            print(f'{"WRONG" if failed else "right"} {name} {level}: {said}  {" ".join(operators(saved))}', flush=True)
    print(f'{len(names)} models at {len(LEVELS)} levels, {wrong} wrong')
    return 1 if wrong or not names else 0


if __name__ == '__main__':
    sys.exit(main())
