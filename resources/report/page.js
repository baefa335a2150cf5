// SPDX-License-Identifier: Apache-2.0
// The report page's drawing: two canvases with one view, search, steps, inspector, tables that sort.
// Reads the JSON beside it; writes texts as text only. Without this script the page still reads.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const T = data.t;
  const root = document.documentElement;
  root.classList.add("js");
  const BEFORE = 1, AFTER = 2;

  // --- the scenes as objects ---------------------------------------------------------------
  // Points of edges are differences from the point before.
  const places = (d) => d.map((v, i) => i < 2 ? v : (d[i] += d[i - 2]));
  const scenes = data.scenes.map((s) => ({
    w: s.w, h: s.h,
    containers: s.c.map(([x, y, w, h, label, kind, sides, group, parent, shut, id]) =>
      ({ x, y, w, h, label: T[label], kind, sides, group, parent, shut, id: T[id] })),
    boxes: s.b.map(([x, y, w, h, ty, kind, sides, group, container, title, lines, badges, token, fill, name, op, type, dtype, bytes, us, kernel, err]) =>
      ({ x, y, w, h, ty, kind, sides, group, container, title: T[title], lines: lines.map((l) => T[l]),
        badges: badges.map(([b, t]) => [T[b], T[t]]), token: T[token], fill: T[fill], name: T[name],
        op: T[op], type: T[type], dtype: T[dtype], bytes, us, kernel: T[kernel], err })),
    edges: s.e.map(([from, to, sides, width, tunnel, points, stored, sx, sy]) => ({ from, to, sides, width, tunnel, points: places(points), stored: stored === undefined ? "" : T[stored], sx, sy })),
    stubs: s.s.map(([box, sides, out, label, x, y, w, h, edges]) => ({ box, sides, out, label: T[label], x, y, w, h, edges })),
  }));
  for (const s of scenes) for (const c of s.containers) c.depth = c.parent < 0 ? 0 : s.containers[c.parent].depth + 1;
  const groups = data.groups;
  const steps = data.steps;
  const KINDS = ["node", "fused node", "block", "input", "output"];
  const state = { level: 0, zoom: 1, x: 0, y: 0, hover: -1, hoverGroup: -1, group: -1, box: -1,
    step: steps.length, hits: null, hitGroups: new Set(), hit: -1, overlay: "rule" };
  const scene = () => scenes[state.level];

  // --- colours -----------------------------------------------------------------------------
  let colors = {};
  const color = (token) => colors[token] || (colors[token] =
    getComputedStyle(root).getPropertyValue("--" + token.replace(/\./g, "-")).trim() || "#f0f");
  const setTheme = (name) => {
    root.dataset.theme = name;
    colors = {};
    $("theme").textContent = name === "dark" ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", "Switch to the " + (name === "dark" ? "light" : "dark") + " theme");
    draw();
  };

  // --- which boxes a side shows at this step --------------------------------------------------
  const done = (group) => group < 0 || groups[group].step < state.step;
  const shows = (box, side) => {
    if (side === BEFORE || box.sides === 3 || state.step === steps.length) return (box.sides & side) !== 0;
    if (box.group < 0) return (box.sides & BEFORE) !== 0;
    return (box.sides & (done(box.group) ? AFTER : BEFORE)) !== 0;
  };
  const madeBoxes = () => {
    const of = new Map();
    scene().boxes.forEach((b, i) => { if (b.sides === AFTER && b.group >= 0 && !of.has(b.group)) of.set(b.group, i); });
    return of;
  };

  // --- painting ------------------------------------------------------------------------------
  const panes = [[$("before"), BEFORE], [$("after"), AFTER]];
  const FONT = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif";
  let pending = false;
  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; panes.forEach(([c, side]) => paint(c, side)); });
  };
  const heat = (box) => {
    if (state.overlay === "dtype") return color("rule-" + (Math.max(0, data.dtypes.indexOf(box.dtype)) % 12));
    if (state.overlay === "error") return box.err < 0 ? color("node") : color("heat-" + box.err);
    const value = state.overlay === "time" ? box.us : box.bytes;
    if (value < 0) return color("node");
    const most = state.overlay === "time" ? data.mostUs : data.mostBytes;
    return color("heat-" + Math.min(4, Math.floor(5 * Math.sqrt(value / (most || 1)))));
  };
  const lit = (box, index) => {
    if (state.hits) return state.hits.has(index) || (box.kind === 1 && state.hitGroups.has(box.group));
    return state.group < 0 || box.group === state.group || (state.hoverGroup >= 0 && box.group === state.hoverGroup);
  };
  const curve = (g, p) => {
    g.moveTo(p[0], p[1]);
    for (let i = 2; i < p.length; i += 2) {
      const m = (p[i - 1] + p[i + 1]) / 2;
      g.bezierCurveTo(p[i - 2], m, p[i], m, p[i], p[i + 1]);
    }
  };
  const edgeList = (side) => {
    const s = scene();
    if (side === BEFORE || state.step === steps.length)
      return s.edges.filter((e) => (e.sides & side) && !e.tunnel).map((e) => [e, e.points]);
    const made = madeBoxes(), out = [];
    const end = (b) => shows(s.boxes[b], AFTER) ? b : made.has(s.boxes[b].group) ? made.get(s.boxes[b].group) : -1;
    for (const e of s.edges) {
      if (!(e.sides & BEFORE) || e.tunnel) continue;
      const from = end(e.from), to = end(e.to);
      if (from < 0 || to < 0 || from === to) continue;
      const a = s.boxes[from], b = s.boxes[to];
      if (from === e.from && to === e.to) { out.push([e, e.points]); continue; }
      const p = [a.x + a.w / 2, a.y + a.h];
      for (let i = 2; i < e.points.length - 2; i += 2) {
        const x = e.points[i], y = e.points[i + 1];
        if (![a, b].some((r) => x >= r.x && x <= r.x + r.w && y >= r.y && y <= r.y + r.h)) p.push(x, y);
      }
      p.push(b.x + b.w / 2, b.y);
      out.push([e, p]);
    }
    return out;
  };
  const paint = (canvas, side) => {
    const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    const g = canvas.getContext("2d"), s = scene(), z = state.zoom;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = color("background");
    g.fillRect(0, 0, w, h);
    g.translate(-state.x * z + w / 2, -state.y * z);
    g.scale(z, z);
    const left = state.x - w / 2 / z, right = state.x + w / 2 / z, top = state.y, bottom = state.y + h / z;
    const seen = (r) => r.x < right && r.x + r.w > left && r.y < bottom && r.y + r.h > top;
    const titles = z >= 0.35, full = z >= 0.5;
    for (const c of s.containers) {
      if (c.shut || !seen(c)) continue;
      const isGroup = c.kind === 2;
      if (isGroup ? !(side === BEFORE ? c.sides & BEFORE : !done(c.group) || (c.sides & AFTER)) : !(c.sides & side)) continue;
      const token = isGroup ? "rule-" + groups[c.group].hue : "container";
      g.globalAlpha = isGroup ? 0.45 : 1;
      g.fillStyle = color(token);
      g.fillRect(c.x, c.y, c.w, c.h);
      g.globalAlpha = 1;
      g.strokeStyle = color(token + ".line");
      g.lineWidth = isGroup && (c.group === state.group || c.group === state.hoverGroup) ? 2.5 : 1;
      g.setLineDash(isGroup ? [4, 3] : []);
      g.strokeRect(c.x, c.y, c.w, c.h);
      g.setLineDash([]);
      if (!titles) continue;
      if (isGroup) badge(g, groups[c.group].badge, token, c.x + 4, c.y + 3);
      else {
        g.font = "600 11px " + FONT;
        g.fillStyle = color("container.text");
        // The label stays in sight while its container is.
        g.fillText(c.label, c.x + 8, Math.min(Math.max(c.y + 15, top + 44 / z + 14 * c.depth), c.y + c.h - 6));
      }
    }
    if (z > 0.05) {
      g.strokeStyle = color("edge");
      for (let width = 1; width <= 5; ++width) {
        g.beginPath();
        for (const [e, p] of edgeList(side)) {
          if (e.width !== width || Math.min(p[1], p[p.length - 1]) > bottom || Math.max(p[1], p[p.length - 1]) < top) continue;
          curve(g, p);
        }
        g.lineWidth = 0.6 + 0.7 * width;
        g.stroke();
      }
    }
    const hovered = state.hover >= 0 ? state.hover : state.box;
    s.boxes.forEach((b, i) => { if (shows(b, side) && seen(b)) paintBox(g, b, i, z, titles, full, i === hovered); });
    if (full && (side === BEFORE || state.step === steps.length)) for (const e of s.edges) if (e.stored && (e.sides & side)) badge(g, e.stored, "constant", e.sx, e.sy);
    if (full) for (const u of s.stubs) {
      if (!(u.sides & side) || !shows(s.boxes[u.box], side) || !seen(u)) continue;
      const b = s.boxes[u.box];
      g.strokeStyle = color("tunnel.line");
      g.lineWidth = 1;
      g.beginPath(); g.moveTo(u.out ? b.x + b.w : u.x + u.w, u.y + u.h / 2);
      g.lineTo(u.out ? u.x : b.x, u.y + u.h / 2);
      g.stroke();
      g.fillStyle = color("tunnel");
      g.fillRect(u.x, u.y, u.w, u.h);
      g.strokeRect(u.x, u.y, u.w, u.h);
      g.font = "11px " + FONT;
      g.fillStyle = color("text.dim");
      g.fillText(u.label, u.x + 5, u.y + 11);
    }
    if (hovered >= 0) tunnelsOf(g, hovered, side);
  };
  const tunnelsOf = (g, box, side) => {
    const s = scene();
    g.strokeStyle = color("tunnel.line");
    g.lineWidth = 1.5;
    g.beginPath();
    for (const e of s.edges)
      if (e.tunnel && (e.sides & side) && (e.from === box || e.to === box)) curve(g, e.points);
    g.stroke();
  };
  const badge = (g, text, token, x, y) => {
    g.font = "11px " + FONT;
    const w = g.measureText(text).width + 10;
    g.fillStyle = color(token);
    g.fillRect(x, y, w, 15);
    g.strokeStyle = color(token + ".line");
    g.lineWidth = 0.7;
    g.strokeRect(x, y, w, 15);
    g.fillStyle = token === "constant" ? color("text.dim") : color(token + ".text");
    g.fillText(text, x + 5, y + 11);
    return w + 4;
  };
  const paintBox = (g, b, i, z, titles, full, hovered) => {
    g.globalAlpha = lit(b, i) ? 1 : 0.3;
    g.fillStyle = state.overlay === "rule" ? color(b.fill) : heat(b);
    g.fillRect(b.x, b.y, b.w, b.h);
    const strong = hovered || (state.hoverGroup >= 0 && b.group === state.hoverGroup) || (state.group >= 0 && b.group === state.group) || (state.hits && state.hits.has(i));
    g.strokeStyle = strong ? color("selection") : color(b.token + ".line");
    g.lineWidth = strong ? Math.max(2.5, 1.5 / z) : b.kind === 2 ? 1.5 : 1;
    g.strokeRect(b.x, b.y, b.w, b.h);
    if (b.kind === 2 && titles) g.strokeRect(b.x + 3, b.y + 3, b.w - 6, b.h - 6);
    if (titles) {
      g.font = "600 13px " + FONT;
      g.fillStyle = state.overlay === "rule" && b.token.startsWith("rule-") ? color(b.token + ".text") : color("text");
      g.fillText(b.title, b.x + 10, b.ty + 18);
    }
    if (full) {
      g.font = "11px " + FONT;
      g.fillStyle = color("text.dim");
      b.lines.forEach((line, k) => g.fillText(line, b.x + 10, b.ty + 32 + 14 * k));
      const beside = b.badges.length === 1 && b.badges[0][1] !== "constant";
      let x = b.x + 10;
      for (const [text, token] of b.badges) {
        g.font = "11px " + FONT;
        if (beside) badge(g, text, token, b.x + b.w - g.measureText(text).width - 15, b.y + 5);
        else x += badge(g, text, token, x, b.ty + 23 + 14 * b.lines.length);
      }
    }
    g.globalAlpha = 1;
  };

  // --- the view ------------------------------------------------------------------------------
  const clamp = () => {
    const s = scene(), c = panes[0][0];
    state.zoom = Math.min(3, Math.max(0.01, state.zoom));
    const h = c.clientHeight / state.zoom;
    state.x = Math.min(s.w, Math.max(0, state.x));
    state.y = Math.min(Math.max(-20, s.h + 20 - h), Math.max(-20, state.y));
  };
  const moved = () => { clamp(); draw(); };
  const fit = (height) => {
    const c = panes[0][0];
    state.zoom = Math.min(1, (c.clientWidth - 12) / scene().w, height ? (c.clientHeight - 12) / scene().h : 1);
    state.x = scene().w / 2;
    state.y = height ? 0 : -30 / state.zoom;
    moved();
  };
  const fitWidth = () => fit(false), fitAll = () => fit(true);
  const centre = (r) => {
    state.hover = state.hoverGroup = -1;
    $("tip").style.display = "none";
    const c = panes[0][0];
    if (state.zoom < 0.55) state.zoom = Math.min(1, Math.max(0.55, (c.clientWidth - 40) / Math.max(r.w * 2, 400)));
    state.x = r.x + r.w / 2;
    state.y = r.y + r.h / 2 - c.clientHeight / state.zoom / 2;
    moved();
  };
  const zoomAt = (factor, px, py) => {
    const c = panes[0][0], w = c.clientWidth;
    const x = state.x + (px - w / 2) / state.zoom, y = state.y + py / state.zoom;
    state.zoom = Math.min(3, Math.max(0.01, state.zoom * factor));
    state.x = x - (px - w / 2) / state.zoom;
    state.y = y - py / state.zoom;
    moved();
  };
  const setLevel = (level) => {
    state.level = level;
    state.hover = state.box = -1;
    $("blocks").setAttribute("aria-pressed", String(level === 0));
    $("all").setAttribute("aria-pressed", String(level === 1));
    if (state.hits) search();
  };

  // --- pointing ------------------------------------------------------------------------------
  const at = (canvas, event) => {
    const r = canvas.getBoundingClientRect();
    const px = event.clientX - r.left, py = event.clientY - r.top;
    return { px, py, x: state.x + (px - r.width / 2) / state.zoom, y: state.y + py / state.zoom };
  };
  const under = (list, p, visible) => {
    for (let i = list.length - 1; i >= 0; --i) {
      const r = list[i];
      if (p.x >= r.x && p.x < r.x + r.w && p.y >= r.y && p.y < r.y + r.h && visible(r, i)) return i;
    }
    return -1;
  };
  const tip = $("tip");
  const showTip = (b, event) => {
    const lines = [b.name || b.title, [b.op, b.type].filter(Boolean).join(": ")];
    if (b.bytes >= 0) lines.push(bytes(b.bytes) + ", " + us(b.us));
    if (b.group >= 0 && groups[b.group].rule >= 0) lines.push(groups[b.group].badge + " " + T[groups[b.group].rule]);
    if (b.kind === 2) lines.push("click: show its nodes");
    tip.textContent = lines.filter(Boolean).join("\n");
    tip.style.display = "block";
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
  };
  panes.forEach(([canvas, side]) => {
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => { drag = { x: e.clientX, y: e.clientY, sx: state.x, sy: state.y, far: false }; canvas.setPointerCapture(e.pointerId); });
    canvas.addEventListener("pointermove", (e) => {
      if (drag) {
        const dx = e.clientX - drag.x, dy = e.clientY - drag.y;
        drag.far = drag.far || Math.hypot(dx, dy) > 4;
        if (drag.far) { state.x = drag.sx - dx / state.zoom; state.y = drag.sy - dy / state.zoom; tip.style.display = "none"; moved(); }
        return;
      }
      const p = at(canvas, e), s = scene();
      const box = under(s.boxes, p, (b) => shows(b, side));
      const hull = box >= 0 ? -1 : under(s.containers, p, (c) => c.kind === 2 && !c.shut && (c.sides & side));
      const group = box >= 0 ? s.boxes[box].group : hull >= 0 ? s.containers[hull].group : -1;
      if (box !== state.hover || group !== state.hoverGroup) { state.hover = box; state.hoverGroup = group; draw(); }
      if (box >= 0) showTip(s.boxes[box], e);
      else tip.style.display = "none";
    });
    canvas.addEventListener("pointerleave", () => { state.hover = state.hoverGroup = -1; tip.style.display = "none"; draw(); });
    canvas.addEventListener("pointerup", (e) => {
      const far = drag && drag.far;
      drag = null;
      if (!far) click(at(canvas, e), side);
    });
    canvas.addEventListener("wheel", (e) => {
      if (e.ctrlKey || e.metaKey) {
        const p = at(canvas, e);
        zoomAt(Math.exp(-e.deltaY * 0.0025), p.px, p.py);
        e.preventDefault();
        return;
      }
      const x = state.x, y = state.y;
      state.x += e.deltaX / state.zoom;
      state.y += e.deltaY / state.zoom;
      moved();
      if (x !== state.x || y !== state.y) e.preventDefault(); // at an end the page scrolls on
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const step = 80 / state.zoom;
      const keys = { ArrowUp: () => state.y -= step, ArrowDown: () => state.y += step, ArrowLeft: () => state.x -= step, ArrowRight: () => state.x += step,
        "+": () => zoomAt(1.25, canvas.clientWidth / 2, canvas.clientHeight / 2), "-": () => zoomAt(0.8, canvas.clientWidth / 2, canvas.clientHeight / 2),
        " ": fitAll, f: fitWidth, n: () => walk(1), p: () => walk(-1), j: () => setStep(state.step + 1), k: () => setStep(state.step - 1),
        Escape: () => select(-1, -1) };
      if (!keys[e.key] || e.ctrlKey || e.metaKey) return;
      keys[e.key]();
      moved();
      e.preventDefault();
    });
  });
  const walk = (by) => {
    if (!groups.length) return;
    const next = ((state.group < 0 ? (by > 0 ? -1 : 0) : state.group) + by + groups.length) % groups.length;
    select(next, -1);
    showGroup(next);
  };
  const click = (p, side) => {
    const s = scene();
    const stub = under(s.stubs, p, (u) => (u.sides & side) && shows(s.boxes[u.box], side));
    if (stub >= 0) {
      const u = s.stubs[stub], edge = s.edges[u.edges[0]];
      const other = u.out ? edge.to : edge.from;
      state.box = other;
      centre(s.boxes[other]);
      return;
    }
    const box = under(s.boxes, p, (b) => shows(b, side));
    if (box < 0) {
      const hull = under(s.containers, p, (c) => c.kind === 2 && !c.shut && (c.sides & side));
      return select(hull >= 0 ? s.containers[hull].group : -1, -1);
    }
    const b = s.boxes[box];
    if (b.kind === 2 && state.level === 0 && scenes.length > 1) {
      const id = s.containers[b.container].id;
      setLevel(1);
      const open = scene().containers.find((c) => c.id === id);
      if (open) { centre(open); state.y = open.y - 40 / state.zoom; }
      return moved();
    }
    select(b.group, box);
  };

  // --- the inspector ---------------------------------------------------------------------------
  const make = (tag, text, name) => {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (name) e.className = name;
    return e;
  };
  const rows = (list) => {
    const dl = make("dl");
    for (const [name, value] of list) if (value !== undefined && value !== "") dl.append(make("dt", name), make("dd", value));
    return dl;
  };
  const names = (title, list) => {
    const ul = make("ul");
    list.slice(0, 60).forEach((n) => ul.append(make("li", n)));
    if (list.length > 60) ul.append(make("li", "and " + (list.length - 60) + " more"));
    return [make("h3", title), ul];
  };
  const inspectGroup = (g, out) => {
    const head = make("h3"), chip = make("span", g.badge, "chip");
    chip.style.background = "var(--rule-" + g.hue + ")";
    chip.style.borderColor = "var(--rule-" + g.hue + "-line)";
    head.append(chip, " " + (g.rule >= 0 ? T[g.rule] : "rewritten"));
    out.append(head);
    const m = g.match;
    out.append(rows([["fused node", g.made.map((t) => T[t]).join(", ")], ["rule", g.file >= 0 ? T[g.file] + ":" + g.line : undefined]]));
    if (m) {
      out.append(rows([["bytes saved", bytes(m.bytes[0] - m.bytes[1]) + "  (" + bytes(m.bytes[0]) + " → " + bytes(m.bytes[1]) + ")"],
        ["launches saved", (m.launches[0] - m.launches[1]) + "  (" + m.launches[0] + " → " + m.launches[1] + ")"],
        ["time, " + (m.measured ? "measured" : "predicted"), us(m.us[0]) + " → " + us(m.us[1])],
        ["kernel", T[m.kernel]], ["comes from", (m.origins ?? []).map((t) => T[t]).join("; ")], ["alternatives", (m.labels ?? []).map((t) => T[t]).join(", ")]]));
      if (m.bind.length) out.append(make("h3", "Bindings"), rows(m.bind.map(([n, v]) => [T[n], v.map((t) => T[t]).join(", ")])));
    }
    out.append(...names("Nodes before (" + g.members.length + ")", g.members.map((t) => T[t])));
  };
  const select = (group, box) => {
    state.group = group;
    state.box = box;
    const out = $("inspector");
    out.replaceChildren();
    if (box >= 0) {
      const b = scene().boxes[box];
      out.append(make("h3", b.name || b.title), rows([["kind", KINDS[b.kind]], ["operator", b.op], ["type", b.type],
        ["logical traffic", b.bytes >= 0 ? bytes(b.bytes) : ""], ["time", b.us >= 0 ? us(b.us) : ""], ["kernel", b.kernel]]));
    }
    if (group >= 0) inspectGroup(groups[group], out);
    if (group < 0 && box < 0) out.append(make("p", "Click a fused node for its rule, its bindings and what it saves. Hover to see both sides.", "dim"),
      make("p", "Drag or wheel to move, Ctrl and wheel to zoom. In the drawing: n, p next and previous fused node; j, k steps; f fit width; space fit all.", "dim"));
    document.querySelectorAll("tr[data-group]").forEach((tr) => tr.classList.toggle("on", Number(tr.dataset.group) === group));
    draw();
  };
  const showGroup = (group) => {
    const find = () => scene().boxes.find((b) => b.group === group && b.sides !== BEFORE) || scene().boxes.find((b) => b.group === group);
    if (!find() && scenes.length > 1) setLevel(1);
    const b = find();
    if (b) centre(b);
  };

  // --- search ----------------------------------------------------------------------------------
  const ruleOf = (b) => b.group >= 0 && groups[b.group].rule >= 0 ? T[groups[b.group].rule] + " " + groups[b.group].badge : "";
  const search = () => {
    const words = parseQuery($("query").value);
    state.hit = -1;
    if (!words.length) state.hits = null;
    else {
      if (state.level === 0 && scenes.length > 1) { state.hits = null; setLevel(1); fitWidth(); }
      state.hits = new Set();
      scene().boxes.forEach((b, i) => { if (b.kind !== 2 && words.every((w) => holdsWord(b, w, ruleOf(b)) !== w.not)) state.hits.add(i); });
      // What replaced a hit is lit beside it.
      state.hitGroups = new Set([...state.hits].map((i) => scene().boxes[i].group).filter((g) => g >= 0));
    }
    $("found").textContent = state.hits ? state.hits.size + " found" : "";
    draw();
  };
  const nextHit = (by) => {
    if (!state.hits || !state.hits.size) return;
    const list = [...state.hits];
    state.hit = (state.hit + by + list.length) % list.length;
    const box = list[state.hit];
    $("found").textContent = (state.hit + 1) + " of " + list.length;
    select(scene().boxes[box].group, box);
    centre(scene().boxes[box]);
  };

  // --- steps -------------------------------------------------------------------------------------
  const setStep = (step) => {
    state.step = Math.min(steps.length, Math.max(0, step));
    $("step").value = state.step;
    const now = state.step > 0 ? steps[state.step - 1] : null;
    $("stepText").textContent = state.step + " of " + steps.length + (now ? ": " + T[now[0]] : ": as loaded");
    if (now && now[1] >= 0 && state.step < steps.length) { select(now[1], -1); showGroup(now[1]); }
    draw();
  };

  // --- rows of tables lead to the drawing ---------------------------------------------------------
  document.querySelectorAll("tr[data-group]").forEach((tr) => {
    const go = () => { select(Number(tr.dataset.group), -1); showGroup(Number(tr.dataset.group)); $("drawing").scrollIntoView(); };
    tr.tabIndex = 0;
    tr.addEventListener("click", go);
    tr.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  });

  // --- controls ----------------------------------------------------------------------------------
  $("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  $("query").addEventListener("input", search);
  $("query").addEventListener("keydown", (e) => { if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1); });
  $("overlay").addEventListener("change", (e) => { state.overlay = e.target.value; draw(); });
  $("step").addEventListener("input", (e) => setStep(Number(e.target.value)));
  $("blocks").addEventListener("click", () => { setLevel(0); fitWidth(); });
  $("all").addEventListener("click", () => { setLevel(scenes.length - 1); fitWidth(); });
  $("fit").addEventListener("click", fitWidth), $("fitAll").addEventListener("click", fitAll);
  addEventListener("resize", moved);
  $("step").max = steps.length;
  setStep(steps.length), select(-1, -1);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (e) => setTheme(e.matches ? "dark" : "light"));
  fitWidth();
  // For tests: where things are on the screen.
  window.fuselage = { state, scenes, groups, placeOf: (index, side) => {
    const b = scene().boxes[index], r = $(side).getBoundingClientRect();
    return { x: r.left + r.width / 2 + (b.x + b.w / 2 - state.x) * state.zoom, y: r.top + (b.y + b.h / 2 - state.y) * state.zoom };
  } };
})();
