#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of forms.py with attributes, extents and operands as a hostile file has them: every command ends with an answer.
    hostile.py FUSELAGE FOLDER [SEED [COUNT]]
Exit code 1, and the model stays, where a process ends otherwise or takes longer than a minute."""
import os
import random
import subprocess
import sys
import tempfile

import onnx

NUMBERS = (0, 1, -1, 2, 3, 7, -2, 2 ** 31, 2 ** 62, 2 ** 63 - 1, -2 ** 63)
FLOATS = (0.0, -1.0, 1e-30, 3.4e38, float('inf'), float('nan'))
ANSWERS = (0, 1, 2, 3, 4, 6)  # documented exit codes; 10 is an internal error


def mutate(model, r):
    graph = model.graph
    for _ in range(r.randint(1, 3)):
        node = r.choice(graph.node)
        what = r.choice(('attribute', 'attribute', 'extent', 'operand', 'result'))
        if what == 'attribute' and node.attribute:
            attribute = r.choice(node.attribute)
            attribute.i = r.choice(NUMBERS)
            attribute.f = r.choice(FLOATS)
            if attribute.ints:
                attribute.ints[r.randrange(len(attribute.ints))] = r.choice(NUMBERS)
        elif what == 'extent' and graph.input:
            dims = r.choice(graph.input).type.tensor_type.shape.dim
            if dims:
                dim = r.choice(dims)
                if r.random() < 0.3:
                    dim.ClearField('dim_value')
                else:
                    dim.dim_value = abs(r.choice(NUMBERS[:-1]))
        elif what == 'operand' and node.input:
            slot = r.randrange(len(node.input))
            node.input[slot] = r.choice([name for other in graph.node for name in other.input])
        elif what == 'result' and len(node.output) > 1:
            node.output[r.randrange(len(node.output))] = ''


def main():
    program, folder = sys.argv[1:3]
    seed, count = (int(word) for word in (*sys.argv[3:5], *('1', '120')[len(sys.argv) - 3:]))
    models = [os.path.join(at, name) for at, _, names in sorted(os.walk(folder)) for name in sorted(names)
              if name.endswith('.onnx')]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(seed, seed + count):
            r = random.Random(number)
            model = onnx.load(r.choice(models), load_external_data=False)
            mutate(model, r)
            path = os.path.join(scratch, f'{number}.onnx')
            onnx.save(model, path)
            for command in (['fuse', path, '-o', path + '.fused'], ['run', path, '--fuse']):
                try:
                    code = subprocess.run([program, *command, '-q'], capture_output=True, timeout=60, check=False).returncode
                except subprocess.TimeoutExpired:
                    code = 'over a minute'
                if code not in ANSWERS:
                    bad += 1
                    kept = os.path.join(folder, f'bad_{number}.onnx_')
                    onnx.save(model, kept)
                    print(f'{command[0]} of {kept}: {code}')
    print(f'{count} models, {bad} without an answer')
    return 1 if bad or not models else 0


if __name__ == '__main__':
    sys.exit(main())
