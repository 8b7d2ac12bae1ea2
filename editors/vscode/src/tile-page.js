// The script of the tile view: draws a tile, and sends what the user chooses.

const { step } = require('./layout-draw');
const {
  History, cellAt, changes, colourOf, controls, coordinate, describe, elementName, groupOf, legend, momentOf, stateOf,
} = require('./tile-draw');

const HINTS = {
  register: 'A click on an element chooses it, and follows the thread that holds it.',
  shared: 'A click on an element chooses it, and shows its byte and its bank.',
  global: 'A click on an element chooses it.',
};
/** The smallest side of a cell without text, in pixels. */
const SMALLEST = 4;

const editor = acquireVsCodeApi();
const find = (selector) => document.querySelector(selector);
const make = (name, className, text = '') => Object.assign(document.createElement(name), { className, textContent: text });

const history = new History();
/** The longest text of each tensor so far, in characters, so that columns keep their width from stop to stop. */
const widths = new Map();
/** The tile on the page; the coordinate of the chosen element; whether cells show their colour only. */
let [tile, chosen, small] = [null, null, editor.getState()?.small ?? false];
let table = null;

addEventListener('message', ({ data }) => {
  if (data.began) {
    history.clear();
    widths.clear();
    [tile, chosen] = [null, null];
  }
  if (data.answer !== undefined) find('.answer').textContent = data.answer;
  if (data.tile !== undefined) show(data);
  find('main').hidden = !tile;
  find('.idle').hidden = Boolean(tile);
});

/** Shows an answer of the adapter. Without a tile, the last picture is dropped. */
function show({ tile: next, tensors, fault, element, moved }) {
  const isOther = !tile || !next || tile.name !== next.name || tile.memory !== next.memory;
  tile = next;
  if (!tile) return;
  if (isOther) chosen = null;
  if (element) chosen = element;
  showMoment(fault);
  showTensors(tensors);
  showControls();
  const before = history.take(tile);
  draw(changes(before, tile), before);
  if (isOther || moved) reveal();
}

function showMoment(fault) {
  const moment = momentOf(tile);
  for (const [name, text] of Object.entries(moment)) find(`.${name}`).textContent = text;
  find('.moment').title = tile.place ?? '';
  find('.fault').hidden = !fault;
  find('.fault').textContent = fault ?? '';
}

function showTensors(tensors) {
  const groups = new Map();
  tensors.forEach(({ name, memory, dtype, shape }, at) => {
    if (!groups.has(memory)) groups.set(memory, Object.assign(document.createElement('optgroup'), { label: memory }));
    const option = new Option(`${name}: ${memory} ${dtype}[${shape.join(', ')}]`, at);
    option.selected = name === tile.name && memory === tile.memory;
    groups.get(memory).append(option);
  });
  const select = find('.tensor');
  select.replaceChildren(...groups.values());
  select.onchange = () => {
    const { name, memory } = tensors[select.value];
    editor.postMessage({ choose: { name, memory } });
  };
}

function showControls() {
  const goTo = (dimension, first) => {
    const origin = [...tile.origin];
    origin[dimension] = first;
    editor.postMessage({ origin, of: { name: tile.name, memory: tile.memory } });
  };
  const parts = controls(tile).map(({ dimension, kind, text, back, next, first, extent }) => {
    const control = make('span', 'control', kind === 'slice' ? `[${'.., '.repeat(dimension)}` : kind);
    const button = (label, to) => {
      const made = make('button', '', label);
      made.disabled = to === null;
      made.onclick = () => goTo(dimension, to);
      return made;
    };
    const input = Object.assign(make('input'), { type: 'number', min: 0, max: extent - 1, value: first });
    input.setAttribute('aria-label', `coordinate ${dimension}`);
    input.onchange = () => goTo(dimension, Math.min(Math.max(0, Math.trunc(input.value)), extent - 1));
    if (kind === 'slice') control.append(button('‹', back), input, button('›', next), `of ${extent}]`);
    else control.append(button('‹', back), text, button('›', next));
    return control;
  });
  find('.controls').replaceChildren(...parts);
}

/** Draws the cells. A table of the same size is filled again. */
function draw(changed, before) {
  const [rows, columns] = tile.extents;
  if (!table || table.rows.length !== rows + 1 || table.rows[0].cells.length !== columns + 1) table = newTable(rows, columns);
  const isVector = tile.origin.length < 2;
  for (let column = 0; column < columns; column++) {
    table.rows[0].cells[column + 1].textContent = (isVector ? (tile.origin[0] ?? 0) : tile.origin[1]) + column;
  }
  for (let row = 0; row < rows; row++) {
    table.rows[row + 1].cells[0].textContent = isVector ? '' : tile.origin[0] + row;
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      fill(table.rows[row + 1].cells[column + 1], tile.cells[at], changed.has(at));
    }
  }
  const key = `${tile.memory} ${tile.name}`;
  widths.set(key, Math.max(widths.get(key) ?? 1, ...tile.cells.map(({ text }) => text.length)));
  table.style.setProperty('--characters', widths.get(key));
  showLegend(legend(tile, { changed: changed.size, since: before?.step }));
  fit();
  choose(cellAt(tile, chosen));
}

function newTable(rows, columns) {
  const made = make('table');
  Object.assign(made, { tabIndex: 0 });
  made.setAttribute('role', 'grid');
  const head = made.createTHead().insertRow();
  for (let column = 0; column <= columns; column++) head.append(make('th'));
  const body = made.createTBody();
  for (let row = 0; row < rows; row++) {
    const line = body.insertRow();
    line.append(make('th'));
    for (let column = 0; column < columns; column++) line.insertCell().dataset.at = row * columns + column;
  }
  listen(made);
  find('.sheet').replaceChildren(made);
  return made;
}

function fill(td, cell, isChanged) {
  const state = stateOf(cell);
  const group = groupOf(cell);
  td.textContent = cell.text;
  td.className = state;
  td.classList.toggle('mine', cell.thread !== null && cell.thread === tile.thread);
  td.classList.toggle('changed', isChanged);
  td.classList.toggle('coloured', group !== null && state === 'value');
  if (group === null) return;
  const { hue, shade } = colourOf(group);
  td.style.setProperty('--hue', hue);
  td.style.setProperty('--shade', shade);
}

function showLegend(entries) {
  const parts = entries.map(([kind, text]) => {
    const entry = make('span');
    entry.append(make('i', `swatch ${kind}`), text);
    return entry;
  });
  find('.legend').replaceChildren(...parts);
}

/** Sets the size of the cells: that of their texts, or one that fits the width. */
function fit() {
  const sheet = find('.sheet');
  table.classList.remove('small');
  const isWide = table.offsetWidth > sheet.clientWidth + 1;
  table.classList.toggle('small', small && isWide);
  const box = Math.max(SMALLEST, Math.min(24, (sheet.clientWidth - 2) / tile.extents[1]));
  table.style.setProperty('--box', `${box}px`);
  find('.size').hidden = !isWide;
  find('.size').textContent = small ? 'Show values' : 'Fit the width';
}

const cellOf = (event) => event.target.closest?.('td');

function listen(made) {
  made.addEventListener('pointerover', (event) => cellOf(event) && say(Number(cellOf(event).dataset.at)));
  made.addEventListener('pointerleave', () => say(cellAt(tile, chosen)));
  made.addEventListener('click', (event) => cellOf(event) && follow(Number(cellOf(event).dataset.at)));
  made.addEventListener('keydown', (event) => {
    const at = cellAt(tile, chosen);
    if (event.key === 'Enter' && at !== null) follow(at);
    const to = step({ rows: tile.extents[0], cols: tile.extents[1] }, at ?? 0, event.key);
    if (to === null) return;
    event.preventDefault();
    choose(at === null ? 0 : to);
    reveal();
  });
}

/** Chooses an element, and follows the thread that holds it. */
function follow(at) {
  choose(at);
  const { thread } = tile.cells[at];
  if (thread !== null && thread !== tile.thread) editor.postMessage({ command: `thread ${thread}` });
}

function choose(at) {
  table.querySelector('td.at')?.classList.remove('at');
  if (at !== null) {
    chosen = coordinate(tile, at);
    table.querySelector(`td[data-at="${at}"]`).classList.add('at');
  }
  for (const button of document.querySelectorAll('[data-command]')) {
    button.disabled = at === null || (tile.memory === 'register' && button.dataset.command.endsWith('read'));
  }
  say(at);
}

const say = (at) => (find('.said').textContent = at === null ? HINTS[tile.memory] : describe(tile, at));

/** Scrolls to the chosen element, else to the first one that changed, else to the first one of the followed thread. */
function reveal() {
  const cell = table.querySelector('td.at') ?? table.querySelector('td.changed') ?? table.querySelector('td.mine');
  if (!cell) return;
  const sheet = find('.sheet');
  const [left, top] = [cell.offsetLeft, cell.offsetTop];
  const isVisible = (at, size, from, length) => at >= from + 40 && at + size <= from + length;
  if (!isVisible(left, cell.offsetWidth, sheet.scrollLeft, sheet.clientWidth)) sheet.scrollLeft = left - sheet.clientWidth / 3;
  if (!isVisible(top, cell.offsetHeight, sheet.scrollTop, sheet.clientHeight)) sheet.scrollTop = top - sheet.clientHeight / 3;
}

find('.size').onclick = () => {
  small = !small;
  editor.setState({ small });
  fit();
  reveal();
};
for (const button of document.querySelectorAll('[data-command]')) {
  button.onclick = () => editor.postMessage({ command: `${button.dataset.command} ${elementName(tile, cellAt(tile, chosen))}` });
}
new ResizeObserver(() => tile && fit()).observe(find('.sheet'));
editor.postMessage({ ready: true });
