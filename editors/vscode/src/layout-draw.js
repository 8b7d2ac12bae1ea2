// The geometry and the words of a drawing. Knows neither the editor nor the page: cells of the server in, numbers and text out.

/** Threads of a warp. */
const WARP = 32;

/** Hues are a golden angle apart, so that neighbouring groups differ. */
const hue = (group) => (group * 137) % 360;

/** The coordinate of the cell `at` of a drawing, in the tensor's modes: the first goes down, the others go right. */
function coordinate({ cols }, shape, at) {
  const row = Math.floor(at / cols);
  let rest = at % cols;
  if (shape.length < 2) return [shape.length === 1 && cols > 1 ? rest : row];
  const modes = [row];
  for (const extent of shape.slice(1)) {
    modes.push(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return modes;
}

/** For each thread, the cells that it holds, in order. */
function cellsOfThreads({ owners }) {
  const cells = new Map();
  owners.forEach((pairs, at) => {
    for (const [thread] of pairs) {
      if (!cells.has(thread)) cells.set(thread, []);
      if (cells.get(thread).at(-1) !== at) cells.get(thread).push(at);
    }
  });
  return cells;
}

/** The cells that belong to the cell `at`: those of its first thread, those of its bank, or itself. */
function partners(drawing, threads, at) {
  if (drawing.kind === 'threads') {
    const [owner] = drawing.owners[at] ?? [];
    return owner ? threads.get(owner[0]) : [at];
  }
  if (drawing.kind !== 'banks') return [at];
  const bank = drawing.texts[at];
  return drawing.texts.flatMap((text, other) => (text === bank ? [other] : []));
}

const elements = (count) => (count === 1 ? '1 element' : `${count} elements`);

const threadName = (thread) => `thread ${thread} (warp ${Math.floor(thread / WARP)}, lane ${thread % WARP})`;

/** Describes the cell `at`, and the `lit` cells that belong to it. */
function describe(drawing, shape, at, lit) {
  const place = `[${coordinate(drawing, shape, at).join(', ')}]`;
  if (drawing.kind === 'banks') return `${place}: bank ${drawing.texts[at]}, which has ${elements(lit)} of this tensor`;
  if (drawing.kind !== 'threads') return `${place}: at offset ${drawing.texts[at]}`;
  const [owner, ...others] = drawing.owners[at] ?? [];
  if (!owner) return `${place}: held by no thread`;
  const also = others.length > 0 ? `; ${others.length} more hold it too` : '';
  return `${place}: value ${owner[1]} of ${threadName(owner[0])}, which holds ${elements(lit)}${also}`;
}

/** Describes a thread that was named by its number. */
function describeThread(thread, lit) {
  return lit === 0 ? `thread ${thread} holds no element` : `${threadName(thread)} holds ${elements(lit)}`;
}

/** The cell that an arrow key leads to. */
function step({ rows, cols }, at, key) {
  const [row, col] = [Math.floor(at / cols), at % cols];
  const to = { ArrowUp: [row - 1, col], ArrowDown: [row + 1, col], ArrowLeft: [row, col - 1], ArrowRight: [row, col + 1] }[key];
  if (!to) return null;
  const inside = to[0] >= 0 && to[0] < rows && to[1] >= 0 && to[1] < cols;
  return inside ? to[0] * cols + to[1] : at;
}

module.exports = { cellsOfThreads, coordinate, describe, describeThread, hue, partners, step };
