// SPDX-License-Identifier: Apache-2.0
// visit.mjs FUSELAGE MODEL FOLDER CHROMIUM: writes the report of a network of the zoo and uses it as a
// person would: opens, searches, clicks a fused node, steps, switches the theme, sorts, reads it
// without scripts. The model "chain5000" is made here, with so many nodes. Exit code 77: no browser.
// Pictures are left in FOLDER.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeBigModel } from "./big_model.mjs";
import { Browser } from "./browser.mjs";

const [program, model, folder, chromium] = process.argv.slice(2);
if (!chromium || !existsSync(chromium)) {
  console.log("skipped: no chromium on this machine");
  process.exit(77);
}
const big = model.startsWith("chain");
const limit = big ? 3e6 : 1e6;
const searched = big ? "MatMul" : model === "resnet50" ? "BatchNormalization" : "LayerNormalization";
const say = (text) => console.log(text);
let failures = 0;
const expect = (holds, text) => {
  if (!holds) { ++failures; say("FAILED: " + text); }
};

mkdirSync(folder, { recursive: true });
const onnx = join(folder, model + ".onnx"), page = join(folder, model + ".html");
if (!existsSync(onnx)) big ? writeBigModel(onnx, Number(model.slice(5))) : execFileSync(program, ["zoo", model, "-o", onnx]);
execFileSync(program, ["bench", onnx, "--no-measure", "--no-verify", "-q", "--report", page]);
const size = statSync(page).size;
expect(size < limit, `the page has ${size} bytes`);

const browser = await Browser.start(chromium);
const problems = [], requests = [];
browser.on((method, params) => {
  if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.text + " " + (params.exceptionDetails.exception?.description ?? ""));
  if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
  if (method === "Network.requestWillBeSent") requests.push(params.request.url);
});
const picture = async (name) => writeFileSync(join(folder, `${model}-${name}.png`), await browser.picture());
const settled = () => browser.eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))");

try {
  const url = "file://" + page;
  await browser.open(url); // the first one also starts the renderer
  const seconds = await browser.open(url);
  say(`${model}: ${size} bytes, opened in ${seconds.toFixed(2)} s`);
  expect(seconds < 2, `opening took ${seconds} s`); // the claim is 1 s; machines that run tests are busy
  await settled();
  await picture("open");

  // Search.
  await browser.eval("document.getElementById('query').focus()");
  await browser.type("op:" + searched);
  const hits = await browser.eval("fuselage.state.hits.size");
  expect(hits > 10, `the search found ${hits} nodes`);
  expect((await browser.eval("document.getElementById('found').textContent")) === hits + " found", "the count of hits is shown");
  await settled();
  await picture("search");
  await browser.eval("{ const q = document.getElementById('query'); q.value = ''; q.dispatchEvent(new Event('input')); }");
  await browser.eval("document.getElementById('blocks').click(); document.getElementById('drawing').scrollIntoView()");
  await settled();

  // A click on a fused node.
  const target = await browser.eval(`(() => {
    const view = document.getElementById('after').getBoundingClientRect();
    const boxes = fuselage.scenes[0].boxes;
    for (let i = 0; i < boxes.length; ++i) {
      if (boxes[i].kind !== 1) continue;
      const p = fuselage.placeOf(i, 'after');
      if (p.y > view.top + 10 && p.y < Math.min(view.bottom, innerHeight) - 10) return { ...p, name: boxes[i].name, group: boxes[i].group };
    }
  })()`);
  expect(target, "a fused node is on the screen");
  await browser.click(target);
  const shown = await browser.eval("document.getElementById('inspector').textContent");
  expect(shown.includes(target.name) && shown.includes("bytes saved") && shown.includes("Bindings") && shown.includes("Nodes before"),
    "the inspector shows the fused node: " + shown.slice(0, 200));
  expect((await browser.eval("fuselage.state.group")) === target.group, "its group is selected");
  await settled();
  await picture("selected");

  // Steps.
  await browser.eval("{ const s = document.getElementById('step'); s.value = 3; s.dispatchEvent(new Event('input')); }");
  expect((await browser.eval("document.getElementById('stepText').textContent")).startsWith("3 of "), "the step is named");
  await settled();
  await picture("step");
  await browser.eval("{ const s = document.getElementById('step'); s.value = s.max; s.dispatchEvent(new Event('input')); }");

  // Theme.
  const background = () => browser.eval("getComputedStyle(document.body).backgroundColor");
  const light = await background();
  await browser.eval("document.getElementById('theme').click()");
  expect((await background()) !== light, "the theme changes");
  await settled();
  await picture("dark");

  // Tables.
  const first = "document.querySelector('#kernels tbody tr td:nth-child(7)').dataset.v";
  await browser.eval("document.querySelectorAll('#kernels th')[6].click()");
  const most = Number(await browser.eval(first));
  await browser.eval("document.querySelectorAll('#kernels th')[6].click()");
  expect(Number(await browser.eval(first)) < most, "a table sorts both ways");
  await browser.eval("document.getElementById('charts').scrollIntoView()");
  await settled();
  await picture("charts");

  // Without scripts, and on paper.
  await browser.send("Emulation.setScriptExecutionDisabled", { value: true });
  await browser.open(url);
  await browser.send("Emulation.setScriptExecutionDisabled", { value: false });
  const visible = (id) => browser.eval(`document.querySelector('${id}').getClientRects().length > 0`);
  expect(await visible(".static svg"), "the static drawing shows without scripts");
  expect(!(await visible(".view")), "and the other one does not");
  await picture("noscript");
  await browser.open(url);
  await browser.send("Emulation.setEmulatedMedia", { media: "print" });
  expect((await visible(".static svg")) && !(await visible(".view")), "paper gets the static drawing");

  // Nothing stands beyond the edge, on paper as on a narrow screen.
  const beyond = async (media, width) => {
    await browser.send("Emulation.setEmulatedMedia", { media });
    await browser.send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await settled();
    await picture(media || "narrow");
    return browser.eval("document.documentElement.scrollWidth - innerWidth");
  };
  const paper = await beyond("print", 718), narrow = await beyond("", 400);
  expect(paper <= 0, `on paper the page is ${paper} px too wide`);
  expect(narrow <= 0, `at 400 px the page is ${narrow} px too wide`);

  expect(problems.length === 0, "problems: " + problems.join("; "));
  expect(requests.every((r) => r === url), "requests: " + requests.join(" "));
} catch (error) {
  ++failures;
  say("FAILED: " + error.stack);
} finally {
  browser.close();
}
process.exitCode = failures ? 1 : 0;
