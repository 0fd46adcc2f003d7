// The current step as a picture file: the stage drawn into an SVG that holds its own styles.

import { saveDrawing } from "./drawing.mjs";

const EDGE = 16; // pixels around the picture

export function isDark(root) {
  const [red, green, blue] = getComputedStyle(root).backgroundColor.match(/[\d.]+/g).map(Number);
  return red + green + blue < 384;
}

export function svgOf(root) {
  const { width, height } = root.getBoundingClientRect();
  const copy = root.cloneNode(true);
  for (const gone of copy.querySelectorAll(".controls, .help, .spoken, .flights, .blank, .notes")) gone.remove();
  const whole = root.querySelector(".controls")?.getBoundingClientRect().height ?? 0;
  const computed = getComputedStyle(root);
  copy.style.fontFamily = computed.fontFamily;
  copy.style.margin = `${EDGE}px`;
  copy.style.width = `${width}px`;
  copy.style.height = `${height - whole}px`;
  copy.style.minHeight = "0";
  copy.dataset.theme = isDark(root) ? "dark" : "light";
  const text = root.querySelector(".scroller");
  copy.querySelector(".inner").style.transform = `translateY(${-text.scrollTop}px)`;
  const scrolled = ".scroller, .cards, .arrive";
  const shown = root.querySelectorAll(scrolled);
  copy.querySelectorAll(scrolled).forEach((scrolls, i) => {
    scrolls.style.overflow = "hidden";
    const aside = shown[i].scrollLeft;
    if (aside) for (const child of scrolls.children) child.style.transform = `translateX(${-aside}px)`;
  });
  const style = document.createElement("style");
  style.textContent = stylesOf(root.getRootNode());
  copy.prepend(style);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const [wide, high] = [width + 2 * EDGE, height - whole + 2 * EDGE];
  svg.setAttribute("width", wide);
  svg.setAttribute("height", high);
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.style.background = computed.backgroundColor;
  const foreign = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
  foreign.setAttribute("width", "100%");
  foreign.setAttribute("height", "100%");
  foreign.append(copy);
  svg.append(foreign);
  const clean = new XMLSerializer().serializeToString(svg);
  return clean.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd"); // no XML may hold them
}

// The sheets as they were written: what a browser makes of a rule's text is not always the rule.
function stylesOf(home) {
  const texts = [...home.querySelectorAll("style")].map((style) => style.textContent);
  return texts.filter((text) => text.includes(".stage .")).join("\n");
}

// kind: "png" or "svg".
export function savePicture(root, name, kind) {
  return saveDrawing(svgOf(root), name, kind);
}
