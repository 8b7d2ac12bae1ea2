// State of the editor that comes from the worker: decorations that an effect replaces, and that move with the text until then.

import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView } from '@codemirror/view';

/** A set of decorations, and the effect that replaces it. */
export function decorations() {
  const replace = StateEffect.define();
  const field = StateField.define({
    create: () => Decoration.none,
    update(found, transaction) {
      for (const effect of transaction.effects) if (effect.is(replace)) return effect.value;
      return found.map(transaction.changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });
  return { replace, field };
}
