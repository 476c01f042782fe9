// Messages at random moments over every kind of trouble with the model. Whatever
// happens, no request breaks the rules of a strict server, no word of a person is
// lost, and one session never has two requests open.
import assert from 'node:assert/strict';
import { checkMessages } from '../peers/fake-openai.mjs';
import { sleep, until } from './world.mjs';

// Numbers below n that a seed repeats.
export function random(seed) {
  let state = seed;
  return (n) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return (state >> 8) % n;
  };
}

function scripts(rnd) {
  const call = (id, command) => ({ pieces: 2, call: { id: `${id}_${rnd(1e6)}`,
    name: 'terminal', arguments: JSON.stringify({ command }) } });
  return [
    () => ({ events: ['Hello ', { sleep: rnd(300) }, 'there'] }),
    () => ({ events: [call('a', 'sleep 0.2; echo a')] }),
    () => ({ events: ['Let me', call('a', 'echo a'), call('b', 'sleep 5'), call('c', 'echo c')] }),
    () => ({ delay_headers_ms: rnd(400), text: 'late' }),
    () => ({ events: ['par', { cut: true }] }),
    () => ({ events: [{ sleep: rnd(200) }, { error: { message: 'queue full', code: 503 } }] }),
    () => ({ text: '' }),
    () => ({ events: [call('x', ''), { finish: 'length' }] }),
    () => ({ events: [{ call: { id: 'bad', name: 'no_such', arguments: '{"a":' } }] }),
  ];
}

export async function storm(w, seed, messages) {
  const rnd = random(seed), list = scripts(rnd);
  const requests = () => w.llm('GET', '/requests');
  const pick = () => list[rnd(list.length)]();
  for (let i = 0; i < messages; i++) {
    await w.llm('POST', '/queue', [pick(), pick()]);
    await w.say(`message ${i}.`);
    await sleep(rnd(3) ? rnd(250) : rnd(1200));
    await until(`seed ${seed}: only one open request`, async () =>
      (await requests()).filter((r) => !r.closed).length <= 1, 500);
  }
  await w.llm('POST', '/queue', [{ text: 'the end' }]);
  await until(`seed ${seed}: silence`, async () => {
    const before = await requests();
    await sleep(2500);	// longer than the first wait between two tries
    const after = await requests();
    return after.length === before.length && after.every((r) => r.closed);
  }, 90000);
  const all = await requests();
  for (const { body } of all)
    assert.equal(checkMessages(body.messages), null,
      `seed ${seed}: ${JSON.stringify(body.messages.slice(-8))}`);
  const words = JSON.stringify(all.map((r) => r.body.messages));
  for (let i = 0; i < messages; i++)
    assert.ok(words.includes(`message ${i}.`), `seed ${seed}: message ${i} is lost`);
}
