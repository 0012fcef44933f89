import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NamespaceDescription } from '../../../local/config/description.ts';
import { parseDescription } from '../../../local/config/parse.ts';
import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { applyEach } from '../../../shared/config/apply/apply-each.ts';
import type { ConfigTarget } from '../../../shared/config/apply/config-target.ts';
import { alreadyExists } from '../../../shared/domain/broker-error.ts';
import {
  SUBSCRIPTION_DEFAULTS,
  TOPIC_DEFAULTS,
} from '../../../shared/domain/entities/descriptions.ts';

/** Each change of a rule waits until leases have ended, so many rules are changed at the same time. */

/** A namespace in which all changes of rules that are under way end together. */
class Waiting {
  readonly #rules = new Map<string, Map<string, RuleInput>>();
  readonly #ends: (() => void)[] = [];
  /** How often leases have ended. */
  waits = 0;
  /** The most changes that were under way at the same time. */
  most = 0;

  readonly target: ConfigTarget = {
    create: async (path, settings) => {
      if (this.#rules.has(path)) throw alreadyExists(path);
      const first = settings.kind === 'subscription' ? settings.defaultRule : undefined;
      this.#rules.set(path, new Map(first && [[first.name, first]]));
    },
    update: async () => {},
    get: async (path) => ({
      description: path.includes('/') ? SUBSCRIPTION_DEFAULTS : TOPIC_DEFAULTS,
    }),
    describe: ({ kind }) => (kind === 'topic' ? TOPIC_DEFAULTS : SUBSCRIPTION_DEFAULTS),
    consumers: { put: async () => {}, remove: async () => {}, list: async () => [] },
    rules: {
      create: (path, rule) => this.#change(() => this.rulesOf(path).set(rule.name, rule)),
      update: (path, rule) => this.#change(() => this.rulesOf(path).set(rule.name, rule)),
      delete: (path, name) => this.#change(() => this.rulesOf(path).delete(name)),
      list: async (path, { skip, top }) => {
        const all = [...this.rulesOf(path).values()];
        const items = all.slice(skip, skip + top).map((rule) => ({ stored: { rule } }));
        return { items, more: all.length > skip + top };
      },
    },
  };

  rulesOf(path: string): Map<string, RuleInput> {
    return this.#rules.get(path) ?? new Map();
  }

  async #change(change: () => unknown): Promise<void> {
    change();
    await new Promise<void>((end) => {
      if (this.#ends.push(end) === 1) setImmediate(() => this.#endAll());
      this.most = Math.max(this.most, this.#ends.length);
    });
  }

  #endAll(): void {
    this.waits++;
    for (const end of this.#ends.splice(0)) end();
  }
}

const rules = (count: number, prefix: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, `a = ${i}`]));

async function apply({ target }: Waiting, subscriptions: Record<string, object>): Promise<void> {
  const config = { topics: { t: { subscriptions } } } as NamespaceDescription;
  assert.deepEqual((await applyEach(target, parseDescription(config))).faults, []);
}

test('200 rules of a subscription are made, and others in their place, within six waits', async () => {
  const namespace = new Waiting();
  await apply(namespace, { s: { rules: rules(200, 'old') } });
  assert.ok(namespace.waits <= 2, `${namespace.waits} waits`);
  await apply(namespace, { s: { rules: rules(200, 'new') } });
  assert.ok(namespace.waits <= 6, `${namespace.waits} waits`);
  assert.deepEqual([...namespace.rulesOf('t/Subscriptions/s').keys()].length, 200);
});

test('no more than 128 rules of all subscriptions are changed at the same time', async () => {
  const namespace = new Waiting();
  const names = Array.from({ length: 16 }, (_, i) => `s${i}`);
  await apply(
    namespace,
    Object.fromEntries(names.map((name) => [name, { rules: rules(30, name) }])),
  );
  assert.equal(namespace.most, 128);
});
