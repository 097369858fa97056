// The script draws what the page's data says and moves a cursor over it. It decides nothing.
"use strict";
(() => {
const el = (tag, props, ...children) => {
  const e = Object.assign(document.createElement(tag), props || {});
  e.append(...children);
  return e;
};
const esc = s => String(s).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));
const RELEASED = 4294967295;
const number = v => v === RELEASED ? "released" : String(v);
const REST = 30; // pixels behind the last step: what lasts for ever
const STORE = 1, WAIT = 2, EDGE = 3, ARRIVE = 4, MEET = 5, BAD = 6;
const markClass = ["", "store", "wait", "edge", "memory", "meet", "bad"];

// upTo is the last index of a sorted list whose key is at most t, or -1.
function upTo(list, t, key) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const m = (lo + hi) >> 1;
    if (key(list[m]) <= t) lo = m + 1; else hi = m;
  }
  return lo - 1;
}
const valueAt = (points, t) => { const i = upTo(points, t, p => p[0]); return i < 0 ? 0 : points[i][1]; };

// code writes choices as an address: the same choice n times is c:n.
function code(choices) {
  const out = [];
  for (let i = 0; i < choices.length;) {
    let n = 1;
    while (i + n < choices.length && choices[i + n] === choices[i]) n++;
    out.push(n > 1 ? choices[i] + ":" + n : String(choices[i]));
    i += n;
  }
  return out.join(",");
}

// prepare adds indexes to a run.
function prepare(run) {
  run.n = run.steps.length;
  run.maybe = new Set(run.possible);
  run.atLane = run.lanes.map(() => []);
  for (const a of run.at) run.atLane[a[1]].push(a);
  run.byLane = run.lanes.map(() => []);
  run.steps.forEach((s, i) => run.byLane[s[0]].push(i));
  run.marks = run.steps.map((s, i) => i).filter(i => [STORE, WAIT, ARRIVE, BAD].includes(run.steps[i][1]));
  run.order = run.lanes.map((l, i) => i);
  const kinds = ["main", "queue", "stream", "handler", "memory", "watchdog"];
  run.order.sort((a, b) => run.lanes[a].rank - run.lanes[b].rank || kinds.indexOf(run.lanes[a].kind) - kinds.indexOf(run.lanes[b].kind) || a - b);
  const busy = i => run.byLane[i].length > 0 || run.atLane[i].some(a => run.words[a[2]] !== "");
  const flying = new Set(run.flights.map(f => f[0]));
  run.order = run.order.filter(i => busy(i) || flying.has(i) || ["main", "queue", "stream"].includes(run.lanes[i].kind));
  let y = 22;
  run.geometry = run.lanes.map(() => null);
  for (const i of run.order) {
    const l = run.lanes[i];
    let row = 22, h = run.n <= 40 ? 42 : 28;
    if (l.kind === "queue") { row = Math.max(8, Math.min(22, 110 / l.rows)); h = row * l.rows + (run.n <= 40 ? 26 : 12); }
    if (l.kind === "memory") { row = Math.max(2, Math.min(7, 110 / l.rows)); h = Math.max(24, row * l.rows + 10); }
    run.geometry[i] = {y, h, row};
    y += h;
  }
  run.lineGeometry = run.lines.map(() => null);
  run.lines.forEach((l, i) => {
    if (l.most === 0) return;
    run.lineGeometry[i] = {y: y + 10, h: 74};
    y += 94;
  });
  run.height = y + 4;
  return run;
}

class Player {
  constructor(root, run, base) {
    this.root = root;
    this.q = s => root.querySelector(s);
    this.slider = this.q("input[type=range]");
    this.plot = this.q(".plot");
    this.slider.addEventListener("input", () => this.go(+this.slider.value));
    root.querySelectorAll("[data-do]").forEach(b => b.addEventListener("click", () => this.do(b.dataset.do)));
    root.addEventListener("pointerdown", () => { active = this; });
    root.addEventListener("focusin", () => { active = this; });
    this.plot.addEventListener("click", e => this.go(Math.round(this.step(e))));
    this.plot.addEventListener("wheel", e => {
      if (e.ctrlKey || e.metaKey) { e.preventDefault(); this.zoom(e.deltaY < 0 ? 1.25 : .8, this.step(e)); return; }
      const d = Math.abs(e.deltaX) > Math.abs(e.deltaY) ? e.deltaX : e.shiftKey ? e.deltaY : 0;
      if (d) { e.preventDefault(); this.from += d / this.px; this.clamp(); this.draw(); }
    }, {passive: false});
    new ResizeObserver(() => { const w = this.plot.clientWidth; if (w && w !== this.width) { const whole = this.whole; this.width = w; if (whole) this.fit(); this.clamp(); this.draw(); } }).observe(this.plot);
    const mini = this.q(".mini"), drag = e => {
      const r = mini.getBoundingClientRect();
      this.from = (e.clientX - r.left) / r.width * this.run.n - this.width / this.px / 2;
      this.clamp();
      this.draw();
    };
    mini.addEventListener("pointerdown", e => { mini.setPointerCapture(e.pointerId); drag(e); });
    mini.addEventListener("pointermove", e => { if (e.buttons & 1) drag(e); });
    this.load(run, base);
  }
  load(run, base) {
    this.run = run;
    this.base = base;
    this.time = run.n;
    this.slider.max = run.n;
    this.width = this.plot.clientWidth || 1000;
    this.playing = clearInterval(this.playing);
    this.fit();
    if (this.px < 1.2 && this.root.dataset.run === "given") { this.px = 1.6; this.whole = false; this.from = run.n; this.clamp(); }
    this.overview();
    this.gutter();
    this.legend();
    this.draw();
    this.show();
  }
  step(e) { return this.from + (e.clientX - this.plot.getBoundingClientRect().left) / this.px; }
  fit() { this.px = Math.min(110, (this.width - REST - 6) / Math.max(1, this.run.n)); this.from = 0; this.whole = true; }
  zoom(f, around) {
    const at = around === undefined ? this.time : around, x = (at - this.from) * this.px;
    this.px = Math.max((this.width - REST - 6) / Math.max(1, this.run.n), Math.min(110, this.px * f));
    this.from = at - x / this.px;
    this.whole = false;
    this.clamp();
    this.draw();
  }
  clamp() { this.from = Math.max(0, Math.min(this.from, this.run.n + (REST + 6) / this.px - this.width / this.px)); }
  go(t) {
    t = Math.max(0, Math.min(this.run.n, t));
    if (t === this.time && this.slider.value === String(t)) return;
    this.time = t;
    const span = this.width / this.px;
    if (t < this.from + span * .05 || t > this.from + span * .95) { this.from = t - span / 2; this.clamp(); }
    this.draw();
    this.show();
  }
  do(what) {
    switch (what) {
    case "first": return this.go(0);
    case "back": return this.go(this.time - 1);
    case "next": return this.go(this.time + 1);
    case "last": return this.go(this.run.n);
    case "wide": return this.zoom(1.5);
    case "narrow": return this.zoom(1 / 1.5);
    case "fit": this.fit(); return this.draw();
    case "play":
      if (this.playing) { this.playing = clearInterval(this.playing); }
      else {
        if (this.time === this.run.n) this.go(0);
        this.playing = setInterval(() => { this.go(this.time + 1); if (this.time === this.run.n) this.do("play"); }, 160);
      }
      this.q("[data-do=play]").textContent = this.playing ? "pause" : "play";
    }
  }
  mark(direction) {
    const m = this.run.marks; // a mark at step k is seen after it, at time k+1
    let i = upTo(m, this.time - 1, k => k);
    if (direction > 0) i++; else if (i >= 0 && m[i] === this.time - 1) i--;
    if (i >= 0 && i < m.length) this.go(m[i] + 1);
  }

  gutter() {
    const {run} = this, out = [];
    for (const i of run.order) {
      const g = run.geometry[i], l = run.lanes[i];
      out.push(`<text x="10" y="${g.y + g.h / 2 + 4}">${esc(l.name)}</text><path class="rule" d="M0 ${g.y}H400"/>`);
    }
    run.lines.forEach((l, i) => {
      const g = run.lineGeometry[i];
      if (!g) return;
      out.push(`<path class="rule" d="M0 ${g.y - 10}H400"/><text x="10" y="${g.y + 12}">${esc(l.name.replace(/^(rank \d+ )?/, "$1" + (l.event ? "event " : "fence ")))}</text>
        <text class="soft" x="10" y="${g.y + 28}">0 to ${l.most}</text>`);
    });
    this.q(".gutter").innerHTML = `<svg width="150" height="${run.height}">${out.join("")}</svg>`;
  }
  legend() {
    const key = (svg, text) => `<span><svg width="26" height="14">${svg}</svg>${text}</span>`;
    this.q(".legend").innerHTML = key('<rect class="box" x="1" y="1" width="24" height="12" rx="2"/>', "command buffer") +
      key('<rect class="step store" x="3" y="2" width="4" height="10"/><rect class="step wait" x="11" y="2" width="4" height="10"/><rect class="step" x="19" y="2" width="4" height="10"/>', "update, wait passed, other step") +
      key('<rect class="span" x="1" y="3" width="24" height="8"/>', "waits") + key('<rect class="span open" x="1" y="3" width="24" height="8"/>', "waits to the end") +
      key('<rect class="flight" x="1" y="4" width="24" height="6"/>', "store on its way") +
      key('<path class="gpu" d="M1 7H25"/>', "GPU sees") + key('<path class="cpu" d="M1 7H25"/>', "CPU sees") + key('<path class="sched" d="M1 7H25"/>', "scheduled") +
      key('<path class="need" d="M1 7H25"/>', "a wait needs") + key('<path class="arrow near" d="M1 7H25"/>', "update lets a wait through") + key('<path class="arrow missing" d="M1 7H25"/>', "has run, is not seen");
  }

  // overview draws the whole run small, once: what the queues and main threads do, the counters, the last waits.
  overview() {
    const {run} = this, W = 1000, H = 54, x = t => Math.round(t / Math.max(1, run.n) * W * 10) / 10;
    const out = [], bins = new Array(500).fill(0);
    for (const b of run.boxes) if (b[4] >= 0) bins[Math.min(499, Math.floor(b[4] / Math.max(1, run.n) * 500))]++;
    const most = Math.max(1, ...bins);
    out.push(`<path class="load" d="${bins.map((v, i) => v ? `M${i * 2} ${H}v${-Math.round(v / most * 12) - 1}h2V${H}z` : "").join("")}"/>`);
    run.lines.forEach(l => {
      if (!l.most) return;
      const y = v => Math.round((38 - (v === RELEASED ? l.most : v) / l.most * 34) * 10) / 10;
      const line = p => p.reduce((d, q, i) => d + (i ? `H${x(q[0])}V${y(q[1])}` : `M0 ${y(q[1])}`), "") + `H${W}`;
      out.push(`<path class="gpu" vector-effect="non-scaling-stroke" d="${line(l.gpu)}"/>`);
      if (!l.event) out.push(`<path class="cpu" vector-effect="non-scaling-stroke" d="${line(l.cpu)}"/>`);
    });
    for (const w of run.waits) if (w[6]) out.push(`<rect class="span open" x="${x(w[2])}" y="40" width="${Math.max(2, x(w[3]) - x(w[2]))}" height="14"/>`);
    this.small = out.join("");
  }
  mini() {
    const mini = this.q(".mini"), {run} = this;
    const all = this.px * run.n <= this.width;
    mini.hidden = all;
    if (all) return;
    const W = 1000, a = this.from / run.n * W, b = Math.min(W, (this.from + this.width / this.px) / run.n * W), c = this.time / run.n * W;
    mini.innerHTML = `<svg width="100%" height="54" viewBox="0 0 ${W} 54" preserveAspectRatio="none">${this.small}<rect class="view" x="${a}" y="0" width="${b - a}" height="54"/><path class="cursor" vector-effect="non-scaling-stroke" d="M${c} 0V54"/></svg>`;
  }

  // draw draws the steps that the window shows.
  draw() {
    this.mini();
    const {run, px, width, from} = this, to = from + width / px, out = [];
    const x = t => Math.round((t - from) * px * 10) / 10;
    const until = (t, open) => open ? x(run.n) + REST : x(t);
    const wide = Math.max(px, 1);
    const W = n => Math.round(n * 10) / 10;
    out.push(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern><pattern id="hatch-bad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch bad" d="M0 0V6"/></pattern></defs>`);
    // Axis.
    let every = 1;
    for (const f of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000]) { every = f; if (f * px >= 64) break; }
    for (let t = Math.ceil(from / every) * every; t <= Math.min(to, run.n); t += every)
      out.push(`<path class="rule" d="M${x(t)} 18V${run.height}"/><text class="soft" x="${x(t) + 3}" y="13">${t}</text>`);
    // Lanes.
    for (const i of run.order) {
      const g = run.geometry[i];
      out.push(`<path class="rule" d="M0 ${g.y}H${width}"/>`);
    }
    for (const [lane, row, b, committed, started, finished, killed] of run.boxes) {
      const g = run.geometry[lane], open = started < 0 || finished < 0 ? run.n : finished + 1;
      if (open < from || committed > to) continue;
      const y = g.y + 6 + row * g.row, h = g.row - 4;
      if (started < 0) {
        if (px * (run.n - committed) > 3) out.push(`<path class="lead" d="M${x(committed + 1)} ${y + h / 2}H${x(run.n)}"/>`);
        continue;
      }
      if (px >= 3 && started > committed + 1 && g.row > 12) out.push(`<path class="lead" d="M${x(committed + 1)} ${y + h - 1}H${x(started)}"/>`);
      const x0 = Math.max(x(started), -4), x1 = Math.min(until(open, finished < 0), width + 4);
      out.push(`<rect class="box${b % 2 ? " alt" : ""}${killed ? " killed" : ""}${finished < 0 ? " still" : ""}" x="${x0}" y="${y}" width="${W(Math.max(x1 - x0, .8))}" height="${h}" rx="2"><title>buffer ${b}${killed ? ", killed" : ""}</title></rect>`);
      if (x1 - x0 > 20 && h > 12) out.push(`<text class="soft" x="${Math.max(x0, 0) + 3}" y="${y + 10}">${b}</text>`);
    }
    for (const [lane, line, f, t, target, gpu, open, text] of run.waits) {
      if (t < from || f > to || t === f && !open) continue;
      const g = run.geometry[lane], x0 = Math.max(x(f), 0), x1 = Math.min(until(t, open), width), tall = run.n <= 40 ? 14 : 0;
      out.push(`<rect class="span${open ? " open" : ""}" x="${x0}" y="${g.y + 9}" width="${W(Math.max(x1 - x0, 1))}" height="${g.h - 18 - tall}"><title>${esc(run.words[text])}</title></rect>`);
    }
    for (const [lane, row, line, f, t, value, text] of run.flights) {
      const end = t < 0 ? run.n : t + 1;
      if (end < from || f > to) continue;
      const g = run.geometry[lane], x0 = Math.max(x(f + 1), -4), x1 = Math.min(until(end, t < 0), width + 4), y = g.y + 5 + row * g.row;
      out.push(`<rect class="flight${t < 0 ? " open" : ""}" x="${x0}" y="${W(y)}" width="${W(Math.max(x1 - x0, 1))}" height="${W(Math.max(1.5, g.row - 1.5))}"><title>${esc(run.words[text])} on its way</title></rect>`);
    }
    // Steps: one path per lane and kind.
    const lo = Math.max(0, Math.floor(from) - 1), hi = Math.min(run.n, Math.ceil(to) + 1);
    const paths = new Map();
    const last = new Map();
    for (let k = lo; k < hi; k++) {
      const [lane, m] = run.steps[k], kind = run.lanes[lane].kind;
      const g = run.geometry[lane];
      if (!g) continue;
      const cls = m === 0 || m === EDGE ? kind : markClass[m];
      if (m === EDGE && kind === "queue") continue; // the box shows it
      const strong = m === STORE || m === WAIT || m === BAD || m === MEET;
      const w = strong ? Math.max(2, px * .8) : Math.max(.7, px * .62);
      const key = lane + " " + cls, bx = x(k) + (px - w) / 2;
      if (!strong && bx - (last.get(key) ?? -9) < .6) continue;
      last.set(key, bx);
      let y = g.y + 8, h = g.h - 16 - (run.n <= 40 ? 14 : 0);
      if (kind === "queue") {
        const row = rowOf(run, lane, run.steps[k][5]);
        y = g.y + 6 + row * g.row + (strong ? 1 : (g.row - 4) * .58); h = strong ? g.row - 6 : (g.row - 4) * .36;
      }
      if (kind === "memory") { y = g.y + g.h - 5; h = 4; }
      const rect = run.maybe.has(k) && w > 4 ? `M${W(bx)} ${W(y)}h${W(w)}v${W(h)}h${W(-w)}zM${W(bx + 1)} ${W(y + 1)}v${W(h - 2)}h${W(w - 2)}v${W(2 - h)}z` : `M${W(bx)} ${W(y)}h${W(w)}v${W(h)}h${W(-w)}z`;
      paths.set(key, (paths.get(key) || "") + rect);
    }
    for (const [key, d] of paths) out.push(`<path class="step ${key.split(" ")[1]}" d="${d}"/>`);
    if (run.n <= 40 || px >= 80) for (let k = lo; k < hi; k++) { // words where there is room
      const [lane, m, text] = run.steps[k], g = run.geometry[lane];
      if (!g) continue;
      let room = 1;
      while (k + room < run.n && run.steps[k + room][0] !== lane && room < 12) room++;
      const w = run.words[text], chars = Math.floor(room * px / 6.2);
      if (chars < 5 || run.lanes[lane].kind === "memory") continue;
      out.push(`<text class="soft" x="${x(k) + 2}" y="${g.y + g.h - 5}">${esc(w.length > chars ? w.slice(0, chars - 1) + "…" : w)}</text>`);
    }
    // The words of waits lie over their hatching.
    for (const [lane, , f, t, , , open, text] of run.waits) {
      if (t < from || f > to) continue;
      const g = run.geometry[lane], x0 = Math.max(x(f), 2), x1 = Math.min(until(t, open), width), w = run.words[text];
      if (x1 - x0 > w.length * 7) out.push(`<text class="on-span" x="${x0 + 4}" y="${g.y + (g.h - (run.n <= 40 ? 14 : 0)) / 2 + 4}">${esc(w)}</text>`);
    }
    // Counters.
    run.lines.forEach((l, i) => {
      const g = run.lineGeometry[i];
      if (!g) return;
      const y = v => W(g.y + g.h - (v === RELEASED ? l.most : v) / l.most * (g.h - 4));
      out.push(`<path class="rule" d="M0 ${g.y - 10}H${width}"/><path class="axis" d="M0 ${g.y + g.h}H${width}"/>`);
      const line = points => {
        let k = Math.max(0, upTo(points, from, p => p[0])), d = `M${Math.max(x(points[k][0]), -2)} ${y(points[k][1])}`;
        for (k++; k < points.length && points[k][0] <= to; k++) d += `H${x(points[k][0])}V${y(points[k][1])}`;
        return d + `H${Math.min(until(0, true), width + 2)}`;
      };
      if (!l.event) {
        const back = points => { // the same line from right to left
          let k = upTo(points, Math.min(to, run.n), p => p[0]), d = "";
          for (; k > 0 && points[k][0] > from; k--) d += `V${y(points[k][1])}H${x(points[k][0])}`;
          return d + `V${y(points[Math.max(k, 0)][1])}H${Math.max(x(points[0][0]), -2)}z`;
        };
        out.push(`<path class="gap" d="${line(l.gpu)}${back(l.cpu)}"/><path class="sched" d="${line(l.scheduled)}"/><path class="cpu" d="${line(l.cpu)}"/>`);
      }
      out.push(`<path class="gpu" d="${line(l.gpu)}"/>`);
      for (const [, ln, f, t, target, , open] of run.waits) {
        if (ln !== i || t < from || f > to || t === f && !open) continue;
        const x0 = Math.max(x(f), 0), x1 = Math.min(until(t, open), width);
        out.push(`<path class="need${open ? " open" : ""}" d="M${x0} ${y(target)}H${W(Math.max(x1, x0 + 2))}"/>`);
        if (x1 - x0 > 60) out.push(`<text class="soft" x="${x0 + 3}" y="${y(target) < g.y + 14 ? y(target) + 12 : y(target) - 3}">needs ${target}</text>`);
      }
    });
    // Arrows: all if there are few, else those of the step at the cursor.
    const seen = run.arrows.filter(a => a[2] >= from && a[0] <= to);
    const k = this.time - 1, few = seen.length <= 60;
    for (const [f, via, t, a, b, , missing] of seen) {
      const near = f === k || via === k || t === k;
      if (!few && !near && !missing || !run.geometry[a] || !run.geometry[b]) continue;
      const ga = run.geometry[a], gb = run.geometry[b];
      const x0 = x(f + .5), y0 = ga.y + (b > a ? ga.h - 5 : 5), x1 = missing ? until(t, true) - 4 : x(t + .5), y1 = gb.y + (b > a ? 6 : gb.h - 6), bend = Math.min(60, Math.max(12, (x1 - x0) / 2));
      out.push(`<path class="arrow${near ? " near" : ""}${missing ? " missing" : ""}" d="M${x0} ${y0}C${W(x0 + bend)} ${y0} ${W(x1 - bend)} ${y1} ${x1} ${y1}"/><path class="tip${missing ? " missing" : ""}" d="M${x1} ${y1}l-6 -3v6z"/>`);
    }
    // Cursor.
    const cx = x(this.time);
    out.push(`<rect class="past" x="0" y="18" width="${Math.max(0, Math.min(cx, width))}" height="${run.height - 18}"/><path class="cursor" d="M${cx} 16V${run.height}"/><path class="cursor-head" d="M${cx - 5} 10h10l-5 7z"/>`);
    this.plot.innerHTML = `<svg width="${width}" height="${run.height}" viewBox="0 0 ${width} ${run.height}" role="img" aria-label="${esc(this.words())}">${out.join("")}</svg>`;
  }

  words() {
    const {run, time} = this;
    if (time === 0) return `initial state of ${run.n} steps`;
    const [lane, , , full] = run.steps[time - 1];
    return `after step ${time} of ${run.n}: ${run.lanes[lane].name}: ${run.words[full]}`;
  }

  // show writes the state at the cursor in words.
  show() {
    const {run, time} = this;
    this.slider.value = time;
    this.slider.setAttribute("aria-valuetext", this.words());
    const where = this.q(".where");
    where.textContent = "";
    where.append(el("b", {textContent: `step ${time} of ${run.n}`}));
    if (time > 0) {
      const [lane, , , full] = run.steps[time - 1];
      where.append(` · ${run.lanes[lane].name}: ${run.words[full]}`);
      if (run.maybe.has(time - 1)) where.append(el("span", {className: "maybe", textContent: " · nothing forces this step"}));
      for (const [k, w] of run.violated) if (k === time - 1) where.append(el("span", {className: "maybe", textContent: " · violates " + run.words[w]}));
    } else where.append(" · the initial state");
    const body = this.q(".lanes tbody");
    body.textContent = "";
    for (const i of run.order) {
      const l = run.lanes[i];
      if (l.kind === "memory" || l.kind === "watchdog") continue;
      const list = run.atLane[i], j = upTo(list, time, a => a[0]);
      const at = j < 0 ? "" : run.words[list[j][2]], needs = j < 0 ? "" : run.words[list[j][3]];
      const cls = at === "" ? "idle" : needs === "" ? "ready" : "blocked";
      const idle = l.kind === "main" ? "the end" : "nothing to do";
      body.append(el("tr", {className: cls}, el("th", {scope: "row", textContent: l.name}), el("td", {}, at === "" ? idle : el("code", {textContent: at})), el("td", {textContent: needs})));
    }
    const counters = this.q(".counters tbody");
    counters.textContent = "";
    run.lines.forEach((l, i) => {
      const way = run.flights.filter(f => f[2] === i && f[3] < time && (f[4] < 0 || f[4] >= time)).map(f => number(f[5]));
      const cells = [valueAt(l.scheduled, time), valueAt(l.gpu, time), valueAt(l.event ? l.gpu : l.cpu, time)].map(v => el("td", {className: "n", textContent: number(v)}));
      counters.append(el("tr", {}, el("th", {scope: "row", textContent: l.name}), ...cells, el("td", {textContent: way.length > 14 ? way.slice(0, 12).join(" ") + ` and ${way.length - 12} more` : way.join(" ")})));
    });
    const next = this.q(".next");
    next.textContent = "";
    const enabled = run.enabled[time] || [];
    enabled.forEach((c, i) => {
      const [lane, text, possible] = run.choices[c];
      const name = `${run.lanes[lane].name}: ${run.words[text]}`;
      const taken = time < run.n && run.steps[time][4] === i;
      let what = name;
      if (this.base !== undefined) {
        const choices = run.steps.slice(0, time).map(s => s[4]).concat(i);
        what = el("a", {href: this.base + code(choices), textContent: name});
        what.dataset.step = "";
      }
      next.append(el("li", {className: possible ? "maybe" : "sure"}, what, el("small", {textContent: (possible ? " possible" : " sure") + (taken ? ", taken in this run" : "")})));
    });
    if (enabled.length === 0) next.append(el("li", {textContent: run.final && time === run.n ? "nothing: all is done" : "nothing"}));
    else if (!enabled.some(c => !run.choices[c][2])) next.append(el("li", {}, el("small", {textContent: run.final && time === run.n ? "all is done; what is left does not matter" : "nothing is sure to happen: a hang"})));
    const list = this.q(".steps ol");
    list.textContent = "";
    const first = Math.max(0, Math.min(time - 8, run.n - 14));
    for (let k = first; k < Math.min(run.n, first + 14); k++) {
      const [lane, , text] = run.steps[k];
      const b = el("button", {type: "button", tabIndex: -1}, el("span", {className: "k", textContent: k + 1}), el("span", {className: "who", textContent: run.lanes[lane].name}), el("span", {className: "what", textContent: run.words[text]}));
      b.addEventListener("click", () => this.go(k + 1));
      const li = el("li", {className: (run.maybe.has(k) ? "maybe" : "") + (k >= time ? " future" : "")}, b);
      if (k === time - 1) li.setAttribute("aria-current", "step");
      list.append(li);
    }
  }
}

// rowOf is the row of a queue's buffer.
function rowOf(run, lane, buffer) {
  if (run.lanes[lane].rows === 1 || buffer < 0) return 0;
  if (!run.rowsOf) { run.rowsOf = new Map(); for (const b of run.boxes) run.rowsOf.set(b[0] + " " + b[2], b[1]); }
  return run.rowsOf.get(lane + " " + buffer) || 0;
}

let active = null;
const players = {};

function start(data) {
  for (const root of document.querySelectorAll(".player")) {
    const run = root.dataset.run === "cure" ? data.cure : data.run;
    if (run) players[root.dataset.run] = new Player(root, prepare(run), root.dataset.run === "given" ? data.base : undefined);
  }
  active = players.given;
  document.documentElement.dataset.ready = "1";
}

document.addEventListener("keydown", e => {
  if (e.altKey || e.ctrlKey || e.metaKey || !active) return;
  const tag = e.target.tagName;
  if (tag === "SELECT" || tag === "TEXTAREA" || tag === "INPUT" && e.target.type !== "range") return;
  const press = tag === "BUTTON" || tag === "A" || tag === "SUMMARY";
  const keys = {
    ArrowLeft: () => active.go(active.time - (e.shiftKey ? 10 : 1)), ArrowRight: () => active.go(active.time + (e.shiftKey ? 10 : 1)),
    PageUp: () => active.go(active.time - 100), PageDown: () => active.go(active.time + 100),
    Home: () => active.go(0), End: () => active.go(active.run.n),
    "[": () => active.mark(-1), "]": () => active.mark(1),
    "+": () => active.do("wide"), "=": () => active.do("wide"), "-": () => active.do("narrow"), "0": () => active.do("fit"),
    " ": press ? null : () => active.do("play"),
  };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("main details")) d.open = true; for (const p of Object.values(players)) { p.width = 540; p.fit(); p.draw(); } });
addEventListener("afterprint", () => { for (const p of Object.values(players)) { p.width = p.plot.clientWidth; p.fit(); p.draw(); } });

const data = JSON.parse(document.getElementById("data").textContent);
start(data);

// In the viewer a link to a step is followed without loading the page anew.
if (data.base !== undefined) {
  const open = async (href, push) => {
    const r = await fetch(href, {headers: {Accept: "text/html"}});
    if (!r.ok) { location.href = href; return; }
    const page = new DOMParser().parseFromString(await r.text(), "text/html");
    if (push) history.pushState(null, "", r.url);
    document.title = page.title;
    const keep = active && active.px, whole = active && active.whole;
    document.querySelector("main").replaceWith(document.adoptNode(page.querySelector("main")));
    start(JSON.parse(page.getElementById("data").textContent));
    if (!whole && keep) { active.px = keep; active.whole = false; active.from = active.run.n - active.width / keep * .8; active.clamp(); active.draw(); }
  };
  document.addEventListener("click", e => {
    const a = e.target.closest && e.target.closest("a[data-step]");
    if (!a || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    open(a.href, true);
  });
  addEventListener("popstate", () => open(location.href, false));
}
})();
