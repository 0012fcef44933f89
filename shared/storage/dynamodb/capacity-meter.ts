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
 * Counts capacity units for benchmarks and tests. Each request costs at least what DynamoDB charges for it at any
 * size of its items (docs/architecture/budgets.md), because an engine may report less: DynamoDB Local reports nothing
 * for a query that finds nothing and for items that do not exist, and too little for a transaction.
 */
export class UnitMeter {
  #read = 0;
  #write = 0;
  #requests = 0;
  #depth = 0;

  /**
   * Call it when a request starts, with the least that it costs; call the result when it ends, with the reported
   * capacity, or undefined if it failed. A write that failed counts its least, because its condition did.
   */
  begin(
    kind: 'read' | 'write',
    least: number,
  ): (consumed: ConsumedCapacity | ConsumedCapacity[] | undefined) => void {
    const depth = this.#depth + 1;
    this.#requests++;
    return (consumed) => {
      this.#depth = Math.max(this.#depth, depth);
      const units = Math.max(total(consumed), least);
      if (kind === 'write') this.#write += units;
      else if (consumed !== undefined) this.#read += units;
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
  const list = [consumed ?? []].flat();
  return list.reduce((sum, entry) => sum + (entry.CapacityUnits ?? 0), 0);
}
