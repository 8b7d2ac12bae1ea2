// Colours of words, from the kinds that the compiler gives them. The style sheet turns a kind into a colour.

import { Decoration } from '@codemirror/view';
import { decorations } from './changes.js';

const { replace, field } = decorations();
export const tokenField = field;

const marks = new Map();
const mark = (kinds) => {
  if (!marks.has(kinds)) {
    const names = kinds.split(' ').map((kind) => `hx-${kind}`);
    marks.set(kinds, Decoration.mark({ class: names.join(' ') }));
  }
  return marks.get(kinds);
};

/** The colours of `tokens`: triples of a start, an end and the kinds. */
export const coloured = (tokens) => Decoration.set(tokens.map(([from, to, kinds]) => mark(kinds).range(from, to)));

export const showTokens = (view, tokens) => view.dispatch({ effects: replace.of(coloured(tokens)) });
