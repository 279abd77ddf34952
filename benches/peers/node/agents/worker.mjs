// What every agent here shares: one run at once, then as many as a line of standard input asks for.

import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';

import * as world from '../../../../tests/frameworks/node/agents/shared/world.mjs';

const { env } = process;

export { world };
export const BASE_URL = env.OPENAI_BASE_URL;
export const API_KEY = env.OPENAI_API_KEY;
export const MODEL = env.LLM_MODEL;

// Prints the answer of a first run, then for each line `N` the times of N runs, in ms, and their
// answers without repetition. A run before the N is not timed: the endpoint may have let go of a
// connection that was idle. Ends with its input.
export async function work(run) {
  console.log(JSON.stringify({ answer: await run() }));
  for await (const line of createInterface({ input: process.stdin })) {
    const ms = [];
    const answers = new Set([await run()]);
    for (let left = Number(line); left > 0; left -= 1) {
      const start = performance.now();
      answers.add(await run());
      ms.push(performance.now() - start);
    }
    console.log(JSON.stringify({ ms, answers: [...answers] }));
  }
}
