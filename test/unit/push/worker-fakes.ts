import type {
  ConsumerReference,
  ConsumerState,
  ConsumerStates,
  Released,
} from '../../../shared/push/ports.ts';

/** The consumer of these tests. */
export const OF: ConsumerReference = {
  entityKey: 'orders',
  entityId: 'e1',
  consumer: 'main/mail',
};

/** The states of one consumer, in memory. */
export class FakeStates implements ConsumerStates {
  state: ConsumerState = { turn: 0, earlier: {}, isWoken: false };

  async read(): Promise<ConsumerState> {
    return this.state;
  }

  async take(
    _: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
    seen: ConsumerState,
    earlier: ConsumerState['earlier'],
  ): Promise<boolean> {
    if (this.state.lease?.owner !== seen.lease?.owner) return false;
    this.state = { ...this.state, lease, earlier, isWoken: false };
    return true;
  }

  async renew(
    _: ConsumerReference,
    lease: NonNullable<ConsumerState['lease']>,
  ): Promise<ConsumerState | undefined> {
    if (this.state.lease?.owner !== lease.owner) return undefined;
    this.state = { ...this.state, lease };
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

  async endEarlier(): Promise<void> {}

  async markWoken(_: ConsumerReference, owner: string): Promise<boolean> {
    if (this.state.lease?.owner !== owner) return false;
    this.state = { ...this.state, isWoken: true };
    return true;
  }
}
