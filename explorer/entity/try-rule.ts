import { isJsonObject, parseExactJson, plainNumber } from '../../lambdas/http/format/exact-json.ts';
import { readProperties } from '../../lambdas/http/format/property-json.ts';
import { Faults } from '../../shared/config/faults.ts';
import { Fields } from '../../shared/config/fields.ts';
import { readOwnRule } from '../../shared/config/read-rule.ts';
import type { Message } from '../../shared/domain/messages/message.ts';
import type { PropertyValue } from '../../shared/domain/messages/property-value.ts';
import { FilterInput } from '../../shared/filters/filter-input.ts';
import { matchRules } from '../../shared/filters/match.ts';
import { type Filter, type RuleAction, validateRule } from '../../shared/filters/rule.ts';

/** A rule as the page edits it: a condition in SQL, or the JSON of a correlation filter, and an action. */
export interface WrittenRule {
  readonly sql: string;
  /** JSON; empty = the condition in SQL counts. */
  readonly correlation: string;
  readonly action: string;
}

/** What a rule does with a message, as a sentence. */
export interface Tried {
  readonly isMatch: boolean;
  readonly sentence: string;
}

const RANDOM = { bytes: (count: number) => crypto.getRandomValues(new Uint8Array(count)) };

/**
 * Tries a rule on a message as the service does, with the same code. `messageText` = a message in JSON, as in a batch.
 * Throws Error with a sentence if the rule or the message cannot be read.
 */
export function tryRule(rule: WrittenRule, messageText: string, now: number): Tried {
  const filter = filterOf(rule);
  const action: RuleAction | undefined =
    rule.action.trim() === '' ? undefined : { expression: rule.action, parameters: {} };
  const checked = { filter, ...(action === undefined ? {} : { action }) };
  validateRule(checked);
  const message = messageOf(messageText);
  const input = new FilterInput(message, { enqueuedAt: now, sizeBytes: message.body.length });
  const named = { ...checked, name: 'tried', createdAt: now };
  const { copies, failures } = matchRules([named], input, RANDOM);
  const [failed] = failures;
  if (failed !== undefined) {
    return { isMatch: false, sentence: `The rule fails on the message: ${failed.error.message}` };
  }
  const [copy] = copies;
  if (copy === undefined)
    return { isMatch: false, sentence: 'The rule does not match the message.' };
  if (action === undefined) return { isMatch: true, sentence: 'The rule matches the message.' };
  return { isMatch: true, sentence: `The rule matches. ${changesText(message, copy.message)}` };
}

function filterOf({ sql, correlation }: WrittenRule): Filter {
  if (correlation.trim() === '') {
    return { kind: 'sql', expression: sql.trim() === '' ? '1=1' : sql, parameters: {} };
  }
  if (sql.trim() !== '') throw new Error(ONE_FILTER);
  const written = objectIn(correlation, 'The correlation filter');
  return {
    kind: 'correlation',
    ...conditionsOf(written),
    properties: readProperties(written['properties'], 'The properties of the filter'),
  };
}

const ONE_FILTER = 'A rule has one filter: remove the condition in SQL, or the correlation filter.';

/** The conditions of a correlation filter on system properties, as the service reads them. */
function conditionsOf(
  written: Readonly<Record<string, unknown>>,
): Readonly<Record<string, string>> {
  const faults = new Faults();
  const correlation = Object.fromEntries(
    Object.entries(written).map(([name, value]) => [name, plainNumber(value)]),
  );
  const fields = Fields.of({ correlation }, '', faults);
  const rule = fields && readOwnRule('tried', '', { at: '', value: { correlation } }, fields);
  const [fault] = faults.lines;
  if (fault !== undefined) throw new Error(fault);
  return rule?.correlation?.system ?? {};
}

function messageOf(text: string): Message {
  const json = objectIn(text, 'The message');
  const system = (json['BrokerProperties'] ?? {}) as Readonly<Record<string, unknown>>;
  const named = Object.entries(system).filter(([, value]) => typeof value === 'string');
  return {
    body: new TextEncoder().encode(String(json['Body'] ?? '')),
    messageId: 'tried',
    ...Object.fromEntries(
      named.map(([name, value]) => [name.charAt(0).toLowerCase() + name.slice(1), value]),
    ),
    properties: readProperties(json['UserProperties']),
  } as Message;
}

function objectIn(text: string, what: string): Readonly<Record<string, unknown>> {
  const json = parseExactJson(text, what);
  if (isJsonObject(json)) return json;
  throw new Error(`${what} must be a JSON object.`);
}

function changesText(before: Message, after: Message): string {
  const names = new Set([...Object.keys(before.properties), ...Object.keys(after.properties)]);
  // The name of the rule is in every copy.
  names.delete('RuleName');
  const changed = [...names].filter(
    (name) => printed(before.properties[name]) !== printed(after.properties[name]),
  );
  return `Its copy differs in: ${changed.join(', ') || 'system properties only'}.`;
}

function printed(value: PropertyValue | undefined): string {
  return (
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one)) ?? ''
  );
}
