import type { OperationRecord } from '../clients/record.ts';
import type { Scenario } from '../scenario/scenario.ts';
import { checkAnswers } from './answers.ts';
import { checkDeliveries } from './deliveries.ts';
import { checkEmptyAnswers } from './empties.ts';
import { checkEndings, type Found } from './endings.ts';
import { Ledger } from './ledger.ts';
import { checkPartitions } from './partitions.ts';
import { checkSessions } from './sessions.ts';
import { checkSettlements } from './settlements.ts';
import type { Violation } from './violation.ts';

/** Checks the answers of a run, and the messages found at its end; returns all violations. */
export function checkRun(
  scenario: Scenario,
  records: readonly OperationRecord[],
  found: readonly Found[],
): readonly Violation[] {
  const ledger = new Ledger(scenario, records);
  return [
    ...checkAnswers(ledger),
    ...checkDeliveries(ledger),
    ...checkSettlements(ledger),
    ...checkPartitions(ledger),
    ...checkSessions(ledger),
    ...checkEmptyAnswers(ledger),
    ...checkEndings(ledger, found),
  ];
}
