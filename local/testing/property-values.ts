/** Converts custom properties from the JSON of the batch format, which marks types that JSON lacks: `{"$long":"7"}`. */

const NUMBERS = new Set(['$sbyte', '$byte', '$short', '$ushort', '$uint', '$long', '$ulong']);
const TICKS = new Set(['$timeSpan', '$dateTimeOffset']);

/**
 * The value of a property: whole numbers as a number, or a bigint beyond 2^53; dates as a Date, bytes as a Uint8Array,
 * time spans and offsets as a bigint of ticks of 100 ns, and all others as JSON has them.
 */
export function propertyValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [entry] = Object.entries(value);
  if (entry === undefined) return value;
  const [type, text] = entry as readonly [string, unknown];
  if (NUMBERS.has(type)) return wholeNumber(String(text));
  if (TICKS.has(type)) return BigInt(String(text));
  if (type === '$date') return new Date(String(text));
  if (type === '$bytes') return Uint8Array.from(Buffer.from(String(text), 'base64'));
  return text;
}

function wholeNumber(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}
