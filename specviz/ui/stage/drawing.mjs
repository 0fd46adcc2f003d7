// A drawing saved as a file: an SVG as it is, or painted as a PNG of twice its size.

const SCALE = 2;

// kind: "png" or "svg".
export async function saveDrawing(svg, name, kind) {
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
