// The editor: a text editor with the compiler's answers in it.

import { acceptCompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentOnInput, indentService, indentUnit } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState } from '@codemirror/state';
import {
  EditorView, drawSelection, dropCursor, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers,
} from '@codemirror/view';
import { completion } from './complete.js';
import { hintFields } from './hints.js';
import { render } from './markdown.js';
import { tokenField } from './tokens.js';

const INDENT = 4;
const HOVER_MS = 250;

/** A line is as far in as the one before it, one step more after an open bracket, one less if it begins with a closing one. */
const indentation = indentService.of((context, at) => {
  const line = context.lineAt(at);
  const before = at > 0 ? context.lineAt(Math.max(0, line.from - 1)) : null;
  if (!before || before.from === line.from) return 0;
  const opens = /[{([]\s*(\/\/.*)?$/.test(before.text) ? INDENT : 0;
  const closes = /^\s*[})\]]/.test(line.text.slice(Math.max(0, at - line.from))) ? INDENT : 0;
  return Math.max(0, context.lineIndent(before.from) + opens - closes);
});

const language = EditorState.languageData.of(() => [
  { commentTokens: { line: '//' }, closeBrackets: { brackets: ['(', '[', '{', '"'] }, indentOnInput: /^\s*[})\]]$/ },
]);

const hovers = (services) =>
  hoverTooltip(
    async (view, pos) => {
      // A hint has a box of its own.
      if (view.dom.querySelector('.hint:hover, .lenses:hover')) return null;
      const found = await services.ask({ ask: 'hover', at: pos, theme: services.theme() }).catch(() => null);
      if (!found) return null;
      const create = () => {
        const dom = document.createElement('div');
        dom.className = 'markdown hover';
        dom.innerHTML = render(found.text);
        return { dom };
      };
      return { pos: found.at.from, end: found.at.to, above: false, create };
    },
    { hoverTime: HOVER_MS },
  );

/** Makes the editor. `services` are functions of the page: `ask`, `theme`, `edited`, `moved`, `commands`. */
export function makeEditor(parent, text, services) {
  const command = (name) => () => {
    services.commands[name]();
    return true;
  };
  const extensions = [
    // First of all: what other extensions ask is about the newest text.
    EditorView.updateListener.of((update) => {
      if (update.docChanged) services.edited(update.state.doc.toString());
      if (update.docChanged || update.selectionSet) services.moved(update.state.selection.main.head);
    }),
    lineNumbers(),
    lintGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    history(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    indentUnit.of(' '.repeat(INDENT)),
    EditorState.tabSize.of(INDENT),
    language,
    indentation,
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightSelectionMatches(),
    tokenField,
    hintFields,
    completion(services),
    hovers(services),
    keymap.of([
      { key: 'Mod-Enter', run: command('test') },
      { key: 'Mod-s', run: command('format'), preventDefault: true },
      { key: 'F12', run: command('definition') },
      { key: 'Mod-.', run: command('actions') },
      { key: 'Tab', run: acceptCompletion },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        const at = event.ctrlKey || event.metaKey ? view.posAtCoords({ x: event.clientX, y: event.clientY }) : null;
        if (at === null) return false;
        services.commands.definition(at);
        return true;
      },
    }),
    EditorView.contentAttributes.of({ 'aria-label': 'The kernel', autocapitalize: 'off', spellcheck: 'false' }),
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
}

/** Replaces the whole text, as one step that can be undone. */
export const replaceText = (view, text) =>
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });

/** Selects a place and shows it. */
export const reveal = (view, { from, to }) => {
  const end = view.state.doc.length;
  view.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, effects: EditorView.scrollIntoView(Math.min(from, end), { y: 'center' }) });
  view.focus();
};
