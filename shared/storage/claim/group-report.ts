import type { ReceivedMessage } from '../../broker/broker.ts';
import type { ReceiverGroup } from '../../broker/ports/messages.ts';
import { throwGravest } from '../../domain/broker-error.ts';
import { type Result, resultOf } from '../../domain/result-of.ts';

/** Tells several receivers, block by block, what was claimed for them. */
interface GroupReport<Got> {
  /** Tells the outcome of one block, by its index; undefined = nothing was got. */
  readonly tell: (index: number, outcome: Result<Got | undefined>) => void;
  /** All that it has told. Throws if nothing was got since messages could not be read. */
  readonly told: () => Promise<ReceivedMessage[]>;
}

/** Undefined without a group. `messagesOf` = the messages that were got of some blocks. */
export function reportTo<Got>(
  group: ReceiverGroup | undefined,
  messagesOf: (got: readonly Got[]) => Promise<readonly ReceivedMessage[]>,
): GroupReport<Got> | undefined {
  if (group === undefined) return undefined;
  const telling: Promise<Result<readonly ReceivedMessage[]>>[] = [];
  const tell = async (index: number, outcome: Result<Got | undefined>) => {
    const got = 'error' in outcome ? outcome : await resultOf(messagesOf(listOf(outcome.value)));
    group.onBlock(index, got);
    return got;
  };
  return {
    tell: (...outcome) => void telling.push(tell(...outcome)),
    told: async () => {
      const outcomes = await Promise.all(telling);
      const messages = outcomes.flatMap((outcome) => ('error' in outcome ? [] : outcome.value));
      if (messages.length === 0) throwGravest(outcomes);
      return messages;
    },
  };
}

function listOf<Entry>(entry: Entry | undefined): readonly Entry[] {
  return entry === undefined ? [] : [entry];
}
