// Where the stage is mounted: in Streamlit's component, or in a page of its own.

import { Stage } from "./stage.mjs";

const LEAVE = 400; // milliseconds in which a component that was taken down may come back
const stages = new WeakMap(); // by parent element: new data comes with the same one

// Mounts the stage in an element, or gives the stage that is there new data. Returns what takes it down.
export function mount(parent, data, report) {
  let held = stages.get(parent);
  if (held) {
    clearTimeout(held.leaving);
    held.stage.report = report;
    held.stage.take(data);
  } else {
    held = { stage: new Stage(parent, data, report), leaving: 0 };
    stages.set(parent, held);
  }
  return () => {
    held.leaving = setTimeout(() => {
      held.stage.destroy();
      stages.delete(parent);
    }, LEAVE);
  };
}

export function streamlit({ data, parentElement, setStateValue }) {
  return mount(parentElement, data, (at) => setStateValue("position", at));
}

export function openPage(document) {
  const data = JSON.parse(document.getElementById("trace").textContent);
  mount(document.querySelector("main"), data, null);
}
