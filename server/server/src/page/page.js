"use strict";

const element = (id) => document.getElementById(id);
const create = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, properties);

/** The positions, each as every viewer sees it, and the selected position and viewer. */
const state = { viewers: [], frames: [], at: 0, viewer: 0, playing: null };

function draw() {
  const { frames, viewers } = state;
  state.at = Math.max(0, Math.min(state.at, frames.length - 1));
  const frame = frames[state.at];
  if (frame === undefined) {
    element("picture").replaceChildren();
    element("caption").textContent = "";
    return;
  }
  const { svg, text } = frame.seen(state.viewer);
  const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  element("picture").replaceChildren(document.importNode(picture, true));
  element("picture").setAttribute("aria-label", `Position after decision ${state.at}, seen by ${viewers[state.viewer]}`);
  element("text").textContent = text;
  element("caption").textContent = `${state.at} of ${frames.length - 1}: ${frame.caption}`;
  Object.assign(element("decision"), { max: frames.length - 1, value: state.at });
  element("decision").setAttribute("aria-valuetext", `decision ${state.at}: ${frame.caption}`);
  for (const id of ["first", "back"]) element(id).disabled = state.at === 0;
  for (const id of ["next", "last"]) element(id).disabled = state.at === frames.length - 1;
  score(frame.scores ?? []);
  const buttons = element("decisions").querySelectorAll("button");
  buttons.forEach((button, at) => button.setAttribute("aria-current", String(at === state.at)));
}

function go(at) {
  state.at = at;
  draw();
}

function play(on) {
  clearInterval(state.playing);
  const step = () => (state.at < state.frames.length - 1 ? go(state.at + 1) : play(false));
  state.playing = on ? setInterval(step, 800) : null;
  element("play").textContent = on ? "Pause" : "Play";
  element("play").setAttribute("aria-pressed", String(on));
}

/** The most positions in the page: some episodes, however long the page follows a match. */
const MAX_POSITIONS = 1_000;

/** Adds a position, in place of the oldest if there are too many. It is selected if the last one was. */
function add(frame) {
  const { frames } = state;
  const list = element("decisions");
  const follows = state.at === frames.length - 1;
  frames.push(frame);
  const button = create("button", frame.caption, { type: "button", onclick: () => go(frames.indexOf(frame)) });
  const item = document.createElement("li");
  item.append(button);
  list.append(item);
  if (frames.length > MAX_POSITIONS) {
    frames.shift();
    list.firstElementChild.remove();
    state.at = Math.max(0, state.at - 1);
  }
  if (follows) state.at = frames.length - 1;
}

function reset(title, about, viewers) {
  play(false);
  Object.assign(state, { viewers, frames: [], at: 0, viewer: 0 });
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
element("back").onclick = () => go(state.at - 1);
element("next").onclick = () => go(state.at + 1);
element("last").onclick = () => go(state.frames.length - 1);
element("play").onclick = () => play(state.playing === null);
element("decision").oninput = (event) => go(Number(event.target.value));
element("viewer").onchange = (event) => {
  state.viewer = Number(event.target.value);
  draw();
};
document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("select, input, summary")) return;
  const keys = { ArrowLeft: state.at - 1, ArrowRight: state.at + 1, Home: 0, End: state.frames.length - 1 };
  if (event.key in keys) go(keys[event.key]);
  else if (event.key === " " && !event.target.closest("button")) play(state.playing === null);
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
  state.frames.at(-1).scores = scores;
  go(0);
}

const data = JSON.parse(element("data").textContent);
if (data !== null) showReplay(data);
