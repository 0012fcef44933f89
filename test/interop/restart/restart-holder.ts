import assert from 'node:assert/strict';
import type {
  ServiceBusClient,
  ServiceBusReceivedMessage,
  ServiceBusReceiver,
} from '@azure/service-bus';
import { receiveNow } from '../messaging/bus-entities.ts';
import type { Ending } from './restart-server.ts';

const NO_RENEWAL = { maxAutoLockRenewalDurationInMs: 0 };
const MESSAGES = 20;
const SESSIONS = ['held-0', 'held-1', 'held-2'];
const RECEIVE_WAIT_MS = 20_000;

/** The entities in which a holder has its locks. */
export interface HeldEntities {
  readonly queue: string;
  readonly sessionQueue: string;
}

/** Holds locks on messages and sessions while the server ends, and checks what happens to them. */
export class RestartHolder {
  readonly #client: ServiceBusClient;
  /** A client without the locks. */
  readonly #other: ServiceBusClient;
  readonly #entities: HeldEntities;
  readonly #how: Ending;
  readonly #receiver: ServiceBusReceiver;
  #held: readonly ServiceBusReceivedMessage[] = [];
  /** The end of each lock, epoch ms. */
  readonly ends: number[] = [];

  constructor(connect: () => ServiceBusClient, entities: HeldEntities, how: Ending) {
    this.#client = connect();
    this.#other = connect();
    this.#entities = entities;
    this.#how = how;
    this.#receiver = this.#client.createReceiver(entities.queue, NO_RENEWAL);
  }

  async hold(): Promise<void> {
    await Promise.all([this.#holdMessages(), ...SESSIONS.map((id) => this.#holdSession(id))]);
  }

  async #holdMessages(): Promise<void> {
    const bodies = Array.from({ length: MESSAGES }, (_, i) => ({ body: `held ${i}` }));
    await this.#client.createSender(this.#entities.queue).sendMessages(bodies);
    this.#held = await receiveAll(this.#receiver, MESSAGES);
    assert.equal(this.#held.length, MESSAGES);
    this.ends.push(...this.#held.map(({ lockedUntilUtc }) => lockedUntilUtc?.getTime() ?? 0));
  }

  async #holdSession(sessionId: string): Promise<void> {
    const { sessionQueue } = this.#entities;
    const sender = this.#client.createSender(sessionQueue);
    await sender.sendMessages({ body: `first of ${sessionId}`, sessionId });
    const session = await this.#client.acceptSession(sessionQueue, sessionId, NO_RENEWAL);
    await session.setSessionState(`state of ${sessionId}`);
    const [message] = await receiveAll(session, 1);
    assert.equal(message?.deliveryCount, 0);
    this.ends.push(session.sessionLockedUntilUtc.getTime());
  }

  /** Checks that other clients do not get the locked messages. Then the holder completes half of them. */
  async checkAfterRestart(): Promise<void> {
    // A server that stops on SIGTERM releases its sessions, which counts no delivery.
    if (this.#how === 'SIGTERM') await this.#checkSessionsFree(0);
    await this.checkLocked();
    for (const message of this.#held.slice(0, MESSAGES / 2))
      await this.#receiver.completeMessage(message);
  }

  async checkLocked(): Promise<void> {
    const receiver = this.#other.createReceiver(this.#entities.queue);
    assert.deepEqual(await receiveNow(receiver), [], 'locks survive the server');
    await receiver.close();
    if (this.#how === 'SIGTERM') return;
    const [sessionId = ''] = SESSIONS;
    const accepted = this.#other.acceptSession(this.#entities.sessionQueue, sessionId);
    await assert.rejects(accepted, { code: 'SessionCannotBeLocked' });
  }

  /** Checks that the other half is delivered once more with a counted delivery, as are cut-off sessions. */
  async checkFreed(): Promise<void> {
    const rest = this.#held.slice(MESSAGES / 2);
    const receiver = this.#other.createReceiver(this.#entities.queue);
    const again = await receiveAll(receiver, rest.length);
    assert.deepEqual(
      again.map(({ body, deliveryCount }) => ({ body, deliveryCount })),
      rest.map(({ body }) => ({ body, deliveryCount: 1 })),
      'all locks expire in time, and each delivery counts once',
    );
    for (const message of again) await receiver.completeMessage(message);
    if (this.#how !== 'SIGTERM') await this.#checkSessionsFree(1);
  }

  async #checkSessionsFree(deliveryCount: number): Promise<void> {
    await Promise.all(SESSIONS.map((id) => this.#checkSessionFree(id, deliveryCount)));
  }

  async #checkSessionFree(sessionId: string, deliveryCount: number): Promise<void> {
    const session = await this.#other.acceptSession(this.#entities.sessionQueue, sessionId);
    assert.equal(await session.getSessionState(), `state of ${sessionId}`);
    const [message] = await receiveAll(session, 1);
    assert.ok(message);
    assert.equal(message.body, `first of ${sessionId}`);
    assert.equal(message.deliveryCount, deliveryCount);
    await session.completeMessage(message);
    await session.close();
  }

  async close(): Promise<void> {
    await Promise.all([this.#client.close(), this.#other.close()]);
  }
}

/** Receives `count` messages, with a long wait: a client closes the link of a session that drains slowly. */
async function receiveAll(
  receiver: ServiceBusReceiver,
  count: number,
): Promise<readonly ServiceBusReceivedMessage[]> {
  const messages: ServiceBusReceivedMessage[] = [];
  while (messages.length < count) {
    const wait = { maxWaitTimeInMs: RECEIVE_WAIT_MS };
    const more = await receiver.receiveMessages(count - messages.length, wait);
    if (more.length === 0) break;
    messages.push(...more);
  }
  return messages;
}
