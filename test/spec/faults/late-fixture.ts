import type { TestContext } from 'node:test';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { startTries, type TriesClient } from '../../support/tries-client.ts';

/** The number of attempts that the SDK makes for one command. */
export const TRIES_MAX = 4;

/** A broker over a client with chosen outcomes, with a queue `q` and a queue `s` of sessions; locks last 30 s. */
export async function start(
  t: TestContext,
): Promise<{ readonly broker: TestBroker; readonly tries: TriesClient }> {
  const tries = startTries();
  t.after(() => tries.client.destroy());
  const broker = await startBroker(t, { client: tries.client });
  expectStatus(await broker.createQueue('q', { LockDuration: 'PT30S' }), 201);
  expectStatus(
    await broker.createQueue('s', { RequiresSession: 'true', LockDuration: 'PT30S' }),
    201,
  );
  return { broker, tries };
}
