// Telegram's HTML parse mode as a strict reader: text and entities with UTF-16
// offsets, or an Error with the words that the Bot API uses.
// Written from the format's description; libtdjson is the oracle (td_oracle.c).

const SIMPLE = {
  b: 'bold', strong: 'bold', i: 'italic', em: 'italic', u: 'underline',
  ins: 'underline', s: 'strikethrough', strike: 'strikethrough',
  del: 'strikethrough', code: 'code', pre: 'pre', 'tg-spoiler': 'spoiler',
  blockquote: 'blockquote',
};

function decode(s) {
  return s.replace(/&(?:(lt|gt|amp|quot)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi,
    (all, name, dec, hex) => {
      if (name)
        return { lt: '<', gt: '>', amp: '&', quot: '"' }[name.toLowerCase()];
      const cp = dec ? parseInt(dec, 10) : parseInt(hex, 16);
      return cp > 0 && cp <= 0x10ffff ? String.fromCodePoint(cp) : all;
    });
}

function attributes(s) {
  const found = {};
  for (const m of s.matchAll(/([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/gi))
    found[m[1].toLowerCase()] = decode(m[2] ?? m[3] ?? m[4] ?? '');
  return found;
}

function kindOf(tag, attrs, stack) {
  if (tag === 'a')
    return { type: 'text_link', url: attrs.href };
  if (tag === 'span' && attrs.class === 'tg-spoiler')
    return { type: 'spoiler' };
  if (tag === 'code' && stack.at(-1)?.tag === 'pre' &&
      attrs.class?.startsWith('language-'))
    return { type: 'code', language: attrs.class.slice(9) };
  if (tag === 'blockquote' && 'expandable' in attrs)
    return { type: 'expandable_blockquote' };
  return Object.hasOwn(SIMPLE, tag) ? { type: SIMPLE[tag] } : null;
}

// Inside code nothing else is kept; pre with a code of the same extent is one.
function settle(entities) {
  let list = entities.filter((e) => e.length > 0 &&
    (e.type !== 'text_link' || /^(https?|tg):\/\/./.test(e.url ?? '')));
  for (const pre of list.filter((e) => e.type === 'pre')) {
    const inner = list.find((e) => e.type === 'code' &&
      e.offset === pre.offset && e.length === pre.length);
    if (inner?.language)
      pre.language = inner.language;
  }
  const codes = list.filter((e) => e.type === 'code' || e.type === 'pre');
  list = list.filter((e) => !codes.some((c) => c !== e &&
    e.offset >= c.offset && e.offset + e.length <= c.offset + c.length &&
    (c.type === 'pre' || e.type !== 'pre')));
  return list.sort((a, b) => a.offset - b.offset || b.length - a.length);
}

export function parseHtml(html) {
  const entities = [];
  const stack = [];
  let text = '';
  let at = 0;
  const bytes = (i) => Buffer.byteLength(html.slice(0, i));

  while (at < html.length) {
    if (html[at] !== '<') {
      const next = html.indexOf('<', at);
      const end = next < 0 ? html.length : next;
      text += decode(html.slice(at, end));
      at = end;
      continue;
    }
    const close = html.indexOf('>', at);
    const m = close < 0 ? null : /^<(\/?)([a-z0-9-]*)([^>]*)>$/i.exec(html.slice(at, close + 1));
    if (!m || (!m[2] && !m[1]))
      throw new Error(`Unsupported start tag "${m?.[2] ?? ''}" at byte offset ${bytes(at)}`);
    const tag = m[2].toLowerCase();
    if (m[1]) {
      const top = stack.pop();
      if (!top)
        throw new Error(`Unexpected end tag at byte offset ${bytes(at)}`);
      if (tag && tag !== top.tag)
        throw new Error(`Unmatched end tag at byte offset ${bytes(at)}, expected "</${top.tag}>", found "</${tag}>"`);
      top.entity.length = text.length - top.entity.offset;
      entities.push(top.entity);
    } else {
      const kind = kindOf(tag, attributes(m[3]), stack);
      if (!kind)
        throw new Error(`Unsupported start tag "${tag}" at byte offset ${bytes(at)}`);
      stack.push({ tag, entity: { ...kind, offset: text.length, length: 0 } });
    }
    at = close + 1;
  }
  if (stack.length)
    throw new Error(`Can't find end tag corresponding to start tag "${stack.at(-1).tag}"`);
  return trim(text, settle(entities));
}

// The server trims messages; offsets move with it.
function trim(text, entities) {
  const start = text.length - text.trimStart().length;
  const trimmed = text.trim();
  const kept = [];
  for (const e of entities) {
    const from = Math.max(e.offset - start, 0);
    const to = Math.min(e.offset + e.length - start, trimmed.length);
    if (to > from)
      kept.push({ ...e, offset: from, length: to - from });
  }
  return { text: trimmed, entities: kept };
}
