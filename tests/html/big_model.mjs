// SPDX-License-Identifier: Apache-2.0
// Writes an ONNX model with many nodes: residual blocks with the names that exporters give, in a
// small encoder of the file format; no packages needed.
import { writeFileSync } from "node:fs";

const varint = (value) => {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
};
const number = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytes = (field, value) => Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
const text = (field, value) => bytes(field, Buffer.from(value));
const message = (field, ...parts) => bytes(field, Buffer.concat(parts));

const float = 1;
const node = (op, name, inputs, output) =>
  message(1, ...inputs.map((i) => text(1, i)), text(2, output), text(3, name), text(4, op));
const value = (field, name, dims) =>
  message(field, text(1, name), message(2, message(1, number(1, float), message(2, ...dims.map((d) => message(1, number(1, d)))))));
const initializer = (name, dims, fill) => {
  const data = Buffer.alloc(4 * dims.reduce((a, b) => a * b, 1));
  for (let i = 0; i < data.length / 4; ++i) data.writeFloatLE(fill(i), 4 * i);
  return message(5, ...dims.map((d) => number(1, d)), number(2, float), text(8, name), bytes(9, data));
};

/** Ten nodes a block: a gated linear layer, another one, the sum with what came in, a norm by hand. */
const block = (i, x, width) => {
  const at = `/layers.${i}`, v = (name) => `${at}/${name}_output_0`, w = (name) => `layers.${i}.${name}`;
  const step = (op, place, inputs) => node(op, `${at}/${place}`, inputs, v(place));
  return {
    output: v("Relu"),
    parts: [
      step("MatMul", "up/MatMul", [x, w("up.weight")]), step("Add", "up/Add", [v("up/MatMul"), w("up.bias")]),
      step("Sigmoid", "act/Sigmoid", [v("up/Add")]), step("Mul", "act/Mul", [v("up/Add"), v("act/Sigmoid")]),
      step("MatMul", "down/MatMul", [v("act/Mul"), w("down.weight")]), step("Add", "down/Add", [v("down/MatMul"), w("down.bias")]),
      step("Add", "Add", [v("down/Add"), x]), step("Mul", "scale/Mul", [v("Add"), w("scale")]),
      step("Tanh", "scale/Tanh", [v("scale/Mul")]), step("Relu", "Relu", [v("scale/Tanh")]),
      ...["up", "down"].flatMap((l) => [initializer(w(l + ".weight"), [width, width], (k) => ((k * 37 + i) % 19 - 9) / 50), initializer(w(l + ".bias"), [width], () => 0.1)]),
      initializer(w("scale"), [width], () => 0.9),
    ],
  };
};

/** A model of `nodes` nodes (a multiple of ten) at `path`. */
export const writeBigModel = (path, nodes) => {
  const width = 16, parts = [];
  let x = "input";
  for (let i = 0; i < nodes / 10; ++i) {
    const made = block(i, x, width);
    parts.push(...made.parts);
    x = made.output;
  }
  const graph = message(7, ...parts, text(2, "main"), value(11, "input", [1, width]), value(12, x, [1, width]));
  writeFileSync(path, Buffer.concat([number(1, 8), graph, message(8, number(2, 17))]));
};
