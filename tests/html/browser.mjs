// SPDX-License-Identifier: Apache-2.0
// A headless Chromium that is told what to do over a pipe; no packages needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Browser {
  #process; #next = 1; #waiting = new Map(); #session; #listeners = []; #profile;

  static async start(program, options = {}) {
    const browser = new Browser();
    browser.#profile = mkdtempSync(join(tmpdir(), "fuselage-html-"));
    browser.#process = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
      "--hide-scrollbars", "--no-first-run", "--user-data-dir=" + browser.#profile], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const failed = new Promise((_, reject) => browser.#process.once("error", reject));
    let rest = "";
    browser.#process.stdio[4].on("data", (bytes) => {
      rest += bytes;
      for (let end = rest.indexOf("\0"); end >= 0; end = rest.indexOf("\0")) {
        browser.#receive(JSON.parse(rest.slice(0, end)));
        rest = rest.slice(end + 1);
      }
    });
    const { targetId } = await Promise.race([browser.send("Target.createTarget", { url: "about:blank" }), failed]);
    browser.#session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await browser.send(domain + ".enable");
    await browser.send("Emulation.setDeviceMetricsOverride", { width: options.width ?? 1500, height: options.height ?? 1000,
      deviceScaleFactor: options.scale ?? 1, mobile: false });
    return browser;
  }

  #receive(message) {
    if (message.id) {
      const { resolve, reject } = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      message.error ? reject(new Error(message.error.message)) : resolve(message.result);
    } else for (const listener of this.#listeners) listener(message.method, message.params);
  }

  send(method, params = {}) {
    const id = this.#next++;
    const message = { id, method, params };
    if (this.#session) message.sessionId = this.#session;
    this.#process.stdio[3].write(JSON.stringify(message) + "\0");
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  on(listener) { this.#listeners.push(listener); }

  /** Seconds from the request to the load event. */
  async open(url) {
    const start = performance.now();
    const loaded = new Promise((resolve) => this.on((method) => method === "Page.loadEventFired" && resolve()));
    await this.send("Page.navigate", { url });
    await loaded;
    return (performance.now() - start) / 1000;
  }

  /** The value of an expression in the page; promises are awaited. */
  async eval(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async click({ x, y }) {
    for (const type of ["mouseMoved", "mousePressed", "mouseReleased"])
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1 });
  }

  async type(text) { await this.send("Input.insertText", { text }); }

  async picture() { return Buffer.from((await this.send("Page.captureScreenshot", {})).data, "base64"); }

  close() {
    this.#process.once("exit", () => rmSync(this.#profile, { recursive: true, force: true, maxRetries: 3 }));
    this.#process.kill();
  }
}
