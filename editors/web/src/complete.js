// Completion, and the parameters of the call around the cursor.

import { autocompletion, pickedCompletion, snippet } from '@codemirror/autocomplete';
import { StateEffect, StateField } from '@codemirror/state';
import { EditorView, showTooltip } from '@codemirror/view';
import { render } from './markdown.js';

/** A snippet of the protocol's notation in that of the editor: `$1` is `${1}` there, and `$0` the last field. */
const snippetOf = (text) => snippet(text.replace(/\$(\d)/g, (_, number) => (number === '0' ? '${}' : `\${${number}}`)));

const optionOf = (entry, services) => ({
  label: entry.label,
  type: entry.kind,
  detail: entry.detail,
  sortText: `${entry.rank}${entry.label}`,
  boost: -entry.rank,
  info: async () => {
    const docs = entry.docs || (entry.item && (await services.ask({ ask: 'docs', path: entry.item[0], name: entry.item[1] })));
    if (!docs) return null;
    const info = document.createElement('div');
    info.className = 'markdown';
    info.innerHTML = render(docs);
    return info;
  },
  apply: (view, completion, from, to) => {
    const before = entry.also.map(({ from, to, insert }) => ({ from, to, insert }));
    if (entry.snippet) {
      snippetOf(entry.insert)(view, completion, from, to);
    } else {
      view.dispatch({
        changes: { from, to, insert: entry.insert },
        selection: { anchor: from + entry.insert.length },
        annotations: pickedCompletion.of(completion),
        userEvent: 'input.complete',
      });
    }
    // The `use` that brings the name in lies above the entry, so its place is still the same.
    if (before.length > 0) view.dispatch({ changes: before });
  },
});

const source = (services) => async (context) => {
  const word = context.matchBefore(/[\w#]+/);
  const trigger = context.matchBefore(/(\.|::|[(,<]\s*)$/);
  if (!context.explicit && !word && !trigger) return null;
  const found = await services.ask({ ask: 'complete', at: context.pos }).catch(() => null);
  if (!found || found.length === 0 || context.aborted) return null;
  return { from: found[0].at.from, options: found.map((entry) => optionOf(entry, services)), validFor: /^\w*$/ };
};

const setSignature = StateEffect.define();

const signatureField = StateField.define({
  create: () => null,
  update(shown, transaction) {
    for (const effect of transaction.effects) if (effect.is(setSignature)) return effect.value;
    return shown && transaction.docChanged ? { ...shown, pos: transaction.changes.mapPos(shown.pos) } : shown;
  },
  provide: (field) => showTooltip.from(field),
});

const signatureTooltip = (pos, { label, params, active }) => ({
  pos,
  above: true,
  create: () => {
    const dom = document.createElement('div');
    dom.className = 'signature';
    const current = active === null ? undefined : params[active];
    const [start, end] = current ? [current.from, current.to] : [0, 0];
    const strong = document.createElement('b');
    strong.textContent = label.slice(start, end);
    dom.append(label.slice(0, start), strong, label.slice(end));
    return { dom };
  },
});

const signatures = (services) =>
  EditorView.updateListener.of(async ({ view, docChanged, selectionSet, state }) => {
    if (!docChanged && !selectionSet) return;
    const at = state.selection.main.head;
    const wanted = docChanged || state.field(signatureField);
    const help = wanted ? await services.ask({ ask: 'signature', at }).catch(() => null) : null;
    if (help === undefined || (!help && !view.state.field(signatureField))) return;
    view.dispatch({ effects: setSignature.of(help ? signatureTooltip(Math.min(at, view.state.doc.length), help) : null) });
  });

export const completion = (services) => [
  autocompletion({ override: [source(services)], icons: false, maxRenderedOptions: 60 }),
  signatureField,
  signatures(services),
];
