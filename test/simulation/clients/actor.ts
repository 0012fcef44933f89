import type { Random } from '../engine/random.ts';
import type { World } from '../engine/world.ts';
import type { Hands, Noticeboard } from './pool.ts';
import type { OperationRecord } from './record.ts';

export interface ClientParts {
  readonly world: World;
  readonly random: Random;
  readonly board: Noticeboard;
  readonly record: (record: OperationRecord) => void;
  /** Numbers for operations and deliveries. */
  readonly number: () => number;
}

/** Who carries out operations, with what it has in hand. */
export interface Actor {
  readonly name: string;
  readonly hands: Hands;
  readonly parts: ClientParts;
}
