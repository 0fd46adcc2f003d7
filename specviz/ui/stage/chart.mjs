// Two buttons that save a chart of the page as a picture. Not part of the stage: it shares its way of saving.

import { h } from "./dom.mjs";
import { saveDrawing } from "./drawing.mjs";

const NAMESPACE = "http://www.w3.org/2000/svg";

// Plotly draws a chart as several layers of one size, one over the other.
function svgOf(chart) {
  const layers = [...chart.querySelectorAll(".main-svg")].filter((layer) => !layer.closest(".hoverlayer"));
  const { width, height } = chart.getBoundingClientRect();
  const svg = document.createElementNS(NAMESPACE, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.background = layers[0].style.background;
  svg.style.fontFamily = "system-ui, sans-serif";
  for (const layer of layers) {
    const copy = layer.cloneNode(true);
    for (const gone of copy.querySelectorAll(".hoverlayer, .drag, .draglayer")) gone.remove();
    copy.style.background = "none";
    svg.append(copy);
  }
  return new XMLSerializer().serializeToString(svg);
}

export function streamlitChart({ data, parentElement }) {
  const buttons = ["PNG", "SVG"].map((kind) => {
    const save = () => {
      const chart = document.querySelector(`.st-key-${data.chart} .js-plotly-plot`);
      if (chart) saveDrawing(svgOf(chart), data.name, kind.toLowerCase());
    };
    return h("button", { type: "button", text: kind, "aria-label": data.told.replace("{kind}", kind), on: { click: save } });
  });
  let row = parentElement.querySelector(".save");
  if (!row) parentElement.append((row = h("div", { class: "save" }))); // beside the style sheet, which has to stay
  row.replaceChildren(...buttons);
}
