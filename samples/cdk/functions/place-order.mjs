import { Entity } from './entity.mjs';

const orders = new Entity('DYNABUS_ORDERS');
const events = new Entity('DYNABUS_EVENTS');

/** Puts an order into the queue, and tells the subscriptions that there is one. */
export async function handler(order) {
  const body = JSON.stringify(order);
  const json = { 'Content-Type': 'application/json' };
  await orders.request('POST', '/messages', { body, headers: json });
  await events.request('POST', '/messages', {
    body,
    // A header that is no header of HTTP is a property of the message, which filters see.
    headers: { ...json, BrokerProperties: '{"Label":"ordered"}', total: String(order.total) },
  });
}
