import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Begin } from '../wire/performatives.ts';
import { AmqpError } from '../wire/wire-error.ts';
import { Session, type SessionHost } from './session.ts';

/** The largest channel number of a session. */
export const CHANNEL_MAX = BUDGETS.connection.authorized.sessions - 1;

/** The sessions of a connection, by channel. Throws AmqpError `amqp:not-allowed` for a wrong channel. */
export class Channels {
  readonly #host: SessionHost;
  readonly #sessions = new Map<number, Session>();

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /**
   * Answers a begin of the peer. Throws AmqpError if the channel is in use or too large, and
   * `amqp:resource-limit-exceeded` if the connection has too many sessions.
   */
  begin(channel: number, begin: Begin): void {
    if (channel > CHANNEL_MAX || this.#sessions.has(channel)) {
      throw new AmqpError('amqp:not-allowed', 'The channel is in use, or larger than channel-max.');
    }
    this.#host.limits.sessionBegun();
    this.#sessions.set(channel, new Session(channel, begin, this.#host));
  }

  /** Returns the session of a channel. */
  at(channel: number): Session {
    const session = this.#sessions.get(channel);
    if (session !== undefined) return session;
    throw new AmqpError('amqp:not-allowed', 'No session has this channel.');
  }

  /** Handles an end of the peer, and answers it once the work of the session's links is done. */
  end(channel: number): void {
    const session = this.at(channel);
    void session.endLinks().then(() => {
      // The connection may be gone by now.
      if (this.#sessions.get(channel) !== session) return;
      session.discard();
      this.#sessions.delete(channel);
      this.#host.limits.sessionEnded();
      this.#host.send(channel, { kind: 'end' });
    });
  }

  /** Sends the outcomes that `IncomingLink.holdOutcomes` held back. */
  releaseOutcomes(): void {
    for (const session of this.#sessions.values()) session.releaseOutcomes();
  }

  /** Ends all sessions, since the connection is gone. */
  discardAll(): void {
    for (const session of this.#sessions.values()) session.discard();
    this.#sessions.clear();
  }
}
