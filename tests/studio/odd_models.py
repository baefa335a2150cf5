#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that a viewer is handed sooner or later: writes one file for each row of the table below.

odd_models.py FOLDER [NODES]     NODES: of the large one (50000); exit code 77 where Python has no onnx
"""
import sys

try:
    import onnx
except ImportError:
    print("skipped: no onnx for", sys.executable, "(package python3-onnx)")
    sys.exit(77)
from onnx import TensorProto as T
from onnx import helper as h

FOLDER = sys.argv[1]
LARGE = int(sys.argv[2]) if len(sys.argv) > 2 else 50000
OPSETS = [h.make_opsetid("", 17), h.make_opsetid("odd.domain", 1)]


def value(name, shape=(1, 8, 4, 4), kind=T.FLOAT):
    return h.make_tensor_value_info(name, kind, shape)


def weight(name, shape):
    size = 1
    for each in shape:
        size *= each
    return h.make_tensor(name, T.FLOAT, shape, [0.01 * (i % 7) for i in range(size)])


def graph(nodes, inputs=None, outputs=None, weights=(), **more):
    return h.make_graph(nodes, "g", inputs if inputs is not None else [value("x")],
                        outputs if outputs is not None else [value("y")], list(weights), **more)


def model(g, functions=()):
    return h.make_model(g, opset_imports=OPSETS, functions=list(functions), ir_version=8)


def chain(names, op="Relu", first="x", last="y"):
    """One node for each name; the last one writes `last`."""
    wires = [first] + [f"v{i}" for i in range(1, len(names))] + [last]
    return [h.make_node(op, [wires[i]], [wires[i + 1]], name=name) for i, name in enumerate(names)]


def no_weights():
    w = h.make_tensor_value_info("w", T.FLOAT, (8, 8, 3, 3))
    return graph([h.make_node("Conv", ["x", "w"], ["a"], name="c", pads=[1] * 4), h.make_node("Relu", ["a"], ["y"])],
                 [value("x"), w])


def external_absent():
    w = T(name="w", data_type=T.FLOAT, dims=[8, 8, 3, 3], data_location=T.EXTERNAL)
    for key, text in (("location", "gone.bin"), ("offset", "0"), ("length", "2304")):
        entry = w.external_data.add()
        entry.key, entry.value = key, text
    return graph([h.make_node("Conv", ["x", "w"], ["a"], name="c", pads=[1] * 4), h.make_node("Relu", ["a"], ["y"])],
                 weights=[w])


def contradiction():
    return graph([h.make_node("Relu", ["x"], ["a"]), h.make_node("MatMul", ["a", "w"], ["y"], name="wrong")],
                 [value("x", (2, 3))], [value("y", (2, 5))], [weight("w", (4, 5))])


def nested_if():
    def branch(name, inside):
        return h.make_graph(inside, name, [], [value(name)])
    inner = h.make_node("If", ["c"], ["t"], name="inner",
                        then_branch=branch("p", [h.make_node("Relu", ["x"], ["p"])]),
                        else_branch=branch("q", [h.make_node("Sigmoid", ["x"], ["q"])]))
    outer = h.make_node("If", ["c"], ["y"], name="outer", then_branch=branch("t", [inner]),
                        else_branch=branch("e", [h.make_node("Tanh", ["x"], ["e"])]))
    return graph([outer], [value("x"), value("c", (), T.BOOL)])


def cycle():
    return graph([h.make_node("Add", ["x", "b"], ["a"], name="one"), h.make_node("Relu", ["a"], ["b"], name="two"),
                  h.make_node("Relu", ["b"], ["y"], name="three")])


def fan_out(count=400):
    nodes = [h.make_node("Relu", ["x"], ["a"])]
    nodes += [h.make_node("Sigmoid", ["a"], [f"b{i}"], name=f"leaf{i}") for i in range(count)]
    return graph(nodes + [h.make_node("Sum", [f"b{i}" for i in range(count)], ["y"])])


def constants_only():
    t = h.make_tensor("t", T.FLOAT, (2,), [1.0, 2.0])
    nodes = [h.make_node("Constant", [], ["a"], value=t), h.make_node("Constant", [], ["b"], value=t),
             h.make_node("Add", ["a", "b"], ["y"])]
    return graph(nodes, [], [value("y", (2,))])


def sequences():
    s = h.make_tensor_sequence_value_info("s", T.FLOAT, None)
    nodes = [h.make_node("SequenceConstruct", ["x", "x"], ["q"]), h.make_node("SequenceInsert", ["q", "x"], ["s"])]
    return graph(nodes, outputs=[s])


def sparse():
    values, places = weight("w", (2,)), h.make_tensor("i", T.INT64, (2,), [0, 5])
    w = h.make_sparse_tensor(values, places, [4, 4])
    return graph([h.make_node("MatMul", ["x", "w"], ["y"])], sparse_initializer=[w])


def local_function():
    f = h.make_function("odd.domain", "Gate", ["u"], ["o"],
                        [h.make_node("Sigmoid", ["u"], ["g"]), h.make_node("Mul", ["u", "g"], ["o"])], [OPSETS[0]])
    nodes = [h.make_node("Gate", ["x"], ["a"], domain="odd.domain"), h.make_node("Gate", ["a"], ["y"], domain="odd.domain")]
    return model(graph(nodes), [f])


def large():
    names = [f"/blocks.{i // 500}/layer.{i % 500 // 10}/Relu_{i % 10}" for i in range(LARGE)]
    return graph(chain(names))


MODELS = {
    "no_weights": no_weights,
    "external_absent": external_absent,
    "contradiction": contradiction,
    "unknown_operator": lambda: graph([h.make_node("Relu", ["x"], ["a"]),
                                       h.make_node("Wonder", ["a"], ["y"], domain="odd.domain", name="w")]),
    "unknown_type": lambda: graph(chain(["a", "b"]), [value("x", kind=77)], [value("y", kind=77)]),
    "nested_if": nested_if,
    "one_node": lambda: graph(chain(["only"])),
    "empty": lambda: graph([], [], []),
    "input_is_output": lambda: graph([], [value("x")], [value("x")]),
    "cycle": cycle,
    "torch_names": lambda: graph(chain([f"/encoder/layers.{i // 3}/act_{i % 3}/Relu" for i in range(12)])),
    "tf_names": lambda: graph(chain([f"StatefulPartitionedCall/net/block_{i // 4}/Relu;{i}" for i in range(12)])),
    "paddle_names": lambda: graph(chain([f"p2o.Relu.{i}" for i in range(12)])),
    "unicode_names": lambda: graph(chain(["слой.1", "层/二", "\u202eright to left", "a\nb\tc", "😀" * 20])),
    "empty_names": lambda: graph(chain([""] * 12)),
    "duplicated_names": lambda: graph(chain(["same"] * 12)),
    "long_names": lambda: graph(chain(["n" * 500, "m/" * 250, "k." * 250])),
    "fan_out": fan_out,
    "deep": lambda: graph(chain([f"r{i}" for i in range(2000)])),
    "constants_only": constants_only,
    "sequences": sequences,
    "sparse": sparse,
    "local_function": local_function,
    "large": large,
}

for name, make in MODELS.items():
    made = make()
    with open(f"{FOLDER}/{name}.onnx", "wb") as file:
        file.write((made if isinstance(made, onnx.ModelProto) else model(made)).SerializeToString())
