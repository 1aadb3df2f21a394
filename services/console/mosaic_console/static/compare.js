// <mosaic-compare>: the chart that the server drew, to point at and to drag over. A stretch becomes part of the address,
// and the server draws it anew.
import { short } from "./chart.js";

class MosaicCompare extends HTMLElement {
  connectedCallback() {
    this.read = document.createElement("output");
    this.read.className = "read";
    this.shade = document.createElement("div");
    this.shade.className = "shade";
    this.append(this.read, this.shade);
    this.addEventListener("pointermove", (event) => this.move(event));
    this.addEventListener("pointerleave", () => (this.read.textContent = ""));
    this.addEventListener("pointerdown", (event) => this.press(event));
    this.addEventListener("pointerup", (event) => this.release(event));
    this.addEventListener("dblclick", () => this.go(null));
  }

  share(event) {
    const box = this.querySelector("svg").getBoundingClientRect();
    const { left, right, width } = this.dataset;
    const at = ((event.clientX - box.left) / box.width) * width;
    return Math.min(Math.max((at - left) / (right - left), 0), 1);
  }

  step(share) {
    return Number(this.dataset.begin) + share * (this.dataset.end - this.dataset.begin);
  }

  async arms() {
    this.told ??= fetch(this.dataset.api).then((answer) => answer.json());
    return (await this.told).arms ?? [];
  }

  async move(event) {
    const share = this.share(event);
    if (this.pressed !== undefined) this.mark(this.pressed, share);
    const told = (await this.arms()).map(({ label, curve }) => {
      const at = Math.round(share * (curve.steps.length - 1));
      const edges = typeof curve.low[at] === "number" ? ` (${short(curve.low[at])} … ${short(curve.high[at])}, n ${curve.n[at]})` : "";
      return typeof curve.iqm[at] === "number" ? `${label}: ${short(curve.iqm[at])}${edges}` : `${label}: –`;
    });
    this.read.textContent = [`step ${short(this.step(share))}`, ...told].join("\n");
    this.read.classList.toggle("left", share > 0.5);
  }

  mark(from, to) {
    const box = this.querySelector("svg").getBoundingClientRect();
    const { left, right, width } = this.dataset;
    const place = (share) => ((Number(left) + share * (right - left)) / width) * box.width;
    this.shade.style.left = `${place(Math.min(from, to))}px`;
    this.shade.style.width = `${place(Math.max(from, to)) - place(Math.min(from, to))}px`;
  }

  press(event) {
    this.pressed = this.share(event);
    event.preventDefault();
  }

  release(event) {
    const [from, to] = [this.pressed, this.share(event)].sort((one, other) => one - other);
    this.pressed = undefined;
    this.shade.style.width = 0;
    if (to - from > 0.01) this.go([from, to].map((share) => Math.round(this.step(share))));
  }

  go(range) {
    const asked = new URLSearchParams(location.search);
    for (const [index, key] of ["from", "to"].entries()) range ? asked.set(key, range[index]) : asked.delete(key);
    location.search = asked;
  }
}

// A picture for a slide: the server's drawing, at twice its size.
for (const link of document.querySelectorAll("[data-png]")) {
  link.hidden = false;
  link.addEventListener("click", async (event) => {
    event.preventDefault();
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width * 2, height: image.height * 2 });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      const saved = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "compare.png" });
      saved.click();
      URL.revokeObjectURL(saved.href);
    });
  });
}

customElements.define("mosaic-compare", MosaicCompare);
