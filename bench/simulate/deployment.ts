import { compose } from '../../lambdas/http/compose.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import type { Entity } from '../../shared/domain/entities/entity.ts';
import { Machine } from '../../test/simulation/machines/machine.ts';
import { type CallResult, type DeploymentParts, Instance, settingsOf } from './instance.ts';
import { drawLatency, HANDLER_MS } from './latencies.ts';
import { invocationRate, type Quotas } from './quotas.ts';
import { RateLimit } from './rate-limit.ts';

/** The functions that messages pass through. */
export type FunctionName = 'send' | 'receive' | 'settle';

/** The names under which refusals of API Gateway and Lambda are counted. */
export const SERVICES = {
  gateway: 'API Gateway, requests',
  lambda: 'Lambda, concurrency',
} as const;

/** The time of a refusal by API Gateway, ms. */
const REFUSAL_MS = 5;

/**
 * A deployed namespace as its clients see it: API Gateway, and functions behind it. Each function is a pool of
 * instances; if all are busy, another one starts, up to the quota.
 */
export class Deployment {
  readonly #parts: DeploymentParts;
  readonly #quotas: Quotas;
  readonly #requests: RateLimit;
  readonly #invocations: RateLimit;
  /** Idle instances. The one that was busy last is used first, as Lambda seems to do. */
  readonly #free: Readonly<Record<FunctionName, Instance[]>> = {
    send: [],
    receive: [],
    settle: [],
  };
  #started = 0;
  #busy = 0;
  /** The instant up to which the time of busy instances has been counted, epoch ms. */
  #accountedAt: number;

  constructor(quotas: Quotas, parts: DeploymentParts) {
    const now = () => parts.timeline.now;
    const perSecond = invocationRate(quotas);
    this.#quotas = quotas;
    this.#accountedAt = now();
    this.#parts = parts;
    this.#requests = new RateLimit(quotas.requests.rate, quotas.requests.burst, now);
    this.#invocations = new RateLimit(perSecond, perSecond, now);
  }

  /** Creates a queue, as a deployment tool does before clients start; returns it. */
  async createQueue(path: string, isPartitioned: boolean): Promise<Entity> {
    const { timeline, random } = this.#parts;
    const machine = new Machine(timeline, { aheadMs: 0, standsStill: false });
    const own = random.fork('management');
    const { management } = compose(settingsOf(this.#parts, machine, own));
    return await management.create(path, {
      kind: 'queue',
      enablePartitioning: isPartitioned,
      lockMs: LOCK_MS,
    });
  }

  /** Makes one HTTP request that concerns `messages` messages. */
  async ask<Value>(
    name: FunctionName,
    messages: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<CallResult<Value>> {
    const { timeline, random, measures } = this.#parts;
    measures.calls++;
    if (!this.#requests.hasLeft) return await this.#refuse(SERVICES.gateway);
    this.#requests.spend(1);
    const wayMs = drawLatency(random, 'gateway');
    const thereMs = Math.floor(wayMs / 2);
    await timeline.pause(thereMs);
    if (this.#busy >= this.#quotas.concurrency || !this.#invocations.hasLeft) {
      return await this.#refuse(SERVICES.lambda);
    }
    this.#invocations.spend(1);
    const result = await this.#invoke(name, messages, work);
    await timeline.pause(wayMs - thereMs);
    return result;
  }

  /** Counts the time of busy functions up to now. */
  account(): void {
    const { timeline, measures } = this.#parts;
    measures.billedMs += this.#busy * (timeline.now - this.#accountedAt);
    this.#accountedAt = timeline.now;
  }

  async #invoke<Value>(
    name: FunctionName,
    messages: number,
    work: (broker: Broker) => Promise<Value>,
  ): Promise<CallResult<Value>> {
    this.#parts.measures.invocations++;
    this.account();
    this.#busy++;
    const instance = this.#free[name].pop() ?? (await this.#start(name));
    const computeMs = Math.round(HANDLER_MS.call + messages * HANDLER_MS.message);
    const result = await instance.serve(computeMs, work);
    this.account();
    this.#busy--;
    this.#free[name].push(instance);
    return result;
  }

  async #start(name: FunctionName): Promise<Instance> {
    const { timeline, random, measures } = this.#parts;
    measures.coldStarts++;
    const instance = new Instance(`${name}-${this.#started++}`, this.#parts);
    await timeline.pause(drawLatency(random, 'coldStart'));
    return instance;
  }

  async #refuse(refuser: string): Promise<{ readonly isBusy: true }> {
    const { timeline, measures } = this.#parts;
    measures.refuse(refuser);
    await timeline.pause(REFUSAL_MS);
    return { isBusy: true };
  }
}

/** Longer than any run, so that no lock expires. */
const LOCK_MS = 5 * 60_000;
