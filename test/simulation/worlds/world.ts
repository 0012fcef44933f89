import type { EntitySettings } from '../../../shared/broker/management/management.ts';
import { Actor } from './actor.ts';
import { pathOf } from './caller.ts';
import { type Ended, Ending } from './ending.ts';
import type { Run } from './explore.ts';
import type { Fault } from './happenings.ts';
import { History } from './history.ts';
import type { WorldProcess } from './process.ts';
import { EVENTS_MAX, type Snapshot, Stage } from './stage.ts';
import { promisesSettled } from './time.ts';

/** A small world: what there is, who does what in it, and what must hold at the end besides what always must. */
export interface World<Given = unknown> {
  readonly name: string;
  /** Created in this order. */
  readonly entities: Readonly<Record<string, EntitySettings>>;
  /** What happens before anything is a matter of choice; returns what actors begin with. */
  readonly setUp: (actor: Actor) => Promise<Given>;
  /** Each in a process of its own. */
  readonly actors: Readonly<Record<string, Script<Given>>>;
  /** All actors in one process. */
  readonly sharesProcess?: boolean;
  /**
   * What processes know when they begin: the entities, and also when the next scheduled message is due.
   * Absent = both.
   */
  readonly knows?: 'nothing' | 'entities';
  readonly faults?: readonly Fault[];
  readonly splitsTransactions?: boolean;
  /** Whether a short pause of a process may end while others are slow. */
  readonly endsPauses?: boolean;
  /** Whether each batch of reads or writes is answered in part. */
  readonly splitsBatches?: boolean;
  /** What does not hold. */
  readonly check?: (ended: Ended, given: Given) => readonly string[];
  /** How many orders are run unless in a search; absent = as many as there are, within reason. */
  readonly runsMax?: number;
  /** Only searches explore it. */
  readonly isLarge?: boolean;
}

export type Script<Given> = (actor: Actor, given: Given) => Promise<void>;

/** Defines a world; what its set-up returns is what its actors begin with. */
export function world<Given>(definition: World<Given>): World {
  return definition as World;
}

/** A run that has begun, and how it ended. */
export interface WorldRun extends Run {
  readonly history: History;
  /** Ends the run: what is left is received and swept. */
  finish(): Promise<Ended>;
}

/** A world whose set-up is over, and can be run from there again and again. */
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
      await process.parts.background.settled();
      return given;
    };
    const given = await stage.until(work());
    const refused = history.calls.find(({ heard }) => heard !== 'done');
    if (refused !== undefined) throw new Error(`${world.name}: ${refused.kind}: ${refused.code}`);
    return new PreparedWorld(world, given, stage.snapshot(), history);
  }

  get given(): unknown {
    return this.#given;
  }

  /** Begins a run. */
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
    const shared = sharesProcess === true ? start('P', true, names) : undefined;
    const scripts = names.map((name) => {
      const process = shared ?? start(name, false, [name]);
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

  /** Has a process know the entities, and what is due in them. */
  async #warm({ parts, broker }: WorldProcess): Promise<void> {
    for (const [path, settings] of Object.entries(this.world.entities)) {
      const entity = await parts.entities.find(path);
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
  for (const { parts } of alive) void parts.background.settled().then(() => idle++);
  await promisesSettled();
  return idle === alive.length;
}
