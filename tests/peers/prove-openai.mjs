// The real openai SDK against fake-openai.mjs: what the SDK accepts, real
// clients accept.  And the strict check of the fake, which the C tests lean on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { createFake, checkMessages } from './fake-openai.mjs';

const fake = createFake();
const port = await fake.listen();
const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`,
	apiKey: 'sk-test', maxRetries: 1 });
const ask = (text, more = {}) => client.chat.completions.create({ model: 'echo',
	messages: [{ role: 'user', content: text }], ...more });
const tools = [{ type: 'function', function: { name: 'terminal',
	parameters: { type: 'object', properties: {} } } }];

async function textOf(stream) {
	let text = '', usage = null, finish = null;
	for await (const chunk of stream) {
		text += chunk.choices[0]?.delta?.content ?? '';
		finish = chunk.choices[0]?.finish_reason ?? finish;
		usage = chunk.usage ?? usage;
	}
	return { text, usage, finish };
}

const until = async (cond) => {
	for (let i = 0; i < 500 && !cond(); i++)
		await new Promise((wake) => setTimeout(wake, 10));
	assert.ok(cond());
};

const tests = {
	async 'models are listed'() {
		const list = await client.models.list();
		assert.ok(list.data.some((m) => m.id === 'echo'));
	},
	async 'a whole answer'() {
		const res = await ask('hi 👋');
		assert.equal(res.choices[0].message.content, 'You said: hi 👋');
		assert.equal(res.choices[0].finish_reason, 'stop');
		assert.equal(fake.requests().at(-1).key, 'sk-test');
	},
	async 'a stream, with usage only when asked for'() {
		const plain = await textOf(await ask('hi 👋', { stream: true }));
		assert.deepEqual(plain, { text: 'You said: hi 👋', usage: null,
			finish: 'stop' });
		const asked = await textOf(await ask('x', { stream: true,
			stream_options: { include_usage: true } }));
		assert.equal(asked.usage.total_tokens, 15);
	},
	async 'a stream byte by byte'() {
		fake.queue({ bytewise: true, events: ['é漢', { repeat: 2, event: '😀' }] });
		assert.equal((await textOf(await ask('x', { stream: true }))).text,
		    'é漢😀😀');
	},
	async 'tool calls in pieces, and the result back'() {
		const messages = [{ role: 'user', content: 'run echo "é"' }];
		const run = client.chat.completions.stream({ model: 'terminal', messages,
			tools });
		const first = (await run.finalChatCompletion()).choices[0];
		assert.equal(first.finish_reason, 'tool_calls');
		const call = first.message.tool_calls[0];
		assert.deepEqual(JSON.parse(call.function.arguments),
		    { command: 'echo "é"' });
		messages.push({ role: 'assistant', content: null, tool_calls: [{ id: call.id,
			type: 'function', function: { name: call.function.name,
				arguments: call.function.arguments } }] },
		    { role: 'tool', tool_call_id: call.id, content: 'é' });
		const second = await ask('', { model: 'terminal', messages });
		assert.equal(second.choices[0].message.content, 'Result: é');
	},
	async 'statuses become the errors of the SDK'() {
		fake.queue({ status: 401, body: { error: { message: 'bad key',
			code: 'invalid_api_key' } } });
		await assert.rejects(ask('x'), OpenAI.AuthenticationError);
		fake.queue({ status: 400, body: { error: { message: 'too long',
			code: 'context_length_exceeded' } } });
		await assert.rejects(ask('x'), OpenAI.BadRequestError);
	},
	async 'a rate limit is tried again after its wait'() {
		fake.reset();
		fake.queue({ status: 429, headers: { 'retry-after-ms': '5' },
			body: { error: { message: 'slow down' } } });
		assert.equal((await ask('x')).choices[0].message.content, 'You said: x');
		assert.equal(fake.requests().length, 2);
	},
	async 'an error inside a stream'() {
		fake.queue({ events: ['Let me', { error: { message: 'queue full' } }] });
		await assert.rejects(ask('x', { stream: true }).then(textOf),
		    /queue full/);
	},
	async 'a cut stream'() {
		fake.queue({ events: ['Let me', { cut: true }] });
		await assert.rejects(ask('x', { stream: true }).then(textOf));
	},
	async 'a client that leaves is seen, before the headers and in the body'() {
		for (const script of [{ delay_headers_ms: 60000 },
			{ events: ['a', { hang: true }] }]) {
			fake.reset();
			fake.queue(script);
			const stop = new AbortController();
			const call = client.chat.completions.create({ model: 'echo',
				stream: true, messages: [{ role: 'user', content: 'x' }] },
			    { signal: stop.signal }).then(textOf);
			call.catch(() => {});
			await until(() => fake.requests().length === 1);
			stop.abort();
			await until(() => fake.requests()[0].closed === 'client');
		}
	},
	async 'unknown paths and bad JSON are refused'() {
		const at = (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
		assert.equal((await at('/v1/nothing')).status, 404);
		assert.equal((await at('/v1/chat/completions', { method: 'POST',
			body: '{' })).status, 400);
	},
	async 'histories that real servers refuse are refused'() {
		const user = { role: 'user', content: 'u' };
		const says = { role: 'assistant', content: 'a' };
		const calls = (...ids) => ({ role: 'assistant', content: null,
			tool_calls: ids.map((id) => ({ id, type: 'function',
				function: { name: 'f', arguments: '{}' } })) });
		const result = (id, content = 'r') => ({ role: 'tool', tool_call_id: id,
			content });
		const bad = (change) => {
			const c = calls('c');
			change(c.tool_calls[0]);
			return [user, c, result('c')];
		};
		const good = [[user], [{ role: 'system', content: 's' }, user],
			[user, says, user],
			[user, calls('c', 'd'), result('c'), result('d')],
			[user, calls('c'), result('c'), calls('c'), result('c'), says, user]];
		const refused = [[], [says], [user, user], [user, says], [user, says, says],
			[user, calls('c')], [user, calls('c'), user],
			[user, calls('c', 'd'), result('c')],
			[user, calls('c'), result('d')], [user, result('c')],
			[user, calls('c'), result('c'), result('c')],
			[user, calls('c'), result('c'), user],
			[user, calls('c', 'c'), result('c'), result('c')],
			[user, calls('c'), result('c', '')], [user, calls(), user],
			[{ role: 'user', content: '' }],
			[user, { role: 'assistant', content: '' }, user],
			bad((k) => { k.function.arguments = ''; }),
			bad((k) => { k.function.arguments = '[]'; }),
			bad((k) => { k.function.arguments = { a: 1 }; }),
			bad((k) => { k.function.name = 'a b'; }),
			bad((k) => { delete k.type; }), bad((k) => { k.id = ''; })];
		for (const m of good)
			assert.equal(checkMessages(m), null, JSON.stringify(m));
		for (const m of refused)
			assert.notEqual(checkMessages(m), null, JSON.stringify(m));
		await assert.rejects(ask('', { messages: [user, user] }),
		    OpenAI.BadRequestError);
	},
	async 'every recorded stream is read by the SDK'() {
		const dir = new URL('../fixtures/llm/', import.meta.url);
		const want = { basic_usage: 'Hello, Ada 👋', crlf_comments_fields: 'ABC',
			no_done_eof_after_finish: 'ok', utf8_split: 'a😀é漢',
			parallel_tools_interleaved: 'Checking both.' };
		for (const [name, text] of Object.entries(want)) {
			const bytes = readFileSync(new URL(`chat_${name}.sse`, dir));
			fake.queue({ open: true, events: [{ base64: bytes.toString('base64') }] });
			assert.equal((await textOf(await ask('x', { stream: true }))).text,
			    text, name);
		}
	},
};

console.log(`1..${Object.keys(tests).length}`);
let n = 0, failed = 0;
for (const [name, test] of Object.entries(tests)) {
	n++;
	try {
		fake.reset();
		await test();
		console.log(`ok ${n} - openai: ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${n} - openai: ${name}`);
		console.error(error);
	}
}
fake.close();
process.exit(failed ? 1 : 0);
