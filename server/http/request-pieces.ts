const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** Cuts HTTP input after each empty line, which ends every head. */
export class RequestPieces {
  /** Whether the current line is empty so far. */
  #isEmptySoFar = false;
  /** Whether the current line has its carriage return. */
  #hasReturn = false;

  /** The next piece: up to the end of the first empty line, or all bytes. */
  next(bytes: Buffer): Buffer {
    let at = 0;
    for (;;) {
      const feed = bytes.indexOf(LINE_FEED, at);
      const end = feed === -1 ? bytes.length : feed;
      const isEmpty = this.#goOnTo(bytes.subarray(at, end));
      if (feed === -1) return bytes;
      this.#isEmptySoFar = true;
      this.#hasReturn = false;
      at = feed + 1;
      if (isEmpty) return bytes.subarray(0, at);
    }
  }

  /** Whether the line is still empty after more bytes. */
  #goOnTo(more: Buffer): boolean {
    const isReturn = more.length === 1 && more[0] === RETURN && !this.#hasReturn;
    if (more.length > 0 && !isReturn) this.#isEmptySoFar = false;
    if (isReturn) this.#hasReturn = true;
    return this.#isEmptySoFar;
  }
}
