// Keys for people who do not want to reach for the mouse; `?` shows them.
const PLACES = { h: "/", r: "/runs", t: "/train", c: "/compare", q: "/queue", f: "/fleet", e: "/environments", w: "/workers" };
const HELP = [["/", "search"], ["j k", "next, previous run"], ["x", "tick it"], ["Enter", "open it"], ["c", "compare the ticked"],
  ...Object.entries(PLACES).map(([key, path]) => [`g ${key}`, path === "/" ? "home" : path.slice(1)]), ["?", "this help"]];
let went = -Infinity;

const rows = () => [...document.querySelectorAll("#rows tbody tr")];
const place = () => rows().findIndex((row) => row.contains(document.activeElement));

function move(by) {
  const all = rows();
  if (all.length) all[Math.min(Math.max(place() + by, 0), all.length - 1)].querySelector("a").focus();
}

function help() {
  let box = document.getElementById("keys");
  if (!box) {
    box = Object.assign(document.createElement("dialog"), { id: "keys" });
    box.append(Object.assign(document.createElement("h2"), { textContent: "Keys" }));
    const list = box.appendChild(document.createElement("table"));
    for (const [key, meaning] of HELP) {
      const row = list.insertRow();
      row.insertCell().appendChild(document.createElement("kbd")).textContent = key;
      row.insertCell().textContent = meaning;
    }
    const close = box.appendChild(Object.assign(document.createElement("button"), { textContent: "Close" }));
    close.addEventListener("click", () => box.close());
    document.body.append(box);
  }
  box.showModal();
}

const ACTS = {
  "/": () => document.querySelector("[role=search] input, form input:not([type=hidden])")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => rows()[place()]?.querySelector("input[type=checkbox]").click(),
  c: () => document.querySelector("form.bulk input:checked") && document.querySelector("form.bulk").requestSubmit(),
  "?": help,
};

document.addEventListener("keydown", (event) => {
  const isWriting = event.target.matches("input:not([type=checkbox]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey;
  if (isWriting || document.querySelector("dialog[open]")) return;
  const isSecond = event.timeStamp - went < 1500;
  went = event.key === "g" ? event.timeStamp : -Infinity;
  if (isSecond && event.key in PLACES) {
    location.href = PLACES[event.key];
  } else if (event.key in ACTS) {
    event.preventDefault();
    ACTS[event.key]();
  }
});
