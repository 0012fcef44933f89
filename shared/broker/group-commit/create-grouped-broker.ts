import type { Broker } from '../broker.ts';
import { type BrokerParts, createBroker, type Serving } from '../create-broker.ts';
import { DueForwards } from '../routing/due-forwards.ts';
import { send } from '../send/send.ts';
import { groupedAccept } from './accepts.ts';
import { groupedClaim } from './claims.ts';
import { SendOrder } from './send-order.ts';
import { groupedStore } from './sends.ts';
import { groupedSettlements } from './settlements.ts';
import { shareCalls } from './share-calls.ts';

/** For a process that serves many clients at once, such as the local server and the gateway. */
export const MANY_AT_ONCE: Serving = {
  create: (parts) => createGroupedBroker(parts),
  remembersScans: true,
  share: shareCalls,
  dueForwards: (parts) => new DueForwards(parts),
};

/**
 * Creates a broker for a process that serves many clients at once: sends, receives, settlements and renewals that
 * arrive together share requests to the database (docs/decisions/0026-group-commit.md).
 */
function createGroupedBroker(ungrouped: BrokerParts): Broker {
  const messages = { ...ungrouped.messages, claim: groupedClaim(ungrouped) };
  const sessions = { ...ungrouped.sessions, acceptNext: groupedAccept(ungrouped) };
  const dependencies = { ...ungrouped, messages, sessions };
  const broker = createBroker(dependencies);
  const store = groupedStore(dependencies);
  const order = new SendOrder();
  return {
    ...broker,
    ...groupedSettlements(ungrouped),
    send: (...call) => {
      const [, , { orderedBy } = {}] = call;
      if (orderedBy === undefined) return send(dependencies, store, ...call);
      return order.run(orderedBy, (turn) =>
        send(dependencies, (...accepted) => store(...accepted, turn), ...call),
      );
    },
  };
}
