// An OpenAI-compatible server over a real llama.cpp engine. With the tiny random
// model of make-gguf.py its words are noise; name a real GGUF file to get sense.
//
//   node serve.mjs MODEL.gguf [PORT]      prints {"port":N} on stdout
//
// GET /stats tells how many answers were begun and how many were stopped because
// their client left.
import http from 'node:http';
import { GeneralChatWrapper, getLlama, LlamaChatSession } from 'node-llama-cpp';

const [file, port = '0'] = process.argv.slice(2);
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error',
	maxThreads: 2 });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: 1024 });
const stats = { begun: 0, stopped: 0 };
let turn = Promise.resolve();	// one sequence: one answer at a time

function send(res, status, value) {
	res.writeHead(status, { 'content-type': 'application/json' });
	res.end(JSON.stringify(value));
}

const refuse = (res, status, message) => send(res, status, { error: { message,
	type: status < 500 ? 'invalid_request_error' : 'server_error', param: null,
	code: null } });

async function complete(body, res) {
	const stop = new AbortController();
	let left = false;
	res.on('close', () => { left = !res.writableFinished; stop.abort(); });
	const sequence = context.getSequence();
	const session = new LlamaChatSession({ contextSequence: sequence,
		chatWrapper: new GeneralChatWrapper() });
	const base = { id: `chatcmpl-${Date.now()}`, created: 0, model: 'tiny' };
	const chunk = (delta, finish = null) => `data: ${JSON.stringify({ ...base,
		object: 'chat.completion.chunk',
		choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
	stats.begun++;
	try {
		if (body.stream) {
			res.writeHead(200, { 'content-type': 'text/event-stream' });
			res.write(chunk({ role: 'assistant', content: '' }));
		}
		const answer = await session.promptWithMeta(
		    String(body.messages.at(-1).content), {
			maxTokens: Math.min(body.max_tokens ?? 48, 512),
			seed: body.seed ?? 1, temperature: 0.8, signal: stop.signal,
			stopOnAbortSignal: true,
			onTextChunk: (text) => {
				if (body.stream && !res.destroyed)
					res.write(chunk({ content: text }));
			} });
		const finish = answer.stopReason === 'maxTokens' ? 'length' : 'stop';
		if (body.stream)
			res.end(chunk({}, finish) + 'data: [DONE]\n\n');
		else
			send(res, 200, { ...base, object: 'chat.completion',
				choices: [{ index: 0, finish_reason: finish,
					message: { role: 'assistant',
						content: answer.responseText } }] });
	} catch (error) {
		if (!left)
			refuse(res, 500, error.message);
	} finally {
		if (left)
			stats.stopped++;
		session.dispose();
		sequence.dispose();
	}
}

const server = http.createServer((req, res) => {
	const parts = [];
	req.on('data', (part) => parts.push(part));
	req.on('end', () => {
		if (req.url === '/stats')
			return send(res, 200, stats);
		if (req.url === '/v1/models')
			return send(res, 200, { object: 'list', data: [{ id: 'tiny',
				object: 'model', created: 0, owned_by: 'local' }] });
		if (req.url !== '/v1/chat/completions')
			return refuse(res, 404, 'not found');
		let body;
		try {
			body = JSON.parse(Buffer.concat(parts));
		} catch {
			return refuse(res, 400, 'bad JSON');
		}
		turn = turn.then(() => complete(body, res)).catch(console.error);
	});
});
server.listen(+port, '127.0.0.1', () =>
	console.log(JSON.stringify({ port: server.address().port })));
