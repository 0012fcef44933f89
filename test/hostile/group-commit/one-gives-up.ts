import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Broker } from '../../../shared/broker/broker.ts';
import { ask, message, Q } from '../../support/composed-process.ts';
import type { PauseClient } from '../../support/pause-client.ts';

/** Sends a message with an external payload. */
export async function sendLarge(broker: Broker): Promise<void> {
  await broker.send(Q, [message('', { body: randomBytes(60_000) })]);
}

/** Two receivers share a claim that removes; one gives up before the write. The other one gets a message. */
export async function receiveWhileOneGivesUp(broker: Broker, pauses: PauseClient): Promise<void> {
  const reading = pauses.pauseNext(({ command }) => command === 'BatchGetItemCommand');
  const gone = new AbortController();
  const options = ask({ mode: 'receiveAndDelete' });
  const left = broker.receive(Q, { ...options, signal: gone.signal });
  const stayed = broker.receive(Q, options);
  await reading.reached;
  gone.abort();
  reading.goOn();
  assert.deepEqual(await left, []);
  assert.equal((await stayed).length, 1);
}
