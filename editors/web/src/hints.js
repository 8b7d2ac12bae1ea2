// The layouts behind names, the instructions behind statements, and the lines above items.

import { Decoration, WidgetType } from '@codemirror/view';
import { decorations } from './changes.js';
import { describe } from './popover.js';
import { render } from './markdown.js';

const hints = decorations();
const lenses = decorations();
export const hintFields = [hints.field, lenses.field];

/** A hint. A click leads to the operation that forced it. */
class Hint extends WidgetType {
  constructor(hint, services) {
    super();
    Object.assign(this, { hint, services, key: JSON.stringify([hint.kind, hint.stale, hint.parts]) });
  }

  eq(other) {
    return other.key === this.key;
  }

  toDOM(view) {
    const { kind, parts, stale } = this.hint;
    const hint = document.createElement('span');
    hint.className = stale ? `hint ${kind} stale` : `hint ${kind}`;
    for (const { text, tooltip, target } of parts) {
      const part = hint.appendChild(document.createElement('span'));
      part.textContent = text;
      // The position is that of the drawn hint: the text before it may have grown.
      const at = () => view.posAtDOM(hint);
      const drawn = async () => (stale || kind !== 'layout' ? null : await this.services.hover(at() - 1));
      const forced = () => target && this.services.reveal(target);
      describe(part, async () => (await drawn()) ?? render(tooltip), forced);
    }
    return hint;
  }

  ignoreEvent() {
    return true;
  }
}

/** The most results that are shown one by one. */
const MOST_RESULTS = 4;

/** The results of a test: each of its cases, or how many of each kind there are. */
function told(results) {
  if (results.length <= MOST_RESULTS) return results;
  const kinds = [['passed', '✓'], ['failed', '✗'], ['skipped', '–']];
  const count = (kind) => results.filter(({ verdict }) => verdict === kind).length;
  return kinds.filter(([kind]) => count(kind) > 0).map(([verdict, sign]) => ({ verdict, text: `${sign} ${count(verdict)} ${verdict}` }));
}

class Lenses extends WidgetType {
  constructor(lenses, results, services) {
    super();
    Object.assign(this, { lenses, results, services, key: JSON.stringify([lenses, results]) });
  }

  eq(other) {
    return other.key === this.key;
  }

  toDOM(view) {
    const line = document.createElement('div');
    line.className = 'lenses';
    const at = () => view.posAtDOM(line);
    for (const lens of this.lenses) line.append(this.#part(lens, at));
    for (const { verdict, text } of told(this.results)) {
      const result = line.appendChild(document.createElement('button'));
      result.className = `verdict ${verdict}`;
      result.textContent = text;
      result.addEventListener('click', () => this.services.showResults());
    }
    return line;
  }

  #part(lens, at) {
    const part = document.createElement(lens.kind === 'costs' && !lens.detail ? 'span' : 'button');
    part.textContent = lens.title;
    part.className = lens.stale ? 'stale' : '';
    if (lens.kind === 'costs' && lens.detail) describe(part, async () => `<pre>${new Option(lens.detail).innerHTML}</pre>`);
    else if (part.localName === 'button') part.addEventListener('click', () => this.services.act(lens, at()));
    return part;
  }

  ignoreEvent() {
    return true;
  }
}

export const showHints = (view, found, services) => {
  const widget = (hint) => Decoration.widget({ widget: new Hint(hint, services), side: 1 }).range(hint.at);
  view.dispatch({ effects: hints.replace.of(Decoration.set(found.map(widget), true)) });
};

/** `results` maps the filter of a test to the results of its cases. */
export const showLenses = (view, found, results, services) => {
  const lines = new Map();
  for (const lens of found) {
    const at = view.state.doc.lineAt(lens.at).from;
    lines.set(at, [...(lines.get(at) ?? []), lens]);
  }
  const widget = ([at, group]) => {
    const verdicts = group.flatMap((lens) => (lens.kind === 'test' ? (results.get(lens.detail) ?? []) : []));
    return Decoration.widget({ widget: new Lenses(group, verdicts, services), block: true, side: -1 }).range(at);
  };
  view.dispatch({ effects: lenses.replace.of(Decoration.set([...lines].map(widget), true)) });
};
