import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import type { ClientContext } from '../service/context.ts';
import { mapError } from '../service/error-mapping.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { ACCEPTED, type DeliveryState } from '../wire/states.ts';
import type { Replies } from './replies.ts';
import { type Request, readRequest } from './request.ts';
import { RequestMemory } from './request-memory.ts';

/** A node that answers requests. */
export interface RequestNode {
  readonly name: string;
  readonly limits: () => ConnectionLimits['requestLimits'];
  /** Refusals are answers too, also that of a request for whose values there is no memory. */
  readonly answer: (request: Request, memory: RequestMemory) => Promise<Buffer>;
  /** Has a request answered once that may begin. Absent = at once. */
  readonly admit?: (respond: () => Promise<void>) => Promise<void>;
}

/** Answers requests to a node as they come; a client that wants an order waits for each answer. */
export function serveRequests(
  context: Pick<
    ClientContext,
    'dependencies' | 'limits' | 'background' | 'requestReadingTurns' | 'transactions'
  >,
  replies: Replies,
  link: IncomingLink,
  node: RequestNode,
): void {
  const { admit: during = (respond) => respond() } = node;
  link.onDelivery(
    (delivery) => {
      // Counts at once, for the turn in which it came: each of its bytes may be a value.
      context.limits.countRequestBytes(delivery.payload.byteLength);
      const { state: deliveryState } = delivery;
      const enlistment =
        deliveryState?.kind === 'transactional'
          ? context.transactions.enlist(deliveryState.transaction)
          : undefined;
      const respond = async () => {
        // What strangers ask is bounded to so little that it needs no turn, and delays nobody in the line.
        if (context.limits.isProved) {
          await context.requestReadingTurns.before(delivery.payload.byteLength, context);
        }
        // Its peer does not know what became of it, whatever that is.
        if (context.limits.isLost) return link.abort([delivery]);
        const state = await answerRequest(context, replies, { link, node }, delivery, enlistment);
        // Not before it is answered: the credit bounds what one link can have us do at a time.
        link.settle([delivery], state);
      };
      // Of what was never answered the discharge must not say that it is done.
      context.background(() => during(respond).finally(() => enlistment?.refuse()));
    },
    () => node.limits().bytes,
  );
  link.accept();
  link.start();
}

/** Answers one request; tells what becomes of its delivery. */
async function answerRequest(
  { dependencies, limits }: Pick<ClientContext, 'dependencies' | 'limits'>,
  replies: Replies,
  { link, node }: { readonly link: IncomingLink; readonly node: RequestNode },
  delivery: IncomingDelivery,
  enlistment: Enlistment | undefined,
): Promise<DeliveryState> {
  const max = node.limits();
  const memory = new RequestMemory(limits);
  try {
    if (delivery.isTooLarge) {
      throw new BrokerError(
        'MessageSizeExceeded',
        `The request is too large: ${max.bytes} bytes are the limit here.`,
      );
    }
    const request = readRequest(delivery, max.values, enlistment);
    replies.send({ link, node: node.name }, request.replyTo, await node.answer(request, memory));
    if (enlistment === undefined) return ACCEPTED;
    enlistment.end();
    const { transaction } = enlistment;
    return { kind: 'transactional', transaction, outcome: ACCEPTED };
  } catch (error) {
    const { condition, description } = mapError(dependencies, error, link.name);
    return { kind: 'rejected', error: { condition, description } };
  } finally {
    memory.close();
  }
}
