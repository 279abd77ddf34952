// AI SDK: a ToolLoopAgent on an OpenAI-compatible provider, with everything else as it comes.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';

import { API_KEY, BASE_URL, MODEL, work, world } from './worker.mjs';

const provider = createOpenAICompatible({ name: 'loopmeter', baseURL: BASE_URL, apiKey: API_KEY });

const define = (name, inputSchema) =>
  tool({ description: world.DESCRIPTIONS[name], inputSchema, execute: world[name] });
const path = z.object({ path: z.string() });

const agent = new ToolLoopAgent({
  model: provider(MODEL),
  instructions: world.SYSTEM,
  tools: {
    list_files: define('list_files', z.object({})),
    read_file: define('read_file', path),
    delete_file: define('delete_file', path),
    scan_archive: define('scan_archive', z.object({})),
  },
});

await work(async () => (await agent.generate({ prompt: world.USER })).text);
