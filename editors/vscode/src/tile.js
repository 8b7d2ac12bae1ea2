// The tile view: a tensor of the kernel that is stepped through, drawn at each stop.

const crypto = require('node:crypto');
const vscode = require('vscode');
const { TYPE } = require('./debug');
const { cellAt, choose, windowAround } = require('./tile-draw');
const { page } = require('./tile-html');
const { configuration } = require('./server');

/** Keeps the tensor that was chosen last, for the next session. */
const MEMORY = 'hx.tile.tensor';
/** The editor asks for the stack after a stop; the picture follows it. */
const DELAY_MS = 30;

class TileView {
  #state;
  /** The folder of the page's script. */
  #files;
  /** @type {vscode.WebviewPanel | null} */
  #panel = null;
  /** @type {vscode.DebugSession | null} */
  #session = null;
  /** The text of the fault at this stop. */
  #fault = null;
  /** The tensor that was chosen in this session, and the one that is shown. */
  #chosen = null;
  #shown = null;
  /** The first coordinate of the window of each tensor. */
  #origins = new Map();
  #generation = 0;
  /** The frame that the user chose since the last stop. Without one, the adapter takes the threads that stopped. */
  #frame = undefined;
  /** Whether the moment changed since the last picture. */
  #moved = false;
  #timer = null;
  #disposables;

  /** @param {vscode.ExtensionContext} context */
  constructor(context) {
    this.#state = context.workspaceState;
    this.#files = vscode.Uri.joinPath(context.extensionUri, 'dist');
    this.#disposables = [
      vscode.debug.registerDebugAdapterTrackerFactory(TYPE, {
        createDebugAdapterTracker: (session) => ({ onDidSendMessage: (message) => this.#heard(session, message) }),
      }),
      vscode.debug.onDidTerminateDebugSession((session) => this.#ended(session)),
      vscode.debug.onDidChangeActiveStackItem((item) => item?.session.type === TYPE && this.#chose(item)),
    ];
  }

  /** Opens the view, or brings it to the front. */
  show() {
    if (this.#panel) {
      this.#panel.reveal(undefined, false);
      return;
    }
    const options = { enableScripts: true, localResourceRoots: [this.#files], retainContextWhenHidden: true };
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.#panel = vscode.window.createWebviewPanel('hx.tile', 'Tile', where, options);
    this.#panel.onDidDispose(() => (this.#panel = null));
    const { webview } = this.#panel;
    webview.onDidReceiveMessage((message) => this.#received(message));
    const nonce = crypto.randomBytes(16).toString('base64');
    webview.html = page({ nonce, script: String(webview.asWebviewUri(vscode.Uri.joinPath(this.#files, 'tile-page.js'))) });
  }

  /** Follows what the adapter says. A picture belongs to a stop. */
  #heard(session, message) {
    if (message.type !== 'event' || message.event !== 'stopped') return;
    const begins = this.#session !== session;
    if (begins) this.#begin(session);
    this.#fault = message.body.reason === 'exception' ? message.body.text : null;
    // A command of the debug console moves with this reason. Its answer stays until the next step.
    if (message.body.reason !== 'goto') this.#panel?.webview.postMessage({ answer: '' });
    this.#frame = undefined;
    this.#moved = true;
    this.#soon(session);
  }

  #chose({ session, frameId }) {
    this.#frame = frameId;
    this.#soon(session);
  }

  #begin(session) {
    this.#session = session;
    this.#chosen = null;
    this.#shown = null;
    this.#origins.clear();
    this.#panel?.webview.postMessage({ began: true });
    if (configuration().get('debug.openTile')) this.show();
  }

  #soon(session) {
    if (session !== this.#session) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#update(), DELAY_MS);
  }

  async #update() {
    const session = this.#session;
    if (!this.#panel || !session) return;
    const generation = ++this.#generation;
    const [frameId, moved] = [this.#frame, this.#moved];
    const { tensors = [] } = (await ask(session, 'hxTensors', { frameId })) ?? {};
    const tileOf = ({ name, memory }, origin) => ask(session, 'hxTile', { name, memory, origin, frameId });
    // The operation matters to the first choice only.
    const operation = !this.#shown && tensors[0] ? (await tileOf(tensors[0], []))?.operation : null;
    const [chosen, shown, fault] = [this.#chosen, this.#shown, this.#fault];
    const tensor = choose(tensors, { chosen, fault, shown, remembered: this.#state.get(MEMORY), operation });
    let tile = tensor && (await tileOf(tensor, this.#origins.get(keyOf(tensor)) ?? []));
    // The fault may name an element outside of the window.
    const element = moved && tile?.fault?.name === tile?.name ? tile?.fault?.coordinate : undefined;
    if (element && cellAt(tile, element) === null) {
      this.#origins.set(keyOf(tensor), windowAround(element));
      tile = await tileOf(tensor, windowAround(element));
    }
    if (generation !== this.#generation || session !== this.#session) return;
    this.#shown = tensor;
    this.#moved = false;
    if (this.#panel) this.#panel.title = tensor ? `Tile: ${tensor.name}` : 'Tile';
    this.#panel?.webview.postMessage({ tile: tile ?? null, tensors, fault, element, moved });
  }

  async #received({ ready, choose: chosen, origin, of, command }) {
    if (chosen) {
      this.#chosen = chosen;
      this.#state.update(MEMORY, chosen);
    }
    if (origin) this.#origins.set(keyOf(of), origin);
    if (command) await this.#command(command);
    if (ready || chosen || origin) await this.#update();
  }

  /** Runs a command of the debug console. Its answer begins with a line about the element; the place follows. */
  async #command(expression) {
    const answer = await ask(this.#session, 'evaluate', { expression, context: 'repl' });
    const [first = ''] = (answer?.result ?? '').split('\n');
    // A command that finds nothing else to say begins with the operation.
    this.#panel?.webview.postMessage({ answer: first.startsWith('#') ? '' : first.replaceAll('`', '') });
  }

  #ended(session) {
    if (session !== this.#session) return;
    this.#session = null;
    this.#fault = null;
    clearTimeout(this.#timer);
    this.#panel?.webview.postMessage({ began: true });
    if (this.#panel) this.#panel.title = 'Tile';
  }

  dispose() {
    clearTimeout(this.#timer);
    this.#panel?.dispose();
    for (const it of this.#disposables) it.dispose();
  }
}

const keyOf = ({ memory, name }) => `${memory} ${name}`;

/** Asks the adapter. A session that ends meanwhile answers nothing. */
async function ask(session, request, body) {
  try {
    return await session?.customRequest(request, body);
  } catch {
    return null;
  }
}

module.exports = { TileView };
