import { reportBackgroundFault } from '../../shared/app/report-fault.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';

/** A script that reports failures of background work: because a table is busy, is slow, or for other reasons. */

for (const error of [
  new BrokerError('ServiceBusy', 'The table is busy.'),
  new BrokerError('ServiceTimeout', 'The table did not answer.'),
  new BrokerError('MessageLockLost', 'The lock is lost.'),
  new TypeError('planted'),
]) {
  reportBackgroundFault(error);
}
