import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';

const {
  turnBytes: TURN_BYTES,
  turnMessageBytes: MESSAGE_BYTES,
  turnPropertyBytes: PROPERTY_BYTES,
} = BUDGETS.connection;

/** Divides the time to encode messages among connections. */
export class WritingTurns {
  readonly #turns: Pick<WorkTurns, 'next'>;
  readonly #peer: object;
  #bytes = 0;

  /** `peer` = an object that stands for the connection. */
  constructor(turns: Pick<WorkTurns, 'next'>, peer: object) {
    this.#turns = turns;
    this.#peer = peer;
  }

  /** Called before each message is encoded: resolves when it may be; undefined = at once. */
  before({ message: { amqp, properties } }: ReceivedMessage): Promise<void> | undefined {
    this.#bytes += MESSAGE_BYTES + (amqp?.byteLength ?? 0);
    this.#bytes += PROPERTY_BYTES * Object.keys(properties).length;
    if (this.#bytes <= TURN_BYTES) return undefined;
    this.#bytes = 0;
    return this.#turns.next(this.#peer);
  }
}
