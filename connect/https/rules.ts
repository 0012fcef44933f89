import type { AmqpRules } from '../../amqp/service/dependencies.ts';
import { isJsonObject, parseExactJson } from '../../lambdas/http/format/exact-json.ts';
import { readRuleJson } from '../../lambdas/http/json/read-rule.ts';
import { printRule } from '../../lambdas/http/json/write-rule.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { Rule } from '../../shared/filters/rule.ts';
import { type Calls, JSON_BODY } from './calls/caller.ts';
import { SUCCESS } from './calls/success.ts';
import { readInstant } from './messages/sessions.ts';

/** More rules than a subscription may have, in pages. */
const PAGES_MAX = 100;

/** The operations on rules, over HTTP in JSON. */
export function remoteRules(caller: Calls, clock: Clock): AmqpRules {
  const rulePath = (path: string, name: string) => `${path}/Rules/${name}`;
  return {
    create: async (path, rule) => {
      const createdAt = clock.now();
      const creating = caller.call({
        method: 'PUT',
        path: rulePath(path, rule.name),
        headers: JSON_BODY,
        body: printRule({ rule: { ...rule, createdAt }, updatedAt: createdAt }),
        success: SUCCESS.json,
        isRepeatable: false,
      });
      await creating.catch((error: unknown) => {
        // The client has written no JSON, of which the sentence could name a member.
        if (!(error instanceof BrokerError)) throw error;
        throw error.withMessage(error.message.replace(/^(?:sql|correlation|action): /, ''));
      });
    },
    delete: async (path, name) => {
      const rule = rulePath(path, name);
      await caller.call({
        method: 'DELETE',
        path: rule,
        success: SUCCESS.done,
        isRepeatable: false,
      });
    },
    list: async (path, { skip, top }) => {
      const rules = (await allRules(caller, path)).toSorted(byName);
      return { items: rules.slice(skip, skip + top).map((rule) => ({ stored: { rule } })) };
    },
  };
}

/** The HTTP interface lists rules in another order, so all are needed for one page. */
async function allRules(caller: Calls, path: string): Promise<readonly Rule[]> {
  const rules: Rule[] = [];
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { $skip: rules.length, $top: LIMITS.listPage };
    const { text } = await caller.call({
      method: 'GET',
      path: `${path}/Rules`,
      query,
      success: SUCCESS.json,
      isRepeatable: true,
    });
    const json = parseExactJson(text, 'The answer');
    const items = isJsonObject(json) ? json['rules'] : undefined;
    if (!isJsonObject(json) || !Array.isArray(items)) throw new Error('An answer has no rules.');
    rules.push(...items.filter(isJsonObject).map(readOne));
    if (json['next'] === undefined) break;
  }
  return rules;
}

/** No two names differ only in case. */
function byName(a: Rule, b: Rule): number {
  return a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1;
}

function readOne(json: Readonly<Record<string, unknown>>): Rule {
  const name = String(json['name']);
  return { ...readRuleJson(json, name), createdAt: readInstant(json['createdAt']) };
}
