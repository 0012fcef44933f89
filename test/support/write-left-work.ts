import { reportBackgroundFault } from '../../shared/app/report-fault.ts';
import { BrokerError } from '../../shared/domain/broker-error.ts';

/** Run as a process: reports work behind an answer that failed because a table is busy, slow, or otherwise. */

for (const error of [
  new BrokerError('ServiceBusy', 'The table is busy.'),
  new BrokerError('ServiceTimeout', 'The table did not answer.'),
  new BrokerError('MessageLockLost', 'The lock is lost.'),
  new TypeError('planted'),
]) {
  reportBackgroundFault(error);
}
