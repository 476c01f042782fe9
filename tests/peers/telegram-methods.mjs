// What the Bot API's methods do, on a state in memory. No HTTP here.

import { parseHtml } from './telegram-html.mjs';

const CONFLICT = 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running';
const WEBHOOK = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first";
const NOT_MODIFIED = 'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message';
const NOT_BY_DEFAULT = ['chat_member', 'message_reaction', 'message_reaction_count'];
const TEXT_MAX = 4096;
const PAYLOAD_MAX = 32768;

export class Refusal extends Error {
  constructor(code, description, parameters) {
    super(description);
    this.code = code;
    this.parameters = parameters;
  }
}

export const asId = (v) => (typeof v === 'string' && /^-?\d+$/.test(v) ? Number(v) : v);
const asObject = (v) => (typeof v === 'string' ? JSON.parse(v) : v);
const asBool = (v) => v === true || v === 'true' || v === '1' || v === 1;

export class TelegramMethods {
  constructor({ token = '7000001:AAtestTESTtestTESTtestTESTtest12345' } = {}) {
    this.token = token;
    this.me = { id: Number(token.split(':')[0]), is_bot: true, first_name: 'Gate',
      username: 'gate_demo_bot', can_join_groups: true,
      can_read_all_group_messages: false, supports_inline_queries: false };
    this.count = 'points';
    this.instant = false;
    this.webhook = '';
    this.updates = [];
    this.nextUpdate = 1000;
    this.confirmed = 0;
    this.allowed = [];
    this.poll = null;		// the one that waits
    this.pollsOpen = 0;
    this.pollsOpenMax = 0;
    this.polls = 0;
    this.chats = new Map();
    this.callbacks = new Set();
    this.nextMessage = 1;
    this.clear();
  }

  clear() {
    this.messages = [];
  }

  // ---- updates

  kindWanted(update) {
    const kind = Object.keys(update).find((k) => k !== 'update_id');
    return this.allowed.length ? this.allowed.includes(kind) : !NOT_BY_DEFAULT.includes(kind);
  }

  push(update) {
    const full = { update_id: update.update_id ?? this.nextUpdate, ...update };
    this.nextUpdate = Math.max(this.nextUpdate, full.update_id) + 1;
    if (this.kindWanted(full))
      this.updates.push(full);
    this.poll?.wake();
    return full.update_id;
  }

  api_getMe() {
    return this.me;
  }

  async api_getUpdates(p, res) {
    const offset = Number(p.offset ?? 0);
    const limit = Math.min(Math.max(Number(p.limit ?? 100), 1), 100);
    const timeout = Math.min(Math.max(Number(p.timeout ?? 0), 0), 50);

    if (this.webhook)
      throw new Refusal(409, WEBHOOK);
    if (p.allowed_updates !== undefined)
      this.allowed = asObject(p.allowed_updates);
    this.poll?.abort();
    this.polls++;
    if (offset < 0)
      this.updates = this.updates.slice(offset);
    else
      this.updates = this.updates.filter((u) => u.update_id >= offset);
    if (offset > 0)
      this.confirmed = Math.max(this.confirmed, offset);
    if (!this.updates.length && timeout && !this.instant)
      await this.waitForUpdate(timeout, res);
    return this.updates.slice(0, limit);
  }

  waitForUpdate(timeout, res) {
    this.pollsOpenMax = Math.max(this.pollsOpenMax, ++this.pollsOpen);
    return new Promise((resolve, reject) => {
      const end = (fn, arg) => {
        clearTimeout(timer);
        res.off('close', gone);
        if (this.poll === poll)
          this.poll = null;
        this.pollsOpen--;
        fn(arg);
      };
      const gone = () => end(resolve);
      const timer = setTimeout(() => end(resolve), timeout * 1000);
      const poll = { wake: () => end(resolve), abort: () => end(reject, new Refusal(409, CONFLICT)) };
      res.on('close', gone);
      this.poll = poll;
    });
  }

  api_setWebhook(p) {
    this.webhook = p.url ?? '';
    return true;
  }

  api_deleteWebhook(p) {
    this.webhook = '';
    if (asBool(p.drop_pending_updates))
      this.updates = [];
    return true;
  }

  api_getWebhookInfo() {
    return { url: this.webhook, has_custom_certificate: false, pending_update_count: this.updates.length };
  }

  api_setMyCommands(p) {
    this.commands = asObject(p.commands);
    return true;
  }

  // ---- messages

  chat(id) {
    if (!this.chats.has(id))
      this.chats.set(id, { id, type: id > 0 ? 'private' : 'supergroup', state: 'ok', threads: [] });
    return this.chats.get(id);
  }

  checkChat(p) {
    const id = asId(p.chat_id);
    if (typeof id !== 'number')
      throw new Refusal(400, 'Bad Request: chat not found');
    const chat = this.chat(id);
    if (chat.migrated_to)
      throw new Refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: chat.migrated_to });
    if (chat.state === 'gone')
      throw new Refusal(400, 'Bad Request: chat not found');
    if (chat.state === 'blocked')
      throw new Refusal(403, 'Forbidden: bot was blocked by the user');
    if (chat.state === 'kicked')
      throw new Refusal(403, 'Forbidden: bot was kicked from the supergroup chat');
    return chat;
  }

  checkThread(p, chat) {
    const id = asId(p.message_thread_id);
    if (id !== undefined && !chat.threads.includes(id))
      throw new Refusal(400, 'Bad Request: message thread not found');
    return id;
  }

  parseText(p) {
    let parsed = { text: String(p.text ?? '').trim(), entities: p.entities ? asObject(p.entities) : [] };
    if (Buffer.byteLength(String(p.text ?? '')) > PAYLOAD_MAX)
      throw new Refusal(400, 'Bad Request: message is too long');
    if (p.parse_mode) {
      if (String(p.parse_mode).toLowerCase() !== 'html')
        throw new Refusal(400, 'Bad Request: unsupported parse_mode');
      try {
        parsed = parseHtml(p.text ?? '');
      } catch (e) {
        throw new Refusal(400, `Bad Request: can't parse entities: ${e.message}`);
      }
    }
    if (!parsed.text)
      throw new Refusal(400, 'Bad Request: message text is empty');
    const size = this.count === 'units' ? parsed.text.length : [...parsed.text].length;
    if (size > TEXT_MAX)
      throw new Refusal(400, 'Bad Request: message is too long');
    return parsed;
  }

  checkButtons(p) {
    const markup = p.reply_markup === undefined ? undefined : asObject(p.reply_markup);
    for (const row of markup?.inline_keyboard ?? [])
      for (const b of row)
        if (b.callback_data !== undefined && (Buffer.byteLength(b.callback_data) > 64 || !b.callback_data))
          throw new Refusal(400, 'Bad Request: BUTTON_DATA_INVALID');
    return markup;
  }

  show(m) {
    return { message_id: m.message_id, from: this.me, date: m.date,
      chat: { id: m.chat_id, type: this.chat(m.chat_id).type }, text: m.text,
      ...(m.entities.length && { entities: m.entities }),
      ...(m.thread_id && { message_thread_id: m.thread_id, is_topic_message: true }),
      ...(m.markup && { reply_markup: m.markup }),
      ...(m.edits && { edit_date: m.edit_date }) };
  }

  api_sendMessage(p) {
    const chat = this.checkChat(p);
    const thread_id = this.checkThread(p, chat);
    const reply = p.reply_parameters ? asObject(p.reply_parameters) : null;
    const parsed = this.parseText(p);
    const markup = this.checkButtons(p);

    if (reply && !asBool(reply.allow_sending_without_reply) &&
        !this.messages.some((m) => m.chat_id === chat.id && m.message_id === asId(reply.message_id)))
      throw new Refusal(400, 'Bad Request: message to be replied not found');
    const m = { message_id: this.nextMessage++, chat_id: chat.id, date: Math.floor(Date.now() / 1000),
      ...parsed, thread_id, markup, edits: 0, silent: asBool(p.disable_notification), reply_to: reply?.message_id };
    this.messages.push(m);
    return this.show(m);
  }

  find(p) {
    const chat = this.checkChat(p);
    return this.messages.find((m) => m.chat_id === chat.id && m.message_id === asId(p.message_id) && !m.foreign);
  }

  api_editMessageText(p) {
    const m = this.find(p);
    if (!m)
      throw new Refusal(400, 'Bad Request: message to edit not found');
    const parsed = this.parseText(p);
    const markup = this.checkButtons(p);
    const same = JSON.stringify([parsed.text, parsed.entities, markup]) === JSON.stringify([m.text, m.entities, m.markup]);
    if (same)
      throw new Refusal(400, NOT_MODIFIED);
    Object.assign(m, parsed, { markup, edits: m.edits + 1, edit_date: Math.floor(Date.now() / 1000) });
    return this.show(m);
  }

  api_deleteMessage(p) {
    const m = this.find(p);
    if (!m)
      throw new Refusal(400, 'Bad Request: message to delete not found');
    this.messages.splice(this.messages.indexOf(m), 1);
    return true;
  }

  api_sendChatAction(p) {
    const chat = this.checkChat(p);
    if (asId(p.message_thread_id) !== 1)
      this.checkThread(p, chat);
    return true;
  }

  api_answerCallbackQuery(p) {
    if (!this.callbacks.delete(String(p.callback_query_id)))
      throw new Refusal(400, 'Bad Request: query is too old and response timeout expired or query ID is invalid');
    return true;
  }
}
