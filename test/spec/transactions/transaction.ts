import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/** What tests of transactions share. */

/** A send of messages with these bodies. */
export function sending(path: string, ...sent: readonly (string | object)[]): object {
  const messages = sent.map((one) => (typeof one === 'string' ? { Body: one } : one));
  return { send: path, messages };
}

/** A settlement of a locked message. */
export function settling(
  verb: 'complete' | 'abandon' | 'defer' | 'deadLetter' | 'renew',
  path: string,
  { broker: { LockToken: lockToken } }: Received,
  options: object = {},
): object {
  return { [verb]: path, lockToken, ...options };
}

/** Asks for a transaction, under an id or without. */
export async function transact(
  broker: TestBroker,
  operations: readonly object[],
  id?: string,
): Promise<Answer> {
  return await broker.request('POST', '$transactions', {
    body: JSON.stringify({ id, operations }),
    headers: { 'Content-Type': 'application/json' },
  });
}

/** Carries out a transaction, which must succeed; returns what the operations came to. */
export async function commit(
  broker: TestBroker,
  operations: readonly object[],
  id?: string,
): Promise<readonly Record<string, unknown>[]> {
  const answer = await transact(broker, operations, id);
  expectStatus(answer, 200);
  return answer.json<{ operations: Record<string, unknown>[] }>().operations;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly operation?: number;
}

/** The refusal in an answer. */
export function refusalOf(answer: Answer): Refusal {
  return answer.json<{ error: Refusal }>().error;
}

/** A transaction is refused, and nothing at all has changed. */
export async function requireRefused(
  t: TestContext,
  broker: TestBroker,
  operations: readonly object[],
  expected: { readonly status: number; readonly code: string; readonly operation?: number },
): Promise<Refusal> {
  const stored = new StoredItems(broker);
  t.after(() => stored.close());
  await broker.units(async () => {});
  const before = await stored.all();
  const answer = await transact(broker, operations);
  await broker.units(async () => {});
  const refusal = refusalOf(answer);
  const { code, operation } = refusal;
  assert.deepEqual(
    { status: answer.status, code, ...(operation === undefined ? {} : { operation }) },
    expected,
    answer.text,
  );
  assert.deepEqual(await stored.all(), before, 'nothing has changed');
  return refusal;
}
