#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models of the forms in which models of 2026 are written: what exporters, ONNX's newest opsets and ONNX Runtime's
tools put in files. Each comes with inputs (NAME_data/input_I.pb), and with the results of an implementation in numpy
(output_I.pb) where one stands here. Seeded: the same program gives the same files.
    forms.py FOLDER
Writes FOLDER/ort (ONNX Runtime's CPU provider has these operators), FOLDER/twin (it has not, numpy says what is right) and
FOLDER/kept (nobody computes them here: they must open); FOLDER/absent is models without the files of their weights,
FOLDER/refused is what does not open. Needs the packages onnx and numpy; exit code 77 without them."""
import os
import shutil
import sys

try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError as error:
    print(f'forms: {error}')
    sys.exit(77)

from blocks import BLOCKS
from model import Model
from odd_files import ABSENT, ODD
from operators import OPERATORS
from runtime_operators import RUNTIME_OPERATORS


def main():
    folder = sys.argv[1]
    for place in ('ort', 'twin', 'kept', 'absent', 'refused'):
        shutil.rmtree(os.path.join(folder, place), ignore_errors=True)  # models of an older program
        os.makedirs(os.path.join(folder, place))
    for maker in BLOCKS + OPERATORS + RUNTIME_OPERATORS:
        for model in maker():
            model.save(os.path.join(folder, model.place))
    for maker in ODD:
        maker(os.path.join(folder, 'kept'))
    for maker in ABSENT:
        maker(os.path.join(folder, 'absent'))


if __name__ == '__main__':
    main()
