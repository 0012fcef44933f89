import { fieldOf } from '../../../client/client-errors.ts';
import { printProperties } from '../../../lambdas/http/format/print-properties.ts';
import type { Settlement, SettlementOutcome } from '../../../shared/broker/broker.ts';
import type { Properties } from '../../../shared/domain/messages/property-value.ts';
import { readRefusal } from '../calls/refusals.ts';

const MS_PER_SECOND = 1000;

/** Prints a settlement as the HTTP interface takes it, without its lock token and its outcome. */
export function printSettlementFields({ action }: Settlement): string {
  switch (action.kind) {
    case 'complete':
      return '';
    case 'abandon': {
      const { delayMs, isUncounted } = action;
      const delay = delayMs === undefined ? '' : `,"delaySeconds":${delayMs / MS_PER_SECOND}`;
      const uncounted = isUncounted ? ',"isUncounted":true' : '';
      return `${delay}${uncounted}${printChanges(action.properties)}`;
    }
    case 'defer':
      return printChanges(action.properties);
    case 'deadLetter':
      return `${printText('deadLetterReason', action.reason)}${printText('deadLetterErrorDescription', action.description)}${printChanges(action.properties)}`;
  }
}

/** Prints a settlement as a member of `settlements`. */
export function printSettlement(settlement: Settlement): string {
  const { lockToken, action } = settlement;
  return `{"lockToken":${JSON.stringify(lockToken)},"outcome":"${action.kind}"${printSettlementFields(settlement)}}`;
}

/** Reads the outcomes of settlements, in their order. Throws Error for JSON that holds others. */
export function readSettlementOutcomes(
  json: unknown,
  settlements: readonly Settlement[],
): readonly SettlementOutcome[] {
  if (!Array.isArray(json) || json.length !== settlements.length) {
    throw new Error('An answer has not one outcome for each settlement.');
  }
  return settlements.map(({ lockToken }, i) => {
    if (fieldOf(json[i], 'settled') === true) return { lockToken };
    const refusal = readRefusal(fieldOf(json[i], 'error'));
    if (refusal === undefined) throw new Error('An outcome is neither settled nor refused.');
    return { lockToken, refusal };
  });
}

function printChanges(properties: Properties | undefined): string {
  return properties === undefined ? '' : `,"properties":${printProperties(properties)}`;
}

function printText(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${JSON.stringify(text)}`;
}
