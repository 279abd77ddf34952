// The plain OpenAI client with a loop by hand, as its guide to function calling has it.
//
// The client leaves the loop to its user: the cap of 20 turns and the wording of a tool's error are
// this file's own.

import OpenAI from 'openai';

import { MODEL, STREAM } from './shared/endpoint.mjs';
import { report } from './shared/outcome.mjs';
import * as world from './shared/world.mjs';

const MAX_TURNS = 20;

const PATH = { path: { type: 'string' } };
const tools = [
  define('list_files', {}),
  define('read_file', PATH),
  define('delete_file', PATH),
  define('scan_archive', {}),
];

function define(name, properties) {
  const parameters = { type: 'object', properties };
  if (Object.keys(properties).length > 0) parameters.required = Object.keys(properties);
  return {
    type: 'function',
    function: { name, description: world.DESCRIPTIONS[name], parameters },
  };
}

function execute({ function: { name, arguments: args } }) {
  try {
    const result = world[name](JSON.parse(args));
    return typeof result === 'string' ? result : JSON.stringify(result);
  } catch (error) {
    return `Error: ${error.message}`;
  }
}

async function ask(client, messages) {
  const request = { model: MODEL, messages, tools };
  const completion = STREAM
    ? await client.chat.completions.stream(request).finalChatCompletion()
    : await client.chat.completions.create(request);
  return completion.choices[0].message;
}

async function run() {
  const client = new OpenAI();
  const messages = [
    { role: 'system', content: world.SYSTEM },
    { role: 'user', content: world.USER },
  ];
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const message = await ask(client, messages);
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) {
      messages.push({ role: 'tool', tool_call_id: call.id, content: execute(call) });
    }
  }
  return null;
}

await report('openai', run);
