// Three files in memory, four tools over them, and the two texts that open a conversation.
//
// The texts are those of the repository's own experiments, so that prompts can be compared. A tool
// that cannot do its work throws, and it is left to each framework what becomes of that.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../../../../experiments/world/', import.meta.url);
const text = (name) => readFileSync(new URL(name, folder), 'utf8');
const names = readdirSync(new URL('files/', folder)).sort();
const files = new Map(names.map((name) => [name, text(`files/${name}`)]));

export const SYSTEM = text('system.txt');
export const USER = text('user.txt');

export const DESCRIPTIONS = {
  list_files: 'List the names of all files.',
  read_file: 'Read one file and return its whole text.',
  delete_file: 'Delete one file. This cannot be undone.',
  scan_archive: 'Scan the archive of old files. This takes a few seconds.',
};

export function list_files() {
  log('list_files', {});
  return [...files.keys()];
}

export function read_file({ path }) {
  log('read_file', { path });
  return files.get(existing(path));
}

export function delete_file({ path }) {
  log('delete_file', { path });
  files.delete(existing(path));
  return `deleted ${path}`;
}

export function scan_archive() {
  log('scan_archive', {});
  return 'scanned 1200 files';
}

function existing(path) {
  if (path.startsWith('/') || path.split('/').includes('..')) {
    throw new Error(`permission denied: ${path}`);
  }
  if (!files.has(path)) {
    throw new Error(`no such file: ${path}. Call list_files to see what exists.`);
  }
  return path;
}

// Appends the call that starts to the file named by LOOPMETER_TOOL_LOG, where it is set.
function log(tool, args) {
  const lines = process.env.LOOPMETER_TOOL_LOG;
  if (lines) appendFileSync(lines, `${JSON.stringify({ tool, args })}\n`);
}
