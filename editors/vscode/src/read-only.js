// Texts that are shown and not edited. Each is a document of a scheme of its own: VS Code lets nobody type into one, and asks
// nobody to save it.

const vscode = require('vscode');

class ReadOnlyTexts {
  #scheme;
  #changed = new vscode.EventEmitter();
  /** By address. */
  #texts = new Map();
  #disposables;

  /** `onClose` hears the address of each text that is shown no more. */
  constructor(scheme, onClose = () => {}) {
    this.#scheme = scheme;
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(scheme, {
        onDidChange: this.#changed.event,
        provideTextDocumentContent: (uri) => this.#texts.get(String(uri)) ?? '',
      }),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => {
        // A document that gets another language is said to be closed too, and is still there.
        const open = vscode.workspace.textDocuments.some((it) => String(it.uri) === String(uri));
        if (!open && this.#texts.delete(String(uri))) onClose(String(uri));
      }),
    ];
  }

  /** The address of a text: what is shown of one source under one name is one document. */
  address(name, source) {
    return vscode.Uri.from({ scheme: this.#scheme, path: `/${name}`, query: String(source) });
  }

  /** Sets a text; a document that shows it follows. */
  set(uri, text) {
    this.#texts.set(String(uri), text);
    this.#changed.fire(uri);
  }

  /** Opens a text as a document without showing it. */
  async load(uri, text, language) {
    this.set(uri, text);
    const document = await vscode.workspace.openTextDocument(uri);
    return setLanguage(document, language);
  }

  /** Shows a text beside the editor, which keeps the focus. */
  async show(uri, text, language) {
    const document = await this.load(uri, text, language);
    const options = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false };
    await vscode.window.showTextDocument(document, options);
  }

  dispose() {
    for (const it of this.#disposables) it.dispose();
  }
}

async function setLanguage(document, language) {
  if (!language || document.languageId === language) return document;
  const known = await vscode.languages.getLanguages();
  return known.includes(language) ? vscode.languages.setTextDocumentLanguage(document, language) : document;
}

module.exports = { ReadOnlyTexts };
