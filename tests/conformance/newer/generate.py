#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Backend tests of the operators that opsets 18 to 26 brought or changed, in the form of ONNX's own test data.
    generate.py FOLDER
Written from ONNX's operator documents, with numpy alone as the judge; seeded, so that the same program gives the same files.
Needs the packages onnx and numpy; exit code 77 without them."""
import shutil
import sys

try:
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError as error:
    print(f'generate: {error}')
    sys.exit(77)

import computing
import elementwise
import moving


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    count = 0
    for maker in elementwise.MAKERS + moving.MAKERS + computing.MAKERS:
        for test in maker():
            test.save(folder)
            count += 1
    print(f'{count} tests in {folder}')


if __name__ == '__main__':
    main()
