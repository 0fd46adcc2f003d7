// Where the viewer is: pure arithmetic over rounds and steps. A position is { round, step }.

const BEAT = { draft: 2600, verify: 4200, judge: 3800, residual: 5200, bonus: 4200, emit: 3000 };
const AGAIN = 0.75; // the second draft or judgement of a round needs less time than the first

export const SPEEDS = [0.25, 0.5, 1, 2, 4];

export function clampTo(rounds, at) {
  if (!rounds.length) return { round: 0, step: 0 };
  const round = Math.min(Math.max(0, Math.trunc(at.round) || 0), rounds.length - 1);
  const step = Math.min(Math.max(0, Math.trunc(at.step) || 0), rounds[round].steps.length - 1);
  return { round, step };
}

export function same(one, other) {
  return one.round === other.round && one.step === other.step;
}

// [0, steps of round 0, steps of rounds 0 and 1, ...]: one number more than there are rounds.
export function offsets(rounds) {
  const starts = [0];
  for (const round of rounds) starts.push(starts[starts.length - 1] + round.steps.length);
  return starts;
}

export function flatten(starts, at) {
  return starts[at.round] + at.step;
}

export function unflatten(starts, flat) {
  let low = 0;
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= flat) low = middle;
    else high = middle - 1;
  }
  return { round: low, step: flat - starts[low] };
}

export function isLast(rounds, at) {
  return at.round >= rounds.length - 1 && at.step >= (rounds.at(-1)?.steps.length ?? 1) - 1;
}

// The page's address with the place in it, counted from 1, so that a link or a reload opens the very step.
export function addressOf(href, run, at) {
  const address = new URL(href);
  for (const [name, value] of [["run", run], ["round", at.round + 1], ["step", at.step + 1]]) address.searchParams.set(name, value);
  return address.href;
}

// The position after an action; the same position where there is nothing to go to.
export function move(rounds, at, action, to = 0) {
  if (!rounds.length) return at;
  const lastRound = rounds.length - 1;
  const lastStep = (round) => rounds[round].steps.length - 1;
  switch (action) {
    case "next":
      if (at.step < lastStep(at.round)) return { round: at.round, step: at.step + 1 };
      return at.round < lastRound ? { round: at.round + 1, step: 0 } : at;
    case "back":
      if (at.step > 0) return { round: at.round, step: at.step - 1 };
      return at.round > 0 ? { round: at.round - 1, step: lastStep(at.round - 1) } : at;
    case "nextRound":
      return at.round < lastRound ? { round: at.round + 1, step: 0 } : { round: lastRound, step: lastStep(lastRound) };
    case "previousRound":
      return { round: at.step > 0 ? at.round : Math.max(0, at.round - 1), step: 0 };
    case "first":
      return { round: 0, step: 0 };
    case "last":
      return { round: lastRound, step: lastStep(lastRound) };
    case "round":
      return { round: Math.min(Math.max(1, to), lastRound + 1) - 1, step: 0 };
    case "rejection":
      return nextRejection(rounds, at);
    default:
      return at;
  }
}

function nextRejection(rounds, at) {
  for (let round = at.round; round < rounds.length; round += 1) {
    const from = round === at.round ? at.step + 1 : 0;
    const step = rounds[round].steps.findIndex((s, i) => i >= from && s.k === "judge" && !s.ok);
    if (step >= 0) return { round, step };
  }
  return at;
}

// Milliseconds that a step stays at speed 1.
export function beat(round, step) {
  const kind = round.steps[step].k;
  const again = step > 0 && round.steps[step - 1].k === kind;
  return BEAT[kind] * (again ? AGAIN : 1);
}

// The step of a round that judged a drafted token, or drafted it where nobody judged it.
export function stepOfNode(round, node) {
  const judged = round.steps.findIndex((s) => s.k === "judge" && s.n === node);
  return judged >= 0 ? judged : round.steps.findIndex((s) => s.k === "draft" && s.n === node);
}

// The phases of a round in order: which kind, and which steps belong to it.
export function phases(round) {
  const found = [];
  round.steps.forEach((step, i) => {
    const last = found.at(-1);
    if (last && last.kind === step.k) last.steps.push(i);
    else found.push({ kind: step.k, steps: [i] });
  });
  return found;
}
