import type {
  AcceptedSession,
  AcceptNextRequest,
  SessionPage,
  SessionStore,
} from '../../broker/ports/sessions.ts';
import { inSession, type Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionRules } from '../../domain/blocks/session.ts';
import { FIRST_READY } from '../schema/message-keys.ts';
import { deadLetterLapsed } from '../settle/dead-letter-lapsed.ts';
import type { StoreContext } from '../store-context.ts';
import { acceptNext, cleanReadyIndex, LookedThrough } from './accept-next.ts';
import { addMissingSessions, listSessions } from './list.ts';
import { accept, held, renewSession } from './lock.ts';
import { readReady } from './ready-index.ts';
import { release } from './release.ts';
import { readSession, rulesFrom } from './session-item.ts';
import { setState, state } from './state.ts';

/** How many sessions with ended locks are read before a dead-letter queue is. */
const LAPSED_MAX = 50;

/** Sessions in DynamoDB. */
export class DynamoSessionStore implements SessionStore {
  readonly #context: StoreContext;
  readonly #accepting = new Map<string, Promise<boolean>>();
  readonly #lookedThrough = new LookedThrough();

  constructor(context: StoreContext) {
    this.#context = context;
  }

  accept(session: Log, lockMs: number): Promise<AcceptedSession | undefined> {
    return accept(this.#context, session, lockMs);
  }

  acceptNext(partition: Log, request: AcceptNextRequest): Promise<AcceptedSession | undefined> {
    const memory = { accepting: this.#accepting, lookedThrough: this.#lookedThrough };
    return acceptNext(this.#context, partition, request, memory);
  }

  async rulesOf(session: Log): Promise<SessionRules> {
    const { table, clock } = this.#context;
    return rulesFrom(await readSession(table, session), session, clock.now());
  }

  held(session: Log, token: Uint8Array): Promise<SessionRules> {
    return held(this.#context, session, token);
  }

  renew(session: Log, token: Uint8Array, lockMs: number): Promise<number> {
    return renewSession(this.#context, session, token, lockMs);
  }

  release(session: Log, token: Uint8Array): Promise<void> {
    return release(this.#context, session, token);
  }

  state(session: Log, token: Uint8Array): Promise<Uint8Array | undefined> {
    return state(this.#context, session, token);
  }

  setState(session: Log, token: Uint8Array, bytes: Uint8Array | undefined): Promise<void> {
    return setState(this.#context, session, token, bytes);
  }

  list(partition: Log, page: SessionPage, policy: LogPolicy): Promise<readonly string[]> {
    return listSessions(this.#context, partition, page, policy);
  }

  async deadLetterLapsed(partition: Log, policy: LogPolicy): Promise<boolean> {
    const { entries } = await readReady(this.#context, partition, {
      from: FIRST_READY,
      dueBy: this.#context.clock.now(),
      limit: LAPSED_MAX,
    });
    // Only entries for the end of a lock have no stamp.
    const ended = entries.filter(({ stamp }) => stamp === undefined);
    const sessions = new Set(ended.map(({ sessionId }) => sessionId));
    const outcomes = await Promise.all(
      Array.from(sessions, (id) => this.deadLetterLapsedIn(inSession(partition, id), policy)),
    );
    return outcomes.includes(true);
  }

  /** Maintains the ready-session index of a partition; the sweep calls it once a day. */
  async maintain(partition: Log, policy: LogPolicy): Promise<void> {
    await cleanReadyIndex(this.#context, partition, policy);
    await addMissingSessions(this.#context, partition, policy);
  }

  /** Dead-letters the messages of one session whose last lock has expired. */
  async deadLetterLapsedIn(session: Log, policy: LogPolicy): Promise<boolean> {
    const rules = { ...policy.rules, session: await this.rulesOf(session) };
    return await deadLetterLapsed(this.#context, session, { ...policy, rules });
  }
}
