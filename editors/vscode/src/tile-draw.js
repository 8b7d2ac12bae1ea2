// The words and the choices of the tile view. Knows neither the editor nor the page: answers of the debug adapter in, text out.

const { hue } = require('./layout-draw');

/** The largest number of rows and columns that the adapter sends. */
const WINDOW = 64;
/** Threads of a warp. */
const WARP = 32;

/** The texts of cells without a value, as the adapter writes them: the words of the legend, and those about one element. */
const STATES = {
  '-': { name: 'unwritten', means: 'never written', says: 'was never written' },
  '…': { name: 'filling', means: 'a copy fills it', says: 'is being filled by a copy' },
  '×': { name: 'foreign', means: 'the memory holds another tensor', says: 'is overwritten by another tensor' },
};

/** The state of a cell: `value`, `unwritten`, `filling` or `foreign`. */
const stateOf = ({ text }) => STATES[text]?.name ?? 'value';

/** The thread or the bank that colours a cell; null for a tensor in global memory. */
const groupOf = ({ thread, bank }) => thread ?? bank ?? null;

/** The colour of a group as in the layout view: a hue, and one of three shades. */
const colourOf = (group) => ({ hue: hue(group), shade: Math.floor(group / 8) % 3 });

/** The coordinate of the cell `at` of a tile. The cells of a tensor of one dimension are one row. */
function coordinate({ origin, extents }, at) {
  const [row, column] = [Math.floor(at / extents[1]), at % extents[1]];
  if (origin.length === 0) return [];
  if (origin.length === 1) return [origin[0] + column];
  return [origin[0] + row, origin[1] + column, ...origin.slice(2)];
}

/** The cell at a coordinate, or null if the window does not show it. */
function cellAt({ origin, extents }, wanted) {
  if (!wanted || wanted.length !== origin.length || origin.length === 0) return null;
  const isVector = origin.length === 1;
  const row = isVector ? 0 : wanted[0] - origin[0];
  const column = isVector ? wanted[0] - origin[0] : wanted[1] - origin[1];
  const isInside = row >= 0 && row < extents[0] && column >= 0 && column < extents[1];
  return isInside && wanted.slice(2).every((it, i) => it === origin[i + 2]) ? row * extents[1] + column : null;
}

/** The first coordinate of the window that shows an element. */
function windowAround(wanted) {
  return wanted.map((at, dimension) => (dimension > 1 ? at : at - (at % WINDOW)));
}

/** An element as the debug console reads it: `s[3, 4]`. */
const elementName = (tile, at) => `${tile.name}[${coordinate(tile, at).join(', ')}]`;

/** Describes a cell: its element, its value, and its place. */
function describe(tile, at) {
  const cell = tile.cells[at];
  const { text, thread, value, byte, bank } = cell;
  const said = `${elementName(tile, at)} ${STATES[text]?.says ?? `= ${text}`}`;
  if (thread !== null) return `${said}; value ${value} of thread ${thread} (warp ${Math.floor(thread / WARP)}, lane ${thread % WARP})`;
  return byte === null ? said : `${said}; byte ${byte}, bank ${bank}`;
}

/** The cells whose text differs from that of an earlier picture of the same window. */
function changes(earlier, tile) {
  if (!earlier || earlier.texts.length !== tile.cells.length) return new Set();
  return new Set(tile.cells.flatMap(({ text }, at) => (text === earlier.texts[at] ? [] : [at])));
}

/** Keeps the last pictures of each window, so that a new one shows the elements that changed since the last stop. */
class History {
  #shown = new Map();

  /** The picture of the last stop at another step, or null; then remembers this one. */
  take(tile) {
    const { name, memory, origin, progress } = tile;
    const key = JSON.stringify([memory, name, origin]);
    const known = this.#shown.get(key);
    const now = { step: progress[0], texts: tile.cells.map((cell) => cell.text) };
    // At the same step another thread is followed: nothing has changed.
    const before = known?.now.step === now.step ? known.before : (known?.now ?? null);
    this.#shown.set(key, { before, now });
    return before;
  }

  clear() {
    this.#shown.clear();
  }
}

/**
 * The tensor to show: the one that was chosen in this session, else the one that the fault names, the one that is shown, the one that
 * was chosen in an earlier session, the first one that the operation names, or a shared one.
 */
function choose(tensors, { chosen, fault, shown, remembered, operation }) {
  const like = (wanted) => wanted && tensors.find((it) => it.name === wanted.name && it.memory === wanted.memory);
  const firstOf = (names) => names.map(([, name]) => tensors.find((it) => it.name === name)).find(Boolean);
  const inFault = () => firstOf([...(fault ?? '').matchAll(/`(\w+)`/g)]);
  const inOperation = () => firstOf([...(operation ?? '').matchAll(/([A-Za-z_]\w*)(?![\w(])/g)]);
  const first = (memory) => tensors.find((it) => it.memory === memory);
  const wanted = like(chosen) ?? inFault() ?? like(shown) ?? like(remembered) ?? inOperation();
  return wanted ?? first('shared') ?? first('register') ?? tensors[0] ?? null;
}

/** One control for each dimension that the picture does not show whole: the shown range, and where its neighbours begin. */
function controls({ shape, origin, extents }) {
  return shape.flatMap((extent, dimension) => {
    const shown = dimension > 1 ? 1 : shape.length === 1 ? extents[1] : extents[dimension];
    const [first, step] = [origin[dimension], dimension > 1 ? 1 : WINDOW];
    if (first === 0 && shown >= extent) return [];
    const kind = dimension > 1 ? 'slice' : shape.length > 1 && dimension === 0 ? 'rows' : 'columns';
    const text = shown === 1 ? `${first} of ${extent}` : `${first}–${first + shown - 1} of ${extent}`;
    const back = first > 0 ? Math.max(0, first - step) : null;
    const next = first + step < extent ? first + step : null;
    return [{ dimension, kind, text, back, next, first, extent }];
  });
}

/** The entries of the legend: those that the picture has. `changed` is a number of cells, `since` the step that it is compared with. */
function legend(tile, { changed, since }) {
  const has = (state) => tile.cells.some((cell) => stateOf(cell) === state);
  const entries = [];
  if (tile.memory === 'register') entries.push(['colour', 'a colour for each thread']);
  if (tile.memory === 'shared') entries.push(['colour', 'a colour for each bank']);
  if (tile.cells.some(({ thread }) => thread !== null && thread === tile.thread)) entries.push(['mine', `held by thread ${tile.thread}`]);
  if (changed > 0) entries.push(['changed', `changed since step ${since}: ${changed}`]);
  for (const { name, means } of Object.values(STATES)) if (has(name)) entries.push([name, means]);
  return entries;
}

/** Describes the moment: the step, the operation and the followed thread. */
function momentOf({ progress: [step, length], operation, thread }) {
  return { step: `step ${step} of ${length}`, operation: operation ?? 'between operations', thread: `thread ${thread}` };
}

module.exports = {
  History, WINDOW, cellAt, changes, choose, colourOf, controls, coordinate, describe, elementName, groupOf, legend, momentOf, stateOf,
  windowAround,
};
