// The current step as a picture file: the stage drawn into an SVG that holds its own styles, or that as a PNG.

const SCALE = 2;

export function isDark(root) {
  const [red, green, blue] = getComputedStyle(root).backgroundColor.match(/[\d.]+/g).map(Number);
  return red + green + blue < 384;
}

export function svgOf(root) {
  const { width, height } = root.getBoundingClientRect();
  const copy = root.cloneNode(true);
  for (const gone of copy.querySelectorAll(".controls, .help, .spoken, .flights, .blank")) gone.remove();
  const whole = root.querySelector(".controls")?.getBoundingClientRect().height ?? 0;
  const computed = getComputedStyle(root);
  copy.style.fontFamily = computed.fontFamily;
  copy.style.margin = "0";
  copy.style.width = `${width}px`;
  copy.style.height = `${height - whole}px`;
  copy.style.minHeight = "0";
  copy.dataset.theme = isDark(root) ? "dark" : "light";
  const text = root.querySelector(".scroller");
  copy.querySelector(".inner").style.transform = `translateY(${-text.scrollTop}px)`;
  for (const scrolls of copy.querySelectorAll(".scroller, .cards, .arrive")) scrolls.style.overflow = "hidden";
  const style = document.createElement("style");
  style.textContent = stylesOf(root.getRootNode());
  copy.prepend(style);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height - whole);
  svg.setAttribute("viewBox", `0 0 ${width} ${height - whole}`);
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
export async function savePicture(root, name, kind) {
  const svg = svgOf(root);
  let file = { blob: new Blob([svg], { type: "image/svg+xml" }), name: `${name}.svg` };
  try {
    if (kind === "png") file = { blob: await pngOf(svg), name: `${name}.png` };
  } catch {
    // a browser that taints canvases: the drawing is better than nothing
  }
  const address = URL.createObjectURL(file.blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function pngOf(svg) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onerror = reject;
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = image.width * SCALE;
      canvas.height = image.height * SCALE;
      const pen = canvas.getContext("2d");
      pen.scale(SCALE, SCALE);
      pen.drawImage(image, 0, 0);
      try {
        canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
      } catch (error) {
        reject(error);
      }
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}
