import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { IncomingDelivery, IncomingLink } from '../endpoint/incoming-link.ts';
import { readSections } from '../messages/sections.ts';
import type { ClientContext } from '../service/context.ts';
import { rejection } from '../service/error-mapping.ts';
import { CODE, codeOf } from '../wire/descriptors.ts';
import { ListFields } from '../wire/fields.ts';
import { ACCEPTED, type DeliveryState } from '../wire/states.ts';
import type { AmqpValue } from '../wire/value.ts';
import { DecodeError } from '../wire/wire-error.ts';

/**
 * Accepts a link to the coordinator, on which the peer declares and discharges transactions (part 4 of the
 * standard). Transactions declared on the link that are open when it ends are rolled back (semantics U14).
 */
export function openCoordinator(context: ClientContext, link: IncomingLink): void {
  const { transactions } = context;
  const declared = new Set<Uint8Array>();
  link.onDelivery(
    (delivery) => {
      context.background(async () => {
        link.settle([delivery], await answerTo(context, delivery, declared));
      });
    },
    () => BUDGETS.connection.transactionRequestBytes,
  );
  link.onEnd(() => {
    for (const id of declared) transactions.rollBack(id);
  });
  link.accept();
  link.start();
}

async function answerTo(
  context: ClientContext,
  delivery: IncomingDelivery,
  declared: Set<Uint8Array>,
): Promise<DeliveryState> {
  try {
    const command = commandIn(delivery);
    if (codeOf(command) === CODE.declare) {
      for (const one of declared) if (!context.transactions.isOpen(one)) declared.delete(one);
      const transaction = context.transactions.declare();
      declared.add(transaction);
      return { kind: 'declared', transaction };
    }
    if (codeOf(command) !== CODE.discharge) {
      throw new DecodeError('a coordinator accepts declare and discharge only');
    }
    const fields = new ListFields(command);
    const id = fields.octets(0) ?? new Uint8Array();
    for (const one of declared) if (Buffer.compare(one, id) === 0) declared.delete(one);
    await context.transactions.discharge(id, fields.flag(1), ({ pathname, path, right }) =>
      context.authorization.confirm(pathname, path, [right]),
    );
    return ACCEPTED;
  } catch (error) {
    return rejection(context.dependencies, error, 'coordinator');
  }
}

function commandIn({ payload }: IncomingDelivery): AmqpValue {
  const [section] = readSections(payload).body;
  if (section?.type !== 'described') throw new DecodeError('a command is a value');
  return section.value;
}
