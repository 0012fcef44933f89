import assert from 'node:assert/strict';
import type { Answer } from './api-client.ts';
import type { TestBroker } from './test-broker.ts';

/** Management in JSON over HTTP. */

export const JSON_TYPE = 'application/json';
const ACCEPT = { Accept: JSON_TYPE } as const;

/** The JSON of an entity, a rule or a list. */
export type Json = Readonly<Record<string, unknown>>;

/** Requests a PUT with a JSON body; `body` = its text, or what to print. Without an Accept, so the answer is JSON. */
export async function putJson(
  broker: TestBroker,
  path: string,
  body: Json | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return await broker.request('PUT', path, {
    headers: { 'Content-Type': JSON_TYPE, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Reads an entity, a rule or a list as JSON, which must succeed. */
export async function getJson(broker: TestBroker, path: string): Promise<Json> {
  return (await readJson(broker, path)).json<Json>();
}

/** The same with the whole answer. */
export async function readJson(broker: TestBroker, path: string): Promise<Answer> {
  const answer = await broker.request('GET', path, { headers: ACCEPT });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('content-type'), JSON_TYPE);
  return answer;
}

/** The sentence of a refusal in JSON. */
export function sentenceOf(answer: Answer): string {
  assert.equal(answer.headers.get('content-type'), JSON_TYPE, answer.text);
  return answer.json<{ error: { message: string } }>().error.message;
}
