import { setTimeout as pause } from 'node:timers/promises';
import type { TaskProgram } from '../../interop/gateway/gateway-task.ts';
import { LoadRandom } from '../../support/load-random.ts';
import type { Kind } from './draw.ts';
import { type Finding, type FindingKind, megabytes, memoryDetail, stallDetail } from './finding.ts';
import { HonestClient } from './honest.ts';
import { drawCase } from './kinds.ts';
import { createScene, fillTokenMemory, removeScene, type Scene } from './scene.ts';
import { startTarget, type Target } from './target.ts';
import { Attack } from './wire.ts';

/** How far a search goes. */
export interface SearchOptions {
  readonly seed: string;
  readonly kinds: readonly Kind[];
  /** What has to be set in the environment besides seed and cases to see something again. */
  readonly setting: string;
  /** Ends after this time. */
  readonly forMs: number;
  /** The numbers of the cases that run, once and all together; without them 0, 1, 2 and so on. */
  readonly cases?: readonly number[] | undefined;
  /** Cases that run at once, at most. */
  readonly together: number;
  /** What cases may take to say everything. */
  readonly sayMs: number;
  /** How long connections stay after that. */
  readonly holdMs: number;
  /** Whether what a process remembers up to a bound is filled first, so that growth is seen beside it. */
  readonly fillsMemories: boolean;
  /** Clears what is left behind deleted entities, as a deployment does from time to time. */
  readonly sweep: () => Promise<void>;
  readonly say: (line: string) => void;
}

export interface Searched {
  readonly findings: readonly Finding[];
  readonly cases: number;
  /** Heap without compiled code, and buffers, after a collection of garbage, MB, in order, of the last process. */
  readonly heaps: readonly number[];
  readonly honestMessages: number;
  readonly honestSlowestMs: number;
}

interface Seen {
  readonly kind: FindingKind;
  readonly detail: string;
  /** How long the event loop stood still. */
  readonly ms?: number;
}

/** No machine is so busy that a process stands still so long without its own fault. */
const SURE_MS = 1000;
/** A task of 512 MB ends above it; what the system needs stands beside the process. */
const RESIDENT_BYTES_MAX = 460 * 2 ** 20;
/** After a collection, while attackers are there: what all of them may hold, and the service itself. */
const HELD_BYTES_MAX = 230 * 2 ** 20;
const ROUNDS_PER_SCENE = 10;
const FINDINGS_MAX = 40;
const WARM_UP_MESSAGES = 12;

/** Attacks a gateway round by round, while an honest client goes on. */
export class Search {
  readonly #program: TaskProgram;
  readonly #options: SearchOptions;
  readonly #findings: Finding[] = [];
  #heaps: number[] = [];
  #target: Target | undefined;
  #honest: HonestClient | undefined;
  #scene: Scene | undefined;
  #cases = 0;
  #rounds = 0;
  #starts = 0;
  #honestMessages = 0;
  #honestSlowestMs = 0;

  constructor(program: TaskProgram, options: SearchOptions) {
    this.#program = program;
    this.#options = options;
  }

  async run(): Promise<Searched> {
    const { forMs, cases } = this.#options;
    const endsAt = performance.now() + forMs;
    const random = new LoadRandom(`${this.#options.seed}/rounds`);
    for (let next = 0; performance.now() < endsAt && this.#findings.length < FINDINGS_MAX; ) {
      const count = random.between(1, this.#options.together);
      const numbers = Array.from({ length: count }, (_, index) => next + index);
      next += count;
      await this.#round(cases ?? numbers);
      if (cases !== undefined) break;
    }
    await this.#stop();
    return {
      findings: this.#findings,
      cases: this.#cases,
      heaps: this.#heaps,
      honestMessages: this.#honestMessages,
      honestSlowestMs: this.#honestSlowestMs,
    };
  }

  /** A short standstill must come again: the first may have been the machine's. */
  async #round(numbers: readonly number[]): Promise<void> {
    this.#rounds++;
    this.#cases += numbers.length;
    const first = await this.#attempt(numbers);
    const isSure = first.seen.some(({ kind, ms = SURE_MS }) => kind !== 'stall' || ms >= SURE_MS);
    const { seen, shown } =
      first.seen.length === 0 || isSure ? first : await this.#attempt(numbers);
    for (const { kind, detail } of seen) this.#note(kind, detail, shown, numbers);
    const target = this.#target;
    if (target !== undefined && this.#rounds % ROUNDS_PER_SCENE === 0) {
      await this.#renewScene(target);
    }
  }

  async #attempt(numbers: readonly number[]) {
    const { target, honest, scene } = await this.#ready();
    const cases = numbers.map((number) => drawCase(this.#options, number, scene));
    const shown = cases.map(({ kind, what }, place) => `${numbers[place]} ${kind}: ${what}`);
    const attacks = cases.map((one) => new Attack(one, target.port));
    await Promise.race([
      Promise.all(attacks.map(({ said }) => said)),
      pause(this.#options.sayMs),
      target.ended,
    ]);
    await pause(this.#options.holdMs);
    const seen: Seen[] = [];
    try {
      seen.push(...(await this.#weigh(target)));
      for (const attack of attacks) attack.release();
      await Promise.race([honest.onceMore(), target.ended]);
      const after = await target.memory(true);
      if (after.residentMax > RESIDENT_BYTES_MAX) {
        seen.push({ kind: 'memory', detail: memoryDetail(after) });
      }
      this.#heaps.push(megabytes(after.heapUsed + after.external - after.code));
    } catch {
      // It has ended, which is seen below.
    }
    for (const attack of attacks) attack.release();
    seen.push(...this.#look(target, honest));
    // Messages that are left and memory that stays resident would be found again and again.
    if (seen.some(({ kind }) => kind !== 'stall' && kind !== 'fault')) await this.#abandon();
    return { seen, shown };
  }

  /** Looks at what is held while the attackers are there. */
  async #weigh(target: Target): Promise<readonly Seen[]> {
    const held = await target.memory(false);
    const kept =
      held.heapUsed + held.external > HELD_BYTES_MAX ? await target.memory(true) : undefined;
    const worst = [
      ...(kept !== undefined && kept.heapUsed + kept.external > HELD_BYTES_MAX ? [kept] : []),
      ...(held.residentMax > RESIDENT_BYTES_MAX ? [held] : []),
    ];
    return worst.map((memory) => ({ kind: 'memory', detail: memoryDetail(memory) }));
  }

  #look(target: Target, honest: HonestClient): readonly Seen[] {
    const stalls = target.takeStalls();
    const ms = Math.max(...stalls.map(({ stallMs }) => stallMs));
    const [fault] = target.takeFaults();
    const [trouble] = honest.takeTroubles();
    return [
      ...(stalls.length > 0 ? [{ kind: 'stall', detail: stallDetail(stalls), ms } as const] : []),
      ...(fault === undefined ? [] : [{ kind: 'fault', detail: fault } as const]),
      ...(target.end === undefined ? [] : [{ kind: 'end', detail: target.end } as const]),
      ...(trouble === undefined || target.end !== undefined
        ? []
        : [{ kind: 'honest client', detail: trouble.message } as const]),
    ];
  }

  #note(
    kind: FindingKind,
    detail: string,
    cases: readonly string[],
    numbers: readonly number[],
  ): void {
    const { seed, setting } = this.#options;
    const repeat = `${setting}DYNABUS_HOSTILE_SEED=${seed} DYNABUS_HOSTILE_CASE=${numbers.join(',')} npm run search -- hostile/search`;
    const finding = { kind, detail, cases, repeat };
    this.#findings.push(finding);
    this.#options.say(`${kind}: ${detail} ← ${cases.join(' + ')}`);
  }

  async #ready() {
    if (this.#target === undefined || this.#honest === undefined || this.#scene === undefined) {
      const name = `s${this.#starts++}`;
      this.#heaps = [];
      this.#target = await startTarget(this.#program);
      this.#honest = await HonestClient.start(this.#target.port, `honest-${name}`);
      this.#scene = await createScene(this.#target.port, `${name}-${this.#rounds}`);
      // What is compiled once takes its time once.
      for (let i = 0; i < WARM_UP_MESSAGES / 2; i++) await this.#honest.onceMore();
      if (this.#options.fillsMemories) await fillTokenMemory(this.#scene);
      this.#target.takeStalls();
    }
    return { target: this.#target, honest: this.#honest, scene: this.#scene };
  }

  /** New entities: what attackers have left in the old ones would fill the engine. */
  async #renewScene(target: Target): Promise<void> {
    if (this.#scene !== undefined) await removeScene(this.#scene);
    await this.#options.sweep();
    this.#scene = await createScene(target.port, `s${this.#starts}-${this.#rounds}`);
    target.takeStalls();
  }

  async #abandon(): Promise<void> {
    this.#countHonest();
    await this.#honest?.abandon();
    await this.#target?.stop();
    [this.#honest, this.#target, this.#scene] = [undefined, undefined, undefined];
    await this.#options.sweep();
  }

  async #stop(): Promise<void> {
    if (this.#honest === undefined) return;
    const [trouble] = await this.#honest.stop();
    if (trouble !== undefined) this.#note('honest client', trouble.message, [], []);
    await this.#abandon();
  }

  #countHonest(): void {
    this.#honestMessages += this.#honest?.done ?? 0;
    this.#honestSlowestMs = Math.max(this.#honestSlowestMs, this.#honest?.slowestMs ?? 0);
  }
}
