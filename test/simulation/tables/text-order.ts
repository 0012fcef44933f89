/** UTF-16 units whose order differs from that of UTF-8. */
const DIFFERENT = /[\ud800-\uffff]/;
const FIRST_SURROGATE = 0xd800;
const AFTER_SURROGATES = 0xe000;
const SURROGATES = AFTER_SURROGATES - FIRST_SURROGATE;
const UNITS = 0x10000;

/**
 * A text that sorts as a JavaScript string the way the given text sorts by its UTF-8 bytes, which is the
 * service's order. It differs from the given text only where that has characters from U+D800 on.
 */
export function textOrder(text: string): string {
  if (!DIFFERENT.test(text)) return text;
  let order = '';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < FIRST_SURROGATE) order += text[i];
    else if (unit < AFTER_SURROGATES) order += String.fromCharCode(unit + UNITS - AFTER_SURROGATES);
    else order += String.fromCharCode(unit - SURROGATES);
  }
  return order;
}

/** Negative, zero or positive, in the order of UTF-8. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return textOrder(a) < textOrder(b) ? -1 : 1;
}
