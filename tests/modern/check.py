#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every model of a folder as it is and fused, and compares with the results that lie beside it.
    check.py FUSELAGE FOLDER"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

TOLERANCE = 2e-5


def tensors(folder, stem):
    out = {}
    for name in sorted(os.listdir(folder)):
        if name.startswith(stem + '_'):
            tensor = onnx.TensorProto()
            with open(os.path.join(folder, name), 'rb') as file:
                tensor.ParseFromString(file.read())
            out[name] = numpy_helper.to_array(tensor)
    return out


def results(program, model, data, more):
    """Of one run, by the names of their files."""
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([program, 'run', model, '--inputs', data, '-q', '-o', scratch, *more], capture_output=True,
                              text=True, timeout=100, check=False)
        if done.returncode != 0:
            raise RuntimeError((done.stderr + done.stdout).strip())
        return tensors(scratch, 'output')


def worst(program, model, data, more):
    """The largest difference of any result, by the size of its numbers."""
    made = results(program, model, data, more)
    difference = 0.0
    for name, right in tensors(data, 'output').items():
        if made[name].shape != right.shape:
            raise RuntimeError(f'{name} is {made[name].shape}, not {right.shape}')
        difference = max(difference, np.abs(made[name] - right).max(initial=0) / np.abs(right).max(initial=1.0))
    return difference


def main():
    program, folder = sys.argv[1:3]
    wrong = 0
    names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith('.onnx'))
    for name in names:
        model, data = (os.path.join(folder, name + ending) for ending in ('.onnx', '_data'))
        for way, more in (('as it is', ['--backend', 'reference']), ('fused', ['--fuse', '--backend', 'cpu'])):
            try:
                difference = worst(program, model, data, more)
                said = f'{difference:.1e}'
                failed = not difference <= TOLERANCE
            except (RuntimeError, KeyError, ValueError) as error:
                said, failed = str(error), True
            wrong += failed
            print(f'{"WRONG" if failed else "right"} {name} {way}: {said}')
    print(f'{len(names)} models, {wrong} wrong results')
    return 1 if wrong or not names else 0


if __name__ == '__main__':
    sys.exit(main())
