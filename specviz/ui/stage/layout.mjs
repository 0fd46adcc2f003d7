// Sizes and places as numbers, so that they can be tested without a browser.

const WIDE = 760; // pixels below which panels stand under each other

// The stage's font size, from which everything else is measured, and whether it is narrow.
export function fit(width, height, talk) {
  const narrow = width < WIDE;
  if (narrow) return { narrow, size: talk ? 18 : 15 };
  const [ems, lines] = talk ? [71, 39.5] : [80, 42];
  const size = Math.min(width / ems, height / lines);
  return { narrow, size: Math.round(100 * Math.min(Math.max(size, 11), talk ? 48 : 22)) / 100 };
}

// A number as it is shown ("0.412", "3.07×10⁻⁷", "<0.001", "∞"), back as a number; what is none counts as 0.
export function valueOf(shown) {
  if (shown === null || shown === undefined) return 0;
  const [mantissa, power] = shown.split("×10");
  if (power) return Number(`${mantissa}e${[...power].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(c)).join("").replace("-1", "-")}`); // ⁻ is at -1
  if (shown.startsWith("<")) return Number(shown.slice(1)) / 2;
  if (shown === "∞") return Infinity;
  const value = Number(shown);
  return Number.isFinite(value) ? value : 0;
}

// The cumulative law as stretches of [0, 1], in the order of ids, with what has no row at both ends.
// rows: [id, label, number, ...]; column: where the probability stands; before: the rest's mass before row `drawn`.
export function stretches(rows, rest, column, before, drawn) {
  const mass = (row) => valueOf(row[column]);
  const sorted = rows.map((row, at) => ({ row, at })).sort((a, b) => a.row[0] - b.row[0]);
  const lead = Math.min(before, rest);
  const parts = [{ at: -1, label: null, mass: lead }];
  for (const { row, at } of sorted) if (mass(row) > 0) parts.push({ at, label: row[1], mass: mass(row) });
  parts.push({ at: -2, label: null, mass: Math.max(0, rest - lead) });
  const total = parts.reduce((sum, part) => sum + part.mass, 0) || 1;
  let from = 0;
  return parts
    .filter((part) => part.mass > 0)
    .map((part) => {
      const width = part.mass / total;
      const stretch = { at: part.at, label: part.label, from, width, drawn: part.at === drawn };
      from += width;
      return stretch;
    });
}

// The stretches that can be told apart: what is too narrow for its label joins its neighbours without a row; the one that
// was drawn stays, and goes without its label. room: em that the strip has at least.
export function legible(parts, room = 26) {
  const found = [];
  for (const part of parts) {
    const thin = part.label !== null && part.width * room < 0.52 * [...part.label].length + 0.35;
    const one = !thin ? part : part.drawn ? { ...part, label: "" } : { ...part, at: -1, label: null };
    const last = found.at(-1);
    if (last && last.label === null && one.label === null) last.width += one.width;
    else found.push({ ...one });
  }
  return found;
}

// Bars share one scale, on which the most probable token is full; the rest of the law may not fit on it.
export function longest(rows, columns) {
  let most = 0;
  for (const row of rows) for (const column of columns) most = Math.max(most, valueOf(row[column]));
  return most || 1;
}

// A cache as cells: long stretches are cut in the middle. [kept, fed, dropped] -> cells and what was left out.
export function cells([kept, fed, dropped], room) {
  const old = Math.min(kept, Math.max(4, room - Math.max(fed, dropped)));
  const fresh = Math.min(fed, room - Math.min(kept, 4));
  return { hidden: kept - old, kept: old, fed: fresh, hiddenFed: fed - fresh, dropped: Math.min(dropped, room - old) };
}

// How much of a label that hangs from a point of [0, 1] lies left of the point, so that it stays inside.
export function hang(point, edge = 0.2) {
  if (point < edge) return point / edge / 2;
  return point > 1 - edge ? 1 - (1 - point) / edge / 2 : 0.5;
}

// How far the name in the middle of a stretch [from, to] moves aside, as a part of the stretch, so that a marker on it
// does not cross the name: to the middle of the wider side.
export function aside(marker, from, to) {
  if (marker <= from || marker >= to) return 0;
  return (marker - from > to - marker ? marker - to : marker - from) / 2 / (to - from);
}

export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// A round as it is sent, with its sentences put together: [which text, what stands in its gaps ...] -> the sentence.
export function unpacked(round, texts) {
  const whole = ([which, ...gaps]) => texts[which].split("\0").map((part, i) => part + (gaps[i] ?? "")).join("");
  const steps = round.steps.map((step) => {
    const told = { ...step };
    for (const name of ["t", "c", "f", "why"]) if (step[name]) told[name] = whole(step[name]);
    return told;
  });
  return { ...round, steps };
}
