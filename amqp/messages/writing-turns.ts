import type { ReceivedMessage } from '../../shared/broker/broker.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { WorkTurns } from '../../shared/domain/turns/work-turns.ts';

const {
  turnBytes: TURN_BYTES,
  turnMessageBytes: MESSAGE_BYTES,
  turnPropertyBytes: PROPERTY_BYTES,
} = BUDGETS.connection;

/** Lets others have their turn while messages are written one after the other. */
export class WritingTurns {
  readonly #turns: Pick<WorkTurns, 'next'>;
  readonly #peer: object;
  #bytes = 0;

  /** `peer` = for whom the messages are written. */
  constructor(turns: Pick<WorkTurns, 'next'>, peer: object) {
    this.#turns = turns;
    this.#peer = peer;
  }

  /** To be called before a message is written: resolves when it may be; undefined = at once. */
  before({ message: { amqp, properties } }: ReceivedMessage): Promise<void> | undefined {
    this.#bytes += MESSAGE_BYTES + (amqp?.byteLength ?? 0);
    this.#bytes += PROPERTY_BYTES * Object.keys(properties).length;
    if (this.#bytes <= TURN_BYTES) return undefined;
    this.#bytes = 0;
    return this.#turns.next(this.#peer);
  }
}
