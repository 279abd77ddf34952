// Plays conversations through the official client, and tells what it parsed: python/clients/play.py in JavaScript.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import OpenAI from 'openai';
import { VERSION } from 'openai/version';

// The message as it goes back to the model.
function asSent(message) {
  const sent = { role: message.role, content: message.content };
  if (message.tool_calls?.length) {
    sent.tool_calls = message.tool_calls.map((call) => ({
      id: call.id,
      type: call.type,
      function: { name: call.function.name, arguments: call.function.arguments },
    }));
  }
  return sent;
}

function figures(usage) {
  return [
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.total_tokens,
    usage.prompt_tokens_details.cached_tokens,
    usage.completion_tokens_details.reasoning_tokens,
  ];
}

function turnOf(completion) {
  const [choice, ...more] = completion.choices;
  assert.equal(more.length, 0, 'there is one choice');
  return {
    message: asSent(choice.message),
    finish: choice.finish_reason,
    usage: figures(completion.usage),
  };
}

const WITH_USAGE = { stream_options: { include_usage: true } };

const MODES = {
  plain: async (client, request) => turnOf(await client.chat.completions.create(request)),

  // Streamed, put together by the client.
  helper: async (client, request) =>
    turnOf(
      await client.chat.completions.stream({ ...request, ...WITH_USAGE }).finalChatCompletion(),
    ),

  // Streamed, put together here.
  chunks: async (client, request) => {
    const streamed = { ...request, ...WITH_USAGE, stream: true };
    const seen = [];
    for await (const chunk of await client.chat.completions.create(streamed)) seen.push(chunk);
    return joined(seen);
  },
};

function joined(seen) {
  const pieces = seen.slice(0, -1);
  const closing = seen.at(-1);
  assert.ok(closing.usage, 'the last chunk has the usage');
  assert.deepEqual(closing.choices, [], 'the last chunk has no choice');
  assert.ok(!pieces.some((piece) => piece.usage), 'only the last chunk has the usage');
  assert.equal(pieces[0].choices[0].delta.role, 'assistant', 'the first chunk has the role');
  assert.equal(new Set(seen.map((chunk) => chunk.id)).size, 1, 'all chunks have the same id');
  let content = null;
  let finish = null;
  const calls = [];
  for (const { choices } of pieces) {
    assert.equal(choices.length, 1, 'there is one choice');
    assert.equal(finish, null, 'nothing comes after the finish reason');
    const [{ delta, finish_reason }] = choices;
    finish = finish_reason;
    if (typeof delta.content === 'string') content = (content ?? '') + delta.content;
    for (const part of delta.tool_calls ?? []) take(calls, part);
  }
  const message = { role: 'assistant', content };
  if (calls.length) message.tool_calls = calls;
  return { message, finish, usage: figures(closing.usage) };
}

function take(calls, part) {
  if (part.index === calls.length) {
    calls.push({
      id: part.id,
      type: part.type,
      function: { name: part.function.name, arguments: '' },
    });
  } else {
    assert.equal(part.index, calls.length - 1, `index ${part.index} after ${calls.length} calls`);
    assert.ok(!part.id && !part.function.name, 'id and name come once');
  }
  calls.at(-1).function.arguments += part.function.arguments ?? '';
}

async function play(scene, mode) {
  const baseURL = scene.base_url.replace('MODE', mode);
  const client = new OpenAI({ baseURL, apiKey: 'unused', maxRetries: 0, timeout: 30_000 });
  const { model, tools, results, max_turns: most } = scene;
  const messages = [
    { role: 'system', content: scene.system },
    { role: 'user', content: scene.user },
  ];
  const turns = [];
  let child = null;
  while (turns.length < most) {
    const turn = await MODES[mode](client, { model, messages: [...messages], tools });
    turns.push(turn);
    // A streamed reply without prose begins with an empty one.
    messages.push({ ...turn.message, content: turn.message.content || null });
    const calls = turn.message.tool_calls ?? [];
    for (const { id, function: { name, arguments: args } } of calls) {
      let content = results[id];
      if (scene.child?.tool === name) {
        child = await play({ ...scene.child, user: JSON.parse(args).question }, mode);
        content = child.turns.at(-1).message.content;
      }
      assert.equal(typeof content, 'string', `call ${id} has a result`);
      messages.push({ role: 'tool', tool_call_id: id, name, content });
    }
    if (!calls.length) break;
  }
  return { turns, child };
}

const tell = (line) => console.log(JSON.stringify(line));

tell({ client: `openai ${VERSION} (Node)` });
for (const scene of JSON.parse(readFileSync(0, 'utf8')).cases) {
  for (const mode of ['plain', 'chunks', 'helper']) {
    const played = await play(scene, mode).catch((error) => ({
      error: `${error.constructor.name}: ${error.message}`,
    }));
    tell({ case: scene.name, mode, ...played });
  }
}
