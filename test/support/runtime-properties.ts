/** The message counts of an entity, its size in bytes, and its time of last access. */
export interface RuntimeProperties {
  readonly total: number;
  readonly active: number;
  readonly deadLetter: number;
  readonly scheduled: number;
  readonly transfer: number;
  readonly transferDeadLetter: number;
  readonly size: number;
  readonly accessedAt: number;
}

/** Reads the runtime properties from an entity's ATOM description. */
export function readRuntimeProperties(description: string): RuntimeProperties {
  const text = (name: string): string => {
    const found = new RegExp(`<(?:\\w+:)?${name}[^>]*>([^<]*)<`).exec(description)?.[1];
    if (found === undefined) throw new Error(`No ${name} in ${description}`);
    return found;
  };
  return {
    total: Number(text('MessageCount')),
    active: Number(text('ActiveMessageCount')),
    deadLetter: Number(text('DeadLetterMessageCount')),
    scheduled: Number(text('ScheduledMessageCount')),
    transfer: Number(text('TransferMessageCount')),
    transferDeadLetter: Number(text('TransferDeadLetterMessageCount')),
    size: Number(text('SizeInBytes')),
    accessedAt: Date.parse(text('AccessedAt')),
  };
}
