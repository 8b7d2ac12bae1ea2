// The script of the layout view: its figures, and its links into the text.

const { mount } = require('./layout-figures');

const editor = acquireVsCodeApi();

mount(document, JSON.parse(document.getElementById('drawings').textContent).tensors);

document.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-location]');
  if (!link) return;
  event.preventDefault();
  editor.postMessage({ open: JSON.parse(link.dataset.location) });
});
