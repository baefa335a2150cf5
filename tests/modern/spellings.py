#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One layer of a language model in the spellings of exporters (blocks.py): the same numbers of launches, within one, and the
same results.
    spellings.py FUSELAGE FOLDER"""
import json
import os
import subprocess
import sys

import numpy as np

from check import TOLERANCE, results

SAME = ('decomposed', 'standard', 'contrib')


def launches(program, model, data):
    report = subprocess.run([program, 'bench', model, '--inputs', data, '--backend', 'cpu', '--no-measure', '--report',
                             '-.json'], capture_output=True, text=True, timeout=100, check=True)
    return json.loads(report.stdout)['results']['after']['launches']


def main():
    program, folder = sys.argv[1:3]
    counts, numbers = {}, {}
    for spelling in (*SAME, 'int4'):
        model, data = (os.path.join(folder, f'llama_{spelling}{ending}') for ending in ('.onnx', '_data'))
        counts[spelling] = launches(program, model, data)
        numbers[spelling] = results(program, model, data, ['--fuse', '--backend', 'cpu'])
        print(f'{spelling}: {counts[spelling]} launches')
    few, many = min(counts[s] for s in SAME), max(counts[s] for s in SAME)
    wrong = max(many, counts['int4']) - few > 1
    for spelling in SAME:
        for name, right in numbers['decomposed'].items():
            difference = np.abs(numbers[spelling][name] - right).max() / np.abs(right).max()
            print(f'{spelling} {name}: {difference:.1e}')
            wrong |= not difference <= TOLERANCE
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
