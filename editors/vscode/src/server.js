// The server: found, started, told of settings, asked.

const os = require('node:os');
const fs = require('node:fs');
const { execFile } = require('node:child_process');
const vscode = require('vscode');
const { LanguageClient, State, Trace } = require('vscode-languageclient/node');
const { provideCompletionItem } = require('./completion');
const { findServer } = require('./server-path');
const { serverSettings } = require('./settings');
const { themeOf } = require('./theme');

const isProgram = (path) => {
  try {
    fs.accessSync(path, fs.constants.X_OK);
    return fs.statSync(path).isFile();
  } catch {
    return false;
  }
};

/**
 * The Python environments that the user has activated: in the shell that started the editor, or in the Python extension. In a folder
 * without trust the extension is not asked, because it may name an environment of the folder.
 */
async function pythonEnvironments() {
  const found = [process.env.VIRTUAL_ENV, process.env.CONDA_PREFIX];
  const python = vscode.workspace.isTrusted ? vscode.extensions.getExtension('ms-python.python') : undefined;
  try {
    const api = python && (python.isActive ? python.exports : await python.activate());
    found.unshift(api?.environments?.getActiveEnvironmentPath()?.path);
  } catch {
    // Another extension's failure is not ours: PATH is left.
  }
  return found.filter((at) => at);
}

class Server {
  /** @type {LanguageClient | null} */
  #client = null;
  /** @type {string | null} */
  #path = null;
  #version = '';
  #log = vscode.window.createOutputChannel('hx');
  #status = vscode.languages.createLanguageStatusItem('hx.server', { language: 'hx' });
  #choice = new vscode.EventEmitter();
  #disposables = [];
  /** The architecture of the first file that the server knows. */
  target = '';
  /** Fires when the server shows another instance, and when it starts. */
  onDidChoose = this.#choice.event;

  constructor() {
    this.#status.name = 'hx';
    this.#status.command = { command: 'hx.serverStatus', title: 'Status' };
    this.#disposables.push(
      this.#log,
      this.#status,
      vscode.workspace.onDidChangeConfiguration((event) => this.#configured(event)),
      vscode.window.onDidChangeActiveColorTheme(() => this.#configure()),
      this.#choice,
    );
  }

  get log() {
    return this.#log;
  }

  get environment() {
    return { ...process.env, ...configuration().get('server.environment') };
  }

  /** The toolchain's path; tells the user why there is none. */
  async program() {
    if (this.#path) return this.#path;
    const found = await findServer({
      setting: configuration().get('server.path') ?? '',
      home: os.homedir(),
      workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
      environments: await pythonEnvironments(),
      searchPath: process.env.PATH ?? '',
      platform: process.platform,
      exists: isProgram,
      ask: (path) => this.#ask(path),
    });
    if ('problem' in found) {
      this.#show('$(error) hx: no toolchain', found.problem, vscode.LanguageStatusSeverity.Error);
      this.#log.appendLine(found.problem);
      return null;
    }
    this.#path = found.path;
    this.#version = found.version;
    this.#log.appendLine(`${found.path}: ${found.version}`);
    return this.#path;
  }

  #ask(path) {
    return new Promise((resolve) => {
      const options = { timeout: 10000, env: this.environment };
      execFile(path, ['--version'], options, (error, stdout) => resolve(error ? null : stdout));
    });
  }

  async start() {
    const program = await this.program();
    if (!program) {
      const choice = await Promise.race([
        vscode.window.showErrorMessage('The hx toolchain was not found.', 'Open Settings', 'Show Log'),
        // Whoever awaits the start does not wait for the user.
        new Promise((resolve) => setTimeout(() => resolve('later'), 0)),
      ]);
      if (choice === 'Open Settings') vscode.commands.executeCommand('workbench.action.openSettings', 'hx.server.path');
      if (choice === 'Show Log') this.#log.show();
      return;
    }
    const run = { command: program, args: ['lsp'], options: { env: this.environment } };
    this.#client = new LanguageClient('hx', 'hx', { run, debug: run }, {
      documentSelector: [
        { scheme: 'file', language: 'hx' },
        { scheme: 'untitled', language: 'hx' },
      ],
      outputChannel: this.#log,
      initializationOptions: this.#settings(),
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/{*.hx,hx.toml}') },
      // Hovers show comments of the project: a link in them runs no command of the editor.
      markdown: { isTrusted: false, supportHtml: true },
      middleware: {
        provideCompletionItem,
        executeCommand: async (command, args, next) => {
          const answer = await next(command, args);
          this.#choice.fire();
          return answer;
        },
      },
      progressOnInitialization: true,
    });
    this.#client.onDidChangeState(({ newState }) => this.#changed(newState));
    this.#show('$(sync~spin) hx: starting', this.#version);
    try {
      await this.#client.start();
      await this.#client.setTrace(trace());
    } catch (error) {
      this.#show('$(error) hx: the server did not start', String(error), vscode.LanguageStatusSeverity.Error);
    }
  }

  async stop() {
    const client = this.#client;
    this.#client = null;
    this.#path = null;
    if (client) await client.stop(3000).catch(() => {});
  }

  async restart() {
    await this.stop();
    await this.start();
  }

  /** Sends a request; the user is told when it fails, and `undefined` comes back. */
  async request(method, params, { quiet = false } = {}) {
    const client = this.#client;
    if (!client || client.state !== State.Running) {
      if (!quiet) vscode.window.showErrorMessage('hx: no server is running.');
      return undefined;
    }
    try {
      // Without parameters there is no `params`; the library would send a list of nothing.
      return await (params === undefined ? client.sendRequest(method) : client.sendRequest(method, params));
    } catch (error) {
      // The text changed meanwhile (ContentModified), or the request was cancelled.
      if (error.code !== -32801 && error.code !== -32800 && !quiet) {
        vscode.window.showErrorMessage(`hx: ${error.message}`);
      }
      return undefined;
    }
  }

  /** What a request about a place in a document begins with. */
  place(document, position) {
    const client = this.#client;
    return {
      textDocument: { uri: String(document.uri) },
      position: client ? client.code2ProtocolConverter.asPosition(position) : position,
    };
  }

  /** Shows another instance of a kernel from now on; without arguments the default one. */
  async showInstance(uri, kernel, args) {
    const argument = { textDocument: { uri }, kernel, args: Object.keys(args).length > 0 ? args : undefined };
    await this.request('workspace/executeCommand', { command: 'hx.showInstance', arguments: [argument] });
    this.#choice.fire();
  }

  #settings() {
    return serverSettings((name) => configuration().get(name), themeOf(vscode.window.activeColorTheme.kind));
  }

  #configured(event) {
    if (!event.affectsConfiguration('hx')) return;
    const anew = ['hx.server', 'hx.drawings', 'hx.nvrtc'];
    if (anew.some((section) => event.affectsConfiguration(section))) {
      this.restart();
      return;
    }
    if (event.affectsConfiguration('hx.trace')) this.#client?.setTrace(trace());
    this.#configure();
  }

  #configure() {
    const settings = { hx: this.#settings() };
    this.#client?.sendNotification('workspace/didChangeConfiguration', { settings });
  }

  #changed(state) {
    if (state === State.Running) {
      this.#show('$(check) hx', this.#version);
      this.#describe();
    } else if (state === State.Stopped) {
      this.#show('$(warning) hx: stopped', 'Restart it with “hx: Restart Server”.', vscode.LanguageStatusSeverity.Warning);
    }
  }

  async #describe() {
    const status = await this.request('hx/serverStatus', undefined, { quiet: true });
    if (!status) return;
    this.target = status.target;
    this.#show('$(check) hx', `${status.version}, ${status.target}`);
    this.#choice.fire();
  }

  #show(text, detail, severity = vscode.LanguageStatusSeverity.Information) {
    this.#status.text = text;
    this.#status.detail = detail;
    this.#status.severity = severity;
    this.#status.busy = text.includes('sync~spin');
  }

  async dispose() {
    await this.stop();
    for (const it of this.#disposables) it.dispose();
  }
}

const configuration = () => vscode.workspace.getConfiguration('hx');

const trace = () => Trace.fromString(configuration().get('trace.server') ?? 'off');

module.exports = { Server, configuration };
