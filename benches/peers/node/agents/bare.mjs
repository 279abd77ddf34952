// No framework: `fetch`, JSON, and a loop without a cap. The least that Node can do.

import { API_KEY, BASE_URL, MODEL, work, world } from './worker.mjs';

const define = (name, properties = {}) => ({
  type: 'function',
  function: {
    name,
    description: world.DESCRIPTIONS[name],
    parameters: { type: 'object', properties, required: Object.keys(properties) },
  },
});
const path = { path: { type: 'string' } };
const tools = [
  define('list_files'),
  define('read_file', path),
  define('delete_file', path),
  define('scan_archive'),
];
const headers = { 'content-type': 'application/json', authorization: `Bearer ${API_KEY}` };

async function ask(messages) {
  const body = JSON.stringify({ model: MODEL, messages, tools });
  const reply = await fetch(`${BASE_URL}/chat/completions`, { method: 'POST', headers, body });
  if (!reply.ok) throw new Error(`status ${reply.status}`);
  return (await reply.json()).choices[0].message;
}

function execute({ function: { name, arguments: args } }) {
  const result = world[name](JSON.parse(args));
  return typeof result === 'string' ? result : JSON.stringify(result);
}

await work(async () => {
  const messages = [
    { role: 'system', content: world.SYSTEM },
    { role: 'user', content: world.USER },
  ];
  for (;;) {
    const message = await ask(messages);
    if (!message.tool_calls?.length) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: execute(call) });
    }
  }
});
