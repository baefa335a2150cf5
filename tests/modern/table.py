#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every model of a folder through the commands that a person would give it, as a table: what opens, fuses, runs, is measured.
    table.py FUSELAGE FOLDER [COMMAND...]
A word for each command: `ok`, or the exit code and the first line that says why. Exit code 1 where one is not `ok`."""
import os
import subprocess
import sys
import tempfile

SECONDS = 60


def commands(model, scratch):
    data = model[:-len('.onnx')] + '_data'
    inputs = ['--inputs', data] if os.path.isdir(data) else []
    return {
        'inspect': ['inspect', model],
        'fuse': ['fuse', model, '-o', os.path.join(scratch, 'fused.onnx')],
        'match': ['fuse', model],
        'explain': ['explain', model],
        'run': ['run', model, *inputs, '--fuse', '--verify', '-o', os.path.join(scratch, 'results')],
        'bench': ['bench', model, *inputs, '--backend', 'cpu', '--seconds', '0.05'],
    }


def outcome(program, arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f'over {SECONDS} s'
    if done.returncode == 0:
        return 'ok'
    said = next((line for line in (done.stderr + done.stdout).splitlines() if ' [' in line and line.endswith(']')), '')
    return f'{done.returncode} {said[:110]}'


def main():
    program, folder, *wanted = sys.argv[1:]
    wanted = wanted or ['inspect', 'fuse', 'explain', 'run', 'bench']
    failed = False
    for name in sorted(name for name in os.listdir(folder) if name.endswith('.onnx')):
        with tempfile.TemporaryDirectory() as scratch:
            all_commands = commands(os.path.join(folder, name), scratch)
            words = [outcome(program, all_commands[command]) for command in wanted]
        failed |= any(word != 'ok' for word in words)
        print('| ' + ' | '.join([name[:-5], *words]) + ' |', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
