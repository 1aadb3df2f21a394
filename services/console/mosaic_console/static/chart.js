// What all charts share: colours of the page, numbers as people read them, axes.
export const dark = matchMedia("(prefers-color-scheme: dark)");

// A number that cannot be drawn is a gap; the API writes NaN and infinities as text.
export const numbers = (values) => values.map((value) => (typeof value === "number" && Number.isFinite(value) ? value : null));
export const positive = (values) => values.map((value) => (value > 0 ? value : null));

export const short = (value) =>
  value === null || value === undefined ? "" :
  Math.abs(value) >= 1e6 ? `${Number((value / 1e6).toPrecision(4))}M` :
  Math.abs(value) >= 1e4 ? `${Number((value / 1e3).toPrecision(4))}k` :
  Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));

export const seconds = (value) => {
  const whole = Math.round(Math.abs(value));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return h ? `${h} h${m ? ` ${m} min` : ""}` : m ? `${m} min${s ? ` ${s} s` : ""}` : `${Number(value.toPrecision(3))} s`;
};

const clock = (value) => new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ");

// How a place on x is written, by the axis that was asked for.
export const place = { step: short, relative: seconds, time: clock };

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function axes(x, words = place[x]) {
  const axis = { stroke: colour("--soft"), font: "11px system-ui", grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const below = { ...axis, size: 24, space: 70 };
  if (x !== "time") below.values = (_, ticks) => ticks.map((tick) => (tick === null ? "" : words(tick)));
  return [below, { ...axis, size: 52, space: 32, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) }];
}

// uPlot's logarithmic scale; of a range below one decade it shows that decade.
export const scale = (isLog, more = {}) => (isLog ? { ...more, distr: 3, log: 10 } : more);
