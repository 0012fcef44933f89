import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { checkRule } from '../../../shared/config/check-entity.ts';
import { Faults } from '../../../shared/config/faults.ts';
import { Fields } from '../../../shared/config/fields.ts';
import type { RawRule } from '../../../shared/config/raw-entity.ts';
import { readOwnRule } from '../../../shared/config/read-rule.ts';
import type { ValueReader } from '../../../shared/config/rule-values.ts';
import { assert } from '../../../shared/domain/assert.ts';
import { DEFAULT_RULE_NAME } from '../../../shared/domain/entities/rule-name.ts';
import { shown } from '../../../shared/domain/fault-words.ts';
import { FALSE_TEXT, type Filter, TRUE_TEXT } from '../../../shared/filters/rule.ts';
import { isExactNumber, isJsonObject, plainNumber } from '../format/exact-json.ts';
import { type JsonObject, parseDescription, requireNoFaults } from './description-body.ts';
import { RuleValue } from './rule-values.ts';

/** The members that only an answer has. A request may repeat them, so that what was read can be sent back. */
export const RULE_READ_ONLY: readonly string[] = ['createdAt', 'modifiedAt'];

/** The members that hold values of properties or parameters. */
const VALUES: readonly string[] = ['parameters', 'properties'];

/**
 * Reads a rule from JSON: `{"sql":"Quantity > 100"}`, `{"correlation":{…}}`, each with an `action` (semantics G26).
 * `name` = its name in the path, with which that in the body must agree. Throws ArgumentError with all faults.
 */
export function readRule(body: Uint8Array, name: string): RuleInput {
  return readRuleJson(parseDescription(body), name);
}

/** The same from JSON that `parseExactJson` parsed. */
export function readRuleJson(json: JsonObject, name: string): RuleInput {
  const faults = new Faults();
  const fields = Fields.of(json, '', faults);
  if (fields !== undefined) requireAgreement(fields, 'name', name, 'the path says');
  // The path's name was checked, and one that creations may not take can still be updated.
  const raw = fields && rawRule(json, '', DEFAULT_RULE_NAME, fields);
  const rule = raw && checkedRule(raw, json, faults);
  requireNoFaults(faults);
  assert(rule !== undefined, 'a rule without faults was read');
  return { ...rule, name };
}

/** Notes a fault where a member names another entity or rule than `wanted`, in any case of letters. */
export function requireAgreement(
  fields: Fields,
  member: string,
  wanted: string,
  why: string,
): void {
  const given = fields.get(member);
  if (given === undefined) return;
  if (typeof given === 'string' && given.toLowerCase() === wanted.toLowerCase()) return;
  fields.faults.add(
    fields.pathOf(member),
    `It must be ${shown(wanted)}, as ${why}, not ${shown(plainNumber(given))}.`,
  );
}

/** The parts of a rule with their paths, of which the values are not read; undefined, with a fault, for no object. */
export function rawRule(
  json: unknown,
  at: string,
  name: string,
  parent: Fields,
): RawRule | undefined {
  if (!isJsonObject(json) || isExactNumber(json)) {
    const value = shown(plainNumber(json));
    parent.faults.add(at, `It must be an object such as {"sql":"Quantity > 100"}, not ${value}.`);
    return undefined;
  }
  const nameAt = at === '' ? 'name' : `${at}.name`;
  return readOwnRule(name, nameAt, { at, value: withRuleValues(json) }, parent);
}

/** The rule, whose faults are noted. `json` = that from which `raw` was read. */
export function checkedRule(raw: RawRule, json: unknown, faults: Faults): RuleInput {
  const rule = checkRule(raw, faults, readRuleValue);
  const isObject = isJsonObject(json) && isJsonObject(json['sql']);
  return isObject ? { ...rule, filter: asSql(rule.filter) } : rule;
}

/** Reads a value that `rawRule` has wrapped. */
export const readRuleValue: ValueReader = (value, name) => {
  assert(value instanceof RuleValue, 'the values of a rule are wrapped');
  return value.read(name);
};

/** `"1=1"` is the filter for every message, `{"expression":"1=1"}` an SQL filter, which counts for other quotas. */
function asSql(filter: Filter): Filter {
  if (filter.kind !== 'true' && filter.kind !== 'false') return filter;
  const expression = filter.kind === 'true' ? TRUE_TEXT : FALSE_TEXT;
  return { kind: 'sql', expression, parameters: {} };
}

/** The rule without read-only members, and with wrapped values: null is a value there, and numbers have types. */
function withRuleValues(rule: JsonObject): JsonObject {
  const members = Object.entries(rule).filter(([name]) => !RULE_READ_ONLY.includes(name));
  return Object.fromEntries(members.map(([name, part]) => [name, withValues(part)]));
}

function withValues(part: unknown): unknown {
  if (!isJsonObject(part) || isExactNumber(part)) return plainNumber(part);
  const members = Object.entries(part).map(([name, value]) => [
    name,
    VALUES.includes(name) && isJsonObject(value) && !isExactNumber(value)
      ? wrapped(value)
      : plainNumber(value),
  ]);
  return Object.fromEntries(members);
}

function wrapped(values: JsonObject): unknown {
  return Object.fromEntries(
    Object.entries(values).map(([name, json]) => [name, new RuleValue(json)]),
  );
}
