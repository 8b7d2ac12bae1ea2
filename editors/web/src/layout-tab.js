// The layout of the tensor at the cursor: the layout view of the other editors, inside of the page.

import { STYLE, content } from '../../vscode/src/layout-html.js';
import { mount } from '../../vscode/src/layout-figures.js';

export class LayoutTab {
  #root;
  #shown = '';
  isEmpty = true;

  /** `open` shows a place in the text. */
  constructor(panel, open) {
    // A tree of its own keeps the view's style and the page's apart.
    this.#root = panel.attachShadow({ mode: 'open' });
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [style];
    this.#root.addEventListener('click', (event) => {
      const link = event.target.closest('a[data-location]');
      if (!link) return;
      event.preventDefault();
      open(JSON.parse(link.dataset.location));
    });
    this.show({ layout: null, reasons: null });
  }

  /** Shows an answer. Without a tensor at the cursor the last one stays. */
  show(answer) {
    if (!answer.layout && !this.isEmpty) return;
    this.isEmpty = !answer.layout;
    const html = content(answer);
    if (html === this.#shown) return;
    this.#shown = html;
    this.#root.innerHTML = html;
    mount(this.#root, answer.layout?.tensors ?? []);
  }

  /** Forgets the last tensor, as after another example was opened. */
  clear() {
    this.#shown = '';
    this.isEmpty = true;
    this.show({ layout: null, reasons: null });
  }
}
