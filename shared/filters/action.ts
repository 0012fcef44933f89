import type { RandomSource } from '../domain/clock.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Properties, PropertyValue } from '../domain/messages/property-value.ts';
import { type Context, compileValue, type Source } from './evaluation/compile-value.ts';
import { convertTo } from './evaluation/convert.ts';
import { isUnknown, SPAN_MAX, TICKS_PER_MS, ticksOf } from './evaluation/values.ts';
import { type Fail, failAt } from './filter-error.ts';
import { existingName, FilterInput, systemReader, unknownSystemProperty } from './filter-input.ts';
import { parseAction } from './language/parse.ts';
import type { PropertyNode, Statement } from './language/syntax.ts';
import type { RuleAction } from './rule.ts';
import { SourceCache } from './source-cache.ts';

/** A compiled statement: maps the message before it to the message after it. */
type CompiledStatement = (context: Context) => FilterInput;

const CACHE = new SourceCache<readonly CompiledStatement[]>();

/**
 * Runs an action and returns the changed message; `input` stays unchanged (semantics #116). Statements run in order and
 * see the changes of earlier ones (semantics R21). Throws FilterError: with the name RuleActionException if a statement
 * fails, with the name FilterException if the text is not a valid action.
 */
export function applyAction(
  action: RuleAction,
  input: FilterInput,
  random: RandomSource,
): FilterInput {
  const steps = CACHE.get(action.expression, () => compileAction(action.expression));
  let current = input;
  for (const step of steps) {
    current = step({ input: current, parameters: action.parameters, random });
  }
  return current;
}

function compileAction(text: string): readonly CompiledStatement[] {
  const source: Source = { text, errorName: 'RuleActionException' };
  return parseAction(text).map((statement) => compileStatement(statement, source));
}

function compileStatement(statement: Statement, source: Source): CompiledStatement {
  const { target } = statement;
  const fail = failAt(source.text, target.at, source.errorName);
  if (statement.kind === 'remove') return compileRemove(target, fail);
  const value = compileValue(statement.value, source);
  const assign = target.scope === 'sys' ? systemSetter(target, fail) : userSetter(target, fail);
  return (context) => {
    const assigned = value(context);
    // The service's behaviour is unknown. An error is better than a message that silently keeps its old
    // value (semantics R23).
    if (assigned === undefined)
      throw fail(`${nameOf(target)} is set from a property that is missing.`);
    return assign(context.input, assigned);
  };
}

type Setter = (input: FilterInput, value: PropertyValue) => FilterInput;

function nameOf({ scope, name }: PropertyNode): string {
  return scope === 'sys' ? `sys.${name}` : name;
}

/** REMOVE of a missing user property does nothing; REMOVE of a system property is an error (semantics R24). */
function compileRemove(target: PropertyNode, fail: Fail): CompiledStatement {
  return ({ input }) => {
    if (target.scope === 'sys')
      throw fail(`a system property cannot be removed: ${nameOf(target)}.`);
    const { properties } = input.message;
    const name = existingName(properties, target.name);
    if (name === undefined) return input;
    const kept = Object.entries(properties).filter(([key]) => key !== name);
    return withProperties(input, Object.fromEntries(kept));
  };
}

/**
 * An existing property keeps its name and its type. Null may replace any value, and any value may replace
 * null.
 */
function userSetter(target: PropertyNode, fail: Fail): Setter {
  return (input, value) => {
    const { properties } = input.message;
    const name = existingName(properties, target.name) ?? target.name;
    const existing = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const converted = existing === undefined ? value : convertTo(value, existing.type);
    if (converted === undefined) {
      throw fail(`${name} is of type ${existing?.type}, and this ${value.type} cannot become one.`);
    }
    return withProperties(input, { ...properties, [name]: converted });
  };
}

function withProperties(input: FilterInput, properties: Properties): FilterInput {
  return new FilterInput({ ...input.message, properties }, input.facts);
}

type TextField =
  | 'messageId'
  | 'correlationId'
  | 'sessionId'
  | 'replyTo'
  | 'replyToSessionId'
  | 'to'
  | 'label'
  | 'contentType'
  | 'partitionKey'
  | 'viaPartitionKey';

/**
 * The text system properties that a sender, and so an action, may set; ids have a maximum length
 * (semantics #117, R25).
 */
const TEXT_FIELDS: ReadonlyMap<string, { readonly field: TextField; readonly lengthMax?: number }> =
  new Map([
    ['messageid', { field: 'messageId', lengthMax: LIMITS.idLength }],
    ['sessionid', { field: 'sessionId', lengthMax: LIMITS.idLength }],
    ['partitionkey', { field: 'partitionKey', lengthMax: LIMITS.idLength }],
    ['viapartitionkey', { field: 'viaPartitionKey', lengthMax: LIMITS.idLength }],
    ['replytosessionid', { field: 'replyToSessionId', lengthMax: LIMITS.idLength }],
    ['correlationid', { field: 'correlationId' }],
    ['replyto', { field: 'replyTo' }],
    ['to', { field: 'to' }],
    ['label', { field: 'label' }],
    ['contenttype', { field: 'contentType' }],
  ]);

/** SET of a read-only or unknown property fails when the action runs, as an unknown name in a filter does. */
function systemSetter(target: PropertyNode, fail: Fail): Setter {
  const name = target.name.toLowerCase();
  const textField = TEXT_FIELDS.get(name);
  if (textField !== undefined) {
    return (input, value) => setText(input, value, { ...textField, name: target.name, fail });
  }
  if (name === 'timetolive') return (input, value) => setTimeToLive(input, value, fail);
  if (name === 'scheduledenqueuetimeutc') return (input, value) => setSchedule(input, value, fail);
  if (name === 'forcepersistence') return (input, value) => setPersistence(input, value, fail);
  const known = systemReader(name) !== undefined;
  return () => {
    throw fail(known ? `${nameOf(target)} cannot be set.` : unknownSystemProperty(target.name));
  };
}

interface TextTarget {
  readonly field: TextField;
  readonly lengthMax?: number;
  readonly name: string;
  readonly fail: Fail;
}

function setText(input: FilterInput, value: PropertyValue, target: TextTarget): FilterInput {
  const { field, lengthMax, name, fail } = target;
  const isId = field === 'messageId';
  if (isUnknown(value)) {
    if (isId) throw fail('sys.MessageId cannot be null.');
    const { [field]: _removed, ...message } = input.message;
    return new FilterInput(message, input.facts);
  }
  const converted = convertTo(value, 'string');
  if (converted?.type !== 'string') throw fail(`sys.${name} is a string, not ${value.type}.`);
  const text = converted.value;
  if (isId && text === '') throw fail('sys.MessageId cannot be empty.');
  if (lengthMax !== undefined && text.length > lengthMax) {
    throw fail(`sys.${name} may be ${lengthMax} characters long at most.`);
  }
  return new FilterInput({ ...input.message, [field]: text }, input.facts);
}

/** The enqueue facts change too, so that later statements read the new time to live and expiry. */
function setTimeToLive(input: FilterInput, value: PropertyValue, fail: Fail): FilterInput {
  const ticks = value.type === 'timeSpan' ? (ticksOf(value) ?? 0n) : undefined;
  if (ticks === undefined) throw fail(`sys.TimeToLive is a timeSpan, not ${value.type}.`);
  if (ticks < TICKS_PER_MS) throw fail('sys.TimeToLive must be at least one millisecond.');
  const { timeToLiveMs: _sent, ...message } = input.message;
  const { timeToLiveMs: _inForce, expiresAt: _expiry, ...facts } = input.facts;
  if (ticks / TICKS_PER_MS === SPAN_MAX / TICKS_PER_MS) return new FilterInput(message, facts);
  const timeToLiveMs = Number(ticks / TICKS_PER_MS);
  return new FilterInput(
    { ...message, timeToLiveMs },
    { ...facts, timeToLiveMs, expiresAt: facts.enqueuedAt + timeToLiveMs },
  );
}

/** Stored on the copy without any effect: a topic's copies are not scheduled again (semantics R26). */
function setSchedule(input: FilterInput, value: PropertyValue, fail: Fail): FilterInput {
  const { scheduledEnqueueAt: _replaced, ...message } = input.message;
  if (isUnknown(value)) return new FilterInput(message, input.facts);
  const converted = convertTo(value, 'dateTime');
  if (converted?.type !== 'dateTime') {
    throw fail(`sys.ScheduledEnqueueTimeUtc is a dateTime, not ${value.type}.`);
  }
  return new FilterInput({ ...message, scheduledEnqueueAt: converted.value }, input.facts);
}

function setPersistence(input: FilterInput, value: PropertyValue, fail: Fail): FilterInput {
  const converted = convertTo(value, 'boolean');
  if (converted?.type !== 'boolean') {
    throw fail(`sys.ForcePersistence is a boolean, not ${value.type}.`);
  }
  return new FilterInput({ ...input.message, forcePersistence: converted.value }, input.facts);
}
