// gateway.terminal_backend at every way in: the rows of entry-points.tsv, each
// tried with the configurations below.  test_entry.c sees to it that the rows are
// all there are; one without a driver here fails.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from './world.mjs';

const list = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'data',
  'entry-points.tsv');
const rows = fs.readFileSync(list, 'utf8').split('\n')
  .filter((line) => line && !line.startsWith('#')).map((line) => line.split('\t'));
const local = process.getuid() === 0 ? { user: 'nobody' } : {};

// What the file and the environment say: what sessions and the console get.
const configs = [
  { says: 'terminal.backend: local', sessions: 'native', console: 'local',
    file: { terminal: { backend: 'local' }, local } },
  { says: 'gateway: local, terminal: native', sessions: 'local', console: 'native',
    file: { gateway: { terminal_backend: 'local' }, terminal: { backend: 'native' }, local } },
  { says: 'gateway: native, TERMINAL_ENV=local', sessions: 'native', console: 'local',
    file: { gateway: { terminal_backend: 'native' }, local }, env: { TERMINAL_ENV: 'local' } },
];

// Where did `pwd` run? Both must be seen: silence is no answer.
function place(text) {
  const dir = /(?:^|"output":")(\/[^\s"\\]*)/m.exec(text)?.[1];
  assert.ok(dir, `no directory in: ${text}`);
  return dir === '/workspace' ? 'native' : 'local';
}

async function chat(w, config) {
  const run = await w.command(['chat', '-m', 'run pwd'], '', config.env);
  assert.equal(run.code, 0, run.err);
  return place(run.out);
}

async function exec(w, config, ...options) {
  const run = await w.command(['sandbox', 'exec', ...options, '--', 'pwd'], '', config.env);
  assert.equal(run.code, 0, run.err);
  return place(run.out);
}

// The host's /tmp gets it, or a sandbox's own.
async function put(w, config) {
  const name = `${path.basename(w.home)}-put`;
  const file = path.join(w.home, name);
  fs.writeFileSync(file, 'put');
  const run = await w.command(['sandbox', 'put', file, '/tmp'], '', config.env);
  assert.equal(run.code, 0, run.err);
  const there = fs.existsSync(path.join('/tmp', name));
  fs.rmSync(path.join('/tmp', name), { force: true });
  return there ? 'local' : 'native';
}

async function get(w, config) {
  const dir = fs.mkdtempSync(path.join(w.home, 'got-'));
  const run = await w.command(['sandbox', 'get', '/etc/passwd', dir], '', config.env);
  assert.equal(run.code, 0, run.err);
  const text = fs.readFileSync(path.join(dir, 'passwd'), 'utf8');
  return text.includes('\nsandbox:x:1000:') ? 'native' : 'local';
}

async function finding(w, config, what) {
  const run = await w.command(['doctor', '--json'], '', config.env);
  const found = JSON.parse(run.out).filter((f) => f.what === what).map((f) => f.text).join('; ');
  return /^(\w+)/.exec(found)?.[1];
}

// While a gateway serves; what it says of itself must agree with what it does.
async function serving(w, config, use) {
  const gateway = await w.gateway(config.env);
  const result = await use(gateway);
  await w.stop(gateway);
  return result;
}

async function run(w, config) {
  return serving(w, config, async (gateway) => {
    const status = JSON.parse((await w.command(['status', '--json'], '', config.env)).out);
    const said = status.owner.sandbox.backend;
    assert.equal(status.owner.console_sandbox.backend, config.console);
    if (config.file.gateway)
      assert.match(gateway.err,
        new RegExp(`Gateway terminal backend override: ${said} \\(image: default\\)`));
    // The warning of a start that gives people this host.
    assert.equal(/people who talk to the bot run commands on this host/.test(gateway.err),
      said === 'local');
    return said;
  });
}

// What the bot shows after this, and not before.
async function answer(w, text, part) {
  const before = (await w.shown()).length;
  await w.say(text);
  return until(`"${text}" is answered with "${part}"`, async () =>
    (await w.shown()).slice(before).find((shown) => shown.includes(part)));
}

// Changed after the start: what was read then holds, and everybody says so.
async function telegram(w, config) {
  return serving(w, config, async () => {
    const other = configs.find((c) => c.sessions !== config.sessions);
    w.configure(other.file);
    const ran = place(await answer(w, 'run pwd', '"exit_code":0'));
    const status = await answer(w, '/status', 'Sandbox: ');
    assert.match(status, new RegExp(`Sandbox: ${ran}\\b`));
    assert.equal(status.includes('isolated by nothing'), ran === 'local');
    const cli = await w.command(['status'], '', other.env);
    assert.match(cli.out, new RegExp(`sessions run commands in: ${ran} \\(since the start; ` +
      `the configuration says ${other.sessions} by now\\)`));
    return ran;
  });
}

const drivers = {
  'platform console': (w, config) => serving(w, config, () => chat(w, config)),
  'platform telegram': telegram,
  'command chat': chat,
  'command run': run,
  'command sandbox exec': exec,
  'command sandbox put': put,
  'command sandbox get': get,
  'command sandbox exec --session': (w, config) => exec(w, config, '--session', 'agent:main:telegram:dm:1001'),
  'command doctor': async (w, config) => {
    assert.equal(await finding(w, config, 'sandbox of sessions'), config.sessions);
    return finding(w, config, 'sandbox of the console');
  },
  'command sandbox prune': async (w, config) => {
    const made = await w.command(['sandbox', 'prune', '--yes', '--older-than', '0'], '', config.env);
    assert.equal(made.code, 0, made.err);
  },
};
const wanted = { console: (c) => c.console, messaging: (c) => c.sessions,
  both: (c) => c.console, none: () => undefined };

export function entries(test) {
  launcherGone(test);
  for (const [kind, name, owner] of rows) {
    test(`the override at ${kind} ${name}`, async (w) => {
      const driver = drivers[`${kind} ${name}`];
      assert.ok(driver, `entries.mjs has no driver for ${kind} ${name}`);
      for (const config of configs) {
        w.configure(config.file);
        assert.equal(await driver(w, config), wanted[owner](config),
          `${name} with ${config.says}`);
      }
      // A typo stops every start that could run something.
      w.configure({ gateway: { terminal_backend: 'nativ' }, local });
      const words = name.split(' ').filter((word) => word !== '--session');
      const start = kind === 'platform' ? ['run'] : words;
      const typo = await w.command([...start, ...(/exec|put|get/.test(name) ? ['pwd'] : [])]);
      assert.equal(typo.code, name === 'doctor' ? 1 : 78, typo.err);
      assert.match(typo.out + typo.err, /did you mean native\?/);
      assert.match(typo.out + typo.err, /valid: native, local/);
    });
  }
}

// Rules 5.5: nothing can be started any more; a supervisor starts us again.
function launcherGone(test) {
  test('the launcher is killed: commands are lost and told, exit 75', async (w) => {
    const gateway = await w.gateway();
    await w.say('run echo "sleep 98300 & sleep 98301" > t; sh t');
    await until('the tree runs', () => w.processes('9830').length >= 2);
    const list = await w.command(['sandbox', 'list']);
    assert.match(list.out, /native +main\/messaging\/\S*1001 +\(process \d+\)/);
    const pid = w.processes('gatehouse-helper launcher')
      .map((line) => Number(line.split(' ')[0]))
      .find((id) => fs.readFileSync(`/proc/${id}/stat`, 'utf8')
        .split(') ')[1].split(' ')[1] === String(gateway.child.pid));
    process.kill(pid, 'SIGKILL');
    await gateway.ended;
    assert.equal(gateway.code, 75, gateway.err);
    assert.match(gateway.err, /commands can't be run any more/);
    assert.deepEqual(w.processes('9830'), []);
    const next = await w.gateway();
    await w.say('run echo all is well');
    await w.see('all is well');
    assert.equal((await w.command(['sandbox', 'list'])).out.split('\n').length, 2);
    await w.stop(next);
    assert.match((await w.command(['sandbox', 'list'])).out, /no sandbox is open/);
  });
}
