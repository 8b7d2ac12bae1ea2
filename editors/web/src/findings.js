// Findings of the compiler and of tests: under the text, in the margin, and in the list of problems.

import { setDiagnostics } from '@codemirror/lint';
import { inline } from './markdown.js';

const SEVERITIES = { error: 'error', warning: 'warning', performance: 'hint', note: 'info' };

/** Reports whether a finding lies in the page's text, rather than in the standard library. */
export const isHere = ({ at }) => at.path === undefined;

const paragraph = (className, html) => {
  const made = document.createElement('p');
  made.className = className;
  made.innerHTML = html;
  return made;
};

/** The text of a finding: its message, the remark at its place, notes and help. */
export function body(finding) {
  const { code, message, label, notes, help } = finding;
  const made = document.createElement('div');
  made.className = 'finding';
  made.append(paragraph('message', `${inline(message)} <button class="code" title="Explain">${code}</button>`));
  if (label && !message.includes(label)) made.append(paragraph('label', inline(label)));
  for (const note of notes) made.append(paragraph('note', `<b>note</b> ${inline(note).replace(/\n/g, '<br>')}`));
  for (const line of help) made.append(paragraph('help', `<b>help</b> ${inline(line).replace(/\n/g, '<br>')}`));
  return made;
}

/** Makes the edits of a fix. */
export const apply = (view, { edits }) => {
  const changes = edits.map(({ from, to, insert }) => ({ from, to, insert }));
  view.dispatch({ changes, userEvent: 'input.fix' });
  view.focus();
};

/** A button that makes the edits of a fix. */
export function fixButton(view, fix) {
  const button = document.createElement('button');
  button.className = 'fix';
  button.innerHTML = inline(fix.title);
  button.addEventListener('click', () => apply(view, fix));
  return button;
}

/** Marks findings in the text. A range without characters would be invisible, so it gets the next or the last one. */
export function mark(view, findings) {
  const { length } = view.state.doc;
  const visible = ({ from, to }) => (from < to ? [from, to] : from < length ? [from, from + 1] : [Math.max(0, from - 1), from]);
  const marks = findings.filter(isHere).map((finding) => {
    const [from, to] = visible(finding.at);
    return {
      from,
      to: Math.min(to, length),
      severity: SEVERITIES[finding.severity],
      message: finding.message,
      renderMessage: () => body(finding),
      actions: finding.fixes.map((fix) => ({ name: fix.title.replaceAll('`', ''), apply: (view) => apply(view, fix) })),
    };
  });
  view.dispatch(setDiagnostics(view.state, marks));
}
