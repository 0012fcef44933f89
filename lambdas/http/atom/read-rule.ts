import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { DEFAULT_RULE_NAME } from '../../../shared/domain/entities/rule-name.ts';
import type { Properties, PropertyValue } from '../../../shared/domain/messages/property-value.ts';
import { present } from '../../../shared/domain/present.ts';
import type { Filter, RuleAction } from '../../../shared/filters/rule.ts';
import { ElementFields, typeOf } from './fields.ts';
import { readValue } from './values.ts';
import type { XmlElement } from './xml.ts';

/**
 * Reads a rule from a `RuleDescription` (semantics G17). `name` = its name in the path; without it, for the default
 * rule of a new subscription, the name in the description counts. Throws ArgumentError.
 */
export function readRule(element: XmlElement, name?: string): RuleInput {
  const fields = new ElementFields(element);
  const filter = fields.child('Filter');
  const action = fields.child('Action');
  return {
    name: name ?? fields.text('Name') ?? DEFAULT_RULE_NAME,
    // A rule without a filter matches all messages: recorded by the vendor's REST client for Node in 2014.
    filter: filter === undefined ? { kind: 'true' } : readFilter(filter),
    ...present({ action: action === undefined ? undefined : readAction(action) }),
  };
}

function readFilter(element: XmlElement): Filter {
  const fields = new ElementFields(element);
  const type = typeOf(element);
  switch (type) {
    case 'TrueFilter':
      return { kind: 'true' };
    case 'FalseFilter':
      return { kind: 'false' };
    case 'SqlFilter':
      return {
        kind: 'sql',
        expression: fields.text('SqlExpression') ?? '',
        parameters: readPropertyList(fields, 'Parameters'),
      };
    case 'CorrelationFilter':
      return {
        kind: 'correlation',
        ...present({
          correlationId: fields.text('CorrelationId'),
          messageId: fields.text('MessageId'),
          to: fields.text('To'),
          replyTo: fields.text('ReplyTo'),
          label: fields.text('Label'),
          sessionId: fields.text('SessionId'),
          replyToSessionId: fields.text('ReplyToSessionId'),
          contentType: fields.text('ContentType'),
        }),
        properties: readPropertyList(fields, 'Properties'),
      };
    default:
      throw unknownType('Filter', type, 'TrueFilter, FalseFilter, SqlFilter, CorrelationFilter');
  }
}

function readAction(element: XmlElement): RuleAction | undefined {
  const fields = new ElementFields(element);
  const type = typeOf(element);
  switch (type) {
    case 'EmptyRuleAction':
      return undefined;
    case 'SqlRuleAction':
      return {
        expression: fields.text('SqlExpression') ?? '',
        parameters: readPropertyList(fields, 'Parameters'),
      };
    default:
      throw unknownType('Action', type, 'EmptyRuleAction, SqlRuleAction');
  }
}

function readPropertyList(fields: ElementFields, name: string): Properties {
  const list = fields.child(name);
  if (list === undefined) return {};
  const properties = new Map<string, PropertyValue>();
  for (const pair of new ElementFields(list).children('KeyValueOfstringanyType')) {
    const [key, value] = readProperty(new ElementFields(pair), name);
    if (properties.has(key))
      throw argumentError(`The key '${key.slice(0, 64)}' is in ${name} twice.`);
    properties.set(key, value);
  }
  return Object.fromEntries(properties);
}

function readProperty(pair: ElementFields, list: string): [string, PropertyValue] {
  const key = pair.text('Key');
  const value = pair.child('Value');
  if (key === undefined || value === undefined) {
    throw argumentError(`A 'KeyValueOfstringanyType' in ${list} lacks its Key or its Value.`);
  }
  if (value.children.length > 0) {
    throw argumentError(`The Value of '${key.slice(0, 64)}' in ${list} must hold only text.`);
  }
  return [key, readValue(typeOf(value), value.text)];
}

function unknownType(element: string, type: string | undefined, known: string) {
  return argumentError(
    `The type '${type?.slice(0, 64) ?? ''}' of ${element} is not one of ${known}.`,
  );
}
