import { setTimeout as pause } from 'node:timers/promises';
import type { TaskProgram } from '../../compat/gateway-task.ts';
import { LoadRandom } from '../../support/load-random.ts';
import { type Finding, type FindingKind, megabytes, memoryDetail, stallDetail } from './finding.ts';
import { HonestClient } from './honest.ts';
import { drawCase } from './kinds.ts';
import { createScene, removeScene, type Scene } from './scene.ts';
import { startTarget, type Target } from './target.ts';
import { Attack } from './wire.ts';

/** How far a search goes. */
export interface SearchOptions {
  readonly seed: string;
  /** Ends after this time. */
  readonly forMs: number;
  /** The numbers of the cases that run, once and all together; without them 0, 1, 2 and so on. */
  readonly cases?: readonly number[] | undefined;
  /** Cases that run at once, at most. */
  readonly together: number;
  /** How long connections stay once they have said everything. */
  readonly holdMs: number;
  /** Clears what is left behind deleted entities, as a deployment does from time to time. */
  readonly sweep: () => Promise<void>;
  readonly say: (line: string) => void;
}

export interface Searched {
  readonly findings: readonly Finding[];
  readonly cases: number;
  /** Heap and buffers after a collection of garbage, MB, in order, of the last process. */
  readonly heaps: readonly number[];
  readonly honestMessages: number;
  readonly honestSlowestMs: number;
}

/** What a case may take to say everything. */
const SAY_MS_MAX = 4000;
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

  async #round(numbers: readonly number[]): Promise<void> {
    const { target, honest, scene } = await this.#ready();
    const cases = numbers.map((number) => drawCase(this.#options.seed, number, scene));
    const shown = cases.map(({ kind, what }, place) => `${numbers[place]} ${kind}: ${what}`);
    const attacks = cases.map((one) => new Attack(one, target.port));
    this.#cases += cases.length;
    this.#rounds++;
    const note = (kind: FindingKind, detail: string) => this.#note(kind, detail, shown, numbers);
    await Promise.race([
      Promise.all(attacks.map(({ said }) => said)),
      pause(SAY_MS_MAX),
      target.ended,
    ]);
    await pause(this.#options.holdMs);
    try {
      const held = await target.memory(false);
      if (held.heapUsed + held.external > HELD_BYTES_MAX) {
        const kept = await target.memory(true);
        if (kept.heapUsed + kept.external > HELD_BYTES_MAX) note('memory', memoryDetail(kept));
      }
      if (held.residentMax > RESIDENT_BYTES_MAX) note('memory', memoryDetail(held));
      for (const attack of attacks) attack.release();
      await Promise.race([honest.onceMore(), target.ended]);
      const after = await target.memory(true);
      if (after.residentMax > RESIDENT_BYTES_MAX) note('memory', memoryDetail(after));
      this.#heaps.push(megabytes(after.heapUsed + after.external));
    } catch {
      // It has ended, which is told below.
    }
    for (const attack of attacks) attack.release();
    await this.#look(target, honest, note);
  }

  /** Looks for what the round has brought about. */
  async #look(
    target: Target,
    honest: HonestClient,
    note: (kind: FindingKind, detail: string) => void,
  ): Promise<void> {
    const stalls = target.takeStalls();
    if (stalls.length > 0) note('stall', stallDetail(stalls));
    const [fault] = target.takeFaults();
    if (fault !== undefined) note('fault', fault);
    if (target.end !== undefined) {
      note('end', target.end);
      await this.#abandon();
      return;
    }
    const [trouble] = honest.takeTroubles();
    if (trouble !== undefined) {
      note('honest client', trouble.message);
      // What is left in its queues would be found again and again.
      await this.#abandon();
    } else if (this.#rounds % ROUNDS_PER_SCENE === 0) await this.#renewScene(target);
  }

  #note(
    kind: FindingKind,
    detail: string,
    cases: readonly string[],
    numbers: readonly number[],
  ): void {
    const repeat = `DYNABUS_HOSTILE_SEED=${this.#options.seed} DYNABUS_HOSTILE_CASE=${numbers.join(',')} npm run search -- hostile/search`;
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
