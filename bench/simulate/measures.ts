/** Who refused a request: an item collection, a table, API Gateway or Lambda. */
export type Refuser = string;

interface Load {
  write: number;
  read: number;
}

/** Everything that is counted while a deployment runs. */
export class Measures {
  write = 0;
  read = 0;
  /** Requests to DynamoDB. */
  requests = 0;
  /** Writes whose condition failed, and transactions that conflicted: another process was faster. */
  lostRaces = 0;
  /** HTTP requests that reached API Gateway. */
  calls = 0;
  /** Requests that reached a function. */
  invocations = 0;
  coldStarts = 0;
  /** Billed time of functions, ms. */
  billedMs = 0;
  /** Messages that senders were asked to send. */
  offered = 0;
  /** Calls of senders that failed after all tries. */
  failedCalls = 0;
  /** Messages whose receive was answered for the first time. */
  received = 0;
  /** Messages that were completed. */
  delivered = 0;
  /** From the call of the send to the answer of the receive, ms, of each message received. */
  latencies: number[] = [];
  /** Refused requests, by what refused them. */
  refusals = new Map<Refuser, number>();
  /** Units by item collection. */
  collections = new Map<string, Load>();

  /** Resets all counts. */
  restart(): void {
    Object.assign(this, new Measures());
  }

  refuse(refuser: Refuser): void {
    this.refusals.set(refuser, (this.refusals.get(refuser) ?? 0) + 1);
  }

  /** Counts units, which item collections consumed in equal parts. */
  spend(kind: keyof Load, units: number, collections: readonly string[]): void {
    this[kind] += units;
    for (const pk of collections) {
      const load = this.collections.get(pk) ?? { write: 0, read: 0 };
      load[kind] += units / collections.length;
      this.collections.set(pk, load);
    }
  }
}
