// A dialog to read in: a file of the standard library, or the page about a code. Escape closes it.

import { EditorState, Text } from '@codemirror/state';
import { Decoration, EditorView, lineNumbers } from '@codemirror/view';
import { render } from './markdown.js';
import { coloured } from './tokens.js';

const found = Decoration.line({ class: 'found' });

/** Opens the dialog with a title, and returns the place for its contents. */
function open(dialog, title) {
  dialog.replaceChildren();
  const head = dialog.appendChild(document.createElement('h2'));
  head.textContent = title;
  const close = head.appendChild(document.createElement('button'));
  close.textContent = 'Close';
  close.addEventListener('click', () => dialog.close());
  if (!dialog.open) dialog.showModal();
  return dialog.appendChild(document.createElement('div'));
}

/** Shows a file, with the line in its middle. */
export function showFile(dialog, { path, line, text, tokens }) {
  const doc = Text.of(text.split('\n'));
  const { from } = doc.line(Math.min(line, doc.lines));
  const extensions = [
    lineNumbers(),
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.decorations.of(Decoration.set([found.range(from)])),
    EditorView.decorations.of(coloured(tokens)),
  ];
  const view = new EditorView({ parent: open(dialog, path), state: EditorState.create({ doc, extensions }) });
  dialog.addEventListener('close', () => view.destroy(), { once: true });
  view.dispatch({ effects: EditorView.scrollIntoView(from, { y: 'center' }) });
}

/** Shows the page about a code. */
export function showCode(dialog, { code, name, text }) {
  const place = open(dialog, `${code}: ${name}`);
  place.className = 'markdown page';
  // The page's blocks are a text with the finding, and one without it.
  const told = text.replace(/^```hx fails$/gm, 'Wrong:\n\n$&').replace(/^```hx$/gm, 'Right:\n\n$&');
  place.innerHTML = render(told);
}
