// The tabs of the panel.

export class Tabs {
  #tabs;
  #hear;

  /** `hear` gets the name of the tab that is shown. */
  constructor(panel, hear) {
    this.#tabs = [...panel.querySelectorAll('[role=tab]')];
    this.#hear = hear;
    for (const tab of this.#tabs) {
      tab.setAttribute('aria-controls', tab.dataset.tab);
      tab.addEventListener('click', () => this.show(tab.dataset.tab));
      tab.addEventListener('keydown', ({ key }) => this.#step(tab, { ArrowRight: 1, ArrowLeft: -1 }[key]));
    }
    this.show(this.#tabs[0].dataset.tab);
  }

  show(name) {
    this.shown = name;
    for (const tab of this.#tabs) {
      const is = tab.dataset.tab === name;
      tab.setAttribute('aria-selected', is);
      tab.tabIndex = is ? 0 : -1;
      document.getElementById(tab.dataset.tab).hidden = !is;
    }
    this.#hear(name);
  }

  #step(tab, by) {
    if (!by) return;
    const { length } = this.#tabs;
    const next = this.#tabs[(this.#tabs.indexOf(tab) + by + length) % length];
    this.show(next.dataset.tab);
    next.focus();
  }
}
