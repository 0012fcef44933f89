import type {
  AcceptedSession,
  AcceptNextRequest,
  SessionPage,
  SessionStore,
} from '../../broker/ports/sessions.ts';
import { inSession, type Log } from '../../domain/blocks/log.ts';
import type { LogPolicy } from '../../domain/blocks/log-policy.ts';
import type { SessionRules } from '../../domain/blocks/session.ts';
import { FIRST_LISTING } from '../schema/message-keys.ts';
import { deadLetterLapsed } from '../settle/dead-letter-lapsed.ts';
import type { StoreContext } from '../store-context.ts';
import { acceptNext, cleanReadyIndex, LookedThrough } from './accept-next.ts';
import { listSessions, relist } from './list.ts';
import { accept, held, renewSession } from './lock.ts';
import { readListings } from './ready-index.ts';
import { release } from './release.ts';
import { readSession, rulesFrom } from './session-item.ts';
import { setState, state } from './state.ts';

/** Before a dead-letter queue is read, so many sessions whose locks have ended are looked at. */
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
    const { listings } = await readListings(this.#context, partition, {
      from: FIRST_LISTING,
      dueBy: this.#context.clock.now(),
      limit: LAPSED_MAX,
    });
    // Only the listing for the end of a lock tells of one that has ended; it has no stamp.
    const ended = listings.filter(({ stamp }) => stamp === undefined);
    const sessions = new Set(ended.map(({ sessionId }) => sessionId));
    const outcomes = await Promise.all(
      Array.from(sessions, (id) => this.deadLetterLapsedIn(inSession(partition, id), policy)),
    );
    return outcomes.includes(true);
  }

  /** What the sweep does for a partition once in a while. */
  async maintain(partition: Log, policy: LogPolicy): Promise<void> {
    await cleanReadyIndex(this.#context, partition, policy);
    await relist(this.#context, partition, policy);
  }

  /** Dead-letters what ran out in one session while nobody looked. */
  async deadLetterLapsedIn(session: Log, policy: LogPolicy): Promise<boolean> {
    const rules = { ...policy.rules, session: await this.rulesOf(session) };
    return await deadLetterLapsed(this.#context, session, { ...policy, rules });
  }
}
