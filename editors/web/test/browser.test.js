// The page in a real browser, as a person uses it. `HX_CHROMIUM` names the browser; `HX_SITE` the folder of the site, without it
// `dist`; `HX_PICTURES` a folder for pictures of the page. Needs the built page and `npm install`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { serve } from '../serve.js';

const site = path.resolve(process.env.HX_SITE ?? path.join(import.meta.dirname, '..', 'dist'));
/** Why the page cannot be driven here; `false` if it can. */
const missing = (() => {
  if (!process.env.HX_CHROMIUM) return 'HX_CHROMIUM names no browser';
  if (!fs.existsSync(path.join(site, 'hx_web.wasm'))) return 'the page is not built: `cargo xtask site`';
  return fs.existsSync(path.join(import.meta.dirname, '..', 'node_modules', 'playwright-core'))
    ? false
    : 'needs `npm install` in editors/web';
})();
const options = { skip: missing, timeout: 120_000 };

const KERNEL = `kernel scale<BM = 16, BN = 64>(x: f32[m, n], y: mut f32[m, n], a: f32)
    grid [cdiv(m, BM), cdiv(n, BN)]
    threads 128
{
    let [bm, bn] = block_idx;
    let t = load(tile(x, [BM, BN])[.., .., bm, bn]);
    copy(t * a, tile(y, [BM, BN])[.., .., bm, bn]);
}

test "it scales" for (m, n) in [(16, 64), (33, 100)] {
    let x = randn(f32, [m, n], seed: 3);
    let y = empty(f32, [m, n]);
    scale(x, y, 2.5);
    assert_close(y, x * 2.5, ulp: 1);
}

test "it does not double" {
    let x = randn(f32, [16, 64], seed: 3);
    let y = empty(f32, [16, 64]);
    scale(x, y, 2.5);
    assert_close(y, x * 2.0, ulp: 1);
}
`;

/** Without its barrier the product reads tiles before they are written. */
const RACE = '#a-race';

let server;
let browser;
let origin;
/** The address of the page. */
let start;
/** The addresses that pages asked for. */
const requests = [];

before(async () => {
  if (missing) return;
  const { chromium } = await import('playwright-core');
  // With the book the page lies in a folder of the site.
  server = serve(path.join(site, '..'));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${server.address().port}`;
  start = `${origin}/${path.basename(site)}/`;
  browser = await chromium.launch({ executablePath: process.env.HX_CHROMIUM, args: ['--no-sandbox'] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

async function open({ fragment = '', theme = 'light', width = 1280, height = 800, touch = false } = {}) {
  const context = await browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    hasTouch: touch,
    isMobile: touch,
    deviceScaleFactor: touch ? 2 : 1,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => page.errors.push(String(error)));
  page.errors = [];
  await page.goto(`${start}${fragment}`);
  await page.waitForSelector('#test:not([disabled])', { timeout: 60_000 });
  return page;
}

const picture = async (page, name) => {
  if (process.env.HX_PICTURES) await page.screenshot({ path: path.join(process.env.HX_PICTURES, `web-${name}.png`) });
};

async function write(page, text) {
  await page.click('.cm-content');
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(text);
}

const textOf = (page) => page.evaluate(() => document.querySelector('.cm-content').cmTile.view.state.doc.toString());

test('hints appear within a second of the module, and the layout of a tensor is drawn', options, async () => {
  const page = await open();
  await page.waitForSelector('.hint.layout');
  const times = await page.evaluate(() =>
    Object.fromEntries(performance.getEntriesByType('mark').map(({ name, startTime }) => [name, startTime])),
  );
  console.log(`# loaded after ${Math.round(times.ready)} ms, first hints ${Math.round(times.hints - times.ready)} ms later`);
  assert.ok(times.hints - times.ready < 1000, `first hints after ${times.hints - times.ready} ms`);
  await page.waitForSelector('#layout figure svg .cell');
  await picture(page, 'light');
  assert.deepEqual(page.errors, []);
});

test('an edit makes an error, and its fix applies', options, async () => {
  const page = await open({ fragment: RACE });
  await page.waitForSelector('.cm-lintRange-error');
  await page.click('[data-tab=problems]');
  assert.match(await page.textContent('#problems'), /HX0401/);
  await picture(page, 'error');
  await page.locator('#problems button.code').first().click();
  await page.waitForSelector('#reader[open] .page pre');
  await picture(page, 'explain');
  await page.keyboard.press('Escape');
  const before = await textOf(page);
  // One barrier is missing before the product, another one behind it.
  await page.locator('#problems .fix').first().click();
  await page.waitForFunction(() => document.querySelectorAll('#problems .problem').length === 1);
  await page.locator('#problems .fix').first().click();
  await page.waitForSelector('#problems .empty');
  assert.equal((await textOf(page)).split('sync();').length - before.split('sync();').length, 2);
  // Back to the errors, by hand.
  await page.click('.cm-content');
  await page.keyboard.press('Control+Z');
  await page.keyboard.press('Control+Z');
  await page.waitForSelector('#problems .problem.error');
  assert.equal(await textOf(page), before);
  assert.deepEqual(page.errors, []);
});

test('a hover has a drawing', options, async () => {
  const page = await open();
  await write(page, KERNEL);
  await page.waitForSelector('.hint.layout');
  await page.locator('.hint.layout span').first().hover();
  await page.waitForSelector('.popover img[src^="data:image/svg"]');
  await page.mouse.move(0, 0);
  await page.locator('.hx-variable', { hasText: /^t$/ }).first().hover();
  await page.waitForSelector('.cm-tooltip-hover img[src^="data:image/svg"]');
  await picture(page, 'hover');
  assert.deepEqual(page.errors, []);
});

test('tests pass and fail as they should', options, async () => {
  const page = await open();
  await write(page, KERNEL);
  await page.waitForSelector('.hint.layout');
  await page.click('#test');
  await page.waitForSelector('#results .summary:text-matches("2 passed, 1 failed, 0 skipped")');
  assert.equal(await page.locator('#results .case.failed').count(), 1);
  assert.match(await page.textContent('#results .case.failed'), /it does not double/);
  await page.waitForSelector('.lenses .verdict.failed');
  assert.equal(await page.locator('.lenses .verdict.passed').count(), 2);
  await page.waitForSelector('.cm-lintRange-error');
  await picture(page, 'tests');
  assert.deepEqual(page.errors, []);
});

test('names complete, and the code of a kernel is shown', options, async () => {
  const page = await open();
  await write(page, KERNEL);
  await page.waitForSelector('.hint.instruction');
  await page.click('[data-tab=code]');
  await page.locator('.cm-line', { hasText: 'let [bm' }).click();
  await page.waitForFunction(() => document.getElementById('emitted').textContent.includes('__global__'));
  await page.selectOption('#stage', 'layouts');
  await page.waitForFunction(() => document.getElementById('emitted').textContent.startsWith('kernel scale'));
  await picture(page, 'code');
  await page.locator('.cm-line', { hasText: 'let [bm' }).click();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('regi');
  await page.waitForSelector('.cm-tooltip-autocomplete:has-text("register_tensor")');
  await picture(page, 'complete');
  await page.keyboard.press('Escape');
  await page.keyboard.type('ster_tensor(f32, ');
  await page.waitForSelector('.signature:has-text("register_tensor(dtype, shape, layout: …)") b:text-is("shape")');
  assert.deepEqual(page.errors, []);
});

test('every example opens, and its text is checked', options, async () => {
  const page = await open();
  const ids = await page.locator('#examples option').evaluateAll((all) => all.map(({ value }) => value).filter((value) => value));
  assert.ok(ids.length > 10);
  for (const id of ids) {
    await page.evaluate(() => (document.getElementById('status').textContent = ''));
    await page.selectOption('#examples', id);
    await page.waitForSelector('#status:text-matches("^checked")');
    const problems = Number((await page.textContent('#count')) || 0);
    assert.equal(problems > 0, ['a-race', 'a-layout-conflict'].includes(id), `${id}: ${problems} problems`);
  }
  assert.deepEqual(page.errors, []);
});

test('a link restores the text', options, async () => {
  const page = await open();
  await write(page, `// ⟨µ⟩\n${KERNEL}`);
  await page.click('#share');
  await page.waitForFunction(() => location.hash.startsWith('#code='));
  const link = await page.evaluate(() => location.href);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
  const other = await open({ fragment: new URL(link).hash });
  assert.equal(await textOf(other), `// ⟨µ⟩\n${KERNEL}`);
  const damaged = await open({ fragment: '#code=@@' });
  assert.match(await damaged.textContent('#notice'), /damaged/);
});

test('a definition in the library is shown', options, async () => {
  const page = await open({ fragment: '#a-program-with-main' });
  await page.waitForSelector('.hx-function');
  await page.locator('.hx-function', { hasText: /^matmul$/ }).first().click({ modifiers: ['Control'] });
  await page.waitForSelector('#reader[open] .found:has-text("kernel matmul")');
  await picture(page, 'library');
  await page.keyboard.press('Escape');
  await page.waitForSelector('#reader:not([open])', { state: 'attached' });
  await page.locator('.lenses button', { hasText: 'Run' }).click();
  await page.waitForSelector('#results .output:has-text("every element is within 1 ulp of f16")');
  assert.deepEqual(page.errors, []);
});

const book = path.join(site, '..', 'tutorial.html');

test('a block of the book opens', { ...options, skip: missing || (!fs.existsSync(book) && 'the site has no book') }, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/tutorial.html`);
  await page.locator('a', { hasText: 'Open in the playground' }).first().click();
  await page.waitForSelector('.cm-content:has-text("kernel scale")');
});

test('changes are offered at the cursor', options, async () => {
  const page = await open();
  await write(page, KERNEL);
  await page.waitForSelector('.hint.layout');
  await page.locator('.hx-function.hx-declaration').first().click();
  await page.keyboard.press('Control+.');
  await page.waitForSelector('.menu button:has-text("add a test")');
  await picture(page, 'actions');
  const before = await textOf(page);
  await page.locator('.menu button').first().click();
  await page.waitForFunction((before) => document.querySelector('.cm-content').cmTile.view.state.doc.toString() !== before, before);
  assert.deepEqual(page.errors, []);
});

test('an endless run is stopped, and the page goes on', options, async () => {
  const page = await open();
  await write(page, 'test "endless" {\n    let x = randn(f64, [1500, 1500], seed: 1);\n    for i in 0..1000000 { let y = x @ x; }\n}\n');
  await page.click('#test');
  await page.waitForSelector('#results .case.running');
  await page.click('#test');
  await write(page, KERNEL);
  await page.waitForSelector('.hint.layout');
  assert.deepEqual(page.errors, []);
});

test('dark, and the width of a phone', options, async () => {
  const dark = await open({ theme: 'dark' });
  await dark.waitForSelector('.hint.layout');
  await dark.waitForSelector('#layout figure svg .cell');
  assert.equal(await dark.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await picture(dark, 'dark');
  await dark.click('#theme');
  assert.equal(await dark.evaluate(() => document.documentElement.dataset.theme), 'light');
  const phone = await open({ width: 390, height: 844, touch: true });
  await phone.waitForSelector('.hint.layout');
  await picture(phone, 'phone');
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} pixels wide`);
  await phone.tap('#test');
  await phone.waitForSelector('#results .summary:text-matches("^3 passed")');
  await picture(phone, 'phone-tests');
});

test('no request left the origin of the page', options, () => {
  const elsewhere = requests.filter((url) => !url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:'));
  assert.deepEqual(elsewhere, []);
  assert.ok(requests.length > 0);
});
