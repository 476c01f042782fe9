// A Bot API server for tests, strict where Telegram is strict.
// prove-telegram.mjs proves it with grammY and telegraf.
//
//   node fake-telegram.mjs [--port N] [--token ID:SECRET] [--until-eof]
//   prints "listening PORT" (on 127.0.0.1); ends on SIGTERM, on POST
//   /control/quit, and with --until-eof when its standard input ends, so that it
//   never outlives the test that holds the other end of that pipe.
//
// Bot API: /bot<token>/<method> by GET or POST; parameters from the query, a
// form, JSON or multipart. getMe getUpdates setWebhook deleteWebhook
// getWebhookInfo sendMessage editMessageText deleteMessage sendChatAction
// answerCallbackQuery setMyCommands. Long polls, offsets, 409 to the older of
// two polls, allowed_updates, "not modified", thread and reply checks, parse
// mode HTML, 4096 visible characters, 32768 bytes of payload.
//
// Control (JSON in and out, any time):
//   POST /control/message  {chat_id, user_id?, text, ...message fields}
//                          a text message arrives -> {update_id, message_id}
//   POST /control/press    {chat_id, message_id, data, user_id?} -> {update_id, id}
//   POST /control/update   {...any update, update_id optional} -> {update_id}
//   POST /control/chat     {chat_id, state?: "ok"|"blocked"|"gone"|"kicked",
//                           migrated_to?, threads?: [ids], type?}
//   POST /control/fail     {method, times?: 1, skip?: 0, chat_id?,
//                           status?, description?, retry_after?, body?, headers?
//                           delay_ms?, hang?, reset?, cut?: bytes of the body,
//                           after?: do it first, then fail to say so}
//   POST /control/options  {count?: "points"|"units", webhook?: URL|"",
//                           me?: {...}, instant?: answer empty polls at once}
//   GET  /control/log      [?method=sendMessage&since=N] every Bot API call:
//                          [{n, at, connection, method, params, status, result,
//                            description}]
//   GET  /control/messages [?chat_id=] what a person sees now:
//                          [{message_id, chat_id, text, entities, edits, ...}]
//   GET  /control/state    {pending, confirmed, polls, polls_open,
//                           polls_open_max, connections}
//   GET  /control/wait     ?method=sendMessage&count=N&ms=5000 [&chat_id=]
//                          [&text=substring]: 200 with the log as soon as there
//                          are N such successful calls, else 408
//   POST /control/clear    forgets log, failures and messages
//   POST /control/quit

import http from 'node:http';
import { pathToFileURL } from 'node:url';
import { asId, Refusal, TelegramMethods } from './telegram-methods.mjs';

function readParams(req, url, raw) {
  const params = Object.fromEntries(url.searchParams);
  const type = req.headers['content-type'] ?? '';
  if (!raw.length)
    return params;
  if (type.startsWith('application/json'))
    return Object.assign(params, JSON.parse(raw.toString('utf8')));
  if (type.startsWith('application/x-www-form-urlencoded'))
    return Object.assign(params, Object.fromEntries(new URLSearchParams(raw.toString('utf8'))));
  const boundary = /boundary="?([^";]+)/.exec(type)?.[1];
  if (boundary) {
    for (const part of raw.toString('latin1').split(`--${boundary}`)) {
      const m = /name="([^"]+)"(; filename="([^"]*)")?[\s\S]*?\r\n\r\n([\s\S]*)\r\n$/.exec(part);
      if (m)
        params[m[1]] = m[2] ? { file: m[3], bytes: m[4].length } :
          Buffer.from(m[4], 'latin1').toString('utf8');
    }
  }
  return params;
}

export class FakeTelegram extends TelegramMethods {
  constructor(options) {
    super(options);
    this.failures = [];
    this.connections = 0;
    this.waiters = new Set();
    this.server = http.createServer((req, res) => this.serve(req, res));
    this.server.keepAliveTimeout = 60000;
    this.server.on('connection', (socket) => {
      socket.number = ++this.connections;
    });
  }

  clear() {
    super.clear();
    this.log = [];
    this.failures = [];
  }

  listen(port = 0, host = '127.0.0.1') {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => resolve(this.server.address().port));
    });
  }

  close() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  // ---- HTTP

  async serve(req, res) {
    const parts = [];
    try {
      for await (const part of req)
        parts.push(part);
    } catch {
      return;		// a client that died in mid-request: it said nothing
    }
    const raw = Buffer.concat(parts);
    const url = new URL(req.url, 'http://x');
    const m = /^\/bot([^/]+)\/([A-Za-z]+)$/.exec(url.pathname);

    try {
      if (url.pathname.startsWith('/control/'))
        await this.control(req, res, url, raw);
      else if (!m)
        this.reply(res, 404, { ok: false, error_code: 404, description: 'Not Found' });
      else if (m[1] !== this.token)
        this.reply(res, 401, { ok: false, error_code: 401, description: 'Unauthorized' });
      else
        await this.call(req, res, m[2], readParams(req, url, raw));
    } catch (e) {
      console.error('fake-telegram:', e);
      if (!res.headersSent)
        this.reply(res, 500, { ok: false, error_code: 500, description: `Internal Server Error: ${e.message}` });
    }
  }

  reply(res, status, body, headers = {}) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    if (res.destroyed)
      return;
    res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), ...headers });
    res.end(text);
  }

  // ---- one Bot API call

  async call(req, res, name, params) {
    const methods = Object.getOwnPropertyNames(TelegramMethods.prototype).filter((n) => n.startsWith('api_'));
    const found = methods.find((n) => n.slice(4).toLowerCase() === name.toLowerCase());
    const method = found?.slice(4) ?? name;
    const entry = { n: this.log.length, at: Date.now(), connection: req.socket.number, method, params };
    this.log.push(entry);
    const failure = this.takeFailure(method, params);
    let status = 200;
    let body;

    if (failure?.delay_ms)
      await new Promise((r) => setTimeout(r, failure.delay_ms));
    if (!failure || failure.after || (failure.delay_ms && !failure.status && !failure.hang && !failure.reset && failure.cut === undefined)) {
      try {
        if (!found)
          throw new Refusal(404, 'Not Found: method not found');
        entry.result = await this[found](params, res);
        body = { ok: true, result: entry.result };
      } catch (e) {
        if (!(e instanceof Refusal))
          throw e;
        status = e.code;
        body = { ok: false, error_code: e.code, description: e.message, ...(e.parameters && { parameters: e.parameters }) };
      }
    }
    if (failure && this.fail(res, failure, entry, body))
      return;
    entry.status = status;
    if (!body.ok)
      entry.description = body.description;
    this.reply(res, status, body);
    this.wake();
  }

  takeFailure(method, params) {
    const i = this.failures.findIndex((f) => f.method.toLowerCase() === method.toLowerCase() &&
      (f.chat_id === undefined || asId(f.chat_id) === asId(params.chat_id)));
    if (i < 0)
      return null;
    const f = this.failures[i];
    if (f.skip > 0) {
      f.skip--;
      return null;
    }
    if (--f.times <= 0)
      this.failures.splice(i, 1);
    return f;
  }

  // True: the answer is spoilt (or never comes).
  fail(res, f, entry, body) {
    const spoil = f.hang || f.reset || f.cut !== undefined || f.status;
    if (!spoil)
      return false;
    entry.failed = f;
    this.wake();
    if (f.hang)
      return true;
    if (f.reset) {
      res.socket.resetAndDestroy();
      return true;
    }
    if (f.cut !== undefined) {
      const text = f.body ?? JSON.stringify(body ?? { ok: true, result: true });
      res.writeHead(f.status ?? 200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) + 1 });
      res.write(text.slice(0, f.cut), () => res.socket.destroy());
      return true;
    }
    entry.status = f.status;
    const headers = { ...f.headers };
    if (f.retry_after)
      headers['Retry-After'] = String(f.retry_after);
    const description = f.description ?? (f.retry_after ? `Too Many Requests: retry after ${f.retry_after}` : `scripted ${f.status}`);
    entry.description = description;
    this.reply(res, f.status, f.body ?? { ok: false, error_code: f.status, description,
      ...(f.retry_after && { parameters: { retry_after: f.retry_after } }) }, headers);
    return true;
  }

  // ---- control

  arriving({ chat_id, user_id, from, chat, ...rest }) {
    const id = asId(chat_id);
    const where = this.chat(id);
    const user = asId(user_id) ?? (id > 0 ? id : 1001);
    if (rest.is_topic_message && rest.message_thread_id && !where.threads.includes(rest.message_thread_id))
      where.threads.push(rest.message_thread_id);
    const message = { message_id: this.nextMessage++, date: Math.floor(Date.now() / 1000),
      chat: { id, type: where.type, ...(where.type === 'private' ? { first_name: 'Ada' } : { title: 'Group' }), ...chat },
      from: { id: user, is_bot: false, first_name: 'Ada', ...from }, ...rest };
    if (message.text?.startsWith('/') && !message.entities)
      message.entities = [{ type: 'bot_command', offset: 0, length: /^\/\S*/.exec(message.text)[0].length }];
    this.messages.push({ message_id: message.message_id, chat_id: id, text: message.text ?? '', entities: message.entities ?? [], edits: 0, foreign: true });
    return message;
  }

  pressed({ chat_id, message_id, data, user_id, id }) {
    const m = this.messages.find((x) => x.chat_id === asId(chat_id) && x.message_id === asId(message_id));
    const key = String(id ?? 4382000000000000 + this.nextUpdate);
    this.callbacks.add(key);
    return { id: key, from: { id: asId(user_id) ?? asId(chat_id), is_bot: false, first_name: 'Ada' },
      message: m ? this.show(m) : { chat: { id: asId(chat_id), type: this.chat(asId(chat_id)).type }, message_id: asId(message_id), date: 0 },
      chat_instance: '-8123456789012345678', data };
  }

  state() {
    return { pending: this.updates.length, confirmed: this.confirmed, polls: this.polls, polls_open: this.pollsOpen,
      polls_open_max: this.pollsOpenMax, connections: this.connections };
  }

  matching(q) {
    return this.log.filter((e) => (!q.get('method') || e.method === q.get('method')) &&
      (!q.get('since') || e.n >= Number(q.get('since'))) &&
      (!q.get('chat_id') || String(e.params.chat_id) === q.get('chat_id')) &&
      (!q.get('text') || String(e.params.text ?? '').includes(q.get('text'))));
  }

  wake() {
    for (const w of this.waiters)
      w();
  }

  wait(res, q) {
    const done = () => this.matching(q).filter((e) => e.status === 200).length >= Number(q.get('count') ?? 1);
    const end = (status) => {
      this.waiters.delete(check);
      clearTimeout(timer);
      this.reply(res, status, this.matching(q));
    };
    const check = () => done() && end(200);
    const timer = setTimeout(() => end(408), Number(q.get('ms') ?? 5000));
    this.waiters.add(check);
    check();
  }

  async control(req, res, url, raw) {
    const body = raw.length ? JSON.parse(raw.toString('utf8')) : {};
    const q = url.searchParams;
    const what = `${req.method} ${url.pathname.slice(9)}`;
    let out = { ok: true };

    switch (what) {
    case 'POST message': {
      const message = this.arriving(body);
      out = { update_id: this.push({ message }), message_id: message.message_id };
      break;
    }
    case 'POST press': {
      const callback_query = this.pressed(body);
      out = { update_id: this.push({ callback_query }), id: callback_query.id };
      break;
    }
    case 'POST update':
      if (body.callback_query)
        this.callbacks.add(String(body.callback_query.id));
      out = { update_id: this.push(body) };
      break;
    case 'POST chat':
      Object.assign(this.chat(asId(body.chat_id)), { ...body, chat_id: undefined });
      break;
    case 'POST fail':
      this.failures.push({ times: 1, skip: 0, ...body });
      break;
    case 'POST options':
      for (const key of ['count', 'webhook', 'instant'])
        if (key in body)
          this[key] = body[key];
      Object.assign(this.me, body.me);
      break;
    case 'GET log':
      out = this.matching(q);
      break;
    case 'GET messages':
      out = this.messages.filter((m) => !m.foreign && (!q.get('chat_id') || String(m.chat_id) === q.get('chat_id')));
      break;
    case 'GET state':
      out = this.state();
      break;
    case 'GET wait':
      this.wait(res, q);
      return;
    case 'POST clear':
      this.clear();
      break;
    case 'POST quit':
      this.reply(res, 200, out);
      setImmediate(() => process.exit(0));
      return;
    default:
      this.reply(res, 404, { error: `no control "${what}"` });
      return;
    }
    this.reply(res, 200, out);
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const option = (name, fallback) => {
    const i = process.argv.indexOf(`--${name}`);
    return i > 0 ? process.argv[i + 1] : fallback;
  };
  const fake = new FakeTelegram({ token: option('token', undefined) });
  const port = await fake.listen(Number(option('port', 0)));
  console.log(`listening ${port}`);
  process.on('SIGTERM', () => process.exit(0));
  if (process.argv.includes('--until-eof'))
    process.stdin.on('end', () => process.exit(0)).resume();
}
