// What an end-to-end test needs: the built program, the fakes, a home.
import { spawn, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const peers = path.join(here, '..', 'peers');
const TOKEN = '900:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';

export const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

export async function until(what, cond, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await cond();
    if (value)
      return value;
    if (Date.now() > end)
      throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(15);
  }
}

// A server of ours that prints its port; ends with this process.
function serve(file, args, portOf) {
  const child = spawn('node', [path.join(peers, file), ...args],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  return new Promise((ready, fail) => {
    let text = '';
    child.on('exit', (code) => fail(new Error(`${file} ended: ${code}`)));
    child.stdout.on('data', (data) => {
      text += data;
      const port = portOf(text);
      if (port)
        ready({ child, port });
    });
  });
}

async function call(port, method, target, body) {
  const res = await fetch(`http://127.0.0.1:${port}${target}`, {
    method, body: body === undefined ? undefined : JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  });
  const text = await res.text();
  if (!res.ok && res.status !== 408)
    throw new Error(`${target}: ${res.status} ${text}`);
  return text ? JSON.parse(text) : null;
}

export class World {
  constructor(build) {
    this.build = build;
    this.program = path.join(build, 'gatehouse');
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-e2e-'));
    this.running = new Set();
  }

  async open() {
    this.telegram = await serve('fake-telegram.mjs', ['--token', TOKEN, '--until-eof'],
      (text) => /listening (\d+)/.exec(text)?.[1]);
    this.model = await serve('fake-openai.mjs', [],
      (text) => /"port":\s*(\d+)/.exec(text)?.[1]);
    this.configure({});
  }

  telegramConfig() {
    return { token: TOKEN, allow_from: ['1001', '1002'],
      extra: { base_url: `http://127.0.0.1:${this.telegram.port}` } };
  }

  // Top-level keys replace those of the default file.
  configure(extra, model = 'terminal') {
    const config = {
      model: { default: model, provider: 'custom', api_key: 'k',
        base_url: `http://127.0.0.1:${this.model.port}/v1` },
      platforms: { telegram: this.telegramConfig() },
      ...extra,
    };
    fs.writeFileSync(path.join(this.home, 'config.yaml'), JSON.stringify(config));
  }

  tg(method, target, body) {
    return call(this.telegram.port, method, `/control${target}`, body);
  }

  llm(method, target, body) {
    return call(this.model.port, method, `/control${target}`, body);
  }

  say(text, user = 1001) {
    return this.tg('POST', '/message', { chat_id: user, user_id: user, text });
  }

  async shown(user = 1001) {
    return (await this.tg('GET', `/messages?chat_id=${user}`))
      .filter((m) => m.from_bot ?? m.from?.is_bot ?? true).map((m) => m.text);
  }

  see(part, user = 1001, ms = 15000) {
    return until(`chat ${user} shows "${part}"`, async () =>
      (await this.shown(user)).find((text) => text.includes(part)), ms);
  }

  // The gateway (or another command) as a child; resolves to its end.
  start(args = ['run'], env = {}) {
    const child = spawn(this.program, args, {
      env: { PATH: process.env.PATH, HOME: this.home, GATEHOUSE_HOME: this.home, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const run = { child, out: '', err: '', code: undefined };
    child.stdout.on('data', (data) => { run.out += data; });
    child.stderr.on('data', (data) => { run.err += data; });
    run.ended = new Promise((done) => child.on('close', (code, signal) => {
      run.code = code ?? signal;
      this.running.delete(run);
      done(run);
    }));
    this.running.add(run);
    return run;
  }

  // A whole command: {code, out, err}.
  async command(args, input = '', env = {}) {
    const run = this.start(args, env);
    run.child.stdin.end(input);
    const timer = setTimeout(() => run.child.kill('SIGKILL'), 60000);
    await run.ended;
    clearTimeout(timer);
    return run;
  }

  async gateway(env) {
    const polls = (await this.tg('GET', '/state')).polls;
    const run = this.start(['run'], env);
    await until('the gateway polls', async () => {
      if (run.code !== undefined)
        throw new Error(`the gateway ended (${run.code}):\n${run.err}`);
      return (await this.tg('GET', '/state')).polls > polls;
    });
    return run;
  }

  async stop(run, signal = 'SIGTERM') {
    if (run.code === undefined)
      run.child.kill(signal);
    await run.ended;
    return run;
  }

  // Command lines of live processes that contain the word.
  processes(word) {
    const found = [];
    // a number is an argument's beginning: ids of engines hold any digits
    const needle = /^\d+$/.test(word) ? ` ${word}` : word;
    for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const line = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        if (line.includes(needle) && !line.includes('e2e.mjs'))
          found.push(`${pid} ${line.trim()}`);
      } catch { /* it ended */ }
    }
    return found;
  }

  async close() {
    for (const run of this.running)
      run.child.kill('SIGKILL');
    this.telegram?.child.kill('SIGKILL');
    this.model?.child.kill('SIGKILL');
    execFileSync('rm', ['-rf', this.home]);
  }
}
