// What `hx test` writes, as data for a test explorer. Knows nothing of the editor.

const { image } = require('./picture');

/** The objects of a text with one JSON object a line; other lines are passed over. */
function jsonLines(text) {
  return text.split('\n').flatMap((line) => {
    const object = parseLine(line);
    return object ? [object] : [];
  });
}

/** One line of `--format json`, or null. */
function parseLine(line) {
  if (!line.startsWith('{')) return null;
  try {
    const object = JSON.parse(line);
    return typeof object.type === 'string' ? object : null;
  } catch {
    return null;
  }
}

/** Collects chunks of a stream and gives whole lines. */
class Lines {
  #rest = '';

  /** The lines that `chunk` completes. */
  push(chunk) {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop();
    return lines;
  }

  /** What stands behind the last end of a line. */
  end() {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}

/** `path::title[case]` in parts; `case` is null for a test without cases. */
function splitName(name) {
  const at = name.indexOf('.hx::');
  const file = at < 0 ? '' : name.slice(0, at + 3);
  const rest = at < 0 ? name : name.slice(at + 5);
  const found = /^(.*?)(\[.*\])(#\d+)?$/s.exec(rest);
  return found ? { file, title: found[1], case: found[2] + (found[3] ?? '') } : { file, title: rest, case: null };
}

/**
 * Tests by file and title, in the order of the listing.
 * @returns {{file: string, tests: {title: string, name: string | null, line: number, column: number,
 *   broken: boolean, cases: {label: string, name: string}[]}[]}[]}
 */
function tree(listing) {
  const files = [];
  for (const entry of listing) {
    if (entry.type !== 'case' && entry.type !== 'broken') continue;
    const { file: path, title, case: label } = splitName(entry.name);
    let file = files.find((it) => it.file === path);
    if (!file) files.push((file = { file: path, tests: [] }));
    let test = file.tests.find((it) => it.title === title);
    if (!test) {
      const { line = 1, column = 1 } = entry.place ?? {};
      test = { title, name: null, line, column, broken: entry.type === 'broken', cases: [] };
      file.tests.push(test);
    }
    if (label === null) test.name = entry.name;
    else test.cases.push({ label, name: entry.name });
  }
  return files;
}

/** What a failed comparison expected and got, from the notes of its diagnostic; null for other failures. */
function comparison(diagnostic) {
  for (const { message } of diagnostic.children ?? []) {
    const found = /^(?:first )?(?:at (\[[^\]]*\]): )?got (.+), expected (\S+)$/.exec(message);
    if (found) return { at: found[1] ?? null, actual: found[2], expected: found[3] };
  }
  return null;
}

/** One diagnostic as a message: its text, its notes, its place (counted from 0), what was compared, and the other places. */
function failure(diagnostic) {
  const notes = (diagnostic.children ?? []).map((child) => child.message);
  const spans = diagnostic.spans ?? [];
  const position = (at) => ({ line: at.line - 1, character: at.column - 1 });
  const place = (span) => ({ path: span.path, start: position(span.start), end: position(span.end) });
  const primary = spans.find((it) => it.primary);
  return {
    text: [diagnostic.message, ...notes].join('\n'),
    message: diagnostic.message,
    notes,
    place: primary ? place(primary) : null,
    comparison: comparison(diagnostic),
    others: byLine(spans.filter((it) => !it.primary && it.label).map((it) => ({ label: it.label, ...place(it) }))),
  };
}

/** Joins the labels of each line, because an editor shows one message for a line. */
function byLine(places) {
  const lines = [];
  for (const place of places) {
    const known = lines.find((it) => it.path === place.path && it.start.line === place.start.line);
    if (known) known.label += `; ${place.label}`;
    else lines.push({ ...place });
  }
  return lines;
}

/**
 * The explanation of a failed comparison in Markdown: what is wrong, the picture of the tensor, the notes, and the lines of the
 * kernel that took part. `link` gives the address of a place.
 */
function explanation({ message, notes, others }, picture, link) {
  const drawn = picture.lines.join('\n');
  const facts = notes.filter((note) => !note.includes(drawn)).map((note) => `- ${escaped(note)}`);
  const lines = others.map((it) => `- [line ${it.start.line + 1}](${link(it)}): ${escaped(it.label)}`);
  // The editor shows the first line as the title, without its Markdown.
  return [message, image(picture), facts.join('\n'), lines.join('\n')].filter(Boolean).join('\n\n');
}

/** A text in which Markdown changes nothing but code between backticks. */
function escaped(text) {
  const plain = (part) => part.replace(/[\\*_<>#|~]/g, '\\$&').replace(/\](?=[([])/g, '\\]');
  const parts = text.split('`');
  if (parts.length % 2 === 0) return parts.map(plain).join('\\`');
  return parts.map((part, at) => (at % 2 === 0 ? plain(part) : `\`${part}\``)).join('');
}

/** The arguments of a run: the files, the names, where it runs, and whether it runs again at each change. */
function runArguments({ files, names, device, debug, watch }) {
  const args = ['test', ...files, '--format', 'json'];
  if (watch) args.push('--watch');
  if (names.length > 0) args.push('--exact', ...names);
  if (debug) args.push('--device', 'sim', '--nocapture');
  else if (device !== 'auto') args.push('--device', device);
  return args;
}

module.exports = { Lines, comparison, explanation, failure, jsonLines, parseLine, runArguments, splitName, tree };
