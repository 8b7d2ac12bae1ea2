// The menu of changes at the cursor: fixes of the findings there, and rewrites that the compiler offers.

import { inline } from './markdown.js';

let menu = null;

const close = () => {
  // Removing the menu takes the focus away, which closes it again: forget it before.
  const closed = menu;
  menu = null;
  closed?.remove();
};

const step = (by) => {
  const buttons = [...menu.querySelectorAll('button')];
  buttons[(buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length].focus();
};

/** Shows `actions` below the cursor; `choose` gets the chosen one. */
export function showActions(view, actions, choose) {
  close();
  const at = view.coordsAtPos(view.state.selection.main.head);
  if (!at) return;
  menu = document.createElement('div');
  menu.className = 'menu';
  menu.setAttribute('role', 'menu');
  for (const action of actions) {
    const button = menu.appendChild(document.createElement('button'));
    button.setAttribute('role', 'menuitem');
    button.innerHTML = inline(action.title);
    button.addEventListener('click', () => {
      close();
      choose(action);
    });
  }
  menu.addEventListener('keydown', (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) step(by);
    else if (event.key === 'Escape') view.focus();
    else return;
    event.preventDefault();
  });
  // The menu is left by a choice, by Escape, or by a click elsewhere: each takes the focus away.
  menu.addEventListener('focusout', ({ relatedTarget }) => menu && !menu.contains(relatedTarget) && close());
  document.body.append(menu);
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 4))}px`;
  menu.style.top = `${at.bottom + height < innerHeight ? at.bottom + 2 : at.top - height - 2}px`;
  menu.querySelector('button').focus();
}
