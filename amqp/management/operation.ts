import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { HoldBytes } from '../messages/bodies.ts';
import { guidText } from '../messages/property-values.ts';
import type { ClientContext } from '../service/context.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { type AmqpValue, bigintOf, elementsOf, fieldsOf, numberOf, textOf } from '../wire/value.ts';

/** What a request asks for, and of whom. */
export interface OperationRequest {
  readonly context: ClientContext;
  readonly path: EntityPath;
  /** The address of the entity. */
  readonly pathname: string;
  readonly body: AmqpValue;
  /** Holds so many bytes more until the request is answered. Throws ServiceBusy where there is no room. */
  readonly hold: HoldBytes;
  /** The link for which it is asked. */
  readonly linkName: string | undefined;
  /** There where the request is part of a transaction. */
  readonly enlistment: Enlistment | undefined;
}

/** Answers with the body of the reply; undefined = there is nothing (204). */
export type Operation = (asked: OperationRequest) => Promise<AmqpValue | undefined>;

/** The named fields of a request's body. What is missing or of another type is refused by name. */
export class Body {
  readonly #fields: ReadonlyMap<string, AmqpValue>;

  constructor(body: AmqpValue) {
    this.#fields = fieldsOf(body);
  }

  /** The value of a field; undefined for one that is null. */
  at(name: string): AmqpValue | undefined {
    const value = this.#fields.get(name);
    return value?.type === 'null' ? undefined : value;
  }

  text(name: string): string | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    return textOf(value) ?? invalidField(name);
  }

  requiredText(name: string): string {
    return this.text(name) ?? invalidField(name);
  }

  number(name: string): number | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    return numberOf(value) ?? invalidField(name);
  }

  requiredNumber(name: string): number {
    return this.number(name) ?? invalidField(name);
  }

  /** How many are wanted: one at least, and never more than are given at a time. */
  requiredCount(name: string, max: number): number {
    const count = this.requiredNumber(name);
    return count >= 1 ? Math.min(count, max) : invalidField(name);
  }

  /** How many are to be left out; none where nothing is said. */
  skipped(name: string): number {
    const count = this.number(name) ?? 0;
    return count >= 0 ? count : invalidField(name);
  }

  bigints(name: string): readonly bigint[] {
    return this.list(name).map((value) => bigintOf(value) ?? invalidField(name));
  }

  /** The lock tokens of messages, no more than one call takes over HTTP either. */
  lockTokens(): readonly string[] {
    const name = 'lock-tokens';
    const values = this.list(name);
    if (values.length > LIMITS.settlements) {
      throw new BrokerError(
        'ArgumentError',
        `No more than ${LIMITS.settlements} lock tokens can be named at once, not ${values.length}.`,
      );
    }
    return values.map((value) =>
      value.type === 'uuid' ? guidText(value.value) : invalidField(name),
    );
  }

  list(name: string): readonly AmqpValue[] {
    return elementsOf(this.at(name) ?? invalidField(name));
  }
}

/** The session that a request is about. The Go client names it only by the link that holds it. */
export function sessionIdOf({
  context,
  path,
  body,
  linkName,
}: OperationRequest): string | undefined {
  const named = new Body(body).text('session-id');
  if (named !== undefined || linkName === undefined) return named;
  return context.sessions.idOfLink(path, linkName);
}

/**
 * What the largest message of an entity takes, bytes. Of a subscription only the topic knows, which is
 * not looked up for that.
 */
export async function messageBytesMax({ context, path }: OperationRequest): Promise<number> {
  const { description } = (await context.dependencies.entities.find(path.key)) ?? {};
  if (description === undefined || description.kind === 'subscription') return LIMITS.batchBytes;
  return description.maxMessageSizeInKilobytes * 1024;
}

function invalidField(name: string): never {
  throw new BrokerError('ArgumentError', `The field '${name}' is missing, or of a wrong type.`);
}
