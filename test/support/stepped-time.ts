import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { START } from './manual-clock.ts';
import { ManualScheduler } from './manual-scheduler.ts';
import { engineClient } from './start-broker.ts';

/** Turns without a request under way after which nothing more happens by itself. */
const QUIET_TURNS = 10;

/**
 * Time that a test moves for processes over a real engine. It stands still while a request of `client` is under way, so
 * what happens when depends on no machine.
 */
export class SteppedTime extends ManualScheduler {
  readonly clock = { now: () => START + Math.floor(this.now()) };
  #underWay = 0;

  /** A client whose requests hold the time. The caller destroys it. */
  client(): DynamoDBClient {
    const client = engineClient();
    client.middlewareStack.add((next) => (args) => this.holdDuring(next(args)), {
      step: 'initialize',
      name: 'steppedTime',
    });
    return client;
  }

  /** Holds the time while some work is under way. */
  async holdDuring<Value>(work: Promise<Value>): Promise<Value> {
    this.#underWay++;
    try {
      return await work;
    } finally {
      this.#underWay--;
    }
  }

  override async settled(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#underWay > 0) turns = 0;
    }
  }
}
