import type {
  ConsumerReference,
  ConsumerState,
  ConsumerStates,
  Released,
  Trouble,
} from '../../../shared/push/ports.ts';
import type { WorkerDependencies } from '../../../shared/push/worker-dependencies.ts';

/** The consumer of these tests. */
export const OF: ConsumerReference = {
  entityKey: 'orders',
  entityId: 'e1',
  consumer: 'main/mail',
};

/** The messages of a queue without sessions: none, and whatever is settled is done. */
export const EMPTY_QUEUE: WorkerDependencies['broker'] = {
  receive: async () => [],
  settle: async (_, settlements) => settlements.map(({ lockToken }) => ({ lockToken })),
  renewLocks: async () => [],
  acceptSession: async () => undefined,
  renewSession: () => Promise.reject(new Error('There are no sessions.')),
  releaseSession: () => Promise.reject(new Error('There are no sessions.')),
};

/** The states of one consumer, in memory. */
export class FakeStates implements ConsumerStates {
  state: ConsumerState = { turn: 0, formerCalls: {}, isWoken: false };

  async read(): Promise<ConsumerState> {
    return this.state;
  }

  async take(
    _: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
    seen: ConsumerState,
    formerCalls: ConsumerState['formerCalls'],
  ): Promise<boolean> {
    if (this.state.lease?.owner !== seen.lease?.owner) return false;
    this.state = { ...this.state, lease, formerCalls, isWoken: false };
    return true;
  }

  async renew(
    _: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
    trouble: Trouble,
  ): Promise<ConsumerState | undefined> {
    const { turn, formerCalls, isWoken } = this.state;
    if (this.state.lease?.owner !== lease.owner) return undefined;
    this.state = { turn, formerCalls, isWoken, lease, ...trouble };
    return this.state;
  }

  async release(
    _: ConsumerReference,
    { owner }: { readonly owner: string },
    __: Released,
  ): Promise<'released' | 'woken' | 'lost'> {
    const { lease, ...rest } = this.state;
    if (lease?.owner !== owner) return 'lost';
    if (rest.isWoken) {
      this.state = { ...this.state, isWoken: false };
      return 'woken';
    }
    this.state = rest;
    return 'released';
  }

  async endFormerCalls(): Promise<void> {}

  async markWoken(_: ConsumerReference, owner: string): Promise<boolean> {
    if (this.state.lease?.owner !== owner) return false;
    this.state = { ...this.state, isWoken: true };
    return true;
  }
}
