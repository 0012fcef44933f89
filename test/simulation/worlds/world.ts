import type { EntitySettings } from '../../../shared/broker/management/describe-entity.ts';
import { Actor } from './actor.ts';
import { pathOf } from './caller.ts';
import { type Ended, Ending } from './ending.ts';
import type { Fault } from './events.ts';
import type { Run } from './explore.ts';
import { History } from './history.ts';
import type { WorldProcess } from './process.ts';
import { EVENTS_MAX, type Snapshot, Stage } from './stage.ts';
import { promisesSettled } from './time.ts';

/** A small world: its entities, the scripts of its actors, and additional checks at the end. */
export interface World<Given = unknown> {
  readonly name: string;
  /** The entities, created in this order. */
  readonly entities: Readonly<Record<string, EntitySettings>>;
  /** Runs before the first choice; returns the input of the actors. */
  readonly setUp: (actor: Actor) => Promise<Given>;
  /** The script of each actor, which has its own process. */
  readonly actors: Readonly<Record<string, Script<Given>>>;
  /** The actors that use one process; true = all of them. */
  readonly sharesProcess?: true | readonly string[];
  /**
   * What processes have cached at the start: nothing, or the entities. Absent = the entities and when the
   * next scheduled message is due.
   */
  readonly knows?: 'nothing' | 'entities';
  readonly faults?: readonly Fault[];
  readonly splitsTransactions?: boolean;
  /** Whether short pauses end at any event, as if the other processes were slow. */
  readonly endsPauses?: boolean;
  /** Whether each batch leaves some items unprocessed. */
  readonly splitsBatches?: boolean;
  /** Returns violations. */
  readonly check?: (ended: Ended, given: Given) => readonly string[];
  /** The most orders to run in `npm test`; absent = a usual limit. */
  readonly runsMax?: number;
  /** Whether only searches explore it. */
  readonly isLarge?: boolean;
}

export type Script<Given> = (actor: Actor, given: Given) => Promise<void>;

/** Defines a world; the result of its set-up is the input of its actors. */
export function world<Given>(definition: World<Given>): World {
  return definition as World;
}

/** A run that has started. */
export interface WorldRun extends Run {
  readonly history: History;
  /** Ends the run: receives all messages left, sweeps and checks. */
  finish(): Promise<Ended>;
}

/** A world after its set-up, from which any number of runs can start. */
export class PreparedWorld {
  readonly world: World;
  readonly #given: unknown;
  readonly #snapshot: Snapshot;
  readonly #before: History;
  readonly #ending: Ending;

  private constructor(world: World, given: unknown, snapshot: Snapshot, before: History) {
    this.world = world;
    this.#given = given;
    this.#snapshot = snapshot;
    this.#before = before;
    this.#ending = new Ending(world);
  }

  static async prepare(world: World): Promise<PreparedWorld> {
    const stage = new Stage();
    const process = stage.start('setup');
    const history = new History();
    const actor = new Actor('setup', { process, stage, history, isBefore: true });
    const work = async () => {
      for (const [path, settings] of Object.entries(world.entities)) {
        await process.management.create(path, settings);
      }
      const given = await world.setUp(actor);
      await process.dependencies.background.settled();
      return given;
    };
    const given = await stage.until(work());
    const refused = history.calls.find(({ outcome }) => outcome !== 'done');
    if (refused !== undefined) throw new Error(`${world.name}: ${refused.kind}: ${refused.code}`);
    return new PreparedWorld(world, given, stage.snapshot(), history);
  }

  get given(): unknown {
    return this.#given;
  }

  /** Starts a run. */
  async start(): Promise<WorldRun> {
    const { actors, sharesProcess, knows, splitsTransactions, endsPauses, splitsBatches } =
      this.world;
    const snapshot = this.#snapshot;
    const stage = new Stage({ snapshot, splitsTransactions, endsPauses, splitsBatches });
    const history = new History();
    history.calls.push(...this.#before.calls);
    const names = Object.keys(actors);
    const atWork = new Set(names);
    const waiting = new Map(names.map((name): [string, (() => void)[]] => [name, []]));
    const hasEnded = (name: string) =>
      new Promise<void>((resolve) => {
        if (atWork.has(name)) waiting.get(name)?.push(resolve);
        else resolve();
      });
    const leave = (name: string) => {
      atWork.delete(name);
      for (const goOn of waiting.get(name) ?? []) goOn();
    };
    const processes: WorldProcess[] = [];
    const start = (name: string, isShared: boolean, those: readonly string[]) => {
      const process = stage.start(name, isShared, () => {
        for (const one of those) leave(one);
      });
      processes.push(process);
      return process;
    };
    const together = sharesProcess === true ? names : (sharesProcess ?? []);
    const shared = together.length > 0 ? start('P', true, together) : undefined;
    const scripts = names.map((name) => {
      const own = together.includes(name) ? shared : undefined;
      const process = own ?? start(name, false, [name]);
      return {
        name,
        actor: new Actor(name, { process, stage, history, hasEnded }),
        script: actors[name],
      };
    });
    if (knows !== 'nothing') for (const process of processes) await this.#warm(process);
    stage.begin();
    for (const { name, actor, script } of scripts) {
      void script?.(actor, this.#given).then(
        () => leave(name),
        (error: unknown) => {
          stage.faults.push(error);
          leave(name);
        },
      );
    }
    await promisesSettled();
    return {
      stage,
      history,
      goOn: async () => {
        if (stage.events.length > EVENTS_MAX) return false;
        const isIdle = atWork.size === 0 && (await areIdle(processes));
        return isIdle ? false : await stage.ring();
      },
      finish: async () => {
        const stuck = [...atWork];
        for (const process of processes) process.end();
        return await this.#ending.end(stage, history, { given: this.#given, stuck });
      },
    };
  }

  /** Lets a process cache the entities and their due times. */
  async #warm({ dependencies, broker }: WorldProcess): Promise<void> {
    for (const [path, settings] of Object.entries(this.world.entities)) {
      const entity = await dependencies.entities.find(path);
      if (entity === undefined) continue;
      const isRead = settings.kind !== 'topic' && settings.requiresSession !== true;
      if (isRead && this.world.knows === undefined) {
        await broker.peek(pathOf(path), { maxMessages: 1 });
      }
    }
  }
}

async function areIdle(processes: readonly WorldProcess[]): Promise<boolean> {
  let idle = 0;
  const alive = processes.filter(({ isOver }) => !isOver);
  for (const { dependencies } of alive) void dependencies.background.settled().then(() => idle++);
  await promisesSettled();
  return idle === alive.length;
}
