// When VS Code gets the answer to a completion, keys may wait that only its window knows of. If they start another word, VS Code
// matches the entries of the old word with the new one, and shows none of them. So an answer waits until typing pauses, and
// nothing is answered if the word has ended by then: VS Code asks again. Knows nothing of the editor.

/** Milliseconds without a change of the document that count as a pause. */
const PAUSE = 40;
/** The most milliseconds that an answer waits. */
const PATIENCE = 400;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reports whether the line differs only by letters of a word that were typed at the character. */
function isSameWord(before, now, character) {
  const [head, tail] = [before.slice(0, character), before.slice(character)];
  if (now.length < before.length || !now.startsWith(head) || !now.endsWith(tail)) return false;
  return /^[\p{L}\p{N}_]*$/u.test(now.slice(head.length, now.length - tail.length));
}

/** Middleware of the language client: asks `next`, and answers after a pause in typing. */
async function provideCompletionItem(document, position, context, token, next) {
  const line = () => (position.line < document.lineCount ? document.lineAt(position.line).text : '');
  const before = line();
  const answer = await next(document, position, context, token);
  const end = Date.now() + PATIENCE;
  for (let version = -1; version !== document.version && Date.now() < end && !token.isCancellationRequested; ) {
    version = document.version;
    await sleep(PAUSE);
  }
  return isSameWord(before, line(), position.character) ? answer : undefined;
}

module.exports = { isSameWord, provideCompletionItem };
