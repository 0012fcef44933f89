import type { Caller } from '../../client/call.ts';
import { allEntities } from '../../client/everything.ts';
import { Observable } from '../ui/observable.ts';
import { readEntity, type ShownEntity } from './entity.ts';
import { History } from './history.ts';

/** The shortest time from one reading of counts to the next: a deployment is paid for each. */
export const PAUSE_MS_MIN = { local: 5_000, deployed: 30_000 } as const;
/** A namespace that takes long to read is read less often: it is read a fifth of the time at most. */
const PAUSE_PER_READING = 4;
/** How often the first reading shows what it has, ms: to sort and draw takes time, too. */
const SHOW_EVERY_MS = 300;
/** The most entities that the page holds. */
const ENTITIES_MAX = 50_000;

/** All entities, as they were when they were read last. */
export interface EntityListState {
  readonly entities: readonly ShownEntity[];
  /** Epoch ms by the machine's clock; undefined = not all were read yet. */
  readonly readAt?: number | undefined;
  readonly isReading: boolean;
  /** Why the last reading failed; what is shown is older. */
  readonly error?: unknown;
  /** There are more entities than the page holds. */
  readonly isCut: boolean;
}

/** The list of all entities, which reads itself again and again while it runs. */
export class EntityList {
  readonly state = new Observable<EntityListState>({
    entities: [],
    isReading: false,
    isCut: false,
  });
  readonly history = new History();
  readonly #caller: Caller;
  readonly #pauseMsMin: number;
  /** That after the last reading. */
  #pauseMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPaused = true;

  constructor(caller: Caller, place: keyof typeof PAUSE_MS_MIN) {
    this.#caller = caller;
    this.#pauseMsMin = PAUSE_MS_MIN[place];
    this.#pauseMs = this.#pauseMsMin;
  }

  /** Reads now, and from then on again and again; a hidden page waits until it is seen. */
  async refresh(): Promise<void> {
    this.#isPaused = false;
    if (this.state.value.isReading) return;
    clearTimeout(this.#timer);
    const began = performance.now();
    await this.#read();
    const tookMs = performance.now() - began;
    if (this.#isPaused) return;
    this.#pauseMs = Math.max(this.#pauseMsMin, tookMs * PAUSE_PER_READING);
    this.#timer = setTimeout(() => this.#refreshWhenSeen(), this.#pauseMs);
  }

  /** Reads now, if the list is shown. */
  async refreshIfShown(): Promise<void> {
    if (!this.#isPaused) await this.refresh();
  }

  /** How old the counts may be until the page marks them, ms. */
  get oldMs(): number {
    return 3 * this.#pauseMs;
  }

  /** Reads no more until `refresh` is called. */
  pause(): void {
    this.#isPaused = true;
    clearTimeout(this.#timer);
  }

  #refreshWhenSeen(): void {
    if (document.hidden) {
      const whenSeen = () => {
        if (!this.#isPaused) void this.refresh();
      };
      document.addEventListener('visibilitychange', whenSeen, { once: true });
    } else {
      void this.refresh();
    }
  }

  async #read(): Promise<void> {
    const { state } = this;
    const isFirst = state.value.readAt === undefined;
    state.value = { ...state.value, isReading: true };
    const entities: ShownEntity[] = [];
    let isCut = false;
    // The first page is shown at once.
    let shownAt = Number.NEGATIVE_INFINITY;
    try {
      for await (const page of allEntities(this.#caller)) {
        entities.push(...page.map((one) => readEntity(one)));
        isCut = entities.length >= ENTITIES_MAX;
        if (isFirst && performance.now() - shownAt >= SHOW_EVERY_MS) {
          state.value = { ...state.value, entities: [...entities] };
          shownAt = performance.now();
        }
        if (isCut) break;
      }
      this.history.add(entities);
      state.value = { entities, readAt: Date.now(), isReading: false, isCut };
    } catch (error) {
      state.value = { ...state.value, isReading: false, error };
    }
  }
}
