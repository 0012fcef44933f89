import type { LastWrite } from '../../support/crashing-client.ts';
import type { LoadRandom } from '../../support/load-random.ts';
import type { BatchMessage, TestBroker } from '../../support/test-broker.ts';

/** A fault of the process that a sender sends through. */
export interface ProcessFault {
  /** May cause the fault during the next send. */
  before(random: LoadRandom): void;
  /** Ends the fault. */
  after(): void;
}

/** The process crashes in the middle of a share of its sends, and starts again afterwards. */
export function crashes(
  client: { crashAt(write: number, when: LastWrite): void; restart(): boolean },
  share: number,
): ProcessFault {
  return {
    before: (random) => {
      if (!random.chance(share)) return;
      client.crashAt(random.between(1, 12), random.pick(['before it', 'after it']));
    },
    after: () => client.restart(),
  };
}

/** The process itself has no faults; its database may. */
export const NO_FAULT: ProcessFault = { before: () => {}, after: () => {} };

/** Statuses of a send whose outcome is unknown. */
const OUTCOME_UNKNOWN = [500, 503, 504];
const TRIES_MAX = 200;

/** Sends batches one after the other, and repeats each until it is accepted. */
export class RetryingSender {
  readonly #broker: TestBroker;
  readonly #fault: ProcessFault;
  readonly #random: LoadRandom;
  /** How many sends failed and were repeated. */
  failures = 0;

  constructor(broker: TestBroker, fault: ProcessFault, random: LoadRandom) {
    this.#broker = broker;
    this.#fault = fault;
    this.#random = random;
  }

  async send(queue: string, ids: readonly string[], dueAt: number | undefined): Promise<void> {
    const batch = ids.map((id) => messageOf(id, dueAt));
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      this.#fault.before(this.#random);
      const { status, text } = await this.#broker.sendBatch(queue, batch);
      this.#fault.after();
      if (status === 201) return;
      if (!OUTCOME_UNKNOWN.includes(status)) throw new Error(`A send failed: ${status} ${text}`);
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
