// A configuration as Hermes writes it, gateway.terminal_backend: docker (or
// podman), at every way in: a chat platform, the console, exec, doctor; and
// kill -9 in mid-command. entry.mjs BUILD ENGINE SOCKET; prints TAP.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { World, sleep, until } from '../e2e/world.mjs';

const [build, engine, socket] = process.argv.slice(2);
const env = engine === 'podman' ? { CONTAINER_HOST: `unix://${socket}` } :
  { DOCKER_HOST: `unix://${socket}` };
const tests = [];
const test = (name, fn) => tests.push({ name, fn });

function containers() {
  return new Promise((done, fail) => {
    http.get({ socketPath: socket, path: '/v1.41/containers/json?all=1' }, (res) => {
      let text = '';
      res.on('data', (data) => { text += data; });
      res.on('end', () => done(JSON.parse(text)));
    }).on('error', fail);
  });
}

const hermes = (w, extra = {}, image = 'gatehouse-test:bash') => w.configure({
  gateway: { terminal_backend: engine, sandbox_image: image },
  terminal: { backend: engine, docker_image: 'gatehouse-test:bash', docker_network: false,
    docker_persist_across_processes: false, container_memory: 512, ...extra },
});

test('a chat platform', async (w) => {
  hermes(w);
  const gateway = await w.gateway(env);
  await w.say('run hostname; ls /.gatehouse; pwd; touch /x; echo end');
  const text = await w.see('end', 1001, 60000);
  assert.match(text, /sandbox/);
  assert.match(text, /helper/);
  assert.match(text, /\/workspace/);
  assert.match(text, /Read-only file system/);
  assert.ok((await containers()).length >= 1);
  await w.say('run echo "sleep 98781 & setsid sleep 98782 & sleep 98784" > t; sh t');
  await until('the tree runs', () => w.processes('9878').length >= 3);
  await w.say('run echo the new one');
  await until('the tree is dead', () => w.processes('9878').length === 0, 20000);
  await w.see('the new one', 1001, 30000);
  await w.stop(gateway);
  assert.equal(gateway.code, 0, gateway.err);
  assert.match(gateway.err, /Gateway terminal backend override/);
  assert.deepEqual(await containers(), []);
});

test('the console, exec and doctor', async (w) => {
  hermes(w);
  const chat = await w.command(['chat'], 'run hostname; ls /.gatehouse\n', env);
  assert.match(chat.out, /helper/, chat.out + chat.err);
  const exec = await w.command(['sandbox', 'exec', 'hostname; exit 3'], '', env);
  assert.equal(exec.out, 'sandbox\n', exec.err);
  assert.equal(exec.code, 3);
  const late = await w.command(['sandbox', 'exec', '--timeout', '1',
    'setsid sleep 98791 & sleep 98792'], '', env);
  assert.equal(late.code, 124);
  const doctor = await w.command(['doctor'], '', env);
  assert.match(doctor.out, /API 1\./, doctor.out + doctor.err);
  assert.match(doctor.out, /no directory of the host is writable but the sandbox's own .tried./);
  assert.doesNotMatch(doctor.out, /NOT TRUE/);
  // busybox alone: there is nothing that scripts could run with
  hermes(w, {}, 'gatehouse-test:busybox');
  const bare = await w.command(['doctor'], '', env);
  assert.match(bare.out, /tools: terminal, patch, process, read_file, search_files, write_file\n/, bare.out);
  assert.match(bare.out, /not offered: execute_code; there is neither python3 nor node in the sandbox: put one of them into its image/);
  assert.deepEqual(await containers(), []);
  assert.deepEqual(w.processes('9879'), []);
});

test('what reaches the host is red in doctor', async (w) => {
  hermes(w, { docker_volumes: ['/var/run/docker.sock:/s:ro'] });
  const doctor = await w.command(['doctor'], '', env);
  assert.match(doctor.out, /failed +sandbox of sessions: not isolated: .*engine's socket/, doctor.out);
  assert.equal(doctor.code === 0, false);
});

test('an interrupt ends everything', async (w) => {
  hermes(w);
  const run = w.start(['sandbox', 'exec', 'echo up; setsid sleep 98801 & sleep 98802'], env);
  await until('it runs', () => run.out.includes('up'), 60000);
  await w.stop(run, 'SIGINT');
  assert.equal(run.code, 130);
  assert.deepEqual(w.processes('9880'), []);
  assert.deepEqual(await containers(), []);
});

test('kill -9: the tree ends, the container is removed by the next start', async (w) => {
  hermes(w);
  const gateway = await w.gateway(env);
  await w.say('run echo "setsid sleep 98811 & sleep 98812" > t; sh t');
  await until('it runs', () => w.processes('9881').length >= 2, 60000);
  await w.stop(gateway, 'SIGKILL');
  await until('the tree is dead', () => w.processes('9881').length === 0, 10000);
  assert.ok((await containers()).length >= 1);
  const next = await w.gateway(env);
  await until('the old one is removed', async () =>
    !(await containers()).some((c) => c.Names[0].includes(`-${gateway.child.pid}-`)), 20000);
  await w.say('run echo alive');
  await w.see('alive', 1001, 60000);
  await w.stop(next);
  assert.deepEqual(await containers(), []);
});

test('what a workspace held is removed, whoever owns it there', async (w) => {
  hermes(w);
  const sandboxes = path.join(w.home, 'sandboxes');
  const exec = await w.command(['sandbox', 'exec',
    'mkdir -p a/b; echo x > a/b/c; ln -s /etc/passwd l; echo y > ~/z; chmod 0 a; chown 4242 a'],
  '', env);
  assert.equal(exec.code, 0, exec.err);
  assert.equal(fs.readdirSync(sandboxes).length, 1);
  const prune = await w.command(['sandbox', 'prune', '--older-than', '0', '--yes'], '', env);
  assert.equal(prune.code, 0, prune.out + prune.err);
  assert.deepEqual(fs.readdirSync(sandboxes), []);
  assert.ok(fs.statSync('/etc/passwd').size > 0);
  assert.deepEqual(await containers(), []);
});

test('without an engine nothing runs anywhere, and the words say why', async (w) => {
  hermes(w);
  const gateway = await w.gateway({ DOCKER_HOST: 'unix:///nonexistent/x.sock',
    CONTAINER_HOST: 'unix:///nonexistent/x.sock' });
  await w.say('run touch /tmp/gatehouse-entry-leak');
  await w.see('no container engine', 1001, 30000);
  await w.say('hello');
  await sleep(500);
  await w.stop(gateway);
  const exec = await w.command(['sandbox', 'exec', 'echo no'], '',
    { DOCKER_HOST: 'unix:///nonexistent/x.sock', CONTAINER_HOST: 'unix:///nonexistent/x.sock' });
  assert.equal(exec.code, 125);
  assert.equal(exec.out, '');
});

console.log(`1..${tests.length}`);
let failed = 0;
for (const [i, { name, fn }] of tests.entries()) {
  const w = new World(build);
  try {
    await w.open();
    await fn(w);
    console.log(`ok ${i + 1} - ${name}`);
  } catch (err) {
    failed++;
    console.log(`# ${String(err.stack ?? err).replaceAll('\n', '\n# ')}`);
    console.log(`not ok ${i + 1} - ${name}`);
  }
  await w.close();
}
process.exit(failed ? 1 : 0);
