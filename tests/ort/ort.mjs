// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as an oracle from outside: runs a model on given inputs, or times it.
//   node ort.mjs run  JOB.json     writes the outputs beside the job
//   node ort.mjs time JOB.json     prints {"seconds": [...]} of the rounds
//   node ort.mjs version           prints the package's version; exit code 77: it is not here
// JOB: {"model": path, "threads": n, "level": "all|disabled", "seconds": budget,
//       "inputs": [{"name", "dtype", "extents", "file"}], "outputs": [{"name", "file"}]}
// Files hold little-endian elements. The package is the folder that FUSELAGE_ONNXRUNTIME names, else
// what node finds as onnxruntime-node (NODE_PATH).
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';

const require = createRequire(import.meta.url);

function load() {
  try {
    return require(process.env.FUSELAGE_ONNXRUNTIME ?? 'onnxruntime-node');
  } catch (error) {
    console.error(`onnxruntime-node cannot be loaded: ${error.message}`);
    process.exit(77);
  }
}

const ort = load();

const arrays = {
  float: [Float32Array, 'float32'], double: [Float64Array, 'float64'], float16: [Uint16Array, 'float16'],
  int8: [Int8Array, 'int8'], int16: [Int16Array, 'int16'], int32: [Int32Array, 'int32'], int64: [BigInt64Array, 'int64'],
  uint8: [Uint8Array, 'uint8'], uint16: [Uint16Array, 'uint16'], uint32: [Uint32Array, 'uint32'], uint64: [BigUint64Array, 'uint64'],
  bool: [Uint8Array, 'bool'],
};

function feed(input) {
  const bytes = readFileSync(input.file);
  const [ArrayType, type] = arrays[input.dtype];
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return new ort.Tensor(type, new ArrayType(copy), input.extents);
}

const [mode, jobPath] = process.argv.slice(2);
if (mode === 'version') {
  console.log(ort.env.versions.node ?? ort.env.versions.common);
  process.exit(0);
}
const job = JSON.parse(readFileSync(jobPath, 'utf8'));
const session = await ort.InferenceSession.create(job.model, {
  graphOptimizationLevel: job.level ?? 'all', intraOpNumThreads: job.threads ?? 1, interOpNumThreads: 1,
  logSeverityLevel: 3,
});
const feeds = Object.fromEntries(job.inputs.map((input) => [input.name, feed(input)]));

if (mode === 'run') {
  const results = await session.run(feeds);
  const described = [];
  for (const output of job.outputs) {
    const tensor = results[output.name];
    writeFileSync(output.file, Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength));
    described.push({ name: output.name, type: tensor.type, extents: tensor.dims });
  }
  console.log(JSON.stringify(described));
} else if (mode === 'time') {
  const seconds = [];
  await session.run(feeds);
  const start = performance.now();
  while (seconds.length < 5 || performance.now() - start < (job.seconds ?? 2) * 1000) {
    const before = performance.now();
    await session.run(feeds);
    seconds.push((performance.now() - before) / 1000);
  }
  console.log(JSON.stringify({ seconds }));
} else {
  console.error('usage: ort.mjs run|time JOB.json, or ort.mjs version');
  process.exit(2);
}
