import type { Broker } from './broker.ts';
import type { BrokerParts } from './broker-parts.ts';
import { receive } from './receive.ts';
import { send } from './send.ts';
import { renewLocks, settle } from './settle.ts';

/** Puts the broker together from its parts. */
export function createBroker(parts: BrokerParts): Broker {
  return {
    send: (path, messages) => send(parts, path, messages),
    receive: (path, options) => receive(parts, path, options),
    settle: (path, settlements) => settle(parts, path, settlements),
    renewLocks: (path, lockTokens) => renewLocks(parts, path, lockTokens),
  };
}
