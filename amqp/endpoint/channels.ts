import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Begin } from '../wire/performatives.ts';
import { AmqpError } from '../wire/wire-error.ts';
import { Session, type SessionHost } from './session.ts';

export const CHANNEL_MAX = BUDGETS.connection.afterRight.sessions - 1;

/** The sessions of a connection, by channel. Throws AmqpError where a peer names a wrong one. */
export class Channels {
  readonly #host: SessionHost;
  readonly #sessions = new Map<number, Session>();

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /** The peer begins a session. */
  begin(channel: number, begin: Begin): void {
    if (channel > CHANNEL_MAX || this.#sessions.has(channel)) {
      throw new AmqpError('amqp:not-allowed', 'The channel is in use, or there is none such.');
    }
    this.#host.limits.begun();
    this.#sessions.set(channel, new Session(channel, begin, this.#host));
  }

  /** The session of a channel. */
  at(channel: number): Session {
    const session = this.#sessions.get(channel);
    if (session !== undefined) return session;
    throw new AmqpError('amqp:not-allowed', 'No session has this channel.');
  }

  /** The peer ends a session; it hears back when the session's links are done with. */
  end(channel: number): void {
    const session = this.at(channel);
    void session.ended().then(() => {
      // Meanwhile the connection may have gone.
      if (this.#sessions.get(channel) !== session) return;
      session.lost();
      this.#sessions.delete(channel);
      this.#host.limits.ended();
      this.#host.send(channel, { kind: 'end' });
    });
  }

  /** Lets the peer know what was held back of the outcomes of what it sent. */
  release(): void {
    for (const session of this.#sessions.values()) session.release();
  }

  /** The connection is gone. */
  lost(): void {
    for (const session of this.#sessions.values()) session.lost();
    this.#sessions.clear();
  }
}
