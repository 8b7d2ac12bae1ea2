// Light or dark: as the system says, until the reader chooses.

import { keep, recall } from './store.js';

const KEY = 'hx.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

export const theme = () => recall(KEY) ?? (system.matches ? 'dark' : 'light');

export function followTheme(button) {
  const show = () => {
    document.documentElement.dataset.theme = theme();
    button.textContent = theme() === 'dark' ? '☀' : '☾';
  };
  button.addEventListener('click', () => {
    const other = theme() === 'dark' ? 'light' : 'dark';
    // The choice of the system again: follow it from now on.
    keep(KEY, other === (system.matches ? 'dark' : 'light') ? null : other);
    show();
  });
  system.addEventListener('change', show);
  show();
}
