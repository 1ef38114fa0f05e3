// Latency of an ONNX model in ONNX Runtime, one JSON object on standard output. For compare_peers.py.
//
// usage: node onnx_session.mjs MODEL.onnx --package FOLDER [--threads N] [--seconds S]
//
// FOLDER holds node_modules/onnxruntime-node, which is not fetched from here. Exit status 3: it is not there.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [model, ...rest] = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = rest.indexOf(name);
  return at < 0 ? otherwise : rest[at + 1];
};
const folder = path.resolve(option("--package", "."));
const threads = Number(option("--threads", "1"));
const seconds = Number(option("--seconds", "1"));

let ort;
try {
  ort = createRequire(path.join(folder, "anything.js"))("onnxruntime-node");
} catch (error) {
  console.error(`onnxruntime-node cannot be loaded from ${folder}: ${error.message.split("\n")[0]}`);
  process.exit(3);
}
if (!model) process.exit(0); // only asked whether the package is there
if (!existsSync(model)) {
  console.error(`${model}: the file does not exist`);
  process.exit(1);
}

const start = performance.now();
const session = await ort.InferenceSession.create(model, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  graphOptimizationLevel: "all",
  executionMode: "sequential",
});
const loadMs = performance.now() - start;

// Unknown dims are 1. The same numbers in every run; small ones where the model takes integers.
const feeds = {};
for (const input of session.inputMetadata) {
  const dims = input.shape.map((dim) => (typeof dim === "number" && dim > 0 ? dim : 1));
  const count = dims.reduce((product, dim) => product * dim, 1);
  const integers = { int64: BigInt64Array, int32: Int32Array, bool: Uint8Array }[input.type];
  const values = integers
    ? integers.from({ length: count }, (_, i) => (input.type === "int64" ? BigInt(i % 10) : i % (input.type === "bool" ? 2 : 10)))
    : Float32Array.from({ length: count }, (_, i) => Math.abs(Math.sin(i * 0.7)));
  feeds[input.name] = new ort.Tensor(integers ? input.type : "float32", values, dims);
}

const timed = async () => {
  const begin = performance.now();
  await session.run(feeds);
  return performance.now() - begin;
};
const firstMs = await timed();
const times = [];
const end = performance.now() + seconds * 1000;
while (times.length < 3 || performance.now() < end) times.push(await timed());
times.sort((a, b) => a - b);
console.log(
  JSON.stringify({
    load_ms: loadMs,
    first_ms: firstMs,
    min_ms: times[0],
    median_ms: times[Math.floor(times.length / 2)],
    runs: times.length,
  }),
);
