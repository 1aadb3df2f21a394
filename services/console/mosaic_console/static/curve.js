// <mosaic-curve run name agent>: a curve of the API with the band of its extremes. Drag to look closer, double-click
// to see all of it again; each time the stretch is read anew, so that looking closer shows more.
const BUCKETS = 600;
const HEIGHT = 188;
const dark = matchMedia("(prefers-color-scheme: dark)");

const numbers = (values) => values.map((value) => (Number.isFinite(Number(value)) ? Number(value) : null));
const short = (value) =>
  value === null || value === undefined ? "" :
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
const steps = (value) =>
  Math.abs(value) >= 1e6 ? `${Number((value / 1e6).toPrecision(4))}M` :
  Math.abs(value) >= 1e4 ? `${Number((value / 1e3).toPrecision(4))}k` : String(value);

class MosaicCurve extends HTMLElement {
  connectedCallback() {
    this.range = null;
    this.plot = null;
    this.read = document.createElement("output");
    this.read.className = "read";
    this.append(this.read);
    this.onNews = () => this.isSeen && this.range === null && this.load();
    this.onLook = () => this.curve && this.draw();
    document.addEventListener("mosaic:news", this.onNews);
    dark.addEventListener("change", this.onLook);
    this.sight = new IntersectionObserver(([entry]) => {
      const first = entry.isIntersecting && !this.curve;
      this.isSeen = entry.isIntersecting;
      if (first) this.load();
    }, { rootMargin: "600px" });
    this.sight.observe(this);
    this.size = new ResizeObserver(() => this.plot?.setSize({ width: this.clientWidth, height: HEIGHT }));
    this.size.observe(this);
  }

  disconnectedCallback() {
    document.removeEventListener("mosaic:news", this.onNews);
    dark.removeEventListener("change", this.onLook);
    this.sight.disconnect();
    this.size.disconnect();
    this.plot?.destroy();
  }

  address() {
    const query = new URLSearchParams({ name: this.getAttribute("name"), resolution: BUCKETS });
    if (this.getAttribute("agent")) query.set("agent", this.getAttribute("agent"));
    if (this.range) [["from", this.range[0]], ["to", this.range[1]]].forEach(([key, at]) => query.set(key, at));
    return `/api/v1/runs/${encodeURIComponent(this.getAttribute("run"))}/curves?${query}`;
  }

  async load() {
    const answer = await fetch(this.address());
    const told = await answer.json();
    if (!answer.ok) {
      this.read.textContent = told.detail;
      return;
    }
    this.curve = told;
    this.draw();
  }

  data() {
    return [this.curve.steps, this.curve.means, this.curve.maxima, this.curve.minima].map(numbers);
  }

  draw() {
    if (this.plot && this.drawnDark === dark.matches) return this.plot.setData(this.data());
    this.plot?.destroy();
    this.drawnDark = dark.matches;
    this.plot = new window.uPlot(this.options(), this.data(), this);
    this.plot.over.addEventListener("dblclick", () => {
      this.range = null;
      this.load();
    });
  }

  options() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), font: "11px system-ui", grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const hidden = { stroke: "transparent", points: { show: false } };
    const few = { show: (plot, index) => plot.data[index].length < 30, size: 4 };
    return {
      width: this.clientWidth,
      height: HEIGHT,
      padding: [12, 18, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 5 }, y: false },
      scales: { x: { time: false } },
      axes: [
        { ...axis, size: 24, space: 70, values: (_, ticks) => ticks.map(steps) },
        { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map(short) },
      ],
      series: [{}, { stroke: colour("--accent"), width: 1.5, points: few }, hidden, hidden],
      bands: [{ series: [2, 3], fill: `${colour("--accent")}33` }],
      hooks: { setCursor: [(plot) => this.tell(plot)], setSelect: [(plot) => this.zoom(plot)] },
    };
  }

  tell(plot) {
    const at = plot.cursor.idx;
    if (at === null || at === undefined) {
      this.read.textContent = "";
      return;
    }
    const [step, mean, high, low] = plot.data.map((values) => values[at]);
    const band = high !== low ? ` (${short(low)} … ${short(high)})` : "";
    this.read.textContent = `${steps(step)}: ${short(mean)}${band}`;
  }

  zoom(plot) {
    if (plot.select.width < 4) return;
    this.range = [plot.select.left, plot.select.left + plot.select.width].map((x) => plot.posToVal(x, "x"));
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.load();
  }
}

customElements.define("mosaic-curve", MosaicCurve);
