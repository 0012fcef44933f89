import { entityNotFound, invalidOperation } from '../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import { parseEntityPath } from '../../shared/domain/entities/entity-path.ts';
import { LIMITS } from '../../shared/domain/limits.ts';
import type { OnAuthorized } from '../authorization/authorization.ts';
import type { IncomingLink } from '../endpoint/incoming-link.ts';
import { addressPath, type EntityNode, requireShort } from '../service/address.ts';
import type { ClientContext } from '../service/context.ts';
import { fieldsOf, textOf } from '../wire/value.ts';
import { DeliveryWriter } from './delivery-writer.ts';

/** As the vendor's service. With less, clients run out of credit, and then pause for a second or for half a minute. */
const SENDER_CREDIT = 1000;
const DESTINATION = 'com.microsoft:transfer-destination-address';

/**
 * Opens a link on which a client sends to an entity. A link to one entity may name another, to which its messages go
 * via the first; the client then needs the right to send to both (semantics U6, U7). Throws Unauthenticated,
 * ArgumentError for a long address, MessagingEntityNotFound, InvalidOperation for a subscription or a dead-letter
 * queue.
 */
export async function openSender(
  context: ClientContext,
  link: IncomingLink,
  node: EntityNode,
  onAuthorized: OnAuthorized,
): Promise<void> {
  const { authorization, shutdown, transactions } = context;
  await authorization.require(node.pathname, node.path, ['Send'], onAuthorized);
  const address = textOf(fieldsOf(link.attach.properties).get(DESTINATION));
  const { path, pathname } = address === undefined ? node : entityAt(address);
  if (address !== undefined) await authorization.require(pathname, path, ['Send'], onAuthorized);
  // Only now, since the right may have bound the connection to a namespace.
  const { dependencies } = context;
  const entity = await dependencies.entities.find(path.key);
  if (entity === undefined) throw entityNotFound(path.name);
  if (path.subQueue !== 'main' || entity.description.kind === 'subscription') {
    throw invalidOperation('Cannot create a message sender for a subscription.');
  }
  // A link that has ended meanwhile would never stop the writer.
  if (!link.isAttaching) return;
  const messageBytes = entity.description.maxMessageSizeInKilobytes * 1024;
  const acceptedBytes = Math.max(messageBytes, LIMITS.batchBytes) + BUDGETS.delivery.encodingBytes;
  const writer = new DeliveryWriter(context, link, { path, pathname, acceptedBytes });
  link.onDelivery(
    (delivery) => writer.add(delivery),
    () => acceptedBytes,
  );
  link.onIgnored((transaction) => transactions.enlist(transaction).refuse());
  link.onEnd(shutdown.onBegin(() => link.holdOutcomes()));
  link.accept({ maxMessageSize: BigInt(messageBytes) });
  link.start(SENDER_CREDIT);
}

function entityAt(address: string): Omit<EntityNode, 'kind'> {
  requireShort(address);
  const pathname = addressPath(address);
  return { pathname, path: parseEntityPath(pathname) };
}
