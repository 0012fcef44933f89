import type { LoadRandom } from '../../support/load-random.ts';
import type { Scene } from './scene.ts';
import type { Step, Wire } from './wire.ts';

/** What an attack of one kind does, with what it draws. */
export interface Drawn {
  readonly what: string;
  readonly wires: readonly Wire[];
}

/** A kind of attack. */
export interface Kind {
  readonly name: string;
  /** The rows of the list of weaknesses that it came from; none for what was added. */
  readonly rows: readonly number[];
  draw(random: LoadRandom, scene: Scene): Drawn;
}

/** So many connections that say the same. */
export function wires(count: number, ...steps: readonly Step[]): readonly Wire[] {
  return Array.from({ length: count }, () => ({ steps }));
}

/** The same piece so many times. */
export const repeat = (times: number, bytes: Uint8Array): Step => ({ times, make: () => bytes });

/** Pieces joined, as one write. */
export function joined(count: number, make: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));
}

export const KB = 1024;
export const MB = 1024 * KB;
