import { BrokerError } from '../../../shared/domain/broker-error.ts';

/** Half of a surrogate pair without its other half: text that UTF-8 cannot hold. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether a text can be kept as it is. */
export const isWholeText = (text: string): boolean => !LONE_SURROGATE.test(text);

/** Refuses text that would come back changed. `what` begins the sentence. Throws ArgumentError. */
export function requireWholeText(text: string, what: string): string {
  if (isWholeText(text)) return text;
  throw new BrokerError(
    'ArgumentError',
    `${what} holds half of a surrogate pair, which no UTF-8 text can.`,
    { subCode: '40000' },
  );
}
