import { fileURLToPath } from 'node:url';
import { Duration, Stack } from 'aws-cdk-lib';
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import * as dynabus from 'dynabus/cdk';

/** A bus, and two functions that use it: one sends orders, one ships them. */
export class ShopStack extends Stack {
  constructor(scope, id, props) {
    super(scope, id, props);
    const bus = new dynabus.Broker(this, 'Bus');

    // What cannot be processed lands here.
    const failed = new dynabus.Queue(bus, 'failed');
    const orders = new dynabus.Queue(bus, 'orders', {
      lockDuration: Duration.minutes(2),
      maxDeliveryCount: 5,
      deadLetteringOnMessageExpiration: true,
      forwardDeadLetteredMessagesTo: failed,
    });
    const invoices = new dynabus.Queue(bus, 'invoices', { forwardDeadLetteredMessagesTo: failed });

    const shopEvents = new dynabus.Topic(bus, 'events', {
      defaultMessageTimeToLive: Duration.days(7),
    });
    const billing = new dynabus.Subscription(shopEvents, 'billing', { forwardTo: invoices });
    new dynabus.Rule(billing, 'worth-an-invoice', {
      sql: { expression: 'total >= @least', parameters: { least: 10 } },
    });
    const audit = new dynabus.Subscription(shopEvents, 'audit');
    new dynabus.Rule(audit, 'ordered', { correlation: { subject: 'ordered' } });
    new dynabus.Rule(audit, 'cancelled', { correlation: { subject: 'cancelled' } });

    const placeOrder = this.#function('PlaceOrder', 'place-order.handler');
    orders.grantSend(placeOrder);
    orders.addEnvironment(placeOrder);
    shopEvents.grantSend(placeOrder);
    shopEvents.addEnvironment(placeOrder);

    const shipOrders = this.#function('ShipOrders', 'ship-orders.handler');
    orders.grantListen(shipOrders);
    orders.addEnvironment(shipOrders);
    new events.Rule(this, 'EveryMinute', {
      schedule: events.Schedule.rate(Duration.minutes(1)),
      targets: [new targets.LambdaFunction(shipOrders)],
    });
  }

  #function(id, handler) {
    return new lambda.Function(this, id, {
      runtime: lambda.Runtime.NODEJS_24_X,
      handler,
      code: lambda.Code.fromAsset(fileURLToPath(new URL('functions', import.meta.url))),
      timeout: Duration.seconds(30),
    });
  }
}
