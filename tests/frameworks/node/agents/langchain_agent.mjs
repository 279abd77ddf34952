// LangChain: `createAgent` on ChatOpenAI, with everything else as it comes.

import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

import { API_KEY, BASE_URL, MODEL, STREAM } from './shared/endpoint.mjs';
import { report } from './shared/outcome.mjs';
import * as world from './shared/world.mjs';

process.env.LANGSMITH_TRACING = 'false';

const define = (name, schema) =>
  tool(world[name], { name, description: world.DESCRIPTIONS[name], schema });
const path = z.object({ path: z.string() });

const agent = createAgent({
  model: new ChatOpenAI({
    model: MODEL,
    apiKey: API_KEY,
    configuration: { baseURL: BASE_URL },
  }),
  tools: [
    define('list_files', z.object({})),
    define('read_file', path),
    define('delete_file', path),
    define('scan_archive', z.object({})),
  ],
  systemPrompt: world.SYSTEM,
});

await report('langchain', async () => {
  const input = { messages: [{ role: 'user', content: world.USER }] };
  let state;
  if (STREAM) {
    for await (const [mode, chunk] of await agent.stream(input, {
      streamMode: ['messages', 'values'],
    })) {
      if (mode === 'values') state = chunk;
    }
  } else {
    state = await agent.invoke(input);
  }
  return state.messages.at(-1).text;
});
