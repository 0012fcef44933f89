import type { LoadRandom } from '../../support/load-random.ts';
import type { LastWrite } from '../../support/mortal-client.ts';
import type { BatchMessage, TestBroker } from '../../support/test-broker.ts';

/** Something that goes wrong with the sends of a process. */
export interface Mishap {
  /** It may happen to the send that comes next. */
  before(random: LoadRandom): void;
  /** All is well again. */
  after(): void;
}

/** Of a process that dies in the middle of a send, and is there again. */
export function deaths(
  client: { dieAt(write: number, when: LastWrite): void; revive(): boolean },
  share: number,
): Mishap {
  return {
    before: (random) => {
      if (!random.chance(share)) return;
      client.dieAt(random.between(1, 12), random.pick(['before it', 'after it']));
    },
    after: () => client.revive(),
  };
}

/** Nothing but what the database does by itself. */
export const NO_MISHAP: Mishap = { before: () => {}, after: () => {} };

/** What an answer may say of a send that did not come through. */
const NOT_KNOWN = [500, 503, 504];
const TRIES_MAX = 200;

/** Sends batches one after the other, each again and again until it hears that it is accepted. */
export class RetryingSender {
  readonly #broker: TestBroker;
  readonly #mishap: Mishap;
  readonly #random: LoadRandom;
  /** How many sends had to be tried again. */
  failures = 0;

  constructor(broker: TestBroker, mishap: Mishap, random: LoadRandom) {
    this.#broker = broker;
    this.#mishap = mishap;
    this.#random = random;
  }

  async send(queue: string, ids: readonly string[], dueAt: number | undefined): Promise<void> {
    const batch = ids.map((id) => messageOf(id, dueAt));
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      this.#mishap.before(this.#random);
      const { status, text } = await this.#broker.sendBatch(queue, batch);
      this.#mishap.after();
      if (status === 201) return;
      if (!NOT_KNOWN.includes(status)) throw new Error(`A send failed: ${status} ${text}`);
      this.failures++;
    }
    throw new Error(`A batch of ${ids.length} was not accepted in ${TRIES_MAX} tries.`);
  }
}

function messageOf(id: string, dueAt: number | undefined): BatchMessage {
  return {
    Body: id,
    BrokerProperties: {
      MessageId: id,
      ...(dueAt === undefined ? {} : { ScheduledEnqueueTimeUtc: new Date(dueAt).toISOString() }),
    },
  };
}
