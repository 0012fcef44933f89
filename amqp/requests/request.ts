import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { IncomingDelivery } from '../endpoint/incoming-link.ts';
import { PROPERTY } from '../messages/annotations.ts';
import { readSections, SECTION, writeSections } from '../messages/sections.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { codeOf } from '../wire/descriptors.ts';
import { ListFields, trimmed } from '../wire/fields.ts';
import { type AmqpValue, described, fieldsOf, mapOf, textOf } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';

/** A request to `$cbs` or `$management`. */
export interface Request {
  readonly messageId: AmqpValue | undefined;
  /** The name or address of the reply link. Some clients omit it. */
  readonly replyTo: string | undefined;
  readonly operation: string;
  readonly fields: ReadonlyMap<string, AmqpValue>;
  readonly body: AmqpValue;
  /** Set if the request is part of a transaction. */
  readonly enlistment: Enlistment | undefined;
  /** The memory of the decoded request, bytes, in addition to its payload. */
  readonly heldBytes: number;
}

/** Decodes a request of at most `valuesMax` values. Throws DecodeError if it is invalid or has more. */
export function readRequest(
  { payload }: IncomingDelivery,
  valuesMax: number,
  enlistment?: Enlistment,
): Request {
  const sections = readSections(payload, { valuesMax });
  if (sections.properties === undefined) throw new DecodeError('a request has no properties');
  const properties = new ListFields(sections.properties);
  const fields = fieldsOf(sections.applicationProperties);
  const [section] = sections.body;
  return {
    messageId: properties.at(PROPERTY.messageId),
    replyTo: properties.text(PROPERTY.replyTo),
    operation: textOf(fields.get('operation')) ?? '',
    fields,
    body:
      section?.type === 'described' && codeOf(section) === SECTION.value
        ? section.value
        : { type: 'null' },
    enlistment,
    heldBytes:
      sections.values * BUDGETS.weights.requestValueBytes +
      payload.byteLength * BUDGETS.delivery.heldPerByte,
  };
}

/** Encodes the reply to a request: application properties and a body. */
export function writeReply(
  { messageId }: Request,
  fields: Readonly<Record<string, AmqpValue | undefined>>,
  body: AmqpValue = { type: 'null' },
): Buffer {
  const properties: (AmqpValue | undefined)[] = [];
  properties[PROPERTY.correlationId] = messageId;
  return writeSections({
    properties: trimmed(Array.from(properties)),
    applicationProperties: mapOf(fields),
    body: [described(SECTION.value, body)],
  });
}
