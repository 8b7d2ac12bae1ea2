// The results of tests, and the output of `main`.

import { legend, svg } from '../../vscode/src/picture.js';
import { body, isHere } from './findings.js';
import { inline } from './markdown.js';

const SIGNS = { passed: '✓', failed: '✗', skipped: '–', running: '…', waiting: '·' };

export const milliseconds = (time) => (time < 1 ? '<1 ms' : time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`);

const element = (name, className, text) => {
  const made = document.createElement(name);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

/** A finding with the place it is at, which a click shows. */
export function place(finding, reveal) {
  const row = element('div', `problem ${finding.severity}`);
  row.append(body(finding));
  const places = [{ at: finding.at, message: '' }, ...finding.related];
  for (const { at, message } of places) {
    const where = isHere({ at }) ? reveal.name(at) : `${at.path}:${at.line}`;
    const link = element(isHere({ at }) ? 'button' : 'span', 'place');
    link.innerHTML = inline(message ? `${where}: ${message}` : where);
    if (isHere({ at })) link.addEventListener('click', () => reveal.show(at));
    row.append(link);
  }
  return row;
}

function picture(drawn) {
  const figure = element('figure', 'picture');
  const image = document.createElement('img');
  image.src = `data:image/svg+xml;base64,${btoa(svg(drawn))}`;
  image.alt = drawn.lines.join('\n');
  figure.append(image, element('figcaption', '', legend(drawn)));
  return figure;
}

/** The name of a case without the path, which is always the page's. */
const titleOf = (name) => name.replace(/^playground\.hx::/, '');

const factsOf = (report) => {
  if (report.verdict === 'skipped') return `skipped: ${report.reason}`;
  const drawn = typeof report.cases === 'number' ? `${report.cases} ${report.cases === 1 ? 'case' : 'cases'}, ` : '';
  return report.milliseconds === undefined ? '' : `${drawn}${milliseconds(report.milliseconds)}`;
};

function row(report, reveal) {
  const made = element('section', `case ${report.verdict}`);
  const head = element('h3', '');
  head.append(element('span', 'sign', SIGNS[report.verdict]), element('span', 'title', titleOf(report.name)), element('small', '', factsOf(report)));
  made.append(head);
  if (report.picture) made.append(picture(report.picture));
  for (const finding of report.found ?? []) made.append(place(finding, reveal));
  for (const reason of report.unjudged ?? []) made.append(element('p', 'unjudged', `not judged: ${reason}`));
  if (report.output?.length > 0) made.append(element('pre', 'output', report.output.join('\n')));
  return made;
}

export const summary = (reports, broken) => {
  const count = (verdict) => reports.filter((report) => report.verdict === verdict).length;
  const failed = count('failed') + broken.length;
  return `${count('passed')} passed, ${failed} failed, ${count('skipped')} skipped`;
};

/** Shows the reports of a run. `broken` names tests that have errors. */
export function showReports(panel, { reports, broken, running }, reveal) {
  const head = element('p', 'summary', running ? `running on the simulator … ${summary(reports, broken)}` : summary(reports, broken));
  const wrong = broken.map((name) => {
    const made = element('section', 'case failed');
    const heading = element('h3', '');
    heading.append(element('span', 'sign', SIGNS.failed), element('span', 'title', titleOf(name)), element('small', '', 'it has errors'));
    made.append(heading);
    return made;
  });
  panel.replaceChildren(head, ...wrong, ...reports.map((report) => row(report, reveal)));
}

/** Shows the output of `main`, and the errors that ended it. */
export function showMain(panel, { output, found }, time, reveal) {
  const head = element('p', 'summary', found.length > 0 ? 'main failed' : `main has run, ${milliseconds(time)}`);
  const text = output.length > 0 ? [element('pre', 'output', output.join('\n'))] : [];
  panel.replaceChildren(head, ...text, ...found.map((finding) => place(finding, reveal)));
}

export const showNoTests = (panel) =>
  panel.replaceChildren(element('p', 'empty', 'The text has no tests. A test looks like this: test "it doubles" { … }'));
