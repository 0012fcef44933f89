import type { ShownEntity } from './entity.ts';

/** How many moments are kept of each entity. */
const SAMPLES_MAX = 60;

/** How many messages an entity had at the moments at which the page has looked, the oldest first. */
export interface Samples {
  readonly active: readonly number[];
  readonly dead: readonly number[];
}

/** What came and went while the page is open. It forgets entities that are gone. */
export class History {
  #samples: ReadonlyMap<string, Samples> = new Map();

  /** Notes the counts of all entities at this moment. */
  add(entities: readonly ShownEntity[]): void {
    const before = this.#samples;
    this.#samples = new Map(
      entities.map((entity) => {
        const { active = [], dead = [] } = before.get(entity.name) ?? {};
        return [
          entity.name,
          {
            active: [...active, entity.active].slice(-SAMPLES_MAX),
            dead: [...dead, entity.deadLetter].slice(-SAMPLES_MAX),
          },
        ];
      }),
    );
  }

  /** The moments of an entity, by its path. */
  of(name: string): Samples | undefined {
    return this.#samples.get(name);
  }
}
