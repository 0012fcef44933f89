import type { RuleInput } from '../../shared/broker/ports/management.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';
import { present } from '../../shared/domain/present.ts';
import type { CorrelationFilter, Filter, Rule } from '../../shared/filters/rule.ts';
import { fromProperties, toProperties } from '../messages/property-values.ts';
import { type AmqpValue, described, list, mapOf, NULL, str, timestamp } from '../wire/value.ts';
import { Body, type Input } from './operation-input.ts';

/**
 * Descriptors of rules, filters and actions (semantics W25). The vendor's code for its types, 0x137, is one hex digit
 * further to the right in those of filters.
 */
const CODES = {
  rule: 0x0000_0137_0000_0004n,
  emptyAction: 0x0000_0137_0000_0005n,
  sqlAction: 0x0000_0137_0000_0006n,
  sql: 0x0000_0013_7000_0006n,
  true: 0x0000_0013_7000_0007n,
  false: 0x0000_0013_7000_0008n,
  correlation: 0x0000_0013_7000_0009n,
} as const;

/** The most rules in one reply, and the default. */
const PAGE_MAX = 100;

/**
 * `add-rule`: creates a rule of a subscription. Throws ArgumentError for an invalid rule, and what the
 * rule management throws, such as MessagingEntityAlreadyExists.
 */
export async function addRule({ context, path, body }: Input): Promise<AmqpValue> {
  const fields = new Body(body);
  const description = new Body(fields.at('rule-description') ?? NULL);
  const action = description.at('sql-rule-action');
  const expression = action === undefined ? undefined : new Body(action).text('expression');
  const rule: RuleInput = {
    name: fields.text('rule-name') ?? description.requiredText('rule-name'),
    filter: readFilter(description),
    ...present({
      action: expression === undefined ? undefined : { expression, parameters: {} },
    }),
  };
  await context.dependencies.rules.create(path.name, rule);
  return mapOf({});
}

function readFilter(description: Body): Filter {
  const sql = description.at('sql-filter');
  if (sql !== undefined) {
    return { kind: 'sql', expression: new Body(sql).requiredText('expression'), parameters: {} };
  }
  const correlation = description.at('correlation-filter');
  if (correlation === undefined) {
    throw new BrokerError('ArgumentError', 'A rule needs a filter.');
  }
  const fields = new Body(correlation);
  return {
    kind: 'correlation',
    ...present({
      correlationId: fields.text('correlation-id'),
      messageId: fields.text('message-id'),
      to: fields.text('to'),
      replyTo: fields.text('reply-to'),
      label: fields.text('label'),
      sessionId: fields.text('session-id'),
      replyToSessionId: fields.text('reply-to-session-id'),
      contentType: fields.text('content-type'),
    }),
    properties: toProperties(fields.at('properties')).properties,
  };
}

/** `remove-rule`: deletes a rule. Throws MessagingEntityNotFound if there is none of this name. */
export async function removeRule({ context, path, body }: Input): Promise<AmqpValue> {
  await context.dependencies.rules.delete(path.name, new Body(body).requiredText('rule-name'));
  return mapOf({});
}

/** `enumerate-rules`: returns a page of rules ordered by name, undefined if it is empty. */
export async function enumerateRules({
  context,
  path,
  body,
}: Input): Promise<AmqpValue | undefined> {
  const fields = new Body(body);
  const { items } = await context.dependencies.rules.list(path.name, {
    skip: fields.skipped('skip'),
    top: fields.number('top') === undefined ? PAGE_MAX : fields.requiredCount('top', PAGE_MAX),
    order: 'name',
  });
  if (items.length === 0) return undefined;
  const rules = items.map(({ stored }) => mapOf({ 'rule-description': describeRule(stored.rule) }));
  return mapOf({ rules: list(rules) });
}

function describeRule({ name, filter, action, createdAt }: Rule): AmqpValue {
  const actionValue =
    action === undefined
      ? described(CODES.emptyAction, list([]))
      : described(CODES.sqlAction, list([str(action.expression)]));
  return described(
    CODES.rule,
    list([describeFilter(filter), actionValue, str(name), timestamp(createdAt)]),
  );
}

function describeFilter(filter: Filter): AmqpValue {
  switch (filter.kind) {
    case 'true':
      return described(CODES.true, list([]));
    case 'false':
      return described(CODES.false, list([]));
    case 'sql':
      return described(CODES.sql, list([str(filter.expression)]));
    case 'correlation':
      return described(CODES.correlation, list(correlationFields(filter)));
  }
}

function correlationFields(filter: CorrelationFilter): readonly AmqpValue[] {
  const texts = [
    filter.correlationId,
    filter.messageId,
    filter.to,
    filter.replyTo,
    filter.label,
    filter.sessionId,
    filter.replyToSessionId,
    filter.contentType,
  ].map((text) => (text === undefined ? NULL : str(text)));
  return [...texts, fromProperties(filter.properties) ?? mapOf({})];
}
