const assert = require('node:assert/strict');
const { test } = require('node:test');
const { expand, findServer } = require('../src/server-path');

const OURS = 'hx 0.1.0 (the hx kernel language toolchain)\n';
const HELIX = 'helix 25.07 (a05c151b)\n';

/** A machine with these programs, by what they say. */
const machine = (programs, more = {}) => ({
  setting: '',
  home: '/home/me',
  workspaceFolder: '/work space',
  searchPath: '/usr/bin:/home/me/.cargo/bin',
  platform: 'linux',
  exists: (path) => path in programs,
  ask: async (path) => programs[path] ?? null,
  ...more,
});

test('the first program on PATH that is ours', async () => {
  const found = await findServer(machine({ '/usr/bin/hx': HELIX, '/home/me/.cargo/bin/hx': OURS }));
  assert.deepEqual(found, { path: '/home/me/.cargo/bin/hx', version: OURS.trim() });
});

test('under its other name', async () => {
  const found = await findServer(machine({ '/usr/bin/hx': HELIX, '/usr/bin/hxk': OURS }));
  assert.equal(found.path, '/usr/bin/hxk');
});

test('Helix alone is no toolchain', async () => {
  const found = await findServer(machine({ '/usr/bin/hx': HELIX }));
  assert.match(found.problem, /on PATH \(\/usr\/bin\/hx: another program\)/);
});

test('the setting comes first and is not second-guessed', async () => {
  const programs = { '/usr/bin/hx': OURS, '/work space/target/debug/hx': OURS };
  const setting = '${workspaceFolder}/target/debug/hx';
  assert.equal((await findServer(machine(programs, { setting }))).path, '/work space/target/debug/hx');
  const wrong = await findServer(machine({ ...programs, '/opt/hx': HELIX }, { setting: '/opt/hx' }));
  assert.match(wrong.problem, /another program: helix/);
  const absent = await findServer(machine(programs, { setting: '/opt/none' }));
  assert.match(absent.problem, /cannot be run/);
});

test('a relative entry of PATH is none of ours', async () => {
  const programs = { 'hx': OURS, 'bin/hx': OURS, './hx': OURS, '/usr/bin/hx': OURS };
  const found = await findServer(machine(programs, { searchPath: ':.:bin:/usr/bin' }));
  assert.equal(found.path, '/usr/bin/hx');
});

test('the home folder', () => {
  assert.equal(expand('~/bin/hx', { home: '/home/me' }), '/home/me/bin/hx');
  assert.equal(expand('~other/hx', { home: '/home/me' }), '~other/hx');
});

test('the active Python environment comes before PATH', async () => {
  const programs = { '/usr/bin/hx': OURS, '/env/bin/hx': OURS, '/other/bin/hx': HELIX, 'env/bin/hx': OURS };
  const find = async (environments) => (await findServer(machine(programs, { environments }))).path;
  assert.equal(await find(['/env']), '/env/bin/hx');
  assert.equal(await find(['/env/bin/python3.12']), '/env/bin/hx');
  assert.equal(await find(['/other', '/none', 'env']), '/usr/bin/hx');
});
