import { compose } from '../../lambdas/http/compose.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { Machine } from '../../test/simulation/engine/machine.ts';
import { type Heard, Instance, type Surroundings, settingsOf } from './instance.ts';
import { drawLatency, HANDLER_MS } from './latencies.ts';
import { invocationRate, type Quotas } from './quotas.ts';
import { RateLimit } from './rate-limit.ts';

/** The functions that messages pass through. */
export type FunctionName = 'send' | 'receive' | 'settle';

/** The names under which refusals of API Gateway and Lambda are counted. */
export const REFUSERS = {
  gateway: 'API Gateway, requests',
  lambda: 'Lambda, concurrency',
} as const;

/** What API Gateway takes to refuse a request, ms. */
const REFUSAL_MS = 5;

/**
 * A deployed namespace as its clients see it: API Gateway in front, behind it functions as pools of
 * instances, more of which are started when all are busy, up to the quota.
 */
export class Deployment {
  readonly #surroundings: Surroundings;
  readonly #quotas: Quotas;
  readonly #requests: RateLimit;
  readonly #invocations: RateLimit;
  /** Instances that serve nothing; the one that was busy last is asked first, as far as is known. */
  readonly #free: Readonly<Record<FunctionName, Instance[]>> = {
    send: [],
    receive: [],
    settle: [],
  };
  #started = 0;
  #busy = 0;
  /** Until then the time of busy instances is accounted for, epoch ms. */
  #accountedAt: number;

  constructor(quotas: Quotas, surroundings: Surroundings) {
    const now = () => surroundings.timeline.now;
    const perSecond = invocationRate(quotas);
    this.#quotas = quotas;
    this.#accountedAt = now();
    this.#surroundings = surroundings;
    this.#requests = new RateLimit(quotas.requests.rate, quotas.requests.burst, now);
    this.#invocations = new RateLimit(perSecond, perSecond, now);
  }

  /** Creates a queue, as a deployment tool does before anybody sends; returns it. */
  async createQueue(path: string, isPartitioned: boolean): Promise<Entity> {
    const { timeline, random } = this.#surroundings;
    const machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
    const own = random.fork('management');
    const { management } = compose(settingsOf(this.#surroundings, machine, own));
    return await management.create(path, {
      kind: 'queue',
      enablePartitioning: isPartitioned,
      lockMs: LOCK_MS,
    });
  }

  /** One HTTP request about so many messages, and what its client hears. */
  async ask<Value>(
    name: FunctionName,
    messages: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<Heard<Value>> {
    const { timeline, random, measures } = this.#surroundings;
    measures.calls++;
    if (!this.#requests.hasLeft) return await this.#refuse(REFUSERS.gateway);
    this.#requests.spend(1);
    const wayMs = drawLatency(random, 'gateway');
    const thereMs = Math.floor(wayMs / 2);
    await timeline.pause(thereMs);
    if (this.#busy >= this.#quotas.concurrency || !this.#invocations.hasLeft) {
      return await this.#refuse(REFUSERS.lambda);
    }
    this.#invocations.spend(1);
    const heard = await this.#invoke(name, messages, work);
    await timeline.pause(wayMs - thereMs);
    return heard;
  }

  /** Brings the time of functions up to date, which is counted as it passes. */
  account(): void {
    const { timeline, measures } = this.#surroundings;
    measures.billedMs += this.#busy * (timeline.now - this.#accountedAt);
    this.#accountedAt = timeline.now;
  }

  async #invoke<Value>(
    name: FunctionName,
    messages: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<Heard<Value>> {
    this.#surroundings.measures.invocations++;
    this.account();
    this.#busy++;
    const instance = this.#free[name].pop() ?? (await this.#start(name));
    const computeMs = Math.round(HANDLER_MS.call + messages * HANDLER_MS.message);
    const heard = await instance.serve(computeMs, work);
    this.account();
    this.#busy--;
    this.#free[name].push(instance);
    return heard;
  }

  async #start(name: FunctionName): Promise<Instance> {
    const { timeline, random, measures } = this.#surroundings;
    measures.coldStarts++;
    const instance = new Instance(`${name}-${this.#started++}`, this.#surroundings);
    await timeline.pause(drawLatency(random, 'coldStart'));
    return instance;
  }

  async #refuse(refuser: string): Promise<{ readonly isBusy: true }> {
    const { timeline, measures } = this.#surroundings;
    measures.refuse(refuser);
    await timeline.pause(REFUSAL_MS);
    return { isBusy: true };
  }
}

/** Longer than any run: locks that lapse are another story. */
const LOCK_MS = 5 * 60_000;
