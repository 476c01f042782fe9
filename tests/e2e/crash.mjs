// The built program is killed again and again while people write to it: at random
// times, and (by kill_shim.c) before or after each of its durable acts. Every
// person writes once, into a session of his own, so that what a restart makes of
// one says nothing about another. The oracle is rules 2.5 and 3.1, from the fakes'
// logs and a visible effect: answered, reported or noticed; never answered twice
// without a label; never run twice.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { random } from './storm.mjs';
import { World, sleep, until } from './world.mjs';

const PEOPLE_FROM = 5000;
const LIFE_PEOPLE = 3;	// who write in one life, at most
const ACTS = 60;	// durable acts of a start and these answers

const words = (n) => `run echo effect-${n}. >> /workspace/effects; echo done effect-${n}.`;

class Crash {
  constructor(w, rnd, kills) {
    this.w = w;
    this.rnd = rnd;
    this.people = 0;
    this.shim = path.join(w.build, 'tests/e2e/kill_shim.so');
    this.log = [];	// how each life ended, for a failure's report
    assert.ok(fs.existsSync(this.shim), `${this.shim} is not built`);
    w.configure({
      agent: { environment_probe: false },
      platforms: { telegram: { ...w.telegramConfig(), allow_from:
        Array.from({ length: LIFE_PEOPLE * kills + 1 }, (_, n) => String(PEOPLE_FROM + n)) } },
    });
  }

  say() {
    return this.w.say(words(this.people), PEOPLE_FROM + this.people++);
  }

  texts(n) {
    return this.w.shown(PEOPLE_FROM + n);
  }

  // Where: half of them at a time, a quarter before and a quarter after an act.
  shimmed() {
    const env = { LD_PRELOAD: this.shim, KILL_DIR: this.w.home,
      KILL_AT: String(1 + this.rnd(ACTS)) };

    return [{}, {}, env, { ...env, KILL_AFTER: '1' }][this.rnd(4)];
  }

  async life() {
    const env = this.shimmed();
    const ms = env.KILL_AT ? 5 * this.lifeMs : this.rnd(this.lifeMs);
    const run = this.w.start(['run'], env);

    for (let said = 0, end = Date.now() + ms; run.code === undefined && Date.now() < end;) {
      if (said < LIFE_PEOPLE && this.rnd(4) === 0) {
        await this.say();
        said++;
      }
      await Promise.race([run.ended, sleep(this.rnd(40))]);
    }
    await this.w.stop(run, 'SIGKILL');
    this.log.push(`${env.KILL_AT ? `act ${env.KILL_AT}${env.KILL_AFTER ?? ''}` : `${ms} ms`}`);
    assert.equal(run.code, 'SIGKILL', `it ended by itself: ${run.err.slice(-2000)}`);
    assert.doesNotMatch(run.err, /damaged|malformed/i);
  }

  async checkAnswered() {
    const waiting = new Set(Array.from({ length: this.people }, (_, n) => n));
    let quiet = 0;

    await until('every message is answered or told about', async () => {
      for (const n of waiting) {
        if ((await this.texts(n)).length === 0)
          return false;
        waiting.delete(n);
      }
      return ++quiet > 1;
    }, 120000).catch((error) => {
      throw new Error(`${error.message}\nlost: ${[...waiting].join(' ')} of ${this.people}` +
        `\nkills: ${this.log.join(', ')}`);
    });
  }

  async checkTwice() {
    for (let n = 0; n < this.people; n++) {
      const said = (await this.texts(n)).filter((t) => t.includes(`done effect-${n}.`) &&
        !t.includes('may not have arrived') && !t.includes('outcome is unknown'));
      assert.ok(said.length <= 1, `message ${n} was answered ${said.length} times: ${said}` +
        `\nkills: ${this.log.join(', ')}`);
    }
    const dir = path.join(this.w.home, 'sandboxes'), counts = new Map();
    for (const id of fs.readdirSync(dir)) {
      const file = path.join(dir, id, 'workspace', 'effects');
      for (const line of fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : [])
        counts.set(line, (counts.get(line) ?? 0) + 1);
    }
    counts.delete('');
    for (const [line, count] of counts)
      assert.equal(count, 1, `${line} was done ${count} times\nkills: ${this.log.join(', ')}`);
    return counts.size;
  }
}

// That many lives, then one that may finish.
async function crash(w, rnd, kills) {
  const storm = new Crash(w, rnd, kills);
  const began = Date.now();
  const first = await w.gateway();
  await storm.say();
  await until('the first answer', async () => (await storm.texts(0)).length > 0);
  storm.lifeMs = Math.max(300, Math.round((Date.now() - began) * 1.2));
  await w.stop(first, 'SIGKILL');
  for (let i = 0; i < kills; i++)
    await storm.life();
  const last = await w.gateway();
  await storm.checkAnswered();
  await w.stop(last);
  assert.equal(last.code, 0, last.err.slice(-2000));
  const effects = await storm.checkTwice();
  return `${kills} kills, ${storm.people} messages, ${effects} commands in ` +
    `${Math.round((Date.now() - began) / 1000)} s`;
}

// 100 kills in four worlds at once: a start waits more than it works.
export async function crashes(w, seed) {
  const worlds = [w, new World(w.build), new World(w.build), new World(w.build)];

  try {
    await Promise.all(worlds.slice(1).map((other) => other.open()));
    for (const text of await Promise.all(worlds.map((world, n) =>
      crash(world, random(10 * seed + n), 100 / worlds.length))))
      console.log(`# ${text}`);
  } finally {
    await Promise.all(worlds.slice(1).map((other) => other.close()));
  }
}
