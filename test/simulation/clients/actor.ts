import type { Random } from '../machines/random.ts';
import type { World } from '../machines/world.ts';
import type { ClientLocks, NumberRegistry } from './client-state.ts';
import type { OperationRecord } from './record.ts';

export interface ClientContext {
  readonly world: World;
  readonly random: Random;
  readonly registry: NumberRegistry;
  readonly record: (record: OperationRecord) => void;
  /** Numbers for operations and deliveries. */
  readonly number: () => number;
}

/** A client that performs operations, with the locks it has. */
export interface Actor {
  readonly name: string;
  readonly locks: ClientLocks;
  readonly context: ClientContext;
}
