// A fake OpenAI-compatible model server for tests: scripted answers, a strict
// check of requests, and a record of what clients sent and when they left.
// prove-openai.mjs holds it to the real openai SDK.
//
//   node fake-openai.mjs [--port N] [--zero]     prints {"port":N} on stdout
//
// --zero: no check, no record, one write an answer: for measurements.
//
// What is answered: the next queued script, else by the request's model:
//   echo       "You said: " and the last user message
//   terminal   a user's "run CMD" becomes a call of terminal, its result is said
//   anything else: "ok"
//
// Control (JSON over HTTP, beside /v1):
//   POST /control/queue     {script} or [scripts]: for the next requests, in order
//   POST /control/model     {name, script}: for each request with this model
//   POST /control/reset     forgets scripts and record
//   GET  /control/requests  [{n, body, key, closed: null|"client"|"server", closed_ms}]
//
// A script:
//   {status, headers, body}        an answer that is no stream (body: text or JSON)
//   {delay_headers_ms}             before the status line
//   {events: [...]}                a stream; each event is one of
//     "text"                       a content delta
//     {reasoning: "..."}           a reasoning delta
//     {call: {id, name, arguments}, pieces: n}   a tool call in n pieces
//     {finish: "stop"}  {usage: {...}}  {error: {...}}  {done: true}
//     {raw: "bytes"} or {base64: "..."}          as they are
//     {comment: "ping"}            a sign of life that is none
//     {sleep: ms}  {hang: true}    silence; hang lasts until the client leaves
//     {cut: true}                  the connection is reset
//     {repeat: n, every: ms, event}
//   {text: "...", chunk: n}        short for events of n characters each
//   {bytewise: true}               each byte in a write of its own
// A stream that has no finish or done gets both, unless `open: true`.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

// Unrefed: a sleeping answer doesn't keep the process.
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms).unref());

// ---- what a strict server demands ------------------------------------------

const refuse = (message, param = 'messages') =>
	({ message, type: 'invalid_request_error', param, code: null });

const isObject = (text) => {
	try {
		const value = JSON.parse(text);
		return value !== null && typeof value === 'object' && !Array.isArray(value);
	} catch {
		return false;
	}
};

const textOf = (content) => typeof content === 'string' ? content :
	Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : '';

function checkCalls(calls) {
	const ids = new Set();
	if (!Array.isArray(calls) || calls.length === 0)
		return refuse("[] is too short - 'messages.tool_calls'");
	for (const call of calls) {
		if (!call.id || ids.has(call.id))
			return refuse(`Missing or duplicate tool call id '${call.id}'`);
		ids.add(call.id);
		if (call.type !== 'function')
			return refuse("Invalid value for 'tool_calls.type'");
		if (!/^[A-Za-z0-9_-]{1,64}$/.test(call.function?.name ?? ''))
			return refuse("Invalid 'tool_calls.function.name'");
		if (typeof call.function.arguments !== 'string' ||
		    !isObject(call.function.arguments))
			return refuse("Invalid 'tool_calls.function.arguments'");
	}
	return null;
}

// null, or the error object of a 400.
export function checkMessages(messages) {
	if (!Array.isArray(messages) || messages.length === 0)
		return refuse("'messages' must be a non-empty array");
	let i = messages[0].role === 'system' ? 1 : 0;
	let turn = 'user';
	if (i && !textOf(messages[0].content))
		return refuse('The system message is empty');
	for (; i < messages.length; i++) {
		const m = messages[i];
		if (m.role === 'tool')
			return refuse("Messages with role 'tool' must be a response to a " +
			    "preceding message with 'tool_calls'.");
		if (m.role !== turn && !(m.role === 'assistant' && turn === 'either'))
			return refuse('Conversation roles must alternate user/assistant/' +
			    `user/assistant/... (message ${i} is ${m.role})`);
		if (m.role === 'user') {
			if (!textOf(m.content))
				return refuse(`Message ${i} is empty`);
			turn = 'assistant';
			continue;
		}
		if (m.tool_calls === undefined) {
			if (!textOf(m.content))
				return refuse(`Message ${i}: assistant needs content or tool_calls`);
			turn = 'user';
			continue;
		}
		const bad = checkCalls(m.tool_calls);
		if (bad)
			return bad;
		for (const call of m.tool_calls) {
			const result = messages[++i];
			if (result?.role !== 'tool' || result.tool_call_id !== call.id)
				return refuse("An assistant message with 'tool_calls' must be " +
				    "followed by tool messages responding to each " +
				    `'tool_call_id' (${call.id})`);
			if (typeof result.content !== 'string' || !result.content)
				return refuse(`Message ${i}: empty tool result`);
		}
		turn = 'assistant';
	}
	if (messages.at(-1).role === 'assistant')
		return refuse('The last message must be of the user or of a tool');
	return null;
}

function checkBody(body) {
	if (typeof body?.model !== 'string')
		return refuse('you must provide a model parameter', 'model');
	if (body.stream_options && !body.stream)
		return refuse("'stream_options' needs 'stream'", 'stream_options');
	if (body.tools !== undefined && !(Array.isArray(body.tools) &&
	    body.tools.length && body.tools.every((t) => t.type === 'function' &&
	    t.function?.name && t.function.parameters?.type === 'object')))
		return refuse("Invalid 'tools'", 'tools');
	return checkMessages(body.messages);
}

// ---- scripts ------------------------------------------------------------------

const lastOf = (body, role) =>
	textOf(body.messages.findLast((m) => m.role === role)?.content);

function byModel(body) {
	if (body.model === 'echo')
		return { text: `You said: ${lastOf(body, 'user')}`, chunk: 8 };
	if (body.model !== 'terminal')
		return { text: 'ok' };
	if (body.messages.at(-1).role === 'tool')
		return { text: `Result: ${lastOf(body, 'tool')}`, chunk: 64 };
	const run = /^run ([^]+)$/m.exec(lastOf(body, 'user').split('\n\n').at(-1));
	if (!run)
		return { text: 'Say: run COMMAND' };
	const id = `call_${Math.random().toString(16).slice(2, 10)}`;
	return { events: [{ call: { id, name: 'terminal',
		arguments: JSON.stringify({ command: run[1] }) }, pieces: 3 }] };
}

// `text` and missing ends are written out.
function eventsOf(script) {
	const events = [...script.events ?? []];
	const size = script.chunk ?? Infinity;
	const points = [...script.text ?? ''];
	for (let at = 0; at < points.length; at += size)
		events.push(points.slice(at, at + size).join(''));
	const has = (key) => events.some((e) => e[key] !== undefined);
	if (script.open || has('error') || has('cut') || has('hang'))
		return events;
	if (!has('finish'))
		events.push({ finish: has('call') ? 'tool_calls' : 'stop' });
	if (!has('done'))
		events.push({ usage: { prompt_tokens: 10, completion_tokens: 5,
			total_tokens: 15 }, asked: true }, { done: true });
	return events;
}

function chunkMaker(body) {
	const base = { id: `chatcmpl-${Date.now()}`, object: 'chat.completion.chunk',
		created: Math.floor(Date.now() / 1000), model: body.model };
	let role = 'assistant';
	const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
	const delta = (fields, finish = null) => {
		const first = role ? { role } : {};
		role = undefined;
		return data({ ...base, choices: [{ index: 0,
			delta: { ...first, ...fields }, logprobs: null,
			finish_reason: finish }] });
	};
	return { data, delta, base };
}

function callChunks(delta, call, pieces, index) {
	const text = call.arguments ?? '';
	const size = Math.max(1, Math.ceil(text.length / pieces));
	const out = [delta({ tool_calls: [{ index, id: call.id, type: 'function',
		function: { name: call.name, arguments: '' } }] })];
	for (let at = 0; at < text.length; at += size)
		out.push(delta({ tool_calls: [{ index, function: {
			arguments: text.slice(at, at + size) } }] }));
	return out;
}

// Plays the events over the connection `to`; write() resolves when the bytes are
// out. Nothing lasts longer than the connection.
async function play(events, to) {
	const { body, write, gone, socket } = to;
	const { data, delta, base } = to.chunks;
	for (const e of events) {
		if (socket.destroyed)
			return;
		if (typeof e === 'string')
			await write(delta({ content: e }));
		else if (e.reasoning !== undefined)
			await write(delta({ reasoning_content: e.reasoning }));
		else if (e.call)
			for (const piece of callChunks(delta, e.call, e.pieces ?? 1, to.calls++))
				await write(piece);
		else if (e.finish)
			await write(delta({}, e.finish));
		else if (e.usage)
			e.asked && !body.stream_options?.include_usage ||
			    await write(data({ ...base, choices: [], usage: e.usage }));
		else if (e.error !== undefined)
			await write(data({ error: e.error }));
		else if (e.done)
			await write('data: [DONE]\n\n');
		else if (e.raw !== undefined)
			await write(e.raw);
		else if (e.base64)
			await write(Buffer.from(e.base64, 'base64'));
		else if (e.comment !== undefined)
			await write(`: ${e.comment}\n\n`);
		else if (e.sleep)
			await Promise.race([gone, sleep(e.sleep)]);
		else if (e.hang)
			await gone;
		else if (e.cut)
			socket.resetAndDestroy();
		else if (e.repeat)
			for (let i = 0; i < e.repeat && !socket.destroyed; i++)
				await play([e.event, { sleep: e.every ?? 0 }], to);
	}
}

// The same script for a request without `stream`.
function wholeAnswer(events, body) {
	const calls = events.filter((e) => e.call).map((e) => ({ id: e.call.id,
		type: 'function', function: { name: e.call.name,
			arguments: e.call.arguments ?? '' } }));
	const content = events.filter((e) => typeof e === 'string').join('');
	return { id: `chatcmpl-${Date.now()}`, object: 'chat.completion',
		created: Math.floor(Date.now() / 1000), model: body.model,
		choices: [{ index: 0, logprobs: null,
			finish_reason: events.find((e) => e.finish)?.finish ?? 'stop',
			message: { role: 'assistant', content: content || null,
				refusal: null,
				...calls.length ? { tool_calls: calls } : {} } }],
		usage: events.find((e) => e.usage)?.usage };
}

// ---- the server ---------------------------------------------------------------

const readBody = (req) => new Promise((resolve) => {
	const parts = [];
	req.on('data', (part) => parts.push(part));
	req.on('end', () => resolve(Buffer.concat(parts)));
	req.on('error', () => resolve(Buffer.alloc(0)));
});

function sendJson(res, status, value, headers = {}) {
	const text = typeof value === 'string' ? value : JSON.stringify(value);
	res.writeHead(status, { 'content-type': 'application/json',
		'content-length': Buffer.byteLength(text), ...headers });
	res.end(text);
}

export function createFake({ zero = false } = {}) {
	let queue = [], models = new Map(), record = [];

	function zeroAnswer(body, res) {
		const { data, delta, base } = chunkMaker(body);
		const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
		res.writeHead(200, { 'content-type': 'text/event-stream' });
		res.end(delta({ content: 'ok' }) + delta({}, 'stop') +
		    data({ ...base, choices: [], usage }) + 'data: [DONE]\n\n');
	}

	function note(req, res, body) {
		const began = Date.now();
		const entry = { n: record.length, body, closed: null, closed_ms: null,
			key: (req.headers.authorization ?? '').replace(/^Bearer /, '') };
		record.push(entry);
		res.on('close', () => {
			entry.closed = res.writableFinished ? 'server' : 'client';
			entry.closed_ms = Date.now() - began;
		});
		return entry;
	}

	async function answer(script, body, res) {
		const socket = res.socket;
		const gone = new Promise((end) => res.once('close', end));
		if (script.delay_headers_ms)
			await Promise.race([gone, sleep(script.delay_headers_ms)]);
		if (socket.destroyed)
			return;
		if (script.status || script.body !== undefined) {
			sendJson(res, script.status ?? 200, script.body ?? {}, script.headers);
			return;
		}
		const events = eventsOf(script);
		if (!body.stream) {
			const error = events.find((e) => e.error !== undefined)?.error;
			sendJson(res, error ? 500 : 200,
			    error ? { error } : wholeAnswer(events, body));
			return;
		}
		res.writeHead(200, { 'content-type': 'text/event-stream',
			'cache-control': 'no-cache', ...script.headers });
		res.flushHeaders();
		const put = (bytes) => Promise.race([gone,
			new Promise((done) => res.write(bytes, () => done()))]);
		const write = async (bytes) => {
			if (!script.bytewise)
				return put(bytes);
			for (const byte of Buffer.from(bytes))
				await put(Buffer.of(byte));
		};
		await play(events, { body, write, gone, socket, calls: 0,
			chunks: chunkMaker(body) });
		if (!socket.destroyed)
			res.end();
	}

	async function complete(req, res) {
		let body;
		try {
			body = JSON.parse(await readBody(req));
		} catch {
			sendJson(res, 400, { error: refuse('We could not parse the JSON body') });
			return;
		}
		if (zero) {
			zeroAnswer(body, res);
			return;
		}
		note(req, res, body);
		const bad = checkBody(body);
		if (bad) {
			sendJson(res, 400, { error: bad });
			return;
		}
		await answer(queue.shift() ?? models.get(body.model) ?? byModel(body),
		    body, res);
	}

	async function control(req, res) {
		const body = await readBody(req);
		const given = body.length ? JSON.parse(body) : null;
		switch (`${req.method} ${req.url}`) {
		case 'POST /control/queue':
			queue.push(...[given].flat());
			break;
		case 'POST /control/model':
			models.set(given.name, given.script);
			break;
		case 'POST /control/reset':
			queue = [], models = new Map(), record = [];
			break;
		case 'GET /control/requests':
			sendJson(res, 200, record);
			return;
		default:
			sendJson(res, 404, { error: refuse('no such control') });
			return;
		}
		sendJson(res, 200, { ok: true });
	}

	const models_list = { object: 'list', data: ['echo', 'terminal', 'fake'].map(
	    (id) => ({ id, object: 'model', created: 0, owned_by: 'tests' })) };

	const server = http.createServer((req, res) => {
		const path = req.url.split('?')[0];
		if (path.startsWith('/control/'))
			control(req, res).catch((e) => sendJson(res, 400,
			    { error: refuse(String(e)) }));
		else if (req.method === 'GET' && path === '/v1/models')
			sendJson(res, 200, models_list);
		else if (req.method === 'POST' && path === '/v1/chat/completions')
			complete(req, res).catch((e) => {
				console.error('fake-openai:', e);
				res.destroy();
			});
		else
			sendJson(res, 404, { error: refuse(`Invalid URL (${req.method} ${path})`,
			    null) });
	});
	server.keepAliveTimeout = 60000;
	return {
		server,
		queue: (...scripts) => queue.push(...scripts),
		model: (name, script) => models.set(name, script),
		requests: () => record,
		reset: () => { queue = []; models = new Map(); record = []; },
		listen: (port = 0) => new Promise((ready) => server.listen(port,
		    '127.0.0.1', () => ready(server.address().port))),
		close: () => { server.closeAllConnections(); server.close(); },
	};
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const at = process.argv.indexOf('--port');
	const fake = createFake({ zero: process.argv.includes('--zero') });
	const port = await fake.listen(at > 0 ? +process.argv[at + 1] : 0);
	console.log(JSON.stringify({ port }));
	process.on('SIGTERM', () => process.exit(0));
}
