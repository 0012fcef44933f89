import { messageSizeExceeded } from '../../shared/domain/broker-error.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import type { ClientContext } from '../service/context.ts';
import { rejection } from '../service/error-mapping.ts';
import type { Enlistment } from '../transactions/transactions.ts';
import { ACCEPTED, type DeliveryState } from '../wire/states.ts';
import type { Replies } from './replies.ts';
import { type Request, readRequest } from './request.ts';
import { RequestMemory } from './request-memory.ts';

/** A node that answers requests, such as `$cbs`. */
export interface RequestNode {
  readonly name: string;
  readonly limits: () => ConnectionLimits['requestLimits'];
  /** Returns the encoded reply. Errors are replies too, also the one for a request that exceeds memory. */
  readonly answer: (request: Request, memory: RequestMemory) => Promise<Buffer>;
  /** Runs `respond` as soon as the request may begin. Absent = at once. */
  readonly whenFree?: (respond: () => Promise<void>) => Promise<void>;
}

/**
 * Accepts a link for requests to a node and answers them concurrently. A client that needs an order waits
 * for each reply.
 */
export function serveRequests(
  context: Pick<
    ClientContext,
    'dependencies' | 'limits' | 'background' | 'requestReadingTurns' | 'transactions'
  >,
  replies: Replies,
  link: IncomingLink,
  node: RequestNode,
): void {
  const { whenFree = (respond) => respond() } = node;
  link.onDelivery(
    (delivery) => {
      // Counts in the turn of its arrival, because each of its bytes may be a value to decode.
      context.limits.countRequestBytes(delivery.payload.byteLength);
      const { state: deliveryState } = delivery;
      const enlistment =
        deliveryState?.kind === 'transactional'
          ? context.transactions.enlist(deliveryState.transaction)
          : undefined;
      const respond = async () => {
        // Requests of unauthorized peers are so small that they need no turn, and delay no other request.
        if (context.limits.isAuthorized) {
          await context.requestReadingTurns.before(delivery.payload.byteLength, context);
        }
        // The peer expects no outcome any more, so the request is not carried out.
        if (context.limits.isLost) return link.abort([delivery]);
        const state = await answerRequest(context, replies, { link, node }, delivery, enlistment);
        // Settled only after the reply, so that the credit bounds the concurrent requests of a link.
        link.settle([delivery], state);
      };
      // A request without a reply must make the discharge of its transaction fail.
      context.background(() => whenFree(respond).finally(() => enlistment?.refuse()));
    },
    () => node.limits().bytes,
  );
  link.accept();
  link.start();
}

/** Answers one request and returns the outcome of its delivery. */
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
      throw messageSizeExceeded(`The request is too large: the limit is ${max.bytes} bytes.`);
    }
    const request = readRequest(delivery, max.values, enlistment);
    replies.send({ link, node: node.name }, request.replyTo, await node.answer(request, memory));
    if (enlistment === undefined) return ACCEPTED;
    enlistment.end();
    const { transaction } = enlistment;
    return { kind: 'transactional', transaction, outcome: ACCEPTED };
  } catch (error) {
    return rejection(dependencies, error, link.name);
  } finally {
    memory.close();
  }
}
