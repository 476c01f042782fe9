// grammY and telegraf use the fake as they use Telegram. TAP on stdout.
import assert from 'node:assert/strict';
import { Bot, GrammyError } from 'grammy';
import { Telegraf } from 'telegraf';
import { FakeTelegram } from './fake-telegram.mjs';
import { parseHtml } from './telegram-html.mjs';

const tests = [];
const test = (name, fn) => tests.push({ name, fn });

async function withFake(fn) {
  const fake = new FakeTelegram();
  const port = await fake.listen();
  const root = `http://127.0.0.1:${port}`;
  const control = async (path, body) => {
    const res = await fetch(`${root}/control/${path}`, body && { method: 'POST', body: JSON.stringify(body) });
    return { status: res.status, body: await res.json() };
  };
  try {
    await fn({ fake, root, control });
  } finally {
    await fake.close();
  }
}

const grammy = (fake, root) => new Bot(fake.token, { client: { apiRoot: root } });
const telegraf = (fake, root) => new Telegraf(fake.token, { telegram: { apiRoot: root } });
const refused = (code, words) => (e) => {
  const got = e instanceof GrammyError ? [e.error_code, e.description] : [e.code, e.description];
  assert.equal(got[0], code);
  assert.match(got[1], words);
  return true;
};

async function until(condition, ms = 5000) {
  const end = Date.now() + ms;
  while (!condition()) {
    assert.ok(Date.now() < end, 'waited too long');
    await new Promise((r) => setTimeout(r, 10));
  }
}

test('grammY polls, hears a message that waited and one that comes, and answers', () => withFake(async ({ fake, root, control }) => {
  const bot = grammy(fake, root);
  const heard = [];
  await control('message', { chat_id: 1001, text: 'waited' });
  bot.on('message:text', async (ctx) => {
    heard.push(ctx.message.text);
    await ctx.reply(`<b>${ctx.message.text}</b> &lt;`, { parse_mode: 'HTML' });
  });
  const running = bot.start();
  await until(() => heard.length === 1);
  await control('message', { chat_id: 1001, text: 'came' });
  await until(() => heard.length === 2 && fake.messages.filter((m) => !m.foreign).length === 2);
  assert.deepEqual(heard, ['waited', 'came']);
  const shown = (await control('messages?chat_id=1001')).body;
  assert.equal(shown[0].text, 'waited <');
  assert.deepEqual(shown[0].entities, [{ type: 'bold', offset: 0, length: 6 }]);
  await until(() => fake.state().pending === 0);
  await bot.stop();
  await running;
  assert.ok(fake.state().polls_open_max <= 1);
}));

test('telegraf polls, answers, edits and is told what is not modified', () => withFake(async ({ fake, root, control }) => {
  const bot = telegraf(fake, root);
  const done = new Promise((resolve, reject) => {
    bot.on('text', async (ctx) => {
      try {
        const sent = await ctx.reply('first');
        const edited = await ctx.telegram.editMessageText(ctx.chat.id, sent.message_id, undefined, 'second');
        assert.equal(edited.text, 'second');
        await assert.rejects(ctx.telegram.editMessageText(ctx.chat.id, sent.message_id, undefined, 'second'), refused(400, /message is not modified/));
        await assert.rejects(ctx.telegram.editMessageText(ctx.chat.id, 99999, undefined, 'x'), refused(400, /message to edit not found/));
        resolve();
      } catch (e) {
        reject(e);
      }
    });
  });
  bot.launch();
  await until(() => fake.polls > 0);
  await control('message', { chat_id: 1001, text: 'hi' });
  await done;
  bot.stop();
}));

test('a second poll ends the first with 409, as grammY knows it', () => withFake(async ({ fake, root }) => {
  const bot = grammy(fake, root);
  const first = assert.rejects(bot.api.getUpdates({ timeout: 20 }), refused(409, /terminated by other getUpdates/));
  await until(() => fake.state().polls_open === 1);
  const other = grammy(fake, root).api.getUpdates({ timeout: 1 });
  await first;
  assert.deepEqual(await other, []);
}));

test('a webhook refuses polls until it is deleted', () => withFake(async ({ fake, root }) => {
  const api = grammy(fake, root).api;
  await api.setWebhook('https://example.org/hook');
  await assert.rejects(api.getUpdates(), refused(409, /webhook is active/));
  assert.equal((await api.getWebhookInfo()).url, 'https://example.org/hook');
  await api.deleteWebhook();
  assert.deepEqual(await api.getUpdates(), []);
}));

test('offsets confirm, negative ones keep the newest, limits hold', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  const ids = [];
  for (let i = 0; i < 5; i++)
    ids.push((await control('message', { chat_id: 1001, text: `m${i}` })).body.update_id);
  assert.deepEqual((await api.getUpdates({ limit: 2 })).map((u) => u.update_id), ids.slice(0, 2));
  assert.equal((await api.getUpdates()).length, 5);
  assert.equal((await api.getUpdates({ offset: ids[2] })).length, 3);
  assert.equal((await api.getUpdates()).length, 3);
  assert.deepEqual((await api.getUpdates({ offset: -1 })).map((u) => u.update_id), [ids[4]]);
  assert.equal(fake.state().pending, 1);
}));

test('allowed_updates filters what comes later, and reactions are off by default', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  await control('update', { message_reaction: {} });
  await control('update', { callback_query: { id: '1', from: { id: 5 } } });
  assert.equal((await api.getUpdates({ allowed_updates: ['message'] })).length, 1);
  await control('update', { callback_query: { id: '2', from: { id: 5 } } });
  await control('message', { chat_id: 1001, text: 'x' });
  assert.deepEqual((await api.getUpdates()).map((u) => Object.keys(u)[1]), ['callback_query', 'message']);
}));

test('HTML is read strictly and in UTF-16', () => withFake(async ({ fake, root }) => {
  const api = grammy(fake, root).api;
  const bad = ['<b>x', '<b><i>x</b></i>', 'x</b>', '1 < 2', '<br>', '<p>x</p>', '<h1>x</h1>', '</b>'];
  for (const html of bad)
    await assert.rejects(api.sendMessage(1001, html, { parse_mode: 'HTML' }), refused(400, /can't parse entities/), html);
  const sent = await api.sendMessage(1001, '\u{1F600} <a href="https://x.example/?a=1&amp;b=2">l &amp; m</a> <pre><code class="language-c">int</code></pre>', { parse_mode: 'HTML' });
  assert.equal(sent.text, '\u{1F600} l & m int');
  assert.deepEqual(sent.entities, [
    { type: 'text_link', url: 'https://x.example/?a=1&b=2', offset: 3, length: 5 },
    { type: 'pre', language: 'c', offset: 9, length: 3 }]);
  assert.throws(() => parseHtml('<b>a<i>b</b>c</i>'), /Unmatched end tag at byte offset 8, expected "<\/i>", found "<\/b>"/);
}));

test('the limit is 4096 in either count, empty texts are refused', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  await api.sendMessage(1001, '\u{1F600}'.repeat(4096));
  await assert.rejects(api.sendMessage(1001, 'x'.repeat(4097)), refused(400, /message is too long/));
  await control('options', { count: 'units' });
  await assert.rejects(api.sendMessage(1001, '\u{1F600}'.repeat(2049)), refused(400, /message is too long/));
  await api.sendMessage(1001, '\u{1F600}'.repeat(2048));
  await assert.rejects(api.sendMessage(1001, ' \n'), refused(400, /message text is empty/));
}));

test('threads exist only if a topic message made them known', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  await control('message', { chat_id: -1005, text: 'x', message_thread_id: 40, is_topic_message: true });
  const sent = await api.sendMessage(-1005, 'y', { message_thread_id: 40 });
  assert.equal(sent.message_thread_id, 40);
  for (const id of [1, 41])
    await assert.rejects(api.sendMessage(-1005, 'y', { message_thread_id: id }), refused(400, /message thread not found/));
  assert.equal(await api.sendChatAction(-1005, 'typing', { message_thread_id: 1 }), true);
}));

test('dead, blocked and moved chats refuse as Telegram does', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  await control('chat', { chat_id: 1002, state: 'blocked' });
  await control('chat', { chat_id: 1003, state: 'gone' });
  await control('chat', { chat_id: -500, migrated_to: -1009001 });
  await assert.rejects(api.sendMessage(1002, 'x'), refused(403, /bot was blocked by the user/));
  await assert.rejects(api.sendMessage(1003, 'x'), refused(400, /chat not found/));
  await assert.rejects(api.sendMessage(-500, 'x'), (e) => e.parameters.migrate_to_chat_id === -1009001);
}));

test('presses are answered once', () => withFake(async ({ fake, root, control }) => {
  const bot = grammy(fake, root);
  const m = await bot.api.sendMessage(1001, 'Run?', { reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data: 'ap:1:y' }]] } });
  await control('press', { chat_id: 1001, message_id: m.message_id, data: 'ap:1:y' });
  const [update] = await bot.api.getUpdates();
  assert.equal(update.callback_query.data, 'ap:1:y');
  assert.equal(update.callback_query.message.text, 'Run?');
  await bot.api.answerCallbackQuery(update.callback_query.id, { text: 'ok' });
  await assert.rejects(bot.api.answerCallbackQuery(update.callback_query.id), refused(400, /query is too old/));
  await assert.rejects(bot.api.sendMessage(1001, 'x', { reply_markup: { inline_keyboard: [[{ text: 'a', callback_data: 'x'.repeat(65) }]] } }), refused(400, /BUTTON_DATA_INVALID/));
}));

test('scripted trouble: flood waits, cuts, resets, silence, done but not said', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  await control('fail', { method: 'sendMessage', status: 429, retry_after: 7 });
  await assert.rejects(api.sendMessage(1001, 'a'), (e) => refused(429, /retry after 7/)(e) && e.parameters.retry_after === 7);
  await control('fail', { method: 'sendMessage', reset: true, after: true });
  await assert.rejects(api.sendMessage(1001, 'b'));
  await control('fail', { method: 'sendMessage', cut: 10, after: true });
  // node-fetch, below grammY, never notices such a cut
  const cut = await fetch(`${root}/bot${fake.token}/sendMessage?chat_id=1001&text=c`);
  assert.equal(cut.status, 200);
  await assert.rejects(cut.text());
  await control('fail', { method: 'sendMessage', status: 502, body: '<html>bad gateway</html>', headers: { 'Content-Type': 'text/html' } });
  await assert.rejects(api.sendMessage(1001, 'd'));
  await control('fail', { method: 'sendMessage', hang: true, times: 2 });
  await assert.rejects(api.sendMessage(1001, 'e', undefined, AbortSignal.timeout(100)));
  await control('fail', { method: 'sendMessage', delay_ms: 50, skip: 1 });
  await assert.rejects(api.sendMessage(1001, 'f', undefined, AbortSignal.timeout(100)));
  await api.sendMessage(1001, 'g');
  await api.sendMessage(1001, 'h');
  assert.deepEqual(fake.messages.map((m) => m.text), ['b', 'c', 'g', 'h']);
}));

test('the control API waits for calls and lists them', () => withFake(async ({ fake, root, control }) => {
  const api = grammy(fake, root).api;
  const waiting = control('wait?method=sendMessage&count=2&ms=5000');
  await api.sendMessage(1001, 'one');
  await api.sendMessage(1001, 'two');
  const got = await waiting;
  assert.equal(got.status, 200);
  assert.deepEqual(got.body.map((e) => e.params.text), ['one', 'two']);
  assert.equal((await control('wait?method=getMe&ms=20')).status, 408);
  assert.equal((await control('nonsense')).status, 404);
}));

test('a wrong token is 401, an unknown method 404', () => withFake(async ({ fake, root }) => {
  await assert.rejects(new Bot('1:wrong', { client: { apiRoot: root } }).api.getMe(), refused(401, /Unauthorized/));
  await assert.rejects(grammy(fake, root).api.raw.noSuchMethod({}), refused(404, /method not found/));
  await assert.rejects(telegraf(fake, root).telegram.callApi('noSuchMethod', {}), refused(404, /method not found/));
}));

console.log(`1..${tests.length}`);
let failed = 0;
for (const [i, { name, fn }] of tests.entries()) {
  try {
    await Promise.race([fn(), new Promise((_, reject) => setTimeout(() => reject(new Error('over 30 s')), 30000).unref())]);
    console.log(`ok ${i + 1} - ${name}`);
  } catch (e) {
    failed++;
    console.log(`not ok ${i + 1} - ${name}`);
    console.log(String(e.stack ?? e).replace(/^/gm, '# '));
  }
}
process.exit(failed ? 1 : 0);
