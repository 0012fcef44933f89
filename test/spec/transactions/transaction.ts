import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Answer } from '../../support/api-client.ts';
import { StoredItems } from '../../support/stored-items.ts';
import { expectStatus, type Received, type TestBroker } from '../../support/test-broker.ts';

/** Shared by the tests of transactions. */

/** A send operation for these messages; a string is the body of one. */
export function sending(path: string, ...sent: readonly (string | object)[]): object {
  const messages = sent.map((one) => (typeof one === 'string' ? { Body: one } : one));
  return { send: path, messages };
}

/** An operation that settles or renews a locked message. */
export function settling(
  verb: 'complete' | 'abandon' | 'defer' | 'deadLetter' | 'renew',
  path: string,
  { broker: { LockToken: lockToken } }: Received,
  options: object = {},
): object {
  return { [verb]: path, lockToken, ...options };
}

/** Requests a transaction, with or without an id. */
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

/** Requests a transaction; fails if it is refused. Returns the results of its operations. */
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

/** The error in an answer. */
export function refusalOf(answer: Answer): Refusal {
  return answer.json<{ error: Refusal }>().error;
}

/** Requires that a transaction is refused and that no stored item has changed. */
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
