// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime as an oracle from outside: runs a model on given inputs, or times it.
//   node ort.mjs run  JOB.json     writes the outputs beside the job
//   node ort.mjs time JOB.json     prints {"seconds": [...]} of the rounds
//   node ort.mjs first JOB.json    prints {"seconds": [s]}: from opening the file to the first results
//   node ort.mjs serve JOB.json    loads the model at both levels, prints {"ready": true}; then each
//                                  line `LEVEL SECONDS` of its input runs that one so long, at least
//                                  once, and prints {"seconds": [...]}
//   node ort.mjs save JOB.json     writes the model as it is after optimising, to `target` of the job
//   node ort.mjs answer            each line of its input is {"model", "level", "inputs": [{"name", "dtype", "extents",
//                                  "hex" or "strings"}], "outputs": [names]}; prints {"outputs": [the same without
//                                  names]} or {"error": text} for it
//   node ort.mjs version           prints the package's version; exit code 77: it is not here
// JOB: {"model": path, "threads": n, "level": "all|disabled", "seconds": budget,
//       "inputs": [{"name", "dtype", "extents", "file"}], "outputs": [{"name", "file"}]}
// Files hold little-endian elements. The package is the folder that FUSELAGE_ONNXRUNTIME names, else
// what node finds as onnxruntime-node (NODE_PATH).
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

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

function feedHex({ dtype, extents, hex, strings }) {
  if (strings) return new ort.Tensor('string', strings, extents);
  const [ArrayType, type] = arrays[dtype];
  const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
  return new ort.Tensor(type, new ArrayType(bytes.buffer), extents);
}

function describe({ type, dims, data }) {
  if (type === 'string') return { dtype: type, extents: dims, strings: data };
  const dtype = { float32: 'float', float64: 'double' }[type] ?? type;
  return { dtype, extents: dims, hex: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex') };
}

const [mode, jobPath] = process.argv.slice(2);
if (mode === 'version') {
  console.log(ort.env.versions.node ?? ort.env.versions.common);
  process.exit(0);
}
const job = mode === 'answer' ? {} : JSON.parse(readFileSync(jobPath, 'utf8'));
const open = (level, more = {}) => ort.InferenceSession.create(job.model, {
  graphOptimizationLevel: level, intraOpNumThreads: job.threads ?? 1, interOpNumThreads: 1,
  logSeverityLevel: 3, ...more,
});
const feeds = Object.fromEntries((job.inputs ?? []).map((input) => [input.name, feed(input)]));

/// Seconds of at least `least` runs, and of as many as fit.
async function timed(session, budget, least) {
  const seconds = [];
  const start = performance.now();
  while (seconds.length < least || performance.now() - start < budget * 1000) {
    const before = performance.now();
    await session.run(feeds);
    seconds.push((performance.now() - before) / 1000);
  }
  return JSON.stringify({ seconds });
}

if (mode === 'run') {
  const session = await open(job.level ?? 'all');
  const results = await session.run(feeds);
  const described = [];
  for (const output of job.outputs) {
    const tensor = results[output.name];
    writeFileSync(output.file, Buffer.from(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength));
    described.push({ name: output.name, type: tensor.type, extents: tensor.dims });
  }
  console.log(JSON.stringify(described));
} else if (mode === 'save') {
  await open(job.level ?? 'all', { optimizedModelFilePath: job.target });
} else if (mode === 'time') {
  const session = await open(job.level ?? 'all');
  await session.run(feeds);
  console.log(await timed(session, job.seconds ?? 2, 5));
} else if (mode === 'first') {
  const start = performance.now();
  const session = await open(job.level ?? 'all');
  await session.run(feeds);
  console.log(JSON.stringify({ seconds: [(performance.now() - start) / 1000] }));
} else if (mode === 'serve') {
  const sessions = {};
  for (const level of ['all', 'disabled']) {
    sessions[level] = await open(level);
    await sessions[level].run(feeds);
  }
  console.log(JSON.stringify({ ready: true }));
  for await (const line of createInterface({ input: process.stdin })) {
    const [level, seconds] = line.split(' ');
    console.log(await timed(sessions[level], Number(seconds), 1));
  }
} else if (mode === 'answer') {
  for await (const line of createInterface({ input: process.stdin })) {
    const { model, level, inputs, outputs } = JSON.parse(line);
    try {
      const session = await ort.InferenceSession.create(model, {
        graphOptimizationLevel: level, intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4,
      });
      const results = await session.run(Object.fromEntries(inputs.map((input) => [input.name, feedHex(input)])));
      console.log(JSON.stringify({ outputs: outputs.map((name) => describe(results[name])) }));
      await session.release();
    } catch (error) {
      console.log(JSON.stringify({ error: String(error.message ?? error) }));
    }
  }
} else {
  console.error('usage: ort.mjs run|save|time|first|serve JOB.json, or ort.mjs answer|version');
  process.exit(2);
}
