#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators.txt from the operator documentation that ONNX and ONNX Runtime publish.

    collect.py onnx/docs/Changelog.md onnx/docs/Changelog-ml.md onnxruntime/docs/ContribOperators.md > operators.txt

All of them are generated from the schemas in the same form. Only facts are taken: names, versions,
which operands are optional or repeat, their element types, attributes with kinds and defaults.
README.md of the folder above says how a line reads. Anything in the documents that this program does
not know ends it.

    collect.py onnx/docs/Changelog.md --keep operators.txt

takes the entries that the documents lack from an earlier operators.txt.
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
TYPE = re.compile(r"^tensor\((\w+)\)$")
# An operand that takes all of these is not restricted, as far as anybody here can tell.
EVERY = {"bool", "string", "float16", "float", "double", "int8", "int16", "int32", "int64", "uint8",
         "uint16", "uint32", "uint64"}
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
    """Name with its mark, and the name of its type: a constraint's, or an element type's."""
    name, options, kind = ENTRY.match(html.unescape(line)).groups()
    options = (options or "").split(", ")
    if "variadic" in options:
        name += "+" if least is not None and least > index else "*"
    return name + ("?" if "optional" in options else ""), TYPE.sub(r"\1", kind)


def constraint(line):
    """Name and element types of a type constraint; none of them where it does not restrict tensors."""
    name, _, types = ENTRY.match(html.unescape(line)).groups()
    found = [TYPE.match(one) for one in types.split(", ")]
    names = [one.group(1) for one in found if one]
    return name, [] if EVERY.issubset(names) or len(names) < len(found) else names


def operands(entries, constraints):
    return " ".join(name if kind in constraints and not constraints[kind] or not re.match(r"^\w+$", kind)
                    else name + ":" + kind for name, kind in entries)


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
    parts = {"Inputs": [], "Outputs": [], "Attributes": [], "Type Constraints": []}
    part, least = None, None
    for line in lines:
        if line.startswith("#### "):
            count = COUNT.match(line)
            part = count.group(1) if count else line[5:]
            least = int(count.group(2)) if count and count.group(2) else None
        elif line.startswith("<dt>") and part in parts:
            parts[part].append(attribute(line) if part == "Attributes"
                               else constraint(line) if part == "Type Constraints"
                               else operand(line, len(parts[part]), least))
    constraints = dict(parts["Type Constraints"])
    inputs, outputs = (operands(parts[key], constraints) for key in ("Inputs", "Outputs"))
    attributes = " ".join(parts["Attributes"])
    types = " ".join(f"{key}={','.join(value)}" for key, value in constraints.items() if value)
    return re.sub(" +", " ", f"{name} {version} : {inputs} -> {outputs} | {attributes} | {types}").rstrip(" |") + \
        ("" if attributes or types else " |")


def kept(path):
    """Rows of an earlier run."""
    for line in open(path, encoding="utf-8"):
        if not line.startswith("#"):
            name, version = line.split(" ")[:2]
            yield (name.lower(), int(version)), line.rstrip("\n")


def main():
    documents = sys.argv[1:]
    rows = {}
    if "--keep" in documents:
        at = documents.index("--keep")
        rows = dict(kept(documents[at + 1]))
        del documents[at:at + 2]
    for path in documents:
        for name, version, lines in operators(path):
            if version is not None:  # experimental ones have none
                rows[(name.lower(), int(version))] = row(name, version, lines)
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Made by collect.py; do not edit. README.md of the folder above says how a line reads.")
    for key in sorted(rows):
        print(rows[key])


main()
