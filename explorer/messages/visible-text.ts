/**
 * Control characters and those that turn the direction of text, of which a browser shows nothing or the wrong thing.
 * Line feeds, tabs and what joins an emoji stay.
 */
const UNSEEN = /(?![\n\t\u200d])[\p{C}\p{Zl}\p{Zp}]/gu;

/** Whether a text has characters that one does not see, or that turn the direction of text. */
export function hasUnseen(text: string): boolean {
  return text.replaceAll('\r', '').search(UNSEEN) >= 0;
}

/** A text in which every character is seen: `\u0000` becomes ␀, and U+202E ⟨U+202E⟩. A carriage return is left out. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0x0d) return '';
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** The begin of a text in one line, of `length` characters at most. */
export function excerpt(text: string, length: number): string {
  const begin = text.slice(0, length * 4);
  const line = visible(begin.replace(/\s+/g, ' '));
  const isCut = line.length > length || begin.length < text.length;
  return isCut ? `${line.slice(0, length)}…` : line;
}
