// One stream for all that a visible page shows. When something changed, the page is fetched again and its live parts
// are replaced: what is shown is always what the server renders.
const topics = document.body.dataset.topics;
const light = document.getElementById("live-state");
const LEAST_PAUSE_MS = 1000;
// A browser opens six connections to one host, for all its tabs together; whoever gets no stream asks now and then.
const MOST_STREAMS = 3;
const POLL_MS = 5000;
let source = null;
let leave = null;
let polling = null;
let isOpen = false;
let due = null;

function show(text, on) {
  light.textContent = text;
  light.classList.toggle("on", on);
}

function isBusy(part) {
  return part.querySelector("details[open], input:checked") !== null || part.contains(document.activeElement);
}

function replaceParts(fresh) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.getElementById(part.id);
    if (next === null || isBusy(part) || next.innerHTML === part.innerHTML) continue;
    const log = part.querySelector(".log");
    const follows = log !== null && log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    const top = log === null ? 0 : log.scrollTop;
    part.innerHTML = next.innerHTML;
    const now = part.querySelector(".log");
    if (now !== null) now.scrollTop = follows ? now.scrollHeight : top;
  }
  document.title = fresh.title;
}

async function refresh() {
  due = null;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (answer.status === 401) return location.reload();
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  // The first curve of a run needs a page that has a place for it.
  if (fresh.querySelectorAll("mosaic-curve").length !== document.querySelectorAll("mosaic-curve").length) {
    const [old, next] = [document, fresh].map((each) => each.querySelector("[aria-labelledby=h-curves]"));
    if (old && next) old.innerHTML = next.innerHTML;
  }
  replaceParts(fresh);
  document.dispatchEvent(new Event("mosaic:news"));
}

function hear() {
  // Also the first: something may have happened between the rendering of the page and the opening of the stream.
  if (due === null) due = setTimeout(() => refresh().catch(() => {}), LEAST_PAUSE_MS);
}

function stream() {
  source = new EventSource(`/api/v1/live?topics=${encodeURIComponent(topics)}`);
  for (const kind of ["run", "queue", "fleet"]) source.addEventListener(kind, hear);
  source.onopen = () => show("live", true);
  source.onerror = () => {
    show("not live", false);
    // A stream that was refused does not come back by itself; the page finds out why, and says it.
    if (source?.readyState === EventSource.CLOSED) refresh().catch(() => {});
  };
}

// Resolves to what gives the place back, or to null when another tab has it.
function takePlace(number) {
  return new Promise((resolve) => {
    navigator.locks.request(`mosaic-live-${number}`, { ifAvailable: true }, (lock) =>
      lock === null ? resolve(null) : new Promise((release) => resolve(release)));
  });
}

async function open() {
  if (!topics || isOpen) return;
  isOpen = true;
  for (let number = 0; number < MOST_STREAMS && leave === null; number += 1) leave = await takePlace(number);
  if (!isOpen) return close();
  if (leave !== null) return stream();
  polling = setInterval(hear, POLL_MS);
  show("every 5 s", false);
}

function close() {
  isOpen = false;
  source?.close();
  leave?.();
  clearInterval(polling);
  source = leave = polling = null;
  show("", false);
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") return close();
  open();
  refresh().catch(() => {});
});
addEventListener("pagehide", close);
const log = document.querySelector(".log");
if (log) log.scrollTop = log.scrollHeight;
if (document.visibilityState !== "hidden") open();
