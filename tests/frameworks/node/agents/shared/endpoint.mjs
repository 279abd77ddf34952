// The endpoint that an agent talks to, from the environment.

const { env } = process;

if (!env.OPENAI_BASE_URL) {
  console.error('OPENAI_BASE_URL is not set: name the endpoint, such as http://127.0.0.1:8080/v1');
  process.exit(1);
}
env.OPENAI_API_KEY ||= 'unused';

export const BASE_URL = env.OPENAI_BASE_URL;
export const API_KEY = env.OPENAI_API_KEY;
export const MODEL = env.LLM_MODEL ?? 'scripted/plan';
export const STREAM = env.STREAM === '1';
