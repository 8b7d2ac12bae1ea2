// The page: the editor on one side, the compiler's answers about its text on the other.

import { showActions } from './actions.js';
import { movable } from './divider.js';
import { makeEditor, replaceText, reveal as show } from './editor.js';
import { Engine } from './engine.js';
import { EXAMPLES } from '../dist/parts/examples.js';
import { apply, fixButton, isHere, mark } from './findings.js';
import { showHints, showLenses } from './hints.js';
import { LayoutTab } from './layout-tab.js';
import { render } from './markdown.js';
import { showCode, showFile } from './reader.js';
import { place, milliseconds, showMain, showNoTests, showReports, summary } from './results.js';
import { fragmentOf, textOf } from './share.js';
import { keep, recall } from './store.js';
import { Tabs } from './tabs.js';
import { followTheme, theme } from './theme.js';
import { showTokens } from './tokens.js';

/** A pause in typing after which layouts are solved. */
const PAUSE_MS = 150;
/** The time for which a notice stays. */
const NOTICE_MS = 6000;
const KEPT = 'hx.text';

const $ = (id) => document.getElementById(id);

class Page {
  #findings = [];
  /** Findings of the tests that ran last; an edit removes them. */
  #failures = [];
  #lenses = [];
  #firstTensor = null;
  /** The results of each test's cases, by the filter of the test. */
  #verdicts = new Map();
  #pause = 0;
  #noticed = 0;
  #run = null;
  #isReady = false;

  constructor(text, modules) {
    this.engine = new Engine(
      () => new Worker('worker.js', { type: 'module' }),
      modules,
      (event, detail) => this.#hear(event, detail),
    );
    this.layout = new LayoutTab($('layout'), (at) => this.reveal.show(at));
    this.view = makeEditor($('editor'), text, this.#services());
    this.tabs = new Tabs($('panel'), (tab) => this.#shown(tab));
    this.engine.text = text;
    this.#buttons();
    this.#ask();
  }

  reveal = {
    name: ({ from }) => `line ${this.view.state.doc.lineAt(Math.min(from, this.view.state.doc.length)).number}`,
    show: (at) => isHere({ at }) && show(this.view, at),
  };

  #services() {
    return {
      ask: (request) => this.engine.ask(request),
      theme,
      edited: (text) => this.#edited(text),
      moved: () => this.#moved(),
      hover: async (at) => {
        const found = await this.engine.ask({ ask: 'hover', at, theme: theme() }).catch(() => null);
        return found && render(found.text);
      },
      act: (lens, at) => this.#act(lens, at),
      reveal: (at) => this.reveal.show(at),
      showResults: () => this.tabs.show('results'),
      commands: {
        test: () => this.test(),
        format: () => this.format(),
        definition: (at) => this.definition(at),
        actions: () => this.actions(),
      },
    };
  }

  #buttons() {
    $('test').addEventListener('click', () => (this.#run ? this.stop() : this.test()));
    $('format').addEventListener('click', () => this.format());
    document.addEventListener('click', ({ target }) => target.matches?.('button.code') && this.explain(target.textContent));
    $('share').addEventListener('click', () => this.share());
    $('stage').addEventListener('change', () => this.#code());
    $('target').addEventListener('change', ({ target }) => {
      this.engine.target = target.value;
      this.#ask();
    });
  }

  #edited(text) {
    this.engine.text = text;
    this.#run = null;
    this.#failures = [];
    this.#verdicts = new Map();
    keep(KEPT, text);
    // The link to a shared text is not a link to this one.
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
    this.engine.ask({ ask: 'tokens' }).then((tokens) => tokens && showTokens(this.view, tokens), ignore);
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#ask(), PAUSE_MS);
  }

  #moved() {
    clearTimeout(this.moving);
    this.moving = setTimeout(() => this.#shown(this.tabs.shown), PAUSE_MS);
  }

  /** Asks for everything that is shown of the text. */
  async #ask() {
    const asked = this.#isReady ? performance.now() : null;
    const tokens = this.engine.ask({ ask: 'tokens' });
    const hints = this.engine.ask({ ask: 'hints' });
    const findings = this.engine.ask({ ask: 'diagnostics' });
    tokens.then((tokens) => tokens && showTokens(this.view, tokens), ignore);
    hints.then((found) => {
      if (!found) return;
      showHints(this.view, found.hints, this.#services());
      const tensor = found.hints.find(({ kind }) => kind === 'layout');
      this.#firstTensor = tensor ? tensor.at - 1 : null;
      this.#lenses = found.lenses;
      this.#showLenses();
      this.#shown(this.tabs.shown);
      performance.mark('hints');
    }, ignore);
    findings.then((found) => {
      if (!found) return;
      this.#findings = found;
      this.#showFindings();
      this.#say(asked === null ? 'checked' : `checked in ${milliseconds(performance.now() - asked)}`);
    }, (error) => this.#say(error.message));
  }

  #showLenses() {
    showLenses(this.view, this.#lenses, this.#verdicts, this.#services());
  }

  #showFindings() {
    mark(this.view, [...this.#findings, ...this.#failures]);
    const worst = this.#findings.some(({ severity }) => severity === 'error') ? 'error' : 'warning';
    $('count').hidden = this.#findings.length === 0;
    $('count').className = worst;
    $('count').textContent = this.#findings.length;
    const rows = this.#findings.map((finding) => {
      const row = place(finding, this.reveal);
      row.append(...finding.fixes.map((fix) => fixButton(this.view, fix)));
      return row;
    });
    const empty = document.createElement('p');
    empty.className = 'empty';
    empty.textContent = 'No problems.';
    $('problems').replaceChildren(...(rows.length > 0 ? rows : [empty]));
  }

  /** Fills the tab that is shown. */
  #shown(tab) {
    if (!this.view) return;
    if (tab === 'layout') this.#drawn();
    if (tab === 'code') this.#code();
  }

  /** Draws the tensor at the cursor; the first one, as long as the cursor was on none. */
  async #drawn() {
    const layoutAt = (at) => this.engine.ask({ ask: 'layout', at }).catch(ignore);
    let found = await layoutAt(this.view.state.selection.main.head);
    if (found && !found.layout && this.layout.isEmpty && this.#firstTensor !== null) found = await layoutAt(this.#firstTensor);
    if (found) this.layout.show(found);
  }

  async #code() {
    const request = { ask: 'emit', at: this.view.state.selection.main.head, stage: $('stage').value };
    try {
      const found = await this.engine.ask(request);
      if (!found) return;
      $('kernel').textContent = found.kernel;
      $('emitted').textContent = found.text;
    } catch (error) {
      $('kernel').textContent = '';
      $('emitted').textContent = error.message;
    }
  }

  #act(lens, at) {
    if (lens.kind === 'test') this.test(lens.detail);
    else if (lens.kind === 'run') this.main();
    else if (lens.kind === 'show') {
      this.view.dispatch({ selection: { anchor: at } });
      $('stage').value = lens.detail;
      this.tabs.show('code');
    }
  }

  /** Runs the tests, or the one of the filter, one case after the other, until the text changes. */
  async test(filter = null) {
    const run = (this.#run = { reports: [], broken: [], running: true });
    this.tabs.show('results');
    this.#testing(true);
    try {
      const found = await this.engine.ask({ ask: 'tests' });
      if (!found || this.#run !== run) return;
      const isWanted = (name) => filter === null || isCaseOf(name, filter);
      const wanted = found.cases.filter(({ name }) => isWanted(name));
      run.broken = found.broken.filter(isWanted);
      if (wanted.length + run.broken.length === 0) {
        showNoTests($('results'));
        return;
      }
      await this.#cases(run, wanted);
    } catch (error) {
      this.notice(error.message);
    } finally {
      if (this.#run === run) this.#run = null;
      if (!this.#run) this.#testing(false);
    }
  }

  async #cases(run, wanted) {
    for (const { name, at } of wanted) {
      showReports($('results'), { ...run, reports: [...run.reports, { name, verdict: 'running' }] }, this.reveal);
      const report = await this.engine.ask({ ask: 'test', name });
      if (!report || this.#run !== run) return;
      run.reports.push(report);
      this.#failures.push(...(report.found ?? []));
      this.#judge(report, at);
    }
    run.running = false;
    showReports($('results'), run, this.reveal);
    this.#say(summary(run.reports, run.broken));
  }

  /** Shows a result above its test, and its findings at their lines. */
  #judge(report) {
    const lens = this.#lenses.find(({ kind, detail }) => kind === 'test' && isCaseOf(report.name, detail));
    if (lens) {
      const before = (this.#verdicts.get(lens.detail) ?? []).filter(({ name }) => name !== report.name);
      const verdicts = [...before, { name: report.name, verdict: report.verdict, text: signOf(report) }];
      this.#verdicts.set(lens.detail, verdicts);
      this.#showLenses();
    }
    mark(this.view, [...this.#findings, ...this.#failures]);
  }

  async main() {
    const run = (this.#run = {});
    this.tabs.show('results');
    this.#testing(true);
    const begun = performance.now();
    try {
      const found = await this.engine.ask({ ask: 'run' });
      if (!found || this.#run !== run) return;
      this.#failures = found.found;
      mark(this.view, [...this.#findings, ...this.#failures]);
      showMain($('results'), found, performance.now() - begun, this.reveal);
    } catch (error) {
      this.notice(error.message);
    } finally {
      if (this.#run === run) this.#run = null;
      if (!this.#run) this.#testing(false);
    }
  }

  /** Ends a run: the worker answers nothing while it runs, so it is replaced. */
  stop() {
    this.#run = null;
    this.engine.stop();
    this.#testing(false);
    this.#say('stopped');
    this.#ask();
  }

  #testing(running) {
    $('test').textContent = running ? 'Stop' : 'Run tests';
    $('test').classList.toggle('running', running);
  }

  async format() {
    try {
      const changes = await this.engine.ask({ ask: 'format' });
      if (changes?.length > 0) this.view.dispatch({ changes, userEvent: 'input.format' });
    } catch (error) {
      this.notice(error.message);
    }
  }

  /** Goes to the definition of the name at an offset. */
  async definition(at = this.view.state.selection.main.head) {
    const found = await this.engine.ask({ ask: 'definition', at }).catch(ignore);
    if (!found) return;
    if (isHere({ at: found })) {
      show(this.view, found);
      return;
    }
    showFile($('reader'), found);
  }

  async actions() {
    const { from, to } = this.view.state.selection.main;
    const found = await this.engine.ask({ ask: 'actions', from, to }).catch(ignore);
    if (found?.length > 0) showActions(this.view, found, (action) => apply(this.view, action));
    else if (found) this.notice('There is nothing to change at the cursor.');
  }

  /** Shows the page about a code. */
  async explain(code) {
    const found = await this.engine.ask({ ask: 'explain', code }).catch(ignore);
    if (found) showCode($('reader'), found);
  }

  async share() {
    const fragment = await fragmentOf(this.view.state.doc.toString());
    history.replaceState(null, '', fragment);
    try {
      await navigator.clipboard.writeText(location.href);
      this.notice('The link is in the clipboard. It holds the whole text.');
    } catch {
      this.notice('The address of this page is now a link to this text.');
    }
  }

  open(text) {
    replaceText(this.view, text);
    this.layout.clear();
  }

  notice(text) {
    $('notice').textContent = text;
    $('notice').hidden = false;
    clearTimeout(this.#noticed);
    this.#noticed = setTimeout(() => ($('notice').hidden = true), NOTICE_MS);
  }

  #hear(event, detail) {
    if (event === 'ready') {
      $('test').disabled = false;
      this.#isReady = true;
      performance.mark('ready');
    } else if (event === 'crashed') {
      this.notice(`The compiler stopped, and was started again: ${detail}`);
    }
    document.body.classList.toggle('busy', event === 'busy');
  }

  #say(text) {
    $('status').textContent = text;
  }
}

const ignore = () => undefined;

/** Reports whether a case is one of the test that a filter names: `::title`, or `::title[…]`. */
const isCaseOf = (name, filter) => name.endsWith(filter) || name.includes(`${filter}[`);

const signOf = ({ verdict, name, milliseconds: time }) => {
  const values = name.match(/\[(.*)\]$/)?.[1];
  const sign = { passed: '✓', failed: '✗', skipped: '–' }[verdict];
  return `${sign} ${values ?? milliseconds(time)}`;
};

/** The text to begin with: that of the link, the one that was edited last, or the first example. */
async function firstText() {
  const example = EXAMPLES.find(({ id }) => location.hash === `#${id}`);
  if (example) return example.text;
  return (await textOf(location.hash)) ?? recall(KEPT) ?? EXAMPLES[0].text;
}

/** Compiles the module while it comes, and says how much has come. */
async function load(address) {
  const response = await fetch(address);
  let bytes = 0;
  const counting = new TransformStream({
    transform(part, controller) {
      bytes += part.length;
      $('status').textContent = `loading the compiler … ${(bytes / 1e6).toFixed(1)} MB`;
      controller.enqueue(part);
    },
  });
  const { status, statusText } = response;
  const headers = { 'content-type': 'application/wasm' };
  return WebAssembly.compileStreaming(new Response(response.body.pipeThrough(counting), { status, statusText, headers }));
}

/** Fills the menu of examples; `open` gets the chosen one. */
function fillMenu(menu, open) {
  menu.append(new Option('Examples', ''));
  for (const name of new Set(EXAMPLES.map(({ group }) => group))) {
    const group = menu.appendChild(document.createElement('optgroup'));
    group.label = name;
    group.append(...EXAMPLES.filter((example) => example.group === name).map(({ id, title }) => new Option(title, id)));
  }
  menu.addEventListener('change', () => {
    const chosen = EXAMPLES.find(({ id }) => id === menu.value);
    menu.value = '';
    if (chosen) open(chosen);
  });
}

async function begin() {
  followTheme($('theme'));
  movable($('divider'));
  const modules = load('hx_web.wasm');
  let [text, damaged] = [EXAMPLES[0].text, null];
  try {
    text = await firstText();
  } catch (error) {
    damaged = error;
  }
  const page = new Page(text, modules);
  if (damaged) page.notice(`The link is damaged, so the first example is open: ${damaged.message}`);
  fillMenu($('examples'), ({ id, text }) => {
    page.open(text);
    history.replaceState(null, '', `#${id}`);
  });
  addEventListener('hashchange', async () => {
    const text = await firstText().catch((error) => page.notice(`The link is damaged: ${error.message}`));
    if (text !== undefined && text !== page.view.state.doc.toString()) page.open(text);
  });
}

begin();
