// Elements, made once and then changed. Text only ever enters as text.

const SVG = "http://www.w3.org/2000/svg";

export const ICONS = {
  accepted: "M4 12.5l5.5 5.5L20 6.5",
  rejected: "M5.5 5.5l13 13M18.5 5.5l-13 13",
  unjudged: "M5 12h14",
  resampled: "M19.5 12a7.5 7.5 0 1 1-2.4-5.5M19.8 2.8v5h-5",
  bonus: "M12 3l2.7 6.1 6.6.6-5 4.4 1.5 6.5L12 17.2l-5.8 3.4 1.5-6.5-5-4.4 6.6-.6z",
  drafted: "M4 20l1-4.5L16.5 4l3.5 3.5L8.5 19z",
  waiting: "M12 5v14M5 12h14",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  back: "M16 5l-9 7 9 7z",
  next: "M8 5l9 7-9 7z",
  first: "M6 5v14M18 5l-9 7 9 7z",
  picture: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  help: "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .6-1.5 1.2-1.5 2.6M12 18.5v.6",
};
const SOLID = new Set(["play", "back", "next", "bonus"]);

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", SOLID.has(name) ? "icon solid" : "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function setIcon(svg, name) {
  const path = svg.firstChild;
  if (path.getAttribute("d") === ICONS[name]) return;
  path.setAttribute("d", ICONS[name]);
  svg.setAttribute("class", SOLID.has(name) ? "icon solid" : "icon");
}

// A text node that is there is given other data: a new one would cost more.
export function setText(node, text) {
  const held = node.firstChild;
  if (!held || held.nextSibling || held.nodeType !== 3) {
    if (held || text) node.textContent = text;
  } else if (held.data !== text) held.data = text;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

export function button(name, label, run, ...more) {
  const node = h("button", { type: "button", class: `button go-${name}`, "aria-label": label, title: label }, icon(name), ...more);
  node.addEventListener("click", run);
  node.addEventListener("mousedown", (event) => event.preventDefault()); // a click leaves the keys where they were
  return node;
}

// As many nodes as needed: made when missing, hidden when left over.
export function pool(parent, make) {
  const made = [];
  return (n) => {
    while (made.length < n) {
      made.push(make(made.length));
      parent.append(made.at(-1).root);
    }
    made.forEach((one, i) => {
      if (one.root.hidden !== i >= n) one.root.hidden = i >= n;
    });
    return made.slice(0, n);
  };
}

// A formula with the digits after x, p and q set low.
export function lowered(text) {
  return text.split(/(?<=\b[xpq])(\d+)/).map((part, i) => (i % 2 ? h("sub", { text: part }) : part));
}

export function percent(part) {
  return `${Math.round(part * 1e4) / 100}%`;
}
