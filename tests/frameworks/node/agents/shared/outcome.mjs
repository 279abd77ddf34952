// The last line of an agent: how its run ended, as JSON on standard output.

import { readFileSync } from 'node:fs';

const modules = new URL('../../node_modules/', import.meta.url);

// Runs an agent and prints how it ended; the process then exits with 0 for a result and 1 for an
// exception. `framework` is its name on npm.
export async function report(framework, run) {
  const manifest = readFileSync(new URL(`${framework}/package.json`, modules), 'utf8');
  const line = { framework, version: JSON.parse(manifest).version };
  try {
    const output = (await run()) || null;
    console.log(JSON.stringify({ ...line, ending: 'result', output }));
  } catch (error) {
    const name = `${error?.constructor?.name}: ${error?.message}`;
    console.log(JSON.stringify({ ...line, ending: 'exception', error: name.slice(0, 300) }));
    process.exitCode = 1;
  }
}
