import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { EntityPath } from '../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { HoldBytes } from '../messages/bodies.ts';
import { guidText } from '../messages/property-values.ts';
import type { ClientContext } from '../service/context.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { type AmqpValue, bigintOf, elementsOf, fieldsOf, numberOf, textOf } from '../wire/value.ts';

/** The input of a management operation. */
export interface Input {
  readonly context: ClientContext;
  readonly path: EntityPath;
  /** The management address of the entity, without leading slash. */
  readonly pathname: string;
  readonly body: AmqpValue;
  /** Holds bytes until the request is answered. Throws ServiceBusy if the connection may hold no more. */
  readonly hold: HoldBytes;
  /** The name of the link for which the client makes the request, if it says. */
  readonly linkName: string | undefined;
  /** Set if the request is part of a transaction. */
  readonly enlistment: Enlistment | undefined;
}

/** Returns the body of the reply; undefined = nothing was found (204). */
export type Operation = (input: Input) => Promise<AmqpValue | undefined>;

/** The fields of a request's body. Throws ArgumentError for a missing field and for one of a wrong type. */
export class Body {
  readonly #fields: ReadonlyMap<string, AmqpValue>;

  constructor(body: AmqpValue) {
    this.#fields = fieldsOf(body);
  }

  /** Returns a field; undefined if it is absent or null. */
  at(name: string): AmqpValue | undefined {
    const value = this.#fields.get(name);
    return value?.type === 'null' ? undefined : value;
  }

  text(name: string): string | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    return textOf(value) ?? invalid(name);
  }

  requiredText(name: string): string {
    return this.text(name) ?? invalid(name);
  }

  number(name: string): number | undefined {
    const value = this.at(name);
    if (value === undefined) return undefined;
    return numberOf(value) ?? invalid(name);
  }

  requiredNumber(name: string): number {
    return this.number(name) ?? invalid(name);
  }

  /** Returns a count of at least 1, reduced to `max`. */
  requiredCount(name: string, max: number): number {
    const count = this.requiredNumber(name);
    return count >= 1 ? Math.min(count, max) : invalid(name);
  }

  /** Returns a number of entries to skip, 0 if absent. */
  skipped(name: string): number {
    const count = this.number(name) ?? 0;
    return count >= 0 ? count : invalid(name);
  }

  bigints(name: string): readonly bigint[] {
    return this.list(name).map((value) => bigintOf(value) ?? invalid(name));
  }

  /** Returns the lock tokens, at most as many as one request over HTTP can have. */
  lockTokens(): readonly string[] {
    const name = 'lock-tokens';
    const values = this.list(name);
    if (values.length > LIMITS.settlements) {
      throw new BrokerError(
        'ArgumentError',
        `Too many lock tokens: ${values.length}. The limit is ${LIMITS.settlements} in one request.`,
      );
    }
    return values.map((value) => (value.type === 'uuid' ? guidText(value.value) : invalid(name)));
  }

  list(name: string): readonly AmqpValue[] {
    return elementsOf(this.at(name) ?? invalid(name));
  }
}

/** Returns the session id of a request. The Go client names only the link that holds it (semantics W22). */
export function sessionIdOf({ context, path, body, linkName }: Input): string | undefined {
  const named = new Body(body).text('session-id');
  if (named !== undefined || linkName === undefined) return named;
  return context.sessions.idOfLink(path, linkName);
}

/**
 * Returns the maximum message size of an entity, bytes. For a subscription it returns the general maximum,
 * since its own limit is in the topic, which would cost another lookup.
 */
export async function messageBytesMax({ context, path }: Input): Promise<number> {
  const { description } = (await context.dependencies.entities.find(path.key)) ?? {};
  if (description === undefined || description.kind === 'subscription') return LIMITS.batchBytes;
  return description.maxMessageSizeInKilobytes * 1024;
}

function invalid(name: string): never {
  throw new BrokerError('ArgumentError', `The field '${name}' is missing, or of a wrong type.`);
}
