// Loaded before the conformance suite, which cannot be told a token: adds it to every request, the
// ones of fetch and undici as well as those of node's own client.
import http from 'http';
import { createRequire } from 'module';

const require = createRequire(`${process.cwd()}/`);
const { getGlobalDispatcher, setGlobalDispatcher } = require('undici');
const token = `Bearer ${process.env.MCP_TOKEN}`;

setGlobalDispatcher(getGlobalDispatcher().compose((dispatch) => (options, handler) => {
  const headers = Array.isArray(options.headers)
    ? [...options.headers, 'authorization', token]
    : { ...options.headers, authorization: token };
  return dispatch({ ...options, headers }, handler);
}));

const plain = http.request;
http.request = (options, ...rest) =>
  plain({ ...options, headers: { ...options.headers, authorization: token } }, ...rest);
