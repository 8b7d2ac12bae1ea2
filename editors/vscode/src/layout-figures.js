// The figures of layouts: draws the cells, and lights up those that belong to the one that is pointed at. Knows no editor: the
// layout view mounts them, and so does the playground.

const { cellsOfThreads, describe, describeThread, hue, partners, step } = require('./layout-draw');

const SVG = 'http://www.w3.org/2000/svg';
/** In user units of the drawing. */
const [CHARACTER, HEIGHT, MARGIN, HEAD] = [8, 24, 36, 22];
/** A cell narrower than its text times this factor shows its colour only. */
const LEGIBLE = 0.6;

const element = (name, attributes, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

/** A drawing of one tensor. */
class View {
  constructor(figure, drawing, shape, hear) {
    Object.assign(this, { figure, drawing, shape, hear, at: 0, pinned: false, lit: [] });
    this.threads = drawing.kind === 'threads' ? cellsOfThreads(drawing) : new Map();
    this.said = figure.querySelector('.said');
    this.sheet = figure.querySelector('.sheet');
    this.cell = (Math.max(...drawing.texts.map((text) => [...text].length)) + 2) * CHARACTER;
    this.draw();
    this.listen();
    new ResizeObserver(() => this.fit()).observe(this.sheet);
    this.fit();
  }

  get width() {
    return MARGIN + this.drawing.cols * this.cell + 2;
  }

  get height() {
    return HEAD + this.drawing.rows * HEIGHT + 2;
  }

  draw() {
    const { rows, cols, rowStep, colStep, texts, groups, title } = this.drawing;
    const svg = element('svg', { viewBox: `0 0 ${this.width} ${this.height}`, tabindex: 0, role: 'group', 'aria-label': title });
    for (let col = 0; col < cols; col++)
      svg.append(element('text', { class: 'number', x: MARGIN + (col + 0.5) * this.cell, y: HEAD - 7 }, col));
    for (let row = 0; row < rows; row++)
      svg.append(element('text', { class: 'number', x: MARGIN / 2, y: HEAD + row * HEIGHT + 16 }, row));
    this.cells = texts.map((text, at) => {
      const [x, y] = [MARGIN + (at % cols) * this.cell, HEAD + Math.floor(at / cols) * HEIGHT];
      const group = element('g', { class: groups[at] === null ? 'cell empty' : 'cell', 'data-at': at });
      // The style sheet turns the hue into a colour of the theme.
      if (groups[at] !== null) {
        group.style.setProperty('--hue', hue(groups[at]));
        group.style.setProperty('--shade', Math.floor(groups[at] / 8) % 3);
      }
      group.append(element('rect', { x, y, width: this.cell, height: HEIGHT }));
      group.append(element('text', { x: x + this.cell / 2, y: y + 16 }, text));
      svg.append(group);
      return group;
    });
    this.lines(svg, { rows, cols, rowStep, colStep });
    this.svg = svg;
    this.sheet.append(svg);
  }

  /** Strong lines around the cells, and at the end of the innermost part of a mode. */
  lines(svg, { rows, cols, rowStep, colStep }) {
    const [right, bottom] = [MARGIN + cols * this.cell, HEAD + rows * HEIGHT];
    const ends = (count, every) => [...Array(count + 1).keys()].filter((i) => i % every === 0 || i === count);
    for (const row of ends(rows, rowStep))
      svg.append(element('line', { x1: MARGIN, x2: right, y1: HEAD + row * HEIGHT, y2: HEAD + row * HEIGHT }));
    for (const col of ends(cols, colStep))
      svg.append(element('line', { x1: MARGIN + col * this.cell, x2: MARGIN + col * this.cell, y1: HEAD, y2: bottom }));
  }

  /** Scales the drawing to the width of the view, unless its full size was chosen. */
  fit() {
    // A hidden view has no width; it is fitted when it is shown.
    if (this.sheet.clientWidth === 0) return;
    const full = this.sheet.classList.contains('full');
    // The outermost lines are wider than the edge that they lie on.
    const scale = full ? 1 : Math.min(1, (this.sheet.clientWidth - 4) / this.width);
    const small = scale < LEGIBLE;
    // Without texts the cells need not be wider than they are high.
    const tall = small ? this.cell / HEIGHT : 1;
    this.svg.setAttribute('width', this.width * scale);
    this.svg.setAttribute('height', this.height * scale * tall);
    this.svg.setAttribute('preserveAspectRatio', small ? 'none' : 'xMinYMin');
    this.svg.classList.toggle('small', small);
    const button = this.figure.querySelector('.size');
    button.hidden = this.sheet.clientWidth - 4 >= this.width && !full;
    button.textContent = full ? 'Fit the width' : 'Full size';
  }

  listen() {
    const cellOf = (event) => event.target.closest?.('.cell');
    this.svg.addEventListener('pointerover', (event) => {
      const cell = cellOf(event);
      if (cell && !this.pinned) this.point(Number(cell.dataset.at));
    });
    this.svg.addEventListener('pointerleave', () => this.pinned || this.clear());
    this.svg.addEventListener('click', (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      const at = Number(cell.dataset.at);
      // A second click on the cell lets go of it.
      this.pinned = !(this.pinned && at === this.at);
      this.point(at);
    });
    this.svg.addEventListener('focus', () => this.svg.matches(':focus-visible') && this.point(this.at));
    this.svg.addEventListener('keydown', (event) => this.key(event));
    this.figure.querySelector('.size').addEventListener('click', () => {
      this.sheet.classList.toggle('full');
      this.fit();
    });
    this.figure.querySelector('.thread')?.addEventListener('input', (event) => this.pointThread(event.target.value));
  }

  key(event) {
    if (event.key === 'Escape') {
      this.pinned = false;
      this.clear();
      return;
    }
    const to = step(this.drawing, this.at, event.key);
    if (to === null) return;
    event.preventDefault();
    this.pinned = true;
    this.point(to);
    this.cells[to].scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** Lights up what belongs to a cell, here and in the other drawings of the tensor. */
  point(at) {
    this.hear(this);
    this.at = at;
    this.light(partners(this.drawing, this.threads, at), at);
    this.said.textContent = describe(this.drawing, this.shape, at, this.lit.length);
  }

  pointThread(number) {
    if (number === '') {
      this.pinned = false;
      this.clear();
      return;
    }
    this.pinned = true;
    this.light(this.threads.get(Number(number)) ?? [], null);
    this.said.textContent = describeThread(Number(number), this.lit.length);
  }

  light(cells, at) {
    this.clear();
    this.lit = cells;
    this.svg.classList.add('lighting');
    for (const cell of cells) this.cells[cell].classList.add('lit');
    if (at !== null) this.cells[at].classList.add('at');
  }

  clear() {
    for (const cell of this.svg.querySelectorAll('.lit, .at')) cell.classList.remove('lit', 'at');
    this.svg.classList.remove('lighting');
    this.lit = [];
    this.said.textContent = this.said.dataset.hint;
  }
}

/** Draws the tensors into the figures of `root`, which `content` of layout-html.js made for them. */
function mount(root, tensors) {
  const views = [];
  // Only one drawing is lit: the others let go.
  const hear = (speaker) =>
    views.filter((view) => view !== speaker).forEach((view) => view.lit.length > 0 && !view.pinned && view.clear());
  for (const figure of root.querySelectorAll('figure[data-tensor]')) {
    const { shape, drawings } = tensors[figure.dataset.tensor];
    views.push(new View(figure, drawings[figure.dataset.drawing], shape, hear));
  }
}

module.exports = { mount };
