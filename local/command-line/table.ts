/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Numbers stand at the right. */
  readonly isNumber?: boolean;
}

/** A table that is printed piece by piece. Texts are shown without control characters. */
export class Table {
  readonly #columns: readonly Column[];
  #widths: readonly number[] | undefined;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The next rows; the first ones under the titles. A column never gets narrower. */
  rows(rows: readonly (readonly string[])[]): string {
    const titles = this.#columns.map(({ title }) => title);
    const before = this.#widths;
    const lines = [
      ...(before === undefined ? [titles] : []),
      ...rows.map((row) => row.map(inOneLine)),
    ];
    const widths = titles.map((_, i) =>
      lines.reduce((most, line) => Math.max(most, (line[i] ?? '').length), before?.[i] ?? 0),
    );
    this.#widths = widths;
    return lines.map((line) => this.#line(line, widths)).join('\n');
  }

  #line(line: readonly string[], widths: readonly number[]): string {
    const cells = this.#columns.map(({ isNumber = false }, i) => {
      const [cell, width] = [line[i] ?? '', widths[i] ?? 0];
      return isNumber ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  }
}

/** Aligns rows under their titles. Texts are shown without control characters. */
export function tableOf(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  return new Table(columns).rows(rows);
}

/** A text in one line, without characters that move the cursor or colour a terminal. */
export function inOneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ');
}

/** A text as it is, without characters that move the cursor or colour a terminal; its lines stay. */
export function printable(text: string): string {
  return text.replaceAll(/(?![\n\t])\p{Cc}/gu, '\ufffd');
}

/** The beginning of a text, with an ellipsis if it goes on. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];
const KB = 1024;

/** A size for people: `12 KB`. */
export function sizeText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(KB)));
  return `${Math.round(bytes / KB ** unit)} ${UNITS[unit]}`;
}

/** A number in a sentence: `10,000`. */
export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A number of messages in a sentence: `1 message`, `10,000 messages`. */
export function messagesText(count: number): string {
  return count === 1 ? '1 message' : `${numberText(count)} messages`;
}
