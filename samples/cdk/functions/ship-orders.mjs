import { Entity } from './entity.mjs';

const ORDERS_MAX = 100;

const orders = new Entity('DYNABUS_ORDERS');

/** Ships the orders that wait in the queue. Returns them. */
export async function handler() {
  const shipped = [];
  while (shipped.length < ORDERS_MAX) {
    const received = await orders.request('POST', '/messages/head?timeout=0');
    if (received.status === 204) break;
    shipped.push(await received.json());
    // The order is done; without this, it is delivered again after the lock duration.
    await orders.request('DELETE', received.headers.get('location'));
  }
  return shipped;
}
