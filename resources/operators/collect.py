#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators.txt from the operator documentation that ONNX and ONNX Runtime publish.

    collect.py onnx/docs/Changelog.md onnxruntime/docs/ContribOperators.md > operators.txt

Both files are generated from the schemas in the same form. Only facts are taken: names, versions,
which operands are optional or repeat, attributes with kinds and defaults. README.md of the folder
above says how a line reads. Anything in the documents that this program does not know ends it.
"""
import ast
import html
import re
import sys

KINDS = {
    "int": "int", "float": "float", "string": "string", "tensor": "tensor", "graph": "graph",
    "sparse_tensor": "sparse_tensor", "type_proto": "type", "list of ints": "ints",
    "list of floats": "floats", "list of strings": "strings", "list of tensors": "tensors",
    "list of graphs": "graphs", "list of type_protos": "types",
}
TITLE = re.compile(r'^### .*\*\*(?:<a [^>]*>)?([A-Za-z0-9_.]+)(?:-(\d+))?\*\*')
SINCE = re.compile(r"since version (\d+) of the")
ENTRY = re.compile(r"^<dt><tt>(.*?)</tt>(?: \((.*?)\))? : (.*)</dt>$")
ATTRIBUTE = re.compile(r"^<dt><tt>(.*?)</tt> : ([a-z_ ]+?)(?: \((required|default is .*)\))?</dt>$")
COUNT = re.compile(r"^#### (Inputs|Outputs)(?: \((\d+) - .*\))?$")


def fallback(kind, text):
    """A default in the notation of the rows of core/ops."""
    text = html.unescape(text.strip())
    if kind == "string":
        return "'" + text + "'"
    if kind.endswith("s"):
        items = [str(item) for item in ast.literal_eval(text)]
        return "[" + ",".join("'%s'" % item if kind == "strings" else item for item in items) + "]"
    return text.strip("()")


def attribute(line):
    name, kind, rest = ATTRIBUTE.match(line).groups()
    word = name + ":" + KINDS[kind]
    if rest == "required":
        return word + "!"
    return word + "=" + fallback(KINDS[kind], rest[len("default is "):]) if rest else word


def operand(line, index, least):
    name, options, _ = ENTRY.match(html.unescape(line)).groups()
    options = (options or "").split(", ")
    if "variadic" in options:
        return name + ("+" if least is not None and least > index else "*")
    return name + ("?" if "optional" in options else "")


def operators(path):
    """(name, version, lines) of every entry."""
    name, version, lines = None, None, []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith(("### ", "## ", "# ")):
            if name:
                yield name, version, lines
            title = TITLE.match(line)
            name = title and title.group(1)
            version, lines = title and title.group(2), []
        elif name:
            lines.append(line)
            since = SINCE.search(line)
            version = version or (since and since.group(1))
    if name:
        yield name, version, lines


def row(name, version, lines):
    parts = {"Inputs": [], "Outputs": [], "Attributes": []}
    part, least = None, None
    for line in lines:
        if line.startswith("#### "):
            count = COUNT.match(line)
            part = count.group(1) if count else line[5:]
            least = int(count.group(2)) if count and count.group(2) else None
        elif line.startswith("<dt>") and part in parts:
            parts[part].append(attribute(line) if part == "Attributes"
                               else operand(line, len(parts[part]), least))
    inputs, outputs, attributes = (" ".join(parts[key]) for key in ("Inputs", "Outputs", "Attributes"))
    return re.sub(" +", " ", f"{name} {version} : {inputs} -> {outputs} | {attributes}").strip()


def main():
    rows = {}
    for path in sys.argv[1:]:
        for name, version, lines in operators(path):
            if version is not None:  # experimental ones have none
                rows[(name.lower(), int(version))] = row(name, version, lines)
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Made by collect.py; do not edit. README.md of the folder above says how a line reads.")
    for key in sorted(rows):
        print(rows[key])


main()
