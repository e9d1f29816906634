"use strict";

const element = (id) => document.getElementById(id);
const create = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, properties);

/** The positions, each as every viewer sees it, and the selected position and viewer. */
const shown = { viewers: [], frames: [], at: 0, viewer: 0, playing: null };

function draw() {
  const { frames, viewers } = shown;
  shown.at = Math.max(0, Math.min(shown.at, frames.length - 1));
  const frame = frames[shown.at];
  if (frame === undefined) {
    element("picture").replaceChildren();
    element("caption").textContent = "";
    return;
  }
  const { svg, text } = frame.seen(shown.viewer);
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  element("picture").replaceChildren(document.importNode(picture, true));
  element("picture").setAttribute("aria-label", `Position after decision ${shown.at}, seen by ${viewers[shown.viewer]}`);
  element("text").textContent = text;
  element("caption").textContent = `${shown.at} of ${frames.length - 1}: ${frame.caption}`;
  Object.assign(element("decision"), { max: frames.length - 1, value: shown.at });
  element("decision").setAttribute("aria-valuetext", `decision ${shown.at}: ${frame.caption}`);
  for (const id of ["first", "back"]) element(id).disabled = shown.at === 0;
  for (const id of ["next", "last"]) element(id).disabled = shown.at === frames.length - 1;
  score(frame.scores ?? []);
  const buttons = element("decisions").querySelectorAll("button");
  buttons.forEach((button, at) => button.setAttribute("aria-current", String(at === shown.at)));
}

function go(at) {
  shown.at = at;
  draw();
}

function play(on) {
  clearInterval(shown.playing);
  const step = () => (shown.at < shown.frames.length - 1 ? go(shown.at + 1) : play(false));
  shown.playing = on ? setInterval(step, 800) : null;
  element("play").textContent = on ? "Pause" : "Play";
  element("play").setAttribute("aria-pressed", String(on));
}

/** The most positions in the page: some episodes, however long the page follows a match. */
const MAX_POSITIONS = 1_000;

/** Adds a position, in place of the oldest if there are too many. It is selected if the last one was. */
function add(frame) {
  const { frames } = shown;
  const list = element("decisions");
  const follows = shown.at === frames.length - 1;
  frames.push(frame);
  const button = create("button", frame.caption, { type: "button", onclick: () => go(frames.indexOf(frame)) });
  const item = document.createElement("li");
  item.append(button);
  list.append(item);
  if (frames.length > MAX_POSITIONS) {
    frames.shift();
    list.firstElementChild.remove();
    shown.at = Math.max(0, shown.at - 1);
  }
  if (follows) shown.at = frames.length - 1;
}

function reset(title, about, viewers) {
  play(false);
  Object.assign(shown, { viewers, frames: [], at: 0, viewer: 0 });
  element("title").textContent = document.title = title;
  element("about").textContent = about;
  element("decisions").replaceChildren();
  element("viewer").replaceChildren(...viewers.map((name, value) => create("option", name, { value })));
}

function score(seats) {
  const table = document.createElement("table");
  table.append(create("caption", "How it ended"));
  const head = table.createTHead().insertRow();
  for (const word of ["Seat", "Place", "Points", "From"]) head.append(create("th", word, { scope: "col" }));
  const body = table.createTBody();
  for (const { name, place, points, lines } of seats) {
    const row = body.insertRow();
    row.append(create("th", name, { scope: "row" }), create("td", place), create("td", points, { className: "number" }));
    row.append(create("td", lines.map(({ source, points }) => `${source}: ${points}`).join(", ")));
  }
  element("scores").replaceChildren(table);
  element("scores").hidden = seats.length === 0;
}

element("first").onclick = () => go(0);
element("back").onclick = () => go(shown.at - 1);
element("next").onclick = () => go(shown.at + 1);
element("last").onclick = () => go(shown.frames.length - 1);
element("play").onclick = () => play(shown.playing === null);
element("decision").oninput = (event) => go(Number(event.target.value));
element("viewer").onchange = (event) => {
  shown.viewer = Number(event.target.value);
  draw();
};
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, input, summary")) return;
  const keys = { ArrowLeft: shown.at - 1, ArrowRight: shown.at + 1, Home: 0, End: shown.frames.length - 1 };
  if (event.key in keys) go(keys[event.key]);
  else if (event.key === " " && !event.target.closest("button")) play(shown.playing === null);
  else return;
  event.preventDefault();
});

/** Shows the replay in the page. */
function showReplay({ title, about, width, viewers, parts, lines, frames, scores }) {
  reset(title, about, viewers);
  for (const { caption, views } of frames) {
    const seen = (viewer) => {
      const { height, name, drawn, text } = views[viewer];
      const pieces = drawn.map(([part, x, y]) => `<g transform="translate(${x} ${y})">${parts[part]}</g>`);
      const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img"` +
        ` font-family="DejaVu Sans, Verdana, sans-serif"><title>${name}</title>` +
        `<rect width="${width}" height="${height}" fill="#f3f1ec"/>${pieces.join("")}</svg>`;
      return { svg, text: text.map((line) => lines[line]).join("\n") };
    };
    add({ caption, seen });
  }
  shown.frames.at(-1).scores = scores;
  go(0);
}

const data = JSON.parse(element("data").textContent);
if (data !== null) showReplay(data);
