import type { RuleInput } from '../../../shared/broker/ports/management.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import {
  FALSE_TEXT,
  type Filter,
  type Rule,
  type RuleAction,
  TRUE_TEXT,
} from '../../../shared/filters/rule.ts';
import { isoDate } from '../format/date-text.ts';
import { NAMESPACE } from './namespaces.ts';
import { writeValue } from './values.ts';
import { descriptionElement } from './write-entity.ts';
import { element, optional, type Xml } from './write-xml.ts';

/**
 * Writes the description of a rule, the content of an entry, or, without its creation, of a request. The official
 * clients recognize types by exactly the prefixes `i` and `d6p1`, not by XML namespace, and need an Action even of a
 * rule without one (semantics G18).
 */
export function writeRule(rule: RuleInput & Partial<Rule>): Xml {
  return descriptionElement('RuleDescription', ruleElements(rule));
}

/** The elements of a `RuleDescription`, without the time of creation where the rule has none. */
export function ruleElements({
  name,
  filter,
  action,
  createdAt,
}: RuleInput & Partial<Rule>): readonly (Xml | undefined)[] {
  return [
    writeFilter(filter),
    writeAction(action),
    createdAt === undefined ? undefined : element('CreatedAt', isoDate(createdAt)),
    element('Name', name),
  ];
}

function writeFilter(filter: Filter): Xml {
  switch (filter.kind) {
    case 'true':
      return element('Filter', expressionElements(TRUE_TEXT), { 'i:type': 'TrueFilter' });
    case 'false':
      return element('Filter', expressionElements(FALSE_TEXT), { 'i:type': 'FalseFilter' });
    case 'sql':
      return element('Filter', sqlElements(filter.expression, filter.parameters), {
        'i:type': 'SqlFilter',
      });
    case 'correlation':
      return element(
        'Filter',
        [
          optional('CorrelationId', filter.correlationId),
          optional('MessageId', filter.messageId),
          optional('To', filter.to),
          optional('ReplyTo', filter.replyTo),
          optional('Label', filter.label),
          optional('SessionId', filter.sessionId),
          optional('ReplyToSessionId', filter.replyToSessionId),
          optional('ContentType', filter.contentType),
          writeProperties('Properties', filter.properties),
        ],
        { 'i:type': 'CorrelationFilter' },
      );
  }
}

function writeAction(action: RuleAction | undefined): Xml {
  if (action === undefined) return element('Action', [], { 'i:type': 'EmptyRuleAction' });
  return element('Action', sqlElements(action.expression, action.parameters), {
    'i:type': 'SqlRuleAction',
  });
}

function sqlElements(expression: string, parameters: Properties): readonly Xml[] {
  return [...expressionElements(expression), writeProperties('Parameters', parameters)];
}

/** The elements of an expression. 20 is the only compatibility level that exists. */
function expressionElements(expression: string): readonly Xml[] {
  return [element('SqlExpression', expression), element('CompatibilityLevel', '20')];
}

function writeProperties(name: string, properties: Properties): Xml {
  const pairs = Object.entries(properties).map(([key, value]) => {
    const { type, text } = writeValue(value);
    const attributes = { 'i:type': `d6p1:${type}`, 'xmlns:d6p1': NAMESPACE.schema };
    return element('KeyValueOfstringanyType', [
      element('Key', key),
      element('Value', text, attributes),
    ]);
  });
  return element(name, pairs);
}
