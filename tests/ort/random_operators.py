#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random operators: models of one operator and short chains of them, drawn by operator_calls.py, layer_calls.py,
contrib_calls.py and chains.py, through ONNX Runtime, and here through inference, the reference interpreter, the cpu backend,
and that after fusion; the fused model, saved, through ONNX Runtime again.
    random_operators.py SERVE_OPERATORS ORT.MJS MODULES FOLDER [--first 1] [--rounds 8] [--seconds 60] [--only Conv,chain]
Seeded: the same numbers give the same models. A round is a model of every operator and some chains; --seconds ends early. What
differs is made smaller, kept in FOLDER and printed, two of a kind. Exit code 77 without ONNX Runtime. Where that differs from
the standard, known_differences.py says so."""
import argparse
import collections
import copy
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import contrib_calls  # noqa: E402,F401
import layer_calls  # noqa: E402,F401
from chains import chain  # noqa: E402
from known_differences import explained  # noqa: E402
from operator_calls import CALLS, MOST_OPSET, PLAIN  # noqa: E402
from operator_judge import judge  # noqa: E402
from random_model import LAST_OPSET, Draw, Value, np  # noqa: E402

NO_RUNTIME = 77
CHAINS = 20  # a round
REDRAWS = 40  # of an operator that failed, for a smaller model
SHOWN = 2


class Server:
    """A process that answers a line with a line; started again when a model ended it."""

    def __init__(self, command, **more):
        self.command, self.more, self.process = command, more, None

    def ask(self, line):
        if not self.process:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            stderr=subprocess.DEVNULL, **self.more)
        try:
            self.process.stdin.write(line + '\n')
            self.process.stdin.flush()
        except BrokenPipeError:  # answer() finds that it ended
            pass

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code, self.process = self.process.wait(), None
        return {'crash': f'the process ended with {code}'}

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def draw(op, seed):
    """A model of the operator, or a chain; None where nothing can be drawn with that seed."""
    drawn = Draw([seed, *op.encode()])
    drawn.op = op
    drawn.special = drawn.chance(0.15) and op not in PLAIN
    domain, _, name = op.rpartition('.')
    if op == 'chain':
        results = chain(drawn)
    else:
        if domain:
            drawn.opset = drawn.whole(13, 20)
        else:
            drawn.choose_opset(name, most=MOST_OPSET.get(name, LAST_OPSET))
        results = CALLS[op](drawn)
    if results is None:
        return None
    drawn.output(*(results if isinstance(results, list) else [results]))
    return drawn


def prefixes(drawn):
    """A chain that ends earlier, without what then nobody reads."""
    for count in range(1, len(drawn.nodes)):
        last = drawn.nodes[count - 1].output[0]
        if drawn.nodes[count - 1].op_type == 'Constant':
            continue
        needed, nodes = {last}, []
        for node in reversed(drawn.nodes[:count]):
            if needed & set(node.output):
                nodes.insert(0, node)
                needed |= set(node.input)
        out = copy.copy(drawn)
        out.nodes, out.outputs, out.symbols = nodes, [], {}
        out.inputs = [entry for entry in drawn.inputs if entry[0] in needed]
        out.initializers = [tensor for tensor in drawn.initializers if tensor.name in needed]
        out.output(next(Value(v.name, v.kind) for v in drawn.seen if v.name == last))
        yield out


def smaller(op, seed, drawn):
    """Models that may show the same in less."""
    if op == 'chain':
        yield from prefixes(drawn)
    else:
        for more in range(1, REDRAWS):
            other = draw(op, seed + more)
            if other:
                yield other


def size(drawn):
    arrays = [array for _, _, array in drawn.inputs if array is not None] + [drawn.default(t.name) for t in drawn.initializers]
    return 100 * len(drawn.nodes) + sum(array.size + 10 for array in arrays)


def text_of(drawn):
    """One line for people."""
    def attribute(a):
        values = {1: round(a.f, 5), 2: a.i, 3: a.s.decode(), 6: list(a.floats), 7: list(a.ints), 8: list(a.strings)}
        return f"{a.name}={values.get(a.type, '...')}"
    known = {name: f'{kind}{list(array.shape)}' for name, kind, array in drawn.inputs if array is not None}
    for tensor in drawn.initializers:
        contents = list(drawn.default(tensor.name).flat) if np.prod(tensor.dims) <= 6 else ''
        known[tensor.name] = f'const{list(tensor.dims)}{contents}'
    steps = [f"{n.op_type}({', '.join(known.get(i, i) for i in n.input)}) {' '.join(attribute(a) for a in n.attribute)}"
             for n in drawn.nodes if n.op_type != 'Constant']
    return f'opset {drawn.opset}: ' + '; '.join(steps)


class Comparison:
    """Both servers, and what was found so far."""

    def __init__(self, options, environment):
        self.folder = options.folder
        self.here = Server([options.serve])
        self.there = Server(['node', options.script, 'answer'], env=environment)
        self.counts, self.findings, self.silent = collections.Counter(), {}, collections.Counter()

    def ask(self, drawn, path):
        """Findings of one model: (kind, what) each."""
        with open(path, 'wb') as file:
            file.write(drawn.model().SerializeToString())
        inputs = []
        for name, kind, array in drawn.inputs:
            array = drawn.default(name) if array is None else array
            contents = {'strings': list(array.flat)} if kind == 'string' else {'hex': array.tobytes().hex()}
            inputs.append({'name': name, 'dtype': kind, 'extents': list(array.shape), **contents})
        request = {'model': path, 'saved': os.path.join(self.folder, 'saved.onnx'), 'level': 'disabled', 'dims': drawn.symbols,
                   'inputs': inputs, 'outputs': [v.name for v in drawn.outputs]}
        self.here.ask(json.dumps(request))
        self.there.ask(json.dumps(request))
        ours, theirs = self.here.answer(), self.there.answer()
        saved = ours.get('fused', {}).get('saved', {})
        if 'inputs' in saved and 'outputs' in theirs:
            wanted = [i for i in inputs if i['name'] in saved['inputs']]
            self.there.ask(json.dumps({**request, 'model': request['saved'], 'inputs': wanted}))
            saved = self.there.answer()
        self.counts['models'] += 1
        self.counts['judged by ONNX Runtime'] += 'outputs' in theirs
        self.silent[drawn.op] += 'outputs' not in theirs
        return [(kind, what) for kind, what in judge(drawn, ours, theirs, saved) if not explained(drawn, kind, what)]

    def check(self, op, seed):
        drawn = draw(op, seed)
        if not drawn:
            return
        path = os.path.join(self.folder, f"{op.replace('.', '_')}_{seed}.onnx")
        found = self.ask(drawn, path)
        for kind, what in found:
            seen = self.findings.setdefault((op, kind), [])
            best = (size(drawn), what, text_of(drawn), path)
            for other in smaller(op, seed, drawn) if len(seen) < SHOWN else []:
                trial = path.replace('.onnx', '_smaller.onnx')
                again = [text for of, text in self.ask(other, trial) if of == kind]
                if again and size(other) < best[0]:
                    best = (size(other), again[0], text_of(other), path.replace('.onnx', f"_{kind.replace(' ', '_')}.onnx"))
                    os.replace(trial, best[3])
            seen.append(best)
        if not found:
            os.remove(path)

    def report(self, seconds):
        for (op, kind), seen in sorted(self.findings.items(), key=lambda item: item[0][::-1]):
            print(f'{op} {kind}: {len(seen)}')
            for _, what, text, path in sorted(seen)[:SHOWN]:
                print(f'    {what[:300]}\n      {text[:500]}\n      {path}')
        print(', '.join(f'{n} {what}' for what, n in self.counts.items()) + f' in {seconds:.0f} s')
        print('ONNX Runtime gave no answer:', ' '.join(f'{op}:{n}' for op, n in self.silent.most_common(20) if n))

    def stop(self):
        self.here.stop()
        self.there.stop()


def runtime_environment(modules):
    """With the package where ort.mjs looks for it."""
    environment = dict(os.environ)
    package = os.path.abspath(os.path.join(modules, 'onnxruntime-node'))
    if os.path.isdir(package):
        environment.setdefault('FUSELAGE_ONNXRUNTIME', package)
    return environment


def main():
    parser = argparse.ArgumentParser()
    for name in ('serve', 'script', 'modules', 'folder'):
        parser.add_argument(name)
    parser.add_argument('--first', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=8)
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--only', default='')
    options = parser.parse_args()
    environment = runtime_environment(options.modules)
    try:
        asked = subprocess.run(['node', options.script, 'version'], env=environment, capture_output=True, check=False)
        found = asked.returncode == 0
    except FileNotFoundError:
        found = False
    if not found:
        print('skipped: node or onnxruntime-node is not here')
        return NO_RUNTIME
    os.makedirs(options.folder, exist_ok=True)
    comparison, start = Comparison(options, environment), time.time()
    names = options.only.split(',') if options.only else [*CALLS, *['chain'] * CHAINS]
    for round_ in range(options.first, options.first + options.rounds):
        for index, op in enumerate(names):
            if time.time() - start < options.seconds:
                comparison.check(op, 1000 * round_ + (index if op == 'chain' else 0))
    comparison.stop()
    comparison.report(time.time() - start)
    return 1 if comparison.findings else 0


if __name__ == '__main__':
    sys.exit(main())
