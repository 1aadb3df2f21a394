// <mosaic-curve run name agent unit>: a curve of the API with the band of its extremes. Drag to look closer,
// double-click to see all of it again; each time the stretch is read anew, so that looking closer shows more.
// What x is, logarithms and smoothing stand in the form `.view` and, like the stretch, in the address of the page.
import { axes, colour, dark, numbers, place, positive, scale, short } from "./chart.js";

const BUCKETS = 600;
const ROWS = 24;
const HEIGHT = 188;
const form = () => document.querySelector("form.view");

// What is looked at, by all curves of the page.
function view() {
  const asked = new URLSearchParams(location.search);
  const [from, to] = ["from", "to"].map((key) => (asked.has(key) ? Number(asked.get(key)) : null));
  const has = (key) => asked.get(key) === "1";
  const smoothing = Math.min(Math.max(Number(asked.get("smoothing")) || 0, 0), 0.999);
  const x = asked.get("x") in place ? asked.get("x") : "step";
  const range = Number.isFinite(from) && Number.isFinite(to) && from !== null && to !== null && from < to ? [from, to] : null;
  return { x, range, unit: asked.get("unit") ?? "", logX: has("log_x") && x !== "time", logY: has("log_y"), smoothing };
}

function change(values) {
  const asked = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(values)) value === null || value === "" ? asked.delete(key) : asked.set(key, value);
  history.replaceState(null, "", `${location.pathname}${asked.size ? `?${asked}` : ""}`);
  document.dispatchEvent(new Event("mosaic:view"));
}

const ALL = { from: null, to: null, unit: null };

function showWhole() {
  const whole = document.querySelector(".view [data-whole]");
  if (whole) whole.hidden = view().range === null;
}

class MosaicCurve extends HTMLElement {
  connectedCallback() {
    this.tabIndex = 0;
    this.read = document.createElement("output");
    this.read.className = "read";
    this.append(this.read);
    this.turn = 0;
    this.onNews = () => this.isSeen && this.range() === null && this.load();
    this.onView = () => (this.isSeen ? this.load() : (this.curve = null));
    this.onLook = () => this.curve && this.draw();
    document.addEventListener("mosaic:news", this.onNews);
    document.addEventListener("mosaic:view", this.onView);
    dark.addEventListener("change", this.onLook);
    this.addEventListener("keydown", (event) => this.key(event));
    this.table()?.addEventListener("toggle", () => this.fillTable());
    this.sight = new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      if (this.isSeen && !this.curve) this.load();
    }, { rootMargin: "600px" });
    this.sight.observe(this);
    this.size = new ResizeObserver(() => this.plot?.setSize({ width: this.clientWidth, height: HEIGHT }));
    this.size.observe(this);
  }

  disconnectedCallback() {
    document.removeEventListener("mosaic:news", this.onNews);
    document.removeEventListener("mosaic:view", this.onView);
    dark.removeEventListener("change", this.onLook);
    this.sight.disconnect();
    this.size.disconnect();
    this.plot?.destroy();
  }

  table() {
    return this.closest("figure")?.querySelector("details");
  }

  // A stretch of steps says nothing to a curve whose steps count something else.
  range() {
    const { x, range, unit } = view();
    return x !== "step" || unit === (this.getAttribute("unit") ?? "") ? range : null;
  }

  address(resolution) {
    const { x, logX, smoothing } = view();
    const query = new URLSearchParams({ name: this.getAttribute("name"), resolution });
    const range = this.range();
    if (this.getAttribute("agent")) query.set("agent", this.getAttribute("agent"));
    if (x !== "step") query.set("x", x);
    if (logX) query.set("log_x", "true");
    if (smoothing) query.set("smoothing", smoothing);
    if (range) [["from", range[0]], ["to", range[1]]].forEach(([key, at]) => query.set(key, at));
    return `/api/v1/runs/${encodeURIComponent(this.getAttribute("run"))}/curves?${query}`;
  }

  async load() {
    const turn = ++this.turn;
    const answer = await fetch(this.address(BUCKETS)).catch(() => null);
    const told = await answer?.json().catch(() => null);
    if (turn !== this.turn || !told) return;
    if (!answer.ok) {
      this.read.textContent = told.detail;
      return;
    }
    this.curve = told;
    this.draw();
    this.fillTable();
  }

  data({ logY, smoothing }) {
    const { steps, means, maxima, minima, smoothed } = this.curve;
    const drawn = [smoothing ? smoothed : means, means, maxima, minima].map(numbers).map((each) => (logY ? positive(each) : each));
    return [steps, ...drawn];
  }

  draw() {
    const wanted = view();
    const look = JSON.stringify([dark.matches, wanted]);
    const data = this.data(wanted);
    if (this.plot && this.look === look) return this.plot.setData(data);
    this.plot?.destroy();
    this.look = look;
    this.plot = new window.uPlot(this.options(wanted), data, this);
    this.plot.over.addEventListener("dblclick", () => change(ALL));
    this.dataset.drawn = this.curve.steps.length;
  }

  options({ x, logX, logY, smoothing }) {
    const hidden = { stroke: "transparent", points: { show: false } };
    const few = { show: (plot, index) => plot.data[index].length < 30, size: 4 };
    const accent = colour("--accent");
    return {
      width: this.clientWidth,
      height: HEIGHT,
      padding: [12, 18, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 5 }, y: false },
      scales: { x: scale(logX, { time: x === "time" }), y: scale(logY) },
      axes: axes(x),
      series: [
        {},
        { stroke: accent, width: 1.5, points: few },
        smoothing ? { stroke: `${accent}66`, width: 1, points: { show: false } } : hidden,
        hidden,
        hidden,
      ],
      bands: [{ series: [3, 4], fill: `${accent}2b` }],
      hooks: { setCursor: [(plot) => this.tell(plot)], setSelect: [(plot) => this.zoom(plot)] },
    };
  }

  tell(plot) {
    const at = plot.cursor.idx;
    const { x, smoothing } = view();
    if (at === null || at === undefined || !this.curve) {
      this.read.textContent = this.left();
      return;
    }
    const [step, line, mean, high, low] = plot.data.map((values) => values[at]);
    const band = high !== low ? ` (${short(low)} … ${short(high)}, ${this.curve.counts[at]} points)` : "";
    this.read.textContent = `${place[x](step)}: ${short(line)}${smoothing ? ` smoothed, ${short(mean)}` : ""}${band}`;
  }

  // What a logarithm cannot show is said.
  left() {
    const { logX, logY } = view();
    const shown = this.curve ? this.curve.counts.reduce((sum, count) => sum + count, 0) : 0;
    const lost = logX && this.range() === null && this.curve ? this.curve.total_points - shown : 0;
    const low = logY && this.curve ? this.curve.minima.filter((value) => value <= 0).length : 0;
    const said = [lost ? `${lost} points at or below 0 on x` : "", low ? `${low} stretches reach 0 or below` : ""].filter(Boolean);
    return said.length ? `Not on a logarithmic axis: ${said.join(", ")}` : "";
  }

  zoom(plot) {
    if (plot.select.width < 4) return;
    const range = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x"));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.look_at(range);
  }

  look_at([from, to]) {
    change({ from: Number(from.toPrecision(8)), to: Number(to.toPrecision(8)), unit: view().x === "step" ? this.getAttribute("unit") : null });
  }

  key(event) {
    const moves = { "+": [0.25, -0.25], "=": [0.25, -0.25], "-": [-0.5, 0.5], ArrowLeft: [-0.25, -0.25], ArrowRight: [0.25, 0.25] };
    if (event.key === "0" || event.key === "Escape") return change(ALL);
    if (!(event.key in moves) || !this.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { min, max } = this.plot.scales.x;
    this.look_at([min, max].map((end, index) => end + (max - min) * moves[event.key][index]));
  }

  async fillTable() {
    const details = this.table();
    if (!details?.open) return;
    const answer = await fetch(this.address(ROWS)).catch(() => null);
    if (!answer?.ok) return;
    const told = await answer.json();
    const words = place[view().x];
    const rows = told.steps.map((step, at) => [words(step), ...["means", "minima", "maxima", "lasts", "counts"].map((key) => told[key][at])]);
    details.querySelector("tbody").replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      for (const value of row) {
        const cell = line.insertCell();
        cell.className = "num";
        cell.textContent = typeof value === "number" ? short(value) : value;
      }
      return line;
    }));
  }
}

document.addEventListener("mosaic:view", showWhole);
document.addEventListener("input", (event) => {
  if (event.target.form !== form() || form() === null) return;
  const { name, type, checked, value } = event.target;
  // Another x means another stretch.
  change({ ...(name === "x" || name === "log_x" ? ALL : {}), [name]: type === "checkbox" ? (checked ? "1" : null) : value === "0" || value === "step" ? null : value });
});
document.addEventListener("submit", (event) => event.target === form() && event.preventDefault());
document.addEventListener("click", (event) => event.target.closest("[data-whole]") && change(ALL));
showWhole();
customElements.define("mosaic-curve", MosaicCurve);
