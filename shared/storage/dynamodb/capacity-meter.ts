import type { ConsumedCapacity } from '@aws-sdk/client-dynamodb';

/** The cost of requests. */
export interface Units {
  readonly read: number;
  readonly write: number;
  readonly requests: number;
  /** Requests that waited for an earlier one: round trips in sequence. */
  readonly roundTrips: number;
}

/**
 * Counts capacity units for benchmarks and tests. Two corrections give the service's price on every engine
 * (docs/architecture/budgets.md): a transaction costs at least two units an item, which DynamoDB Local does not report,
 * and a failed condition costs one.
 */
export class UnitMeter {
  #read = 0;
  #write = 0;
  #requests = 0;
  #depth = 0;

  /** Call it when a request starts; call the result when it ends, with the reported capacity. */
  begin(
    kind: 'read' | 'write' | 'transact',
    transactItems: number,
  ): (consumed: ConsumedCapacity | ConsumedCapacity[] | undefined) => void {
    const depth = this.#depth + 1;
    this.#requests++;
    return (consumed) => {
      this.#depth = Math.max(this.#depth, depth);
      const reported = total(consumed);
      if (kind === 'read') this.#read += reported;
      else if (kind === 'write') this.#write += consumed === undefined ? 1 : reported;
      else this.#write += Math.max(reported, 2 * transactItems);
    };
  }

  /** The units counted since the last call; resets the count. */
  take(): Units {
    const units = {
      read: this.#read,
      write: this.#write,
      requests: this.#requests,
      roundTrips: this.#depth,
    };
    this.#read = 0;
    this.#write = 0;
    this.#requests = 0;
    this.#depth = 0;
    return units;
  }
}

function total(consumed: ConsumedCapacity | ConsumedCapacity[] | undefined): number {
  if (consumed === undefined) return 0;
  const list = Array.isArray(consumed) ? consumed : [consumed];
  return list.reduce((sum, entry) => sum + (entry.CapacityUnits ?? 0), 0);
}
