// End to end: every test has a world of its own.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { crashes } from './crash.mjs';
import { entries } from './entries.mjs';
import { random, storm } from './storm.mjs';
import { World, sleep, until } from './world.mjs';

const build = process.argv[2];
const only = process.argv[3];
// SOAK=1: the long versions, from SOAK_SEED (else from the clock; it is printed).
const soak = Boolean(process.env.SOAK);
const soakSeed = Number(process.env.SOAK_SEED ?? Date.now() % 100000);
const soakRounds = Number(process.env.SOAK_ROUNDS ?? 1000);
const tests = [];
const test = (name, fn) => tests.push({ name, fn });
const isRoot = process.getuid() === 0;

test('run without a platform: exit 78 and the names of the keys', async (w) => {
  w.configure({ platforms: {} });
  const run = await w.command(['run']);
  assert.equal(run.code, 78);
  assert.match(run.err, /TELEGRAM_BOT_TOKEN/);
  assert.match(run.err, /platforms\.telegram\.token/);
});

test('a message becomes an answer with a command run in the sandbox', async (w) => {
  const gateway = await w.gateway();
  await w.say('run uname -n; id -u; ls /; touch /etc/x; cat /proc/1/environ | wc -c');
  const text = await w.see('workspace');
  assert.match(text, /sandbox/);
  assert.match(text, /Read-only file system/);
  assert.doesNotMatch(text, /root\b.*shadow/);
  await w.stop(gateway);
  assert.equal(gateway.code, 0, gateway.err);
  assert.deepEqual(w.processes('gatehouse-helper').filter((p) => p.includes(w.build)), []);
});

// The embedded model of a program without any account, each tool by its name.
test('every tool through the built program: files, search, patch, scripts, processes', async (w) => {
  w.configure({ model: { provider: 'demo' } });
  const gateway = await w.gateway();
  const call = (tool, args) => w.say(`call ${tool} ${JSON.stringify(args)}`);
  await call('write_file', { path: 'e/a.py', content: 'import os\nprint(1)\n' });
  await w.see('"bytes_written"');
  await call('read_file', { path: 'e/a.py' });
  await w.see('2|print(1)');
  await call('patch', { path: 'e/a.py', old_string: 'print(1)', new_string: 'print(2' });
  const patched = await w.see('+print(2');
  assert.match(patched, /"lint"/);
  assert.match(patched, /SyntaxError/);
  await call('search_files', { pattern: 'print' });
  await w.see('"total_count"');
  await call('search_files', { pattern: '*.py', target: 'files' });
  await w.see('"files":');
  await w.say('python from hermes_tools import read_file, terminal\n' +
    'print(read_file("e/a.py")["total_lines"], terminal("echo from-a-script")["output"])');
  await w.see('2 from-a-script');
  await call('terminal', { command: 'echo up; sleep 98731', background: true });
  await w.see('Background process started');
  await call('process', { action: 'list' });
  await w.see('sleep 98731');
  await call('read_file', { path: 'e/none.py' });
  await w.see('there is no file');
  await call('read_file', { file: 'x' });
  await w.see("'path' is missing");
  await w.stop(gateway);
  assert.equal(gateway.code, 0, gateway.err);
  assert.deepEqual(w.processes('98731'), []);
});

test('strangers get nothing and are not stored', async (w) => {
  const gateway = await w.gateway();
  await w.say('hello', 6666);
  await w.say('/stop', 6666);
  await w.say('run echo mine', 1001);
  await w.see('mine');
  assert.deepEqual((await w.tg('GET', '/log?method=sendMessage'))
    .filter((c) => String(c.params.chat_id) === '6666'), []);
  await w.stop(gateway);
});

test('a new message ends the whole tree and is answered with the old words', async (w) => {
  const gateway = await w.gateway();
  // In a file: what is plainly left behind is refused before it starts.
  await w.say('run echo \'sleep 98761 & setsid sleep 98762 & (setsid sh -c "sleep 98763 &"); ' +
    'sleep 98764\' >tree; sh tree');
  await until('the tree runs', () => w.processes('9876').length >= 4);
  await w.say('run echo the new one');
  await until('the tree is dead', () => w.processes('9876').length === 0, 20000);
  await w.see('the new one');
  const requests = await w.llm('GET', '/requests');
  const text = JSON.stringify(requests.at(-1).body.messages);
  assert.match(text, /sleep 98764/);
  assert.match(text, /may have had effects/);
  assert.equal((await w.shown()).length, 1);
  await w.stop(gateway);
});

test('two updates at once: one answer, both texts in its request', async (w) => {
  const gateway = await w.gateway();
  // in one batch they join before the start, else the second cancels: one or two requests
  await w.llm('POST', '/queue', [{ delay_headers_ms: 1500, text: 'both seen' }, { text: 'both seen' }]);
  await Promise.all([w.say('first words'), sleep(3).then(() => w.say('second words'))]);
  await w.see('both seen');
  await sleep(1800);
  const requests = await w.llm('GET', '/requests');
  const last = JSON.stringify(requests.at(-1).body.messages);
  assert.match(last, /first words/);
  assert.match(last, /second words/);
  assert.equal((await w.shown()).length, 1);
  await w.stop(gateway);
});

test('/stop ends a streaming answer, closes the model socket, asks nothing more', async (w) => {
  const gateway = await w.gateway();
  await w.llm('POST', '/queue', { events: ['begin ', { sleep: 30000 }, 'end'] });
  await w.say('tell me');
  await until('the model was asked', async () => (await w.llm('GET', '/requests')).length === 1);
  await sleep(300);
  await w.say('/stop');
  await w.see('Stopped.');
  await until('the socket is closed', async () =>
    (await w.llm('GET', '/requests'))[0].closed === 'client', 2000);
  await sleep(300);
  assert.equal((await w.llm('GET', '/requests')).length, 1);
  await w.stop(gateway);
});

test('streaming: one message grows by edits and ends as the answer', async (w) => {
  w.configure({ streaming: { enabled: true, edit_interval: 0.3 } });
  const gateway = await w.gateway();
  const events = Array.from({ length: 8 }, (_, n) =>
    [`Sentence **number ${n}** is here. `, { sleep: 250 }]).flat();
  await w.llm('POST', '/queue', { events: [...events, 'The end.'] });
  await w.say('tell me');
  await w.see('\u2589');
  await w.see('number 7 is here. The end.');
  await until('the cursor is gone', async () => !(await w.shown())[0].includes('\u2589'));
  assert.equal((await w.shown()).length, 1);
  const calls = (await w.tg('GET', '/log')).map((c) => c.method);
  assert.equal(calls.filter((m) => m === 'sendMessage').length, 1);
  const edits = calls.filter((m) => m === 'editMessageText').length;
  assert.ok(edits >= 3 && edits <= 9, `${edits} edits`);
  // Killed while it writes: what stands there is put right, the answer comes.
  await w.llm('POST', '/queue', [{ events: ['A beginning that is long enough. ', { sleep: 30000 }] },
    { text: 'After the restart.' }]);
  await w.say('again');
  await w.see('long enough. \u2589');
  await w.stop(gateway, 'SIGKILL');
  const next = await w.gateway();
  await w.see('After the restart.');
  await w.see('[interrupted]');
  assert.ok((await w.shown()).every((text) => !text.includes('\u2589')));
  await w.stop(next);
});

test('one chat floods, another is answered, memory stays bounded', async (w) => {
  const gateway = await w.gateway();
  await w.say('run head -c 300000000 /dev/zero | tr "\\0" x; echo; yes | head -c 100000000');
  await w.say('run echo quick', 1002);
  await w.see('quick', 1002, 20000);
  await w.see('exit code', 1001, 90000).catch(() => {});
  const status = fs.readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  assert.ok(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) < 150000, status);
  await w.stop(gateway);
});

test('updates that waited while it was off are answered, none is dropped', async (w) => {
  await w.say('run echo waited');
  const gateway = await w.gateway();
  await w.see('waited');
  const log = await w.tg('GET', '/log');
  assert.ok(log.every((c) => !('drop_pending_updates' in (c.params ?? {}))));
  assert.ok(log.every((c) => c.method !== 'deleteWebhook'));
  await w.stop(gateway);
});

test('a flood wait is obeyed, the answer comes once', async (w) => {
  const gateway = await w.gateway();
  await w.tg('POST', '/fail', { method: 'sendMessage', status: 429, retry_after: 2,
    description: 'Too Many Requests: retry after 2' });
  const at = Date.now();
  await w.say('run echo patience');
  await w.see('patience');
  assert.ok(Date.now() - at >= 2000);
  assert.equal((await w.shown()).length, 1);
  await w.stop(gateway);
});

test('a bad token ends the gateway with 78 and plain words', async (w) => {
  await w.tg('POST', '/fail', { method: 'getMe', times: 1000, status: 401, description: 'Unauthorized' });
  await w.tg('POST', '/fail', { method: 'getUpdates', times: 1000, status: 401, description: 'Unauthorized' });
  const run = w.start(['run']);
  run.child.stdin.end();
  await Promise.race([run.ended, sleep(15000)]);
  assert.equal(run.code, 78, run.err);
  assert.match(run.err, /token/i);
  assert.doesNotMatch(run.err, /AAAAAAAAAA/);
});

test('one owner: the second run refuses with the pid, chat and status go through it', async (w) => {
  const gateway = await w.gateway();
  const second = await w.command(['run']);
  assert.notEqual(second.code, 0);
  assert.match(second.err, new RegExp(String(gateway.child.pid)));
  const chat = await w.command(['chat', '-m', 'run echo through the owner']);
  assert.equal(chat.code, 0, chat.err);
  assert.match(chat.out, /through the owner/);
  const status = await w.command(['status', '--json']);
  assert.equal(status.code, 0, status.err);
  assert.match(JSON.stringify(JSON.parse(status.out)), /telegram/);
  await w.stop(gateway);
  const after = await w.command(['chat', '-m', 'run echo on my own']);
  assert.equal(after.code, 0, after.err);
  assert.match(after.out, /on my own/);
});

test('chat: one shot, piped, a failing model, an empty answer', async (w) => {
  let run = await w.command(['chat', '-m', 'hello']);
  assert.equal(run.code, 0, run.err);
  assert.notEqual(run.out.trim(), '');
  assert.equal(run.err, '');
  run = await w.command(['chat'], 'run echo line one\nrun echo line two\n');
  assert.equal(run.code, 0, run.err);
  assert.ok(run.out.indexOf('line one') < run.out.indexOf('line two'), run.out);
  await w.llm('POST', '/model', { name: 'terminal', script: { status: 401,
    body: { error: { message: 'Incorrect API key', code: 'invalid_api_key' } } } });
  run = await w.command(['chat', '-m', 'hello']);
  assert.equal(run.code, 1);
  assert.equal(run.out, '');
  assert.match(run.err, /refused the key/);
});

test('local asks: no means no, yes runs it, silence of a pipe means no', async (w) => {
  w.configure({ terminal: { backend: 'local' }, local: isRoot ? { user: 'nobody' } : {} });
  let run = await w.command(['chat'], 'run rm -rf gone; echo did run\ny\n');
  assert.match(run.err, /echo did run/);
  assert.match(run.out, /did run/);
  run = await w.command(['chat'], 'run rm -rf gone; echo did run\nn\n');
  assert.doesNotMatch(run.out, /^did run/m);
  run = await w.command(['chat'], 'run rm -rf gone; echo did run\n');
  assert.doesNotMatch(run.out, /^did run/m);
});

test('local from a chat: asked there with buttons, the press decides', async (w) => {
  w.configure({ gateway: { terminal_backend: 'local' }, local: isRoot ? { user: 'nobody' } : {} });
  const gateway = await w.gateway();
  assert.match(gateway.err, /local/);
  await w.say('run rm -rf gone; echo pressed');
  await w.see('Allow this command');
  const call = (await w.tg('GET', '/log?method=sendMessage'))
    .findLast((c) => JSON.stringify(c.params).includes('ea:once'));
  const data = /ea:once:[0-9a-f]+/.exec(JSON.stringify(call.params))[0];
  await w.tg('POST', '/press', { chat_id: 1001, user_id: 1002, data,
    message_id: call.result.message_id });
  await sleep(500);
  assert.equal((await w.shown()).filter((t) => /^pressed/m.test(t) && !t.includes('Allow')).length, 0);
  await w.tg('POST', '/press', { chat_id: 1001, user_id: 1001, data,
    message_id: call.result.message_id });
  await until('it ran', async () => (await w.shown()).some((t) =>
    t.includes('pressed') && !t.includes('Allow')));
  await w.stop(gateway);
});

for (let n = 0; n < (soak ? soakRounds / 100 : 1); n++) {
  const seed = soak ? soakSeed + n : 7;
  test(`100 kills, at any moment and any durable act: nothing lost, nothing twice, seed ${seed}`,
    (w) => crashes(w, seed));
}

test('hostile peers: odd answers of Telegram and endless ones of the model leave it serving', async (w) => {
  const gateway = await w.gateway();
  const bodies = ['['.repeat(200000), '{"ok":true,"result":"no list"}', '<html>proxy</html>', '',
    '{"ok":true,"result":[{"update_id":1e300,"message":{"chat":{"id":"x"},"text":5}},null,7]}',
    `{"ok":true,"result":[],"pad":"${'x'.repeat(30 << 20)}"}`];
  for (const body of bodies)
    await w.tg('POST', '/fail', { method: 'getUpdates', status: 200, body });
  await w.say('run echo after the odd ones');
  await w.see('after the odd ones', 1001, 90000);
  const many = Array.from({ length: 3000 }, (_, n) =>
    ({ call: { id: `c${n}`, name: 'terminal', arguments: '{"command":"echo x"}' } }));
  for (const script of [{ events: [...many, { finish: 'tool_calls' }] },
    { events: [{ raw: `data: {"choices":[{"delta":{"content":"${'y'.repeat(40 << 20)}"}}]}\n\n` }] },
    { events: [{ raw: `data: ${'['.repeat(1 << 20)}\n\n` }] },
    { events: [{ raw: 'data: '.padEnd(8 << 20, 'z') }] }]) {
    await w.llm('POST', '/queue', Array.from({ length: 5 }, () => script));
    const seen = (await w.shown(1002)).length;
    await w.say('be hostile', 1002);
    await until('it is told or answered', async () => (await w.shown(1002)).length > seen, 90000);
    await w.llm('POST', '/reset');
  }
  await w.say('run echo still here');
  await w.see('still here', 1001, 30000);
  const status = fs.readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  assert.ok(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) < 250000, status);
  await w.stop(gateway);
  assert.equal(gateway.code, 0, gateway.err.slice(-2000));
});

test('SIGTERM in mid-run: marked, answered after the restart', async (w) => {
  w.configure({ agent: { restart_drain_timeout: 0 } });
  let gateway = await w.gateway();
  await w.llm('POST', '/queue', { events: [{ sleep: 30000 }] });
  await w.say('run echo after all');
  await until('the model was asked', async () => (await w.llm('GET', '/requests')).length === 1);
  const at = Date.now();
  await w.stop(gateway);
  assert.ok(Date.now() - at < 8000);
  assert.equal(gateway.code, 0, gateway.err);
  gateway = await w.gateway();
  await w.see('after all');
  await w.stop(gateway);
});

test('SIGUSR1: what runs is finished, then exit 75 for the supervisor', async (w) => {
  const gateway = await w.gateway();
  await w.say('run sleep 1; echo done first');
  await until('the model was asked', async () => (await w.llm('GET', '/requests')).length === 1);
  await w.stop(gateway, 'SIGUSR1');
  assert.equal(gateway.code, 75, gateway.err);
  await w.see('done first');
});

entries(test);

// The socket is a real one; node has no datagrams there, python has.
const HEAR = `import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True: print(s.recv(256).decode(), flush=True)`;
const SAY = `import socket, sys
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), sys.argv[1])`;

test('a supervisor hears: ready, signs of life, none while it stands still, stopping', async (w) => {
  const file = `${w.home}/notify`, heard = [];
  const ear = spawn('python3', ['-c', HEAR, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  let missing = false;
  ear.on('error', () => { missing = true; });
  ear.stdout.on('data', (data) => heard.push(...String(data).trim().split('\n')));
  try {
    await until('it listens', () => missing || heard.includes('bound'));
    if (missing)
      return 'python3 is not installed';
    const gateway = await w.gateway({ NOTIFY_SOCKET: file, WATCHDOG_USEC: '100000' });
    const lives = () => heard.filter((word) => word === 'WATCHDOG=1').length;
    await until('it is ready', () => heard.includes('READY=1'));
    await until('it lives', () => lives() > 3);
    gateway.child.kill('SIGSTOP');
    await until('it stands still', () => /^State:\s+T/m.test(
      fs.readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8')));
    // Datagrams of one socket keep their order: nothing may stand between two marks.
    for (const mark of ['first', 'second']) {
      spawnSync('python3', ['-c', SAY, file, mark]);
      await sleep(300);
    }
    await until('both marks', () => heard.includes('second'));
    assert.equal(heard.indexOf('second'), heard.indexOf('first') + 1);
    const before = lives();
    gateway.child.kill('SIGCONT');
    await until('it lives again', () => lives() > before);
    await w.stop(gateway);
    await until('it stops', () => heard.includes('STOPPING=1'));
    assert.equal(gateway.code, 0, gateway.err);
  } finally {
    ear.kill('SIGKILL');
  }
});

for (const seed of soak ? [0, 1, 2, 3, 4].map((n) => soakSeed + n) : [7])
  test(`a storm of messages over every trouble with the model, seed ${seed}`, async (w) => {
    const gateway = await w.gateway();
    await storm(w, seed, soak ? 100 : 20);
    await w.stop(gateway);
  });

console.log(`1..${only ? tests.filter((t) => t.name.includes(only)).length : tests.length}`);
if (soak)
  console.log(`# SOAK_SEED=${soakSeed} SOAK_ROUNDS=${soakRounds}`);
let n = 0, failed = 0;
for (const { name, fn } of tests) {
  if (only && !name.includes(only))
    continue;
  const w = new World(build);
  n++;
  try {
    await w.open();
    const skipped = await fn(w);
    console.log(`ok ${n} - ${name}${skipped ? ` # SKIP ${skipped}` : ''}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${n} - ${name}`);
    console.log(String(error.stack).replace(/^/gm, '# '));
    for (const run of w.running)
      console.log(run.err.slice(-3000).replace(/^/gm, '#   '));
  } finally {
    await w.close();
  }
}
process.exit(failed ? 1 : 0);
