import type { ClaimRequest, LogPolicy, MessageStore, TokenSettlement } from '../broker/ports.ts';
import type { BlockRules } from '../domain/block.ts';
import type { LockToken } from '../domain/lock-token.ts';
import type { Log } from '../domain/log.ts';
import type { Message } from '../domain/message.ts';
import { append } from './append.ts';
import { claim } from './claim.ts';
import { renew, settle } from './settle.ts';
import type { StoreContext } from './store-context.ts';

/** Messages in DynamoDB, by blocks and slots. */
export class DynamoMessageStore implements MessageStore {
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  append(log: Log, messages: readonly Message[]) {
    return append(this.#context, log, messages, this.#context.clock.now());
  }

  claim(log: Log, request: ClaimRequest) {
    return claim(this.#context, log, request);
  }

  settle(log: Log, settlements: readonly TokenSettlement[], policy: LogPolicy) {
    return settle(this.#context, log, settlements, policy);
  }

  renew(log: Log, tokens: readonly LockToken[], lockMs: number, rules: BlockRules) {
    return renew(this.#context, log, tokens, lockMs, rules.epoch);
  }
}
