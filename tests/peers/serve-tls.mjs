// A TLS server (HTTP/2, or 1.1 for who asks) that misbehaves on request, for
// http_tls.c.  serve-tls.mjs KEY CERT; prints "listening PORT"; ends with its
// standard input.
//
//   /ok      200 "ok <http version>"      /echo    the body back
//   /hang    no answer ever               /stream  "one", then silence
//   /die     takes the body, then cuts the connection
//   /refuse  takes the body, then says that the stream was never processed
//   /goaway  takes the body, then says that no stream was processed, and cuts
//   /bodies  how many bodies those three have taken since the last /bodies
//   /aborted how many streams have been given up since the last /aborted

import fs from 'node:fs';
import http2 from 'node:http2';

const { NGHTTP2_REFUSED_STREAM, NGHTTP2_NO_ERROR } = http2.constants;
const [, , key, cert] = process.argv;
const server = http2.createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert), allowHTTP1: true });
let bodies = 0;
let aborted = 0;

async function bodyOf(req) {
  let body = '';
  for await (const part of req)
    body += part;
  return body;
}

server.on('request', async (req, res) => {
  const path = req.url;
  const session = req.stream?.session;
  res.on('error', () => {});
  req.on('aborted', () => aborted++);
  if (path === '/ok')
    return res.end(`ok ${req.httpVersion}`);
  if (path === '/bodies')
    return res.end(String(bodies), () => { bodies = 0; });
  if (path === '/aborted')
    return res.end(String(aborted), () => { aborted = 0; });
  if (path === '/stream')
    return res.write('one');
  if (path === '/hang')
    return undefined;
  const body = await bodyOf(req);
  if (path === '/echo')
    return res.end(body);
  bodies++;
  if (path === '/refuse')
    return req.stream.close(NGHTTP2_REFUSED_STREAM);
  if (path === '/goaway')
    session.goaway(NGHTTP2_NO_ERROR, 0);
  return setTimeout(() => session.destroy(), 20);
});
server.on('sessionError', () => {});
server.listen(0, 'localhost', () => console.log(`listening ${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
