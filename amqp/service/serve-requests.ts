import { BrokerError } from '../../shared/domain/broker-error.ts';
import type { ConnectionLimits } from '../endpoint/connection-limits.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import { ACCEPTED, type DeliveryState } from '../wire/states.ts';
import { tell } from './conditions.ts';
import type { ClientContext } from './context.ts';
import type { Replies } from './replies.ts';
import { type Request, readRequest } from './request.ts';

/** A node that answers requests. */
export interface RequestNode {
  readonly name: string;
  readonly max: () => ConnectionLimits['request'];
  readonly answerTo: (request: Request) => Promise<Buffer>;
  /** Has a request answered once that may begin. Absent = at once. */
  readonly during?: (respond: () => Promise<void>) => Promise<void>;
}

/** Answers requests to a node as they come; a client that wants an order waits for each answer. */
export function serveRequests(
  context: Pick<ClientContext, 'parts' | 'limits' | 'background'>,
  replies: Replies,
  link: IncomingLink,
  node: RequestNode,
): void {
  const { during = (respond) => respond() } = node;
  link.onDelivery(
    (delivery) => {
      // Counts at once, for the turn in which it came: each of its bytes may be a value.
      context.limits.read(delivery.payload.byteLength);
      const respond = async () => {
        // Its peer does not know what became of it, whatever that is.
        if (context.limits.isLost) return link.giveUp([delivery]);
        const state = await answered(context, replies, { link, node }, delivery);
        // Not before it is answered: the credit bounds what one link can have us do at a time.
        link.settle([delivery], state);
      };
      context.background(() => during(respond));
    },
    () => node.max().bytes,
  );
  link.accept();
  link.start();
}

/** Answers one request; tells what becomes of its delivery. */
async function answered(
  { parts }: Pick<ClientContext, 'parts'>,
  replies: Replies,
  { link, node }: { readonly link: IncomingLink; readonly node: RequestNode },
  delivery: IncomingDelivery,
): Promise<DeliveryState> {
  const max = node.max();
  try {
    if (delivery.isTooLarge) {
      throw new BrokerError(
        'MessageSizeExceeded',
        `The request is too large: ${max.bytes} bytes are the limit here.`,
      );
    }
    const request = readRequest(delivery, max.values);
    const { transaction } = request;
    replies.send({ link, node: node.name }, request.replyTo, await node.answerTo(request));
    if (transaction === undefined) return ACCEPTED;
    return { kind: 'transactional', transaction, outcome: ACCEPTED };
  } catch (error) {
    const { condition, description } = tell(parts, error, link.name);
    return { kind: 'rejected', error: { condition, description } };
  }
}
