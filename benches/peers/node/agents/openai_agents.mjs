// OpenAI Agents SDK: an agent on chat completions. Its tracing is off, since it would be sent to a
// service; everything else is as it comes.

import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';

import { API_KEY, BASE_URL, MODEL, work, world } from './worker.mjs';

setTracingDisabled(true);

const define = (name, parameters) =>
  tool({ name, description: world.DESCRIPTIONS[name], parameters, execute: world[name] });
const path = z.object({ path: z.string() });

const agent = new Agent({
  name: 'File assistant',
  instructions: world.SYSTEM,
  model: MODEL,
  tools: [
    define('list_files', z.object({})),
    define('read_file', path),
    define('delete_file', path),
    define('scan_archive', z.object({})),
  ],
});

const modelProvider = new OpenAIProvider({ apiKey: API_KEY, baseURL: BASE_URL, useResponses: false });
const runner = new Runner({ modelProvider });

await work(async () => (await runner.run(agent, world.USER)).finalOutput);
